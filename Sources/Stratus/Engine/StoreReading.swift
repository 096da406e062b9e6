internal import StratusBytes
internal import StratusFiles
internal import StratusIndex
internal import StratusJournal

/// One state of the store, and the journal to read its entries from. Never changes.
final class StoreState: Sendable {
    let fold: FoldState
    let view: JournalView
    /// Everything before it belongs to this state.
    let head: JournalOffset
    let identity: StoreIdentity
    /// Entries that are staged and not yet written; only the committer sees any.
    let staged: GroupBuilder?
    /// Where another process writes: keeps it from deleting what this state reads.
    let pin: (any StoragePin)?
    let assets: AssetStore?

    init(
        fold: FoldState, view: JournalView, head: JournalOffset, identity: StoreIdentity,
        assets: AssetStore?, staged: GroupBuilder? = nil, pin: (any StoragePin)? = nil
    ) {
        self.assets = assets
        self.pin = pin
        self.fold = fold
        self.view = view
        self.head = head
        self.identity = identity
        self.staged = staged
    }
}

/// A view of a state of the store, as it was at one point. Its mode says whether reads may wait for
/// the disk.
struct StoreReading: Sendable {
    private let store: StoreState
    private(set) var mode: ReadMode
    /// Nothing from there on is seen.
    private let point: JournalOffset

    init(_ store: StoreState, _ mode: ReadMode, at point: JournalOffset? = nil) {
        self.store = store
        self.mode = mode
        self.point = point ?? store.head
    }

    /// The same view, whose reads may wait for the disk.
    var waiting: StoreReading {
        var reading = self
        reading.mode = .blocking
        return reading
    }

    /// The same from an earlier point.
    func looking(from point: JournalOffset) -> StoreReading {
        StoreReading(store, mode, at: point)
    }

    var head: JournalOffset { point }
    var view: JournalView { store.view }
    var identity: StoreIdentity { store.identity }
    var assets: AssetStore? { store.assets }
    var schema: Schema { store.fold.schema }
    var zoneCount: UInt32 { store.fold.zoneCount }
    var userCount: UInt32 { store.fold.userCount }
    var lastTime: Int64 { store.fold.lastTime }

    func value(_ key: IndexKey) throws(EngineError) -> IndexValue? {
        do throws(IndexError) {
            return try store.fold.index.value(of: key, at: lookingFrom, mode)
        } catch {
            throw EngineError(JournalError(error))
        }
    }

    /// Gives `body` the entries of `range` in order, until it returns false.
    func scan(
        _ range: Range<IndexKey>,
        _ body: (IndexKey, IndexValue) throws(EngineError) -> Bool
    ) throws(EngineError) {
        var cursor = store.fold.index.cursor(range, at: lookingFrom, mode)
        while true {
            let next: (key: IndexKey, value: IndexValue)?
            do throws(IndexError) {
                next = try cursor.next()
            } catch {
                throw EngineError(JournalError(error))
            }
            guard let next, try body(next.key, next.value) else { return }
        }
    }

    /// Of this state itself everything is seen.
    private var lookingFrom: UInt64 { point < store.head ? point.previous.rawValue : .max }

    func hash(_ name: String) -> Hash128 { Hash128(name, seed: identity.secret) }

    func user(_ user: UserID) throws(EngineError) -> UInt32? {
        try value(.user(user.bits)).map { UInt32(truncatingIfNeeded: $0.first) }
    }

    func user(_ number: UInt32) throws(EngineError) -> UserID? {
        try value(.userNumber(number)).map {
            UserID(bits: Hash128(high: $0.first, low: $0.second))
        }
    }

    /// The number of a database: 0 for the public one, the owner's number for a private one; nil
    /// where the owner has never written.
    func database(_ scope: DatabaseScope) throws(EngineError) -> UInt32? {
        switch scope {
        case .public: 0
        case .private(let owner): try user(owner)
        }
    }

    func zone(_ number: UInt32) throws(EngineError) -> ZonePlace? {
        try ZonePlace.decoded(value(.zoneNumber(number)))
    }

    func entry(_ place: EntryLocation) throws(EngineError) -> JournalEntry {
        if let entry = store.staged?.entry(at: place.offset) { return entry }
        do {
            return try view.entry(at: place.offset, frameLength: place.frameLength, mode)
        } catch {
            throw EngineError(error)
        }
    }

