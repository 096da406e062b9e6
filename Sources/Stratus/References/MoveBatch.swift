internal import StratusBytes
internal import StratusIndex
internal import StratusJournal
internal import StratusEngine

/// Records that go from one zone of a database to another with all their descendants: one commit.
///
/// Takes memory for each record that goes, some hundred bytes.
struct MoveBatch: RecordedTransaction {
    let scope: DatabaseScope
    let caller: UserID
    /// The caller's name as the host gave it.
    let userName: String
    let ids: [Record.ID]
    let source: RecordZone.ID
    let destination: RecordZone.ID
    /// Nil where nothing is limited.
    let limits: Limits?
    /// What the caller says of the call.
    var operation: OperationRequest?
    /// Which of the caller's devices asks; nil: the one without a name.
    var device: String?
    /// The validators and triggers of the host; nil where there are none.
    var rules: RecordRules?

    /// Checks and encodes what moves; nil where that needs a serial context.
    func draftItems(
        _ reading: StoreReading, _ context: PreparationContext, sink: PartSink
    ) throws(EngineError) -> Draft? {
        var draft = Draft(reading)
        draft.readSet.append(KeySpace.indexes.key())
        try reading.checkAccount(of: .user(caller), in: scope)
        var numbers = NumberAssignment(reading, context)
        let (user, database) = try numbers.caller(caller, name: userName, in: scope, source)
        let old = try numbers.zone(source, in: database, &draft)
        let new = try numbers.zone(destination, in: database, &draft)
        guard let user, let old, let new else { return nil }
        draft.readSet += [KeySpace.shareRoots.key(zone: old.number), .identity(user)]
        draft.user = user
        draft.zone = new
        let author = Author(user, onDevice: device, seed: reading.identity.secret)
        var move = try Move(self, from: old, to: new, by: author, reading, context)
        let limit = context.isSerial ? Int.max : context.partLimit / 1024
        guard try move.collect(limit: limit, &draft) else { return nil }
        try move.check(&draft)
        draft.results = [ItemResult](repeating: .unchanged, count: ids.count)
        try numbers.write(to: &draft)
        return try move.encode(&draft, sink) ? draft : nil
    }

    /// The records that were moved, as they were then.
    func results(
        of operation: OperationEntry, _ version: Version, _ reading: StoreReading
    ) throws(EngineError) -> [ItemResult] {
        guard operation.outcomes.count == ids.count else {
            throw reading.damaged(at: version.offset)
        }
        var results = [ItemResult](repeating: .unchanged, count: ids.count)
        var users = UserNames(reading)
        for (index, outcome) in zip(byName, operation.outcomes) {
            guard case .saved(let saved) = outcome else {
                throw reading.damaged(at: version.offset)
            }
            guard let offset = saved.offset(from: version.offset) else {
                throw reading.damaged(at: version.offset)
            }
            guard let entry = try reading.keptEntry(at: offset), entry.kind == .record,
                try entry.isRecord(named: ids[index].recordName)
            else {
                throw .refused(
                    StoreError(.unknownItem, "what was moved then is not kept any more")
                        .with(ids[index]))
            }
            results[index] = .saved(try reading.record(entry, in: destination, &users))
        }
        return results
    }

    /// What became of the records that were named, once the commit was acknowledged.
    func records(
        of committed: borrowing Committed, _ reading: StoreReading
    ) throws(EngineError) -> [Record] {
        var records: [Record] = []
        for index in ids.indices {
            switch committed.draft.results[index] {
            case .done:
                if let record = committed.draft.results[index].record { records.append(record) }
            case .staged(let place):
                records.append(
                    try committed.draft.record(
                        at: place, of: self, index, in: committed.draft.buffer,
                        from: committed.start ?? .zero, reading))
            case .refused(let error): throw .other(error)
            case .unchanged, .planned: preconditionFailure("a record was moved or the call failed")
            }
        }
        return records
    }
}

extension MoveBatch {
    var zoneID: RecordZone.ID { destination }
    var recordNames: [String] { ids.map(\.recordName) }

    func leavesRecord(at index: Int) -> Bool { true }

