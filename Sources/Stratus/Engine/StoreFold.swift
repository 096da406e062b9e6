internal import StratusBytes
internal import StratusFiles
internal import StratusIndex
internal import StratusJournal

/// What the store makes of its journal: the index and the schema.
///
/// The same code runs over entries that were just staged, that an opening reads, and that come from
/// another process: what is rebuilt equals what is maintained, since there is no second way.
struct StoreFold: JournalFold, Sendable {
    /// Everything that grows with the journal, taken back as a whole.
    struct State: Sendable {
        var index: OrderedIndex
        var lease: IndexLease
        var numbers = StoreNumbers()
        var schema: Schema { numbers.schema }
        var zoneCount: UInt32 { numbers.zoneCount }
        var userCount: UInt32 { numbers.userCount }
        /// Where the last commit ends.
        var end = JournalOffset.zero
        /// Of the last commit, in microseconds since 1970.
        var lastTime: Int64 = 0
    }

    private(set) var state: State
    /// The state to go back to.
    private var marked: State?
    /// Whether a commit has begun since ``mark()`` that is not complete.
    private var isOpen = false
    /// The zones that the open commit changes.
    private var touched: [UInt32: ZoneChange] = [:]
    /// The same of the complete commits of the group.
    private var active: [UInt32: ZoneChange] = [:]
    /// The zones that the group made or deleted, and where.
    private var changed: [(zone: ZoneEntry, offset: JournalOffset)] = []
    private var operations = OperationFold()
    /// The zones in which something changed since ``forgetChanged()``; kept where others read.
    private(set) var changedZones: [ChangedZone] = []
    /// What records have ceased to name since ``forgetChanged()``, in bytes.
    private(set) var freedAssetBytes = 0
    /// Seeds the hashes of names.
    let secret: UInt64
    /// The points at which readers may look; nil while there are none.
    private let points: (@Sendable () -> NeededPoints)?
    /// Where nobody else keeps the index within memory: how large its memtable may become before it
    /// is written to disk at once.
    private let spillLimit: Int?
    /// Is told how far the journal was read.
    private let follow: (@Sendable (JournalOffset) -> Void)?

    private let released: ReleasedFiles

    init(
        _ state: State, secret: UInt64, _ released: ReleasedFiles, spillLimit: Int? = nil,
        follow: (@Sendable (JournalOffset) -> Void)? = nil,
        points: (@Sendable () -> NeededPoints)? = nil
    ) {
        self.state = state
        self.secret = secret
        self.released = released
        self.spillLimit = spillLimit
        self.follow = follow
        self.points = points
    }

    var preamble: [UInt8] { state.schema.preamble }
    var files: [String] { state.index.fileNames }

    /// What the other one has written lies there until the opening is done.
    mutating func replace(_ failed: StoreFold) {
        state.index.keepNumbers(of: failed.state.index)
    }

    /// The state without a commit that is still open.
    var committed: State { isOpen ? marked ?? state : state }

    mutating func mark() {
        marked = state
        isOpen = true
    }

    /// Takes back commits that were complete, too: those of a group that could not be written.
    mutating func abandon() {
        guard var marked else { preconditionFailure("there is a state to go back to") }
        marked.index.keepNumbers(of: state.index)
        // What a long commit had written of the index already is nobody's.
        let kept = Set(marked.index.fileNames)
        released.add(state.index.fileNames.filter { !kept.contains($0) })
        state = marked
        isOpen = false
        touched = [:]
        active = [:]
        changed = []
        operations.abandon()
    }