    /// The entry at `offset`, which a caller may have made up, where one is kept there.
    func keptEntry(at offset: JournalOffset) throws(EngineError) -> JournalEntry? {
        if let entry = store.staged?.entry(at: offset) { return entry }
        guard offset < point else { return nil }
        do {
            return try view.entry(at: offset, mode)
        } catch {
            switch error {
            case .noEntry: return nil
            case .damaged(let damage) where damage.isNoFrame: return nil
            default: throw EngineError(error)
            }
        }
    }

    /// The entries at `places`, read in the order in which they lie, given in that of `places`.
    func entries(_ places: [EntryLocation]) throws(EngineError) -> [JournalEntry] {
        if let staged = store.staged, places.contains(where: { $0.offset > staged.base }) {
            var entries: [JournalEntry] = []
            for place in places { entries.append(try entry(place)) }
            return entries
        }
        let isInOrder = zip(places, places.dropFirst()).allSatisfy { $0.offset < $1.offset }
        let order = isInOrder ? [] : places.indices.sorted { places[$0].offset < places[$1].offset }
        let sorted = isInOrder ? places : order.map { places[$0] }
        let entries: [JournalEntry]
        do {
            entries = try view.entries(
                at: sorted.map { ($0.offset, $0.frameLength) }, mode)
        } catch {
            throw EngineError(error)
        }
        if isInOrder { return entries }
        var given = entries
        for (index, place) in order.enumerated() { given[place] = entries[index] }
        return given
    }

    /// The record that the entry holds. Damage names the record where its name can be read.
    func record(
        _ entry: JournalEntry, in zoneID: RecordZone.ID, _ users: inout UserNames
    ) throws(EngineError) -> Record {
        guard entry.kind == .record else { throw .damaged(entry) }
        do throws(EngineError) {
            return try Record(
                entry.bytes, entry.payloadRange, version: entry.version, expected: nil, in: zoneID,
                schema: schema, assets: assets, damage: .damaged(entry)
            ) { number throws(EngineError) in try users.user(number) }
        } catch {
            guard error.isDamage, let name = entry.recordName else { throw error }
            throw error.with(Record.ID(recordName: name, zoneID: zoneID))
        }
    }

    /// What the entry of a user says; nil where there is no user of that number.
    func userEntry(_ number: UInt32) throws(EngineError) -> UserEntry? {
        guard let value = try value(.userNumber(number)) else { return nil }
        return try payload(at: JournalOffset(rawValue: value.stamp)) { try UserEntry($0) }
    }

    func zoneEntry(_ place: ZonePlace) throws(EngineError) -> ZoneEntry {
        try payload(at: place.offset) { try ZoneEntry($0) }
    }

    /// The payload of the entry at `offset`; that it cannot be decoded is damage there.
    private func payload<Payload>(
        at offset: JournalOffset, _ decode: (Span<UInt8>) throws -> Payload
    ) throws(EngineError) -> Payload {
        let entry: JournalEntry
        do {
            entry = try store.staged?.entry(at: offset) ?? view.entry(at: offset, mode)
        } catch {
            throw EngineError(translating: error)
        }
        guard let payload = entry.withPayload({ try? decode($0) }) else {
            throw .damaged(entry)
        }
        return payload
    }

    /// The record at `place`, which was found by its name. Damage names the record.
    func record(_ place: EntryLocation, as id: Record.ID) throws(EngineError) -> Record {
        do throws(EngineError) {
            let entry = try entry(place)
            guard entry.kind == .record else { throw .damaged(entry) }
            return try Record(
                entry.bytes, entry.payloadRange, version: entry.version, as: id, schema: schema,
                assets: assets, damage: .damaged(entry)
            ) { number throws(EngineError) in try user(number) }
        } catch {
            throw error.with(id)
        }
    }

    /// The fields of a record whose entry is to be repeated in part: all that it names is known.
    func fields(
        of entry: JournalEntry, _ head: RecordHead, at cursor: ByteCursor
    ) throws(EngineError) -> StoredFields {
        let numbers = store.fold.numbers
        guard numbers.hasUser(head.creator), numbers.hasUser(head.modifier),
            numbers.schema.name(head.type) != nil
        else { throw .damaged(entry) }
        do throws(FormatError) {
            return try StoredFields(
                entry.bytes, at: cursor, end: entry.payloadRange.upperBound, schema: schema)
        } catch {
            throw .damaged(entry)
        }
    }

    /// The error of bytes at `offset` whose checksums hold and that make no sense.
    func damaged(at offset: JournalOffset) -> EngineError {
        .journal(.damaged(view.damage(.payload("content"), at: offset)))
    }
}