    func resolve(
        _ draft: inout Draft, in part: CommitBuffer, from start: JournalOffset,
        _ reading: StoreReading
    ) throws(EngineError) {
        try draft.resolve(ids.indices, of: self, in: part, from: start, reading)
    }
}

/// A move as it is prepared against one state.
private struct Move: ~Copyable {
    private struct Moved {
        var name: Hash128
        var place: EntryLocation
        /// Of the tombstone that has the name in the new zone.
        var previous = Version.none
    }

    private let batch: MoveBatch
    private let old: ZonePlace
    private let new: ZonePlace
    private let author: Author
    private let reading: StoreReading
    private let context: PreparationContext
    /// Those that were named first, in their order.
    private var moved: [Moved] = []
    private var names: Set<Hash128> = []
    /// Nil where the database has no quota.
    private var quota: QuotaRoom?
    /// Whether the old zone has shares, or had some.
    private let wasEverShared: Bool
    /// Finds the subscriptions that the changes are of; nil where the store has none.
    private var matcher: SubscriptionMatcher?
    private var reliedTypes = ReliedTypes()
    /// The values that no two records of the new zone may have.
    private var unique = UniqueRows()
    /// The items whose records are in the buffer begin here.
    private var firstStaged = 0

    init(
        _ batch: MoveBatch, from old: ZonePlace, to new: ZonePlace, by author: Author,
        _ reading: StoreReading, _ context: PreparationContext
    ) throws(EngineError) {
        quota = try QuotaRoom(batch.scope, new.database, batch.limits, reading, context)
        wasEverShared = try reading.everShared(old)
        self.batch = batch
        self.old = old
        self.new = new
        self.author = author
        self.reading = reading
        self.context = context
    }

    /// Finds the records and their descendants; returns false where there are more than `limit`.
    mutating func collect(
        limit: Int, _ draft: inout Draft
    ) throws(EngineError) -> Bool {
        for id in batch.ids {
            let name = reading.hash(id.recordName)
            guard let place = try place(name, in: old, &draft) else {
                throw .refused(StoreError(.unknownItem, "there is no such record").with(id))
            }
            guard try reading.entry(place).isRecord(named: id.recordName) else {
                throw .refused(.hashCollision)
            }
            guard names.insert(name).inserted else {
                throw .refused(
                    StoreError(.invalidArguments, "a record is named twice in one call").with(id))
            }
            moved.append(Moved(name: name, place: place))
        }
        var next = 0
        while next < moved.count {
            let range = IndexKey.children(old.number, of: moved[next].name).asPrefix
            next += 1
            rely(on: range, &draft)
            var children: [Hash128] = []
            try reading.scan(range) { key, _ in
                children.append(key.linkedRecord)
                return children.count <= limit
            }
            for child in children where names.insert(child).inserted {
                guard let place = try place(child, in: old, &draft) else { continue }
                moved.append(Moved(name: child, place: place))
            }
            if moved.count > limit { return false }
        }
        return true
    }

    /// Nothing that stays may be linked to what goes, and no name may be taken.
    mutating func check(_ draft: inout Draft) throws(EngineError) {
        for index in moved.indices {
            let entry = try reading.entry(moved[index].place)
            let tombstone = try entry.tombstone(by: author, now: 0, reading)
            let id = Record.ID(recordName: tombstone.name, zoneID: batch.source)
            let head = try entry.recordHead().head
            // Asked of the index: while a share grows, its root does not say so.
            let share = try reading.share(ofRoot: moved[index].name, in: old.number)
            guard reading.schema.name(head.type) != Record.shareType, share?.hasMembers != true
            else { throw .refused(StoreError.sharesStay.with(id)) }
            if let rules = batch.rules, let type = reading.schema.name(head.type),
                rules.concern(type)
            {
                throw .refused(StoreError.rulesStay.with(id))
            }
            guard UserID(recordName: tombstone.name) == nil else {
                throw .refused(
                    StoreError(
                        .permissionFailure, "a user's record stays in the default zone"
                    ).with(id))
            }
            var isApart = tombstone.parent.map { !names.contains(reading.hash($0)) } ?? false
            for link in tombstone.cascadeLinks {
                let target = reading.hash(link.target)
                // One that is not there dangles here as there.
                if !names.contains(target), try place(target, in: old, &draft) != nil {
                    isApart = true
                }
            }
            let range = IndexKey.references(old.number, to: moved[index].name).asPrefix
            rely(on: range, &draft)
            try reading.scan(range) { key, _ in
                if !names.contains(key.linkedRecord) { isApart = true }
                return !isApart
            }
            guard !isApart else { throw .refused(StoreError.linkAcrossZones.with(id)) }
            guard let taken = try self.entry(moved[index].name, in: new, &draft) else {
                continue
            }
            guard taken.isDeleted else {
                var error = StoreError(.serverRecordChanged, "record to insert already exists")
                error.serverRecord = try reading.record(
                    taken, as: Record.ID(recordName: id.recordName, zoneID: batch.destination))
                throw .refused(error.with(id))
            }
            moved[index].previous = taken.version
        }
    }

