internal import FoundationEssentials
internal import StratusBytes
internal import StratusIndex
internal import StratusJournal
internal import StratusEngine

/// How a caller names a call, and what the caller's device says with it: `Formats/README.md`,
/// "Operations".
struct OperationLabel: Sendable {
    let id: String?
    let token: Data?
    let device: String
    /// Nil of a call that is made at once.
    let longLived: LongLivedRun?

    /// Nil where nothing is said.
    init?(
        _ id: String?, _ token: Data?, device: String?, longLived: LongLivedRun? = nil
    ) throws(EngineError) {
        if id == nil, token == nil { return nil }
        if let id, id.isEmpty || id.utf8.count > NameRules.limit {
            throw .refused(.invalidArguments, "an operationID has 1 to 255 bytes")
        }
        if let token, token.count > ClientTokenEntry.tokenLimit {
            throw .refused(.invalidArguments, "clientChangeTokenData has at most 4096 bytes")
        }
        self.id = id
        self.token = token
        self.device = device ?? ""
        self.longLived = longLived
        guard self.device.utf8.count <= NameRules.limit else {
            throw .refused(.invalidArguments, "the name of a device has at most 255 bytes")
        }
    }

    /// The request of a call that saves and deletes records.
    func request(
        _ items: [RecordBatch.Item], _ policy: SavePolicy, atomically: Bool,
        in scope: DatabaseScope, secret: UInt64
    ) -> OperationRequest {
        OperationRequest(self) {
            OperationRequest.hash(items, policy, atomically, token, device, scope, secret: secret)
        }
    }

    /// That of a move.
    func request(
        moving ids: [Record.ID], to zone: RecordZone.ID, in scope: DatabaseScope, secret: UInt64
    ) -> OperationRequest {
        OperationRequest(self) { OperationRequest.hash(ids, to: zone, scope, secret: secret) }
    }
}

/// What a caller says of a call besides what is to be changed.
struct OperationRequest: Sendable {
    private let label: OperationLabel
    /// Of all that the call asks for, in any order.
    private let hash: Hash128

    fileprivate init(_ label: OperationLabel, hash: () -> Hash128) {
        self.label = label
        self.hash = label.id == nil ? Hash128(high: 0, low: 0) : hash()
    }

    var id: String? { label.id }
    /// Nil of a call that is made at once.
    var longLived: LongLivedRun? { label.longLived }
    private var device: String { label.device }
    private var token: Data? { label.token }

    fileprivate static func hash(
        _ ids: [Record.ID], to zone: RecordZone.ID, _ scope: DatabaseScope, secret: UInt64
    ) -> Hash128 {
        var writer = ByteWriter()
        // No policy: no call that saves or deletes begins like this.
        writer.uint8(.max)
        scope.write(to: &writer)
        writer.countedText(ids.first?.zoneID.zoneName ?? "")
        writer.countedText(zone.zoneName)
        for name in ids.map(\.recordName).sorted() { writer.countedText(name) }
        return Hash128(writer.bytes.span, seed: secret)
    }

    /// A caller may keep what is to be saved in a set, so that it comes in another order.
    fileprivate static func hash(
        _ items: [RecordBatch.Item], _ policy: SavePolicy, _ atomically: Bool, _ token: Data?,
        _ device: String, _ scope: DatabaseScope, secret: UInt64
    ) -> Hash128 {
        var writer = ByteWriter()
        let hashes = items.map { item in
            writer.removeAll()
            // Elsewhere the owner is one, who may be named in two ways.
            if case .shared = scope { writer.countedText(item.recordID.zoneID.ownerName) }
            item.write(policy, to: &writer)
            return Hash128(writer.bytes.span, seed: secret)
        }
        writer.removeAll()
        writer.uint8(UInt8(policy.rawValue))
        scope.write(to: &writer)
        writer.uint8(atomically ? 1 : 0)
        writer.uint8(token == nil ? 0 : 1)
        writer.countedText(device)
        writer.varint(token?.count ?? 0)
        if let token { writer.append(contentsOf: token) }
        for hash in hashes.sorted() {
            writer.hash(hash)
        }
        return Hash128(writer.bytes.span, seed: secret)
    }
}

