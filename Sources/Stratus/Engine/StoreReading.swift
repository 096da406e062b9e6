internal import StratusBytes
internal import StratusIndex
internal import StratusJournal

/// One state of the store, and the journal to read its entries from.
///
/// Never changes: a reader keeps the one it began with at the price of a reference.
final class StoreReading: Sendable {
    let state: StoreFold.State
    let view: JournalView
    /// Everything before it belongs to this state.
    let head: JournalOffset
    let identity: StoreIdentity
    /// Entries that are staged and not yet written; only the committer sees any.
    private let staged: GroupBuilder?

    init(
        state: StoreFold.State, view: JournalView, head: JournalOffset, identity: StoreIdentity,
        staged: GroupBuilder? = nil
    ) {
        self.state = state
        self.view = view
        self.head = head
        self.identity = identity
        self.staged = staged
    }

    func hash(_ name: String) -> Hash128 { Hash128(name, seed: identity.secret) }

    func user(_ user: UserID) -> UInt32? {
        state.map[.user(user.bits)].map { UInt32(truncatingIfNeeded: $0.first) }
    }

    func user(_ number: UInt32) -> UserID? {
        state.map[.userNumber(number)].map {
            UserID(bits: Hash128(high: $0.first, low: $0.second))
        }
    }

    /// The number of a database: 0 for the public one, the owner's number for a private one; nil
    /// where the owner has never written.
    func database(_ scope: DatabaseScope) -> UInt32? {
        switch scope {
        case .public: 0
        case .private(let owner): user(owner)
        }
    }

    func zone(_ number: UInt32) -> ZonePlace? {
        state.map[.zoneNumber(number)].flatMap { ZonePlace($0) }
    }

    func entry(_ place: EntryPlace) throws(StoreError) -> JournalEntry {
        if let entry = staged?.entry(at: place.offset) { return entry }
        do {
            return try view.entry(at: place.offset, frameLength: place.frameLength)
        } catch {
            throw StoreError(error)
        }
    }

    func zoneEntry(_ place: ZonePlace) throws(StoreError) -> ZoneEntry {
        let entry: JournalEntry
        do {
            entry = try staged?.entry(at: place.offset) ?? view.entry(at: place.offset)
        } catch {
            throw StoreError(translating: error)
        }
        guard let zone = entry.withPayload({ try? ZoneEntry($0) }) else {
            throw StoreError(.damagedPayload(place.offset))
        }
        return zone
    }

    /// The record at `place`, whose name is `name` if one is given.
    func record(
        _ place: EntryPlace, in zoneID: RecordZone.ID, named name: String? = nil
    ) throws(StoreError) -> Record {
        let entry = try entry(place)
        let record = try Record(entry, in: zoneID, reading: self)
        guard name == nil || record.recordID.recordName == name else {
            throw StoreError.hashCollision
        }
        return record
    }
}

/// What never changes of a store.
struct StoreIdentity: Sendable {
    var storeID: StoreID
    var secret: UInt64
    var incarnation: UInt16
    /// In microseconds since 1970.
    var created: Int64

    init(_ manifest: Manifest) {
        storeID = manifest.storeID
        secret = manifest.secret
        incarnation = manifest.incarnation
        created = manifest.created
    }

    var idBits: Hash128 { Hash128(high: storeID.high, low: storeID.low) }
}

/// Which database.
enum DatabaseScope: Hashable, Sendable {
    case `public`
    case `private`(owner: UserID)
}

extension Record {
    /// The record that `entry` holds.
    init(
        _ entry: JournalEntry, in zoneID: RecordZone.ID, reading: StoreReading
    ) throws(StoreError) {
        guard entry.kind == .record else {
            throw StoreError(JournalError.noEntry(entry.offset))
        }
        let name = entry.withPayload { bytes -> String? in
            var cursor = ByteCursor()
            return (try? RecordHead(bytes, &cursor)).flatMap { try? $0.name(in: bytes) }
        }
        guard let name else { throw StoreError(.damagedPayload(entry.offset)) }
        try self.init(
            entry.bytes, entry.payloadRange, version: entry.version,
            as: ID(recordName: name, zoneID: zoneID), schema: reading.state.schema
        ) { reading.user($0) }
    }

    /// The record `recordID`, whose payload lies at `range` of `bytes`.
    init(
        _ bytes: [UInt8], _ range: Range<Int>, version: Version, as recordID: ID,
        schema: Schema, user: (UInt32) -> UserID?
    ) throws(StoreError) {
        do throws(FormatError) {
            let span = bytes.span.extracting(0..<range.upperBound)
            var cursor = ByteCursor(at: range.lowerBound)
            let head = try RecordHead(span, &cursor)
            let fields = try StoredFields(
                bytes, at: cursor, end: range.upperBound, schema: schema)
            guard let type = schema.name(head.type), let modifier = user(head.modifier) else {
                throw .value("number")
            }
            let creator = head.creator == head.modifier ? modifier : user(head.creator)
            guard let creator else { throw .value("creator") }
            self.init(
                recordType: type, recordID: recordID,
                system: System(
                    version: version.rawValue, created: head.created, modified: head.modified,
                    creator: creator, modifier: modifier),
                parent: try head.parent(in: span).map {
                    Reference(recordID: ID(recordName: $0, zoneID: recordID.zoneID))
                }, stored: fields)
        } catch {
            throw StoreError(.damagedPayload(version.offset))
        }
    }
}

extension StoreError {
    /// Two names with one hash of 128 bits, which nobody can bring about without the secret.
    static let hashCollision = StoreError(
        .internalError, "two record names have the same hash")
}

extension JournalError {
    /// An entry whose checksum holds and whose payload makes no sense.
    static func damagedPayload(_ offset: JournalOffset) -> JournalError {
        .damaged(JournalDamage(.payload("content"), file: "", byte: 0, offset: offset))
    }
}