    /// A tombstone in the old zone and a record in the new one for each. Returns false where they
    /// take more than a part, and the context is not serial.
    mutating func encode(_ draft: inout Draft, _ sink: PartSink) throws(EngineError) -> Bool {
        matcher = try SubscriptionMatcher(
            reading, context, in: new.database, by: author, batch.caller, reading.schema)
        for index in moved.indices {
            guard try flushIfFull(upTo: index, &draft, sink) else { return false }
            let place = try encode(index, &draft)
            if index < batch.ids.count { draft.results[index] = .staged(place: place) }
            guard try addMatches(upTo: index + 1, &draft, sink) else { return false }
        }
        matcher?.close()
        guard try addMatches(upTo: moved.count, &draft, sink) else { return false }
        draft.readSet += matcher?.readSet ?? []
        try checkUnique(&draft)
        if let quota, quota.isExceeded { throw .refused(quota.error) }
        draft.charge = quota?.charge
        return true
    }

    /// Makes room for another entry: the last part does not go through the sink. `end` is behind
    /// the last item that was staged. Returns false where only a serial context can go on.
    private mutating func flushIfFull(
        upTo end: Int, _ draft: inout Draft, _ sink: PartSink
    ) throws(EngineError) -> Bool {
        guard draft.buffer.lengthInBytes > context.partLimit / 2 else { return true }
        guard context.isSerial else { return false }
        let buffer = draft.buffer
        draft.buffer = CommitBuffer(capacity: context.partLimit)
        let start = try sink(.append(buffer)).start
        try draft.resolve(firstStaged..<end, of: batch, in: buffer, from: start, reading)
        firstStaged = end
        return true
    }

    /// Adds what follows from the subscriptions that were found, likewise.
    private mutating func addMatches(
        upTo end: Int, _ draft: inout Draft, _ sink: PartSink
    ) throws(EngineError) -> Bool {
        while let output = try matcher?.next() {
            guard try flushIfFull(upTo: end, &draft, sink) else { return false }
            try draft.buffer.add(output, limit: context.payloadLimit)
        }
        return matcher?.isTooLong != true
    }

    /// No record of the new zone may have the values of one that comes, under a unique index.
    private func checkUnique(_ draft: inout Draft) throws(EngineError) {
        var ranges: [Range<IndexKey>] = []
        let conflicts = try unique.conflicts(reading, relyingOn: &ranges) { _ in true }
        for range in ranges { rely(on: range, &draft) }
        guard let first = conflicts.values.min(by: { $0.item < $1.item }) else { return }
        let error = StoreError.duplicate(
            reading.columns(of: first.index),
            of: try reading.recordID(first.other, in: new, as: batch.destination))
        let own = try reading.recordID(moved[first.item].name, in: old, as: batch.source)
        throw .refused(own.map { error.with($0) } ?? error)
    }