extension DatabaseScope {
    /// What tells the calls of one user in different databases apart.
    fileprivate func write(to writer: inout ByteWriter) {
        switch self {
        case .public: break
        case .private(let owner): writer.hash(owner.bits)
        case .shared(let user):
            writer.uint8(3)
            writer.hash(user.bits)
        }
    }
}

extension ShareEdit {
    /// All that makes it what it is, for the hash of a request.
    fileprivate func write(to writer: inout ByteWriter) {
        writer.uint8(creation == nil ? 0 : 1)
        if case .root(let root, _)? = creation { writer.countedText(root.recordName) }
        writer.uint8(UInt8(publicPermission?.rawValue ?? 0))
        writer.uint8(participants == nil ? 0 : 1)
        for participant in participants ?? [] {
            writer.countedText(participant.participantID)
            writer.uint8(UInt8(participant.role.rawValue))
            writer.uint8(UInt8(participant.permission.rawValue))
        }
    }
}

extension RecordBatch.Item {
    /// All that makes it what it is, for the hash of a request.
    fileprivate func write(_ policy: SavePolicy, to writer: inout ByteWriter) {
        writer.countedText(recordID.zoneID.zoneName)
        writer.countedText(recordID.recordName)
        let record: Record
        let rule: SaveRule
        switch self {
        case .delete(_, let tag):
            writer.uint8(0)
            if let tag { writer.countedText(tag) }
            return
        case .save(let saved, let its): (record, rule) = (saved, its)
        }
        // 1 stands for the rule of the whole call.
        writer.uint8(
            rule == SaveRule(policy)
                ? 1 : 2 + UInt8(rule.policy.rawValue) * 2 + (rule.replaces ? 1 : 0))
        writer.countedText(record.recordType)
        writer.uint64(record.version ?? 0)
        writer.countedText(record.parent?.recordID.recordName ?? "")
        record.shareEdit?.write(to: &writer)
        let sent = record.sent(rule.policy, isInsert: false)
        for edit in sent.sorted(by: { $0.key < $1.key }) {
            writer.countedText(edit.key)
            // A value of no kind is refused before anything is recorded.
            guard let value = edit.value, let kind = try? ValueFormat.kind(of: value) else {
                writer.uint8(0)
                continue
            }
            writer.uint8(kind.rawValue)
            writer.varint(ValueFormat.length(of: value))
            ValueFormat.write(value, to: &writer)
        }
    }
}

/// A commit of which it is recorded what became of each of its items.
protocol RecordedTransaction: Transaction {
    var scope: DatabaseScope { get }
    var caller: UserID { get }
    /// Where it is recorded.
    var zoneID: RecordZone.ID { get }
    /// What the caller says of the call; nil: nothing, and nothing is recorded.
    var operation: OperationRequest? { get }
    /// Those of the items, in their order.
    var recordNames: [String] { get }

    /// Whether the record of an item is there when it is done.
    func leavesRecord(at index: Int) -> Bool
    /// Turns what was staged in a part into records.
    func resolve(
        _ draft: inout Draft, in part: CommitBuffer, from start: JournalOffset,
        _ reading: StoreReading
    ) throws(EngineError)

    /// Checks and encodes the items, as if it were done for the first time; nil where that needs a
    /// serial context.
    func draftItems(
        _ reading: StoreReading, _ context: PreparationContext, sink: PartSink
    ) throws(EngineError) -> Draft?
    /// What the items were answered when it was done, as the entry of that version says.
    func results(
        of operation: OperationEntry, _ version: Version, _ reading: StoreReading
    ) throws(EngineError) -> [ItemResult]
}

