internal import StratusBytes
internal import StratusIndex
internal import StratusJournal

/// What the store makes of its journal: the index and the schema.
///
/// The same code runs over entries that were just staged, that an opening reads, and that come from
/// another process: what is rebuilt equals what is maintained, since there is no second way.
struct StoreFold: JournalFold, Sendable {
    /// Everything that grows with the journal, taken back as a whole.
    struct State: Sendable {
        var map = OrderedMap()
        var schema = Schema.empty
        var zoneCount: UInt32 = 0
        var userCount: UInt32 = 0
        /// Where the last commit ends.
        var end = JournalOffset.zero
        /// Of the last commit, in microseconds since 1970.
        var lastTime: Int64 = 0
    }

    private(set) var state = State()
    /// The state to go back to.
    private var marked: State?
    /// Whether a commit has begun since ``mark()`` that is not complete.
    private var isOpen = false
    /// The zones that the open commit changes, and where it did so last.
    private var touched: [UInt32: Version] = [:]
    /// The same of the complete commits of the group.
    private var active: [UInt32: Version] = [:]
    /// Seeds the hashes of names.
    let secret: UInt64

    init(secret: UInt64) { self.secret = secret }

    var preamble: [UInt8] { state.schema.preamble }

    /// The state without a commit that is still open.
    var committed: State { isOpen ? marked ?? state : state }

    mutating func mark() {
        endGroup()
        marked = state
        isOpen = true
    }

    /// Takes back commits that were complete, too: those of a group that could not be written.
    mutating func abandon() {
        guard let marked else { preconditionFailure("there is a state to go back to") }
        state = marked
        isOpen = false
        touched = [:]
        active = [:]
    }

    mutating func apply(
        _ header: FrameHeader, at offset: JournalOffset, payload: Span<UInt8>
    ) throws(JournalDamage.Kind) {
        do throws(FormatError) {
            switch header.kind {
            case .record: try applyRecord(header, at: offset, payload)
            case .tombstone: try applyTombstone(header, at: offset, payload)
            case .zone: try applyZone(ZoneEntry(payload), at: offset)
            case .user: try applyUser(UserEntry(payload), at: offset)
            case .names: try applyNames(SchemaAddition(payload))
            case .mark: try applyMark(header, at: offset, payload)
            // All of it is known from the segments before.
            case .preamble: _ = try SchemaAddition(payload)
            case _ where header.kind.mayBeIgnored: break
            default: throw .unknownKind
            }
        } catch {
            throw error == .unknownKind ? .unknownKind(header.kind.rawValue) : .payload("content")
        }
    }

    mutating func complete(end: JournalOffset, time: Int64) {
        state.end = end
        state.lastTime = time
        isOpen = false
        for (zone, version) in touched { active[zone] = version }
        touched.removeAll(keepingCapacity: true)
    }

    /// The database feed names a zone once per group, at its latest change.
    mutating func endGroup() {
        if active.isEmpty { return }
        for (zone, version) in active.count == 1
            ? Array(active) : active.sorted(by: { $0.key < $1.key })
        {
            guard let place = zonePlace(zone), place.isAlive else { continue }
            noteActivity(of: zone, in: place.database, at: version.offset, place.state)
        }
        active.removeAll(keepingCapacity: true)
    }

    private mutating func applyRecord(
        _ header: FrameHeader, at offset: JournalOffset, _ payload: Span<UInt8>
    ) throws(FormatError) {
        var cursor = ByteCursor()
        let head = try RecordHead(payload, &cursor)
        let name = Hash128(payload.extracting(head.name), seed: secret)
        let place = EntryPlace(header, at: offset, isDeleted: false).value
        state.map.set(.record(header.zone, name), place)
        if head.previous != .none { state.map.remove(.feed(header.zone, head.previous)) }
        state.map.set(.feed(header.zone, header.version), place)
        if !head.isUpdate {
            state.map.set(
                .type(header.zone, head.type, name), IndexValue(stamp: offset.rawValue))
        }
        touched[header.zone] = header.version
    }

    private mutating func applyTombstone(
        _ header: FrameHeader, at offset: JournalOffset, _ payload: Span<UInt8>
    ) throws(FormatError) {
        let tombstone = try Tombstone(payload)
        let name = Hash128(tombstone.name, seed: secret)
        let place = EntryPlace(header, at: offset, isDeleted: true).value
        state.map.set(.record(header.zone, name), place)
        state.map.remove(.feed(header.zone, tombstone.previous))
        state.map.set(.feed(header.zone, header.version), place)
        state.map.remove(.type(header.zone, tombstone.type, name))
        touched[header.zone] = header.version
    }

    private mutating func applyZone(_ entry: ZoneEntry, at offset: JournalOffset) {
        let place = ZonePlace(entry, at: offset)
        state.map.set(.zone(entry.database, Hash128(entry.name, seed: secret)), place.value)
        state.map.set(.zoneNumber(entry.number), place.value)
        state.zoneCount = max(state.zoneCount, entry.number)
        if !place.isAlive {
            state.map.remove(IndexKey().appending(entry.number).asPrefix)
            touched[entry.number] = nil
            active[entry.number] = nil
        }
        noteActivity(of: entry.number, in: entry.database, at: offset, entry.state)
    }

    private mutating func applyUser(_ entry: UserEntry, at offset: JournalOffset) {
        let stamp = offset.rawValue
        state.map.set(.user(entry.bits), IndexValue(stamp: stamp, first: UInt64(entry.number)))
        state.map.set(
            .userNumber(entry.number),
            IndexValue(stamp: stamp, first: entry.bits.high, second: entry.bits.low))
        state.userCount = max(state.userCount, entry.number)
    }

    private mutating func applyNames(_ addition: SchemaAddition) throws(FormatError) {
        guard addition.firstNumber == state.schema.names.count else {
            throw .value("first number")
        }
        state.schema = state.schema.adding(addition)
    }

    private mutating func applyMark(
        _ header: FrameHeader, at offset: JournalOffset, _ payload: Span<UInt8>
    ) throws(FormatError) {
        _ = try MarkEntry(payload)
        state.map.set(.mark(offset), EntryPlace(header, at: offset, isDeleted: false).value)
    }

    private mutating func noteActivity(
        of zone: UInt32, in database: UInt32, at offset: JournalOffset, _ zoneState: ZoneState
    ) {
        if let last = state.map[.activity(zone)] {
            state.map.remove(.databaseFeed(database, JournalOffset(rawValue: last.stamp)))
        }
        state.map.set(.activity(zone), IndexValue(stamp: offset.rawValue))
        state.map.set(
            .databaseFeed(database, offset),
            IndexValue(
                stamp: offset.rawValue, first: UInt64(zone),
                second: UInt64(zoneState.rawValue)))
    }

    private func zonePlace(_ zone: UInt32) -> ZonePlace? {
        state.map[.zoneNumber(zone)].flatMap { ZonePlace($0) }
    }
}

extension FormatError {
    fileprivate static let unknownKind = FormatError.value("kind")
}