extension JournalEntry {
    /// Whether the entry holds the record of that name. The index knows only a hash of it.
    func isRecord(named name: String) throws(EngineError) -> Bool {
        let answer = withPayload { bytes -> Bool? in
            var cursor = ByteCursor()
            guard let head = try? RecordHead(bytes, &cursor) else { return nil }
            return bytes.equals(name, in: head.name)
        }
        guard let answer else { throw .damaged(self) }
        return answer
    }
}

/// What never changes of a store.
struct StoreIdentity: Sendable {
    var storeID: StoreID
    var secret: UInt64
    var userSeed: Hash128
    var incarnation: UInt16
    var environment: Manifest.Environment
    /// In microseconds since 1970.
    var created: Int64

    init(_ manifest: Manifest) {
        storeID = manifest.storeID
        secret = manifest.secret
        userSeed = manifest.userSeed
        incarnation = manifest.incarnation
        environment = manifest.environment
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
    /// The record `recordID`, whose payload lies at `range` of `bytes`.
    init(
        _ bytes: [UInt8], _ range: Range<Int>, version: Version, as recordID: ID, schema: Schema,
        assets: AssetStore?, damage: @autoclosure () -> EngineError,
        user: (UInt32) throws(EngineError) -> UserID?
    ) throws(EngineError) {
        try self.init(
            bytes, range, version: version, expected: recordID, in: recordID.zoneID,
            schema: schema, assets: assets, damage: damage(), user: user)
    }

    /// The record whose payload lies at `range` of `bytes`: the one that is `expected`, where one
    /// is, or whichever it is in the zone. Fails with `damage` where these bytes are no record.
    init(
        _ bytes: [UInt8], _ range: Range<Int>, version: Version, expected: ID?,
        in zoneID: RecordZone.ID, schema: Schema, assets: AssetStore?,
        damage: @autoclosure () -> EngineError, user: (UInt32) throws(EngineError) -> UserID?
    ) throws(EngineError) {
        let head: RecordHead
        let fields: StoredFields
        let parent: String?
        let name: String?
        do throws(FormatError) {
            let span = bytes.span.extracting(0..<range.upperBound)
            var cursor = ByteCursor(at: range.lowerBound)
            head = try RecordHead(span, &cursor)
            parent = try head.parent(in: span)
            if let expected {
                // The index knows only a hash of it.
                name = span.equals(expected.recordName, in: head.name) ? expected.recordName : nil
            } else {
                name = try head.name(in: span)
            }
            fields = try StoredFields(bytes, at: cursor, end: range.upperBound, schema: schema)
        } catch {
            throw damage()
        }
        guard let name else { throw .refused(.hashCollision) }
        let modifier = try user(head.modifier)
        let creator = head.creator == head.modifier ? modifier : try user(head.creator)
        guard let type = schema.name(head.type), let modifier, let creator else {
            throw damage()
        }
        self.init(
            recordType: type, recordID: ID(recordName: name, zoneID: zoneID),
            system: System(
                version: version.rawValue, created: head.created, modified: head.modified,
                creator: creator, modifier: modifier),
            parent: parent.map {
                Reference(recordID: ID(recordName: $0, zoneID: zoneID))
            }, stored: fields, assets: fields.hasAssets ? assets : nil)
    }
}

extension StoreError {
    /// Two names with one hash of 128 bits, which cannot be brought about without the secret.
    static let hashCollision = StoreError(
        .internalError, "two record names have the same hash")
}

extension EngineError {
    /// An entry whose checksum holds and whose payload cannot be decoded.
    static func damaged(_ entry: JournalEntry) -> EngineError {
        var numbers = NumberCheck()
        do throws(FormatError) {
            try entry.withPayload { payload throws(FormatError) in
                try ProjectionRegistry.store.validate(payload, of: entry, &numbers)
            }
        } catch {
            return .journal(JournalError(entry.damage(JournalDamage.Kind(error))))
        }
        return .journal(.damaged(entry.damage(.payload("content"))))
    }
}

/// The users that many records name, of whom there are few.
struct UserNames {
    private let reading: StoreReading
    private var last: (number: UInt32, user: UserID?)?

    init(_ reading: StoreReading) { self.reading = reading }

    mutating func user(_ number: UInt32) throws(EngineError) -> UserID? {
        if let last, last.number == number { return last.user }
        let user = try reading.user(number)
        last = (number, user)
        return user
    }
}