extension RecordedTransaction {
    /// An operation is done once: `Formats/README.md`, "Operations".
    func draft(
        _ reading: StoreReading, _ context: PreparationContext, sink: PartSink
    ) throws(EngineError) -> Draft? {
        guard let operation else { return try draftItems(reading, context, sink: sink) }
        try operation.longLived?.checkIsKept(reading)
        let zone = try reading.livingZone(zoneID, in: scope)
        if let done = try operation.recorded(by: caller, in: zone, reading, now: context.now) {
            var draft = Draft(reading)
            draft.results = try results(of: done.operation, done.version, reading)
            if operation.longLived?.isReplay == false, done.operation.submitted == nil {
                try operation.keep(done.operation, done.version, in: zone, &draft, reading, context)
            }
            return draft
        }
        if operation.longLived?.isReplay == true { throw .refused(.notRecorded) }
        guard var draft = try draftItems(reading, context, sink: sink) else { return nil }
        // Once a cancellation is acknowledged, nothing more is done.
        if let longLived = operation.longLived { draft.readSet.append(.request(longLived.name)) }
        if let range = operation.range(of: caller, reading) {
            draft.readRanges.append(range)
        }
        let isDone = try operation.append(to: &draft, of: self, reading, context, sink: sink)
        return isDone ? draft : nil
    }

    /// The items in the order of their names, in which what became of them is recorded.
    var byName: [Int] {
        let names = recordNames
        return names.indices.sorted {
            names[$0].utf8.lexicographicallyPrecedes(names[$1].utf8)
        }
    }
}

extension OperationRequest {
    /// What the operation recorded in this zone when it was done; nil where it was not, or too
    /// long ago.
    ///
    /// - Throws: ``StoreError/reusedOperationID`` where it was another one.
    func recorded(
        by caller: UserID, in zone: UInt32?, _ reading: StoreReading, now: Int64
    ) throws(EngineError) -> (operation: OperationEntry, version: Version)? {
        guard let id else { return nil }
        var found: (OperationEntry, Version)?
        try reading.scan(key(id, of: caller, reading).asPrefix) {
            _, value throws(EngineError) in
            let entry = try reading.entry(EntryLocation(value))
            guard let time = entry.commitTime, entry.kind == .operation,
                let operation = entry.withPayload({ try? OperationEntry($0) })
            else { throw .damaged(entry) }
            guard operation.id == id, operation.caller == caller.bits,
                now <= operation.end(time)
            else { return true }
            guard operation.request == hash else { throw .refused(.reusedOperationID) }
            if entry.zone == zone { found = (operation, entry.version) }
            return true
        }
        return found
    }

    /// Adds what a call that was made at once has recorded once more, so that it is known for as long
    /// as the request that repeats the call.
    func keep(
        _ done: OperationEntry, _ version: Version, in zone: UInt32?, _ draft: inout Draft,
        _ reading: StoreReading, _ context: PreparationContext
    ) throws(EngineError) {
        var entry = done
        entry.submitted = longLived?.submitted
        entry.outcomes = try done.outcomes.map { outcome throws(EngineError) in
            guard case .saved(var saved) = outcome else { return outcome }
            guard let offset = saved.offset(from: version.offset) else {
                throw reading.damaged(at: version.offset)
            }
            saved.place = .at(offset)
            return .saved(saved)
        }
        if let longLived { draft.readSet.append(.request(longLived.name)) }
        if let range = range(of: UserID(bits: done.caller), reading) {
            draft.readRanges.append(range)
        }
        try draft.add(entry, in: zone ?? 0, context)
    }

    /// The keys that a concurrent repeat, or another concurrent call under the operationID, would
    /// write, in whatever zone.
    func range(of caller: UserID, _ reading: StoreReading) -> Range<IndexKey>? {
        id.map { key($0, of: caller, reading).asPrefix }
    }

    private func key(_ id: String, of caller: UserID, _ reading: StoreReading) -> IndexKey {
        .operation(
            Hash128(
                OperationEntry.identity(caller.bits, id).span, seed: reading.identity.secret))
    }