    private mutating func encode(
        _ index: Int, _ draft: inout Draft
    ) throws(EngineError) -> Int {
        let moved = moved[index]
        let entry = try reading.entry(moved.place)
        let (old, fields) = try entry.recordHead()
        // They are written again as they are.
        let stored = try reading.fields(of: entry, old, at: fields)
        var tombstone = try entry.tombstone(by: author, now: context.now / 1000, reading)
        tombstone.destination = new.number
        if wasEverShared {
            if !context.isSerial { draft.readSet.append(.member(self.old.number, moved.name)) }
            tombstone.membership = try reading.membership(of: tombstone.name, in: self.old)
        }
        var head = RecordHead(
            type: old.type, modified: tombstone.deleted, by: author, created: old.created,
            creator: old.creator, previous: moved.previous, isUpdate: false,
            origin: MoveOrigin(zone: self.old.number, version: entry.version))
        head.assetBytes = old.assetBytes
        let rows: IndexStatement
        do throws(FormatError) {
            rows = try IndexStatement(allOf: head, stored, reading.indexes.of(type: old.type))
        } catch {
            throw .damaged(entry)
        }
        let links = LinkChange(hasCascadeLinks: old.hasCascadeLinks)
        let content = entry.bytes.span.extracting(fields.position..<entry.payloadRange.upperBound)
        try draft.buffer.add(.tombstone, in: self.old, limit: context.payloadLimit) {
            tombstone.write(to: &$0)
        }
        let place = draft.buffer.count
        var length = 0
        try draft.buffer.add(.record, in: new, limit: context.payloadLimit) { writer in
            let start = writer.count
            head.write(
                name: tombstone.name, parent: tombstone.parent, links: links, indexRows: rows,
                to: &writer)
            writer.append(content)
            length = writer.count - start
        }
        quota?.count(length, replacing: tombstone.replacedLength)
        unique.add(rows, of: tombstone.name, in: new, item: index, reading)
        if !context.isSerial {
            reliedTypes.add(old.type, in: new.database, reading, to: &draft)
        }
        try matcher?.delete(entry, in: AnchorZone(self.old, name: batch.source.zoneName))
        try matcher?.save(
            stored,
            RecordChange(.created, type: old.type, name: tombstone.name, creator: old.creator),
            in: AnchorZone(new, name: batch.destination.zoneName)
        ) {
            draft.buffer.payload(at: place)
        }
        return place
    }

    private func place(
        _ name: Hash128, in zone: ZonePlace, _ draft: inout Draft
    ) throws(EngineError) -> EntryLocation? {
        try entry(name, in: zone, &draft).flatMap { $0.isDeleted ? nil : $0 }
    }

    /// The last entry of a name: a record or a tombstone.
    private func entry(
        _ name: Hash128, in zone: ZonePlace, _ draft: inout Draft
    ) throws(EngineError) -> EntryLocation? {
        let key = IndexKey.record(zone.number, name)
        if !context.isSerial { draft.readSet.append(key) }
        return try reading.value(key).map { EntryLocation($0) }
    }

    /// Only where another commit may come between: a serial preparation excludes that.
    private func rely(on range: Range<IndexKey>, _ draft: inout Draft) {
        if !context.isSerial { draft.readRanges.append(range) }
    }
}

extension Draft {
    /// Turns what was staged of a move into records, now that it is known where they begin.
    fileprivate mutating func resolve(
        _ moved: Range<Int>, of batch: MoveBatch, in buffer: CommitBuffer,
        from start: JournalOffset, _ reading: StoreReading
    ) throws(EngineError) {
        for index in moved.clamped(to: batch.ids.indices) {
            guard case .staged(let place) = results[index] else { continue }
            results[index] = .saved(
                try record(at: place, of: batch, index, in: buffer, from: start, reading))
        }
    }

    /// The record that was moved as the `index`th.
    fileprivate func record(
        at place: Int, of batch: MoveBatch, _ index: Int, in buffer: CommitBuffer,
        from start: JournalOffset, _ reading: StoreReading
    ) throws(EngineError) -> Record {
        let id = Record.ID(recordName: batch.ids[index].recordName, zoneID: batch.destination)
        return try record(
            buffer.payload(at: place) ?? [], of: start.advanced(byBytes: place), as: id,
            by: batch.caller, reading)
    }
}

extension StoreError {
    static let sharesStay = StoreError(
        .invalidArguments, "what is shared stays in its zone: its share is deleted first")
    static let linkAcrossZones = StoreError(
        .referenceViolation,
        "its parent, or a record linked to it by deleteSelf, would stay in the other zone")
}