    mutating func apply(
        _ header: FrameHeader, at offset: JournalOffset, payload: Span<UInt8>
    ) throws(JournalDamage.Kind) {
        do throws(FormatError) {
            if header.kind.isInZone, !state.numbers.hasZone(header.zone) { throw .value("zone") }
            switch header.kind {
            case .record: try applyRecord(header, at: offset, payload)
            case .tombstone: try applyTombstone(header, at: offset, payload)
            case .zone: try applyZone(ZoneEntry(payload), at: offset)
            case .user: try applyUser(UserEntry(payload), at: offset)
            case .names: try state.numbers.add(SchemaAddition(payload))
            case .mark: try applyMark(header, at: offset, payload)
            case .operation:
                try operations.apply(
                    header, at: offset, payload, secret: secret, to: &state.index)
            case .chunks: try state.index.applyChunks(payload, at: offset)
            case .lostChunks: try state.index.applyLostChunks(payload, at: offset)
            case .clientToken:
                try OperationFold.applyClientToken(
                    header, at: offset, payload, secret: secret, to: &state.index)
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
        operations.complete(time: time, &state.index)
        for (zone, change) in touched {
            active[zone, default: ZoneChange()].add(change.usage, at: change.offset)
        }
        touched.removeAll(keepingCapacity: true)
    }

    /// The database feed names a zone once per group, at its latest change.
    mutating func endGroup() throws(JournalError) {
        do throws(IndexError) {
            var totals: [UInt32: ZoneChange] = [:]
            for (zone, offset) in changed {
                try noteActivity(
                    of: zone.number, in: zone.database, zone.state, ZoneChange(offset: offset),
                    &totals)
                noteChange(of: zone.number, in: zone.database)
            }
            changed.removeAll(keepingCapacity: true)
            for (zone, change) in active.count < 2
                ? Array(active) : active.sorted(by: { $0.key < $1.key })
            {
                let place = try state.index.value(of: .zoneNumber(zone), .blocking)
                guard let place = place.flatMap({ ZonePlace($0) }), place.isAlive else { continue }
                try noteActivity(of: zone, in: place.database, place.state, change, &totals)
                noteChange(of: zone, in: place.database)
            }
            active.removeAll(keepingCapacity: true)
            for (database, change) in totals { try add(change, to: database) }
            try operations.endGroup(&state.index)
            if let points { state.index.points = points() }
            state.index.endGroup()
            if let spillLimit, state.index.activeBytes >= spillLimit { try spill() }
            follow?(state.end)
        } catch {
            throw JournalError(error)
        }
    }

    private mutating func applyRecord(
        _ header: FrameHeader, at offset: JournalOffset, _ payload: Span<UInt8>
    ) throws(FormatError) {
        var cursor = ByteCursor()
        let head = try RecordHead(payload, &cursor)
        let name = Hash128(payload.extracting(head.name), seed: secret)
        let place = EntryPlace(header, at: offset, isDeleted: false).value
        // Of a name that was never used nothing older can be there.
        let isNew = head.previous == .none
        state.index.set(.record(header.zone, name), place, isFresh: isNew)
        if !isNew { state.index.remove(.feed(header.zone, head.previous), at: offset.rawValue) }
        state.index.set(.feed(header.zone, header.version), place, isFresh: true)
        if !head.isUpdate {
            state.index.set(
                .type(header.zone, head.type, name), IndexValue(stamp: offset.rawValue),
                isFresh: isNew)
        }
        try state.index.link(head, name, header.zone, at: offset, payload, cursor, secret)
        state.index.noteAssets(of: head, name, header.zone, place)
        freedAssetBytes &+= head.formerAssetBytes ?? 0
        let assetBytes = (head.assetBytes ?? 0) - (head.formerAssetBytes ?? 0)
        touch(
            header,
            Usage(
                recordCount: head.isUpdate ? 0 : 1,
                bytes: payload.count - head.replacedLength + assetBytes))
    }

    private mutating func applyTombstone(
        _ header: FrameHeader, at offset: JournalOffset, _ payload: Span<UInt8>
    ) throws(FormatError) {
        let tombstone = try Tombstone(payload)
        let name = Hash128(tombstone.name, seed: secret)
        let place = EntryPlace(header, at: offset, isDeleted: true).value
        state.index.set(.record(header.zone, name), place)
        state.index.remove(.feed(header.zone, tombstone.previous), at: offset.rawValue)
        state.index.set(.feed(header.zone, header.version), place, isFresh: true)
        state.index.remove(.type(header.zone, tombstone.type, name), at: offset.rawValue)
        state.index.unlink(tombstone, name, header.zone, at: offset, secret)
        if let freed = tombstone.assetBytes {
            // A record that was moved has them where it is now.
            if tombstone.destination == nil { freedAssetBytes &+= freed }
            state.index.remove(.assets(header.zone, name), at: offset.rawValue)
        }
        touch(header, Usage(recordCount: -1, bytes: -tombstone.takenBytes))
    }

    private mutating func touch(_ header: FrameHeader, _ usage: Usage) {
        touched[header.zone, default: ZoneChange()].add(usage, at: header.version.offset)
    }

    private mutating func applyZone(
        _ entry: ZoneEntry, at offset: JournalOffset
    ) throws(FormatError) {
        try state.numbers.add(entry)
        let place = ZonePlace(entry, at: offset)
        state.index.set(.zone(entry.database, Hash128(entry.name, seed: secret)), place.value)
        state.index.set(.zoneNumber(entry.number), place.value)
        if !place.isAlive { state.index.drop(partition: entry.number, at: offset.rawValue) }
        changed.append((entry, offset))
    }

    private mutating func applyUser(
        _ entry: UserEntry, at offset: JournalOffset
    ) throws(FormatError) {
        try state.numbers.add(entry)
        let stamp = offset.rawValue
        state.index.set(
            .user(entry.bits),
            IndexValue(
                stamp: stamp, first: UInt64(entry.number),
                second: UInt64(bitPattern: entry.created)))
        state.index.set(
            .userNumber(entry.number),
            IndexValue(stamp: stamp, first: entry.bits.high, second: entry.bits.low))
    }

    private mutating func applyMark(
        _ header: FrameHeader, at offset: JournalOffset, _ payload: Span<UInt8>
    ) throws(FormatError) {
        _ = try MarkEntry(payload)
        state.index.set(.mark(offset), EntryPlace(header, at: offset, isDeleted: false).value)
    }

    private mutating func noteActivity(
        of zone: UInt32, in database: UInt32, _ zoneState: ZoneState, _ change: ZoneChange,
        _ totals: inout [UInt32: ZoneChange]
    ) throws(IndexError) {
        let stamp = change.offset.rawValue
        var usage = Usage()
        if let last = try state.index.value(of: .activity(zone), .blocking) {
            if last.stamp == stamp { return }
            let old = JournalOffset(rawValue: last.stamp)
            state.index.remove(.databaseFeed(database, old), at: stamp)
            usage = Usage(last)
        }
        // What a zone holds goes with it.
        let difference = zoneState == .alive ? change.usage : usage.negated
        // How much of it are assets nobody knows.
        if zoneState != .alive { freedAssetBytes &+= max(0, usage.bytes) }
        usage.add(difference)
        state.index.set(.activity(zone), usage.value(at: stamp))
        state.index.set(
            .databaseFeed(database, change.offset),
            IndexValue(stamp: stamp, first: UInt64(zone), second: UInt64(zoneState.rawValue)),
            isFresh: true)
        totals[database, default: ZoneChange()].add(difference, at: change.offset)
    }

    private mutating func add(
        _ change: ZoneChange, to database: UInt32
    ) throws(IndexError) {
        if change.usage == Usage() { return }
        var usage = Usage(try state.index.value(of: .usage(database), .blocking))
        usage.add(change.usage)
        state.index.set(.usage(database), usage.value(at: change.offset.rawValue))
    }
}

// Keeping the index within memory.
extension StoreFold {
    /// The same, read by others from now on.
    func observed(
        spillLimit: Int?, points: @escaping @Sendable () -> NeededPoints
    ) -> StoreFold {
        StoreFold(state, secret: secret, released, spillLimit: spillLimit, points: points)
    }

    mutating func forgetChanged() {
        changedZones.removeAll(keepingCapacity: true)
        freedAssetBytes = 0
    }

    private mutating func noteChange(of zone: UInt32, in database: UInt32) {
        guard points != nil else { return }
        changedZones.append(ChangedZone(number: zone, database: database))
    }

    /// Writes the memtable to disk, and merges what is due.
    private mutating func spill() throws(IndexError) {
        state.index.freeze()
        if let job = state.index.checkpointJob(), let output = try job.run() { install(output) }
        // A commit that is open may be taken back, and then what was merged is needed again.
        while !isOpen, let job = state.index.mergeJob() {
            guard let output = try job.run() else { return }
            install(output)
        }
    }

    mutating func install(_ output: IndexJob.Output) {
        let given = state.index.install(output)
        if !given.isEmpty { state.lease = state.lease.giveUp(given) }
    }

    /// Gives `body` the index, for what is done to it between groups.
    mutating func withIndex<Result>(_ body: (inout OrderedIndex) -> Result) -> Result {
        body(&state.index)
    }
}

/// What commits have changed in a zone or a database.
private struct ZoneChange: Sendable {
    /// Where they did so last.
    var offset = JournalOffset.zero
    /// What they added.
    var usage = Usage()

    mutating func add(_ more: Usage, at offset: JournalOffset) {
        self.offset = max(self.offset, offset)
        usage.add(more)
    }
}

extension FormatError {
    fileprivate static let unknownKind = FormatError.value("kind")
}

extension JournalError {
    /// What is wrong with the index, in the words of the journal.
    init(_ error: IndexError) {
        switch error {
        case .storage(let error): self = .storage(error)
        case .damaged(let damage): self.init(JournalDamage(damage))
        }
    }
}

extension JournalDamage {
    init(_ damage: IndexDamage) {
        self.init(.above(damage.kind.identifier), file: damage.file, byte: damage.byte)
    }
}