    /// Adds what is to be known of the operation, and what the device said, behind the changes.
    /// Returns false where that needs a serial context.
    func append(
        to draft: inout Draft, of batch: some RecordedTransaction, _ reading: StoreReading,
        _ context: PreparationContext, sink: PartSink
    ) throws(EngineError) -> Bool {
        guard let zone = draft.zone else { return true }
        let hasChanges = !draft.buffer.isEmpty
        // A call of which nothing was done has not arrived, so its token is not kept. Nor is it in
        // a zone without a feed, since only a feed returns it.
        if let token, zone.capabilities.contains(.fetchChanges),
            draft.results.contains(where: { !$0.hasFailed })
        {
            let entry = ClientTokenEntry(caller: batch.caller.bits, device: device, token: token)
            try draft.buffer.add(.clientToken, in: zone) { entry.write(to: &$0) }
        }
        guard let id else { return true }
        if !hasChanges {
            // What a long-lived request came to is recorded in any case, where there is a zone: one
            // that would be made for the changes is not.
            guard longLived != nil, zone.offset != .zero else { return true }
        }
        var length = 64 + id.utf8.count
        for result in draft.results {
            length += OperationEntry.greatestLength(reason: result.error?.reason.utf8.count)
        }
        if draft.buffer.lengthInBytes + length > context.partLimit {
            guard context.isSerial else { return false }
            try draft.sendPart(of: batch, reading, sink)
        }
        let here = draft.buffer.count
        let entry = OperationEntry(
            caller: batch.caller.bits, id: id, request: hash,
            outcomes: try batch.byName.map { index throws(EngineError) in
                try draft.outcome(of: index, before: here, batch, reading)
            }, submitted: longLived?.submitted)
        try draft.add(entry, in: zone.number, context)
        return true
    }
}

extension Draft {
    fileprivate mutating func add(
        _ entry: OperationEntry, in zone: UInt32, _ context: PreparationContext
    ) throws(EngineError) {
        do throws(FrameFault) {
            try buffer.append(.operation, zone: zone, limit: context.payloadLimit) {
                entry.write(to: &$0)
            }
        } catch {
            throw .refused(
                .limitExceeded, "too many records for one operation with an operationID")
        }
    }

    /// Sends what there is as a part, so that the operation stands alone in the last one.
    fileprivate mutating func sendPart(
        of batch: some RecordedTransaction, _ reading: StoreReading, _ sink: PartSink
    ) throws(EngineError) {
        let part = buffer
        buffer = CommitBuffer()
        let start = try sink(.append(part)).start
        try batch.resolve(&self, in: part, from: start, reading)
    }

    /// What has become of the item of that number, told from `here` on in the buffer.
    fileprivate func outcome(
        of index: Int, before here: Int, _ batch: some RecordedTransaction, _ reading: StoreReading
    ) throws(EngineError) -> OperationEntry.Outcome {
        switch results[index] {
        case .unchanged, .planned: return .gone
        case .refused(let error):
            let error = StoreError(translating: error)
            return .failed(
                code: error.code.rawValue, reason: error.reason,
                server: error.serverRecord?.system?.version ?? 0)
        case .done:
            guard let system = results[index].record?.system else { return .gone }
            return .saved(
                OperationEntry.Saved(
                    place: .at(Version(rawValue: system.version).offset),
                    modified: system.modified, created: system.created,
                    creator: system.creator.bits))
        case .staged(let place):
            guard batch.leavesRecord(at: index), let payload = buffer.payload(at: place) else {
                return .gone
            }
            var cursor = ByteCursor()
            guard let head = try? RecordHead(payload.span, &cursor) else { return .gone }
            let creator = head.creator == user ? batch.caller : try reading.user(head.creator)
            return .saved(
                OperationEntry.Saved(
                    place: .before(UInt64((here - place) / JournalOffset.unit)),
                    modified: head.modified, created: head.created,
                    creator: (creator ?? batch.caller).bits))
        }
    }
}

extension StoreError {
    static let reusedOperationID = StoreError(
        .invalidArguments, "another operation was done under this operationID")
}
