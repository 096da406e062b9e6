internal import StratusBytes
internal import StratusIndex
internal import StratusJournal

/// Turns the items of a batch into entries.
struct RecordEncoder {
    let reading: StoreReading
    let role: PreparingRole
    let zone: ZonePlace
    let user: UInt32
    let batch: RecordBatch
    private var fields: FieldEncoder
    /// Nil where the database has no quota.
    private var quota: QuotaRoom?

    /// A piece that goes through the sink once something follows it, since the last piece does not.
    private var fullPiece: (buffer: CommitBuffer, items: Range<Int>)?

    init(
        reading: StoreReading, role: PreparingRole, zone: ZonePlace, user: UInt32,
        batch: RecordBatch, numbers: NumberAssignment
    ) throws(StoreError) {
        self.reading = reading
        self.role = role
        self.zone = zone
        self.user = user
        self.batch = batch
        fields = FieldEncoder(batch: batch, numbers: numbers)
        quota = try QuotaRoom(batch.scope, zone.database, batch.limits, reading, role)
    }

    /// Adds the entries of all items that have a plan; those that cannot be encoded fail.
    mutating func encode(
        _ preparation: inout Preparation, sink: PieceSink
    ) throws(StoreError) {
        let items = batch.items
        // What a record usually takes, so that the buffer seldom grows.
        preparation.buffer = CommitBuffer(capacity: min(items.count * 448, role.pieceLimit))
        try fields.numbers.write(to: &preparation)
        var firstOfPiece = 0
        for index in items.indices {
            guard case .planned(let plan) = preparation.results[index] else { continue }
            do throws(StoreError) {
                let place = try encode(items[index], plan, &preparation)
                preparation.results[index] = .staged(place: place)
            } catch {
                if error.mustWait { throw error }
                preparation.results[index] = .failed(error.with(items[index].recordID))
            }
            if preparation.needsCommitter { return }
            if fullPiece != nil, !preparation.buffer.isEmpty {
                try emitFullPiece(&preparation, sink)
                if preparation.needsCommitter { return }
            }
            if preparation.buffer.lengthInBytes > role.pieceLimit * 3 / 4 {
                fullPiece = (preparation.buffer, firstOfPiece..<index + 1)
                firstOfPiece = index + 1
                preparation.buffer = CommitBuffer(capacity: role.pieceLimit)
            }
        }
        preparation.charge = quota?.charge
        // Nothing followed, or nothing that could be encoded.
        if let (buffer, _) = fullPiece.take() { preparation.buffer = buffer }
    }

    private mutating func emitFullPiece(
        _ preparation: inout Preparation, _ sink: PieceSink
    ) throws(StoreError) {
        guard let (buffer, items) = fullPiece.take() else { return }
        guard role.isCommitter else {
            preparation.needsCommitter = true
            return
        }
        let start: JournalOffset
        do {
            start = try sink(buffer)
        } catch {
            throw StoreError(error)
        }
        try preparation.resolve(items, of: batch, in: buffer, from: start, reading)
    }

    private mutating func encode(
        _ item: RecordBatch.Item, _ plan: ItemPlan, _ preparation: inout Preparation
    ) throws(StoreError) -> Int {
        let place = preparation.buffer.count
        switch (item, plan) {
        case (.save(let record), .insert(let previous)):
            let type = try fields.prepare(record, over: nil, &preparation)
            let now = role.now / 1000
            let head = RecordHead(
                type: type, modified: now, modifier: user, created: now, creator: user,
                previous: previous, isUpdate: false)
            let parent = record.parent?.recordID.recordName
            try append(head, of: record, parent: parent, from: [], to: &preparation)
        case (.save(let record), .update(let replaced, let held)):
            let entry = try entry(replaced, held)
            let (old, stored) = try decode(entry)
            _ = try fields.prepare(record, over: stored, &preparation)
            var head = RecordHead(
                type: old.type, modified: max(role.now / 1000, old.modified + 1), modifier: user,
                created: old.created, creator: old.creator, previous: replaced.version,
                isUpdate: true)
            head.replacedLength = entry.payloadRange.count
            let changesParent = batch.policy == .allKeys || record.parent != record.storedParent
            let parent =
                changesParent
                ? record.parent?.recordID.recordName
                : try text(of: entry) { bytes throws(FormatError) in try old.parent(in: bytes) }
            try append(head, of: record, parent: parent, from: entry.bytes, to: &preparation)
        case (.delete(let id), .delete(let replaced, let held)):
            let entry = try entry(replaced, held)
            let (old, _) = try decode(entry)
            var tombstone = Tombstone(
                type: old.type, name: id.recordName, previous: replaced.version, deleter: user,
                deleted: max(role.now / 1000, old.modified + 1))
            tombstone.replacedLength = entry.payloadRange.count
            try append(.tombstone, to: &preparation) { tombstone.write(to: &$0) }
            quota?.count(0, replacing: tombstone.replacedLength)
        default:
            preconditionFailure("a plan fits its item")
        }
        return place
    }

    private func entry(
        _ place: EntryPlace, _ held: JournalEntry?
    ) throws(StoreError) -> JournalEntry {
        if let held { return held }
        return try reading.entry(place)
    }

    private func decode(
        _ entry: JournalEntry
    ) throws(StoreError) -> (RecordHead, StoredFields) {
        do throws(FormatError) {
            let range = entry.payloadRange
            var cursor = ByteCursor(at: range.lowerBound)
            let head = try RecordHead(
                entry.bytes.span.extracting(0..<range.upperBound), &cursor)
            return (
                head,
                try StoredFields(
                    entry.bytes, at: cursor, end: range.upperBound,
                    schema: reading.schema)
            )
        } catch {
            throw StoreError(.damagedPayload(entry.offset))
        }
    }

    private func text(
        of entry: JournalEntry, _ body: (Span<UInt8>) throws(FormatError) -> String?
    ) throws(StoreError) -> String? {
        do throws(FormatError) {
            return try body(entry.bytes.span)
        } catch {
            throw StoreError(.damagedPayload(entry.offset))
        }
    }

    private mutating func append(
        _ head: RecordHead, of record: Record, parent: String?, from bytes: [UInt8],
        to preparation: inout Preparation
    ) throws(StoreError) {
        let allowed = quota?.payloadLimit(replacing: head.replacedLength) ?? .max
        let length = try append(.record, upTo: allowed, to: &preparation) { writer in
            head.write(name: record.recordID.recordName, parent: parent, to: &writer)
            fields.write(from: bytes, to: &writer)
        }
        quota?.count(length, replacing: head.replacedLength)
    }

    /// Returns the length of the payload, which may be `allowed`.
    @discardableResult
    private func append(
        _ kind: EntryKind, upTo allowed: Int = .max, to preparation: inout Preparation,
        payload: (inout ByteWriter) -> Void
    ) throws(StoreError) -> Int {
        var length = 0
        // The commit time may follow the payload.
        let room = role.payloadLimit - FrameFormat.timeLength
        do {
            try preparation.buffer.append(
                kind, zone: zone.number, incarnation: zone.incarnation,
                limit: min(room, allowed) + FrameFormat.timeLength
            ) { writer in
                let start = writer.count
                payload(&writer)
                length = writer.count - start
            }
        } catch {
            if let quota, length <= room { throw quota.error }
            throw StoreError(JournalError.entryTooLong)
        }
        return length
    }
}

extension Preparation {
    /// Turns staged items into the records they have become, now that it is known where the
    /// entries begin.
    mutating func resolve(
        _ items: Range<Int>, of batch: RecordBatch, in buffer: CommitBuffer,
        from start: JournalOffset, _ reading: StoreReading
    ) throws(StoreError) {
        for index in items {
            guard case .staged(let place) = results[index] else { continue }
            let record = try record(
                index, at: place, of: batch, in: buffer, from: start, reading)
            results[index] = record.map { .saved($0) } ?? .unchanged
        }
    }

    /// The record that an item has become; nil where it was deleted.
    func record(
        _ index: Int, at place: Int, of batch: RecordBatch, in buffer: CommitBuffer,
        from start: JournalOffset, _ reading: StoreReading
    ) throws(StoreError) -> Record? {
        guard case .save(let record) = batch.items[index], let bytes = buffer.payload(at: place)
        else { return nil }
        var id = record.recordID
        if id.zoneID != batch.zoneID { id.zoneID = batch.zoneID }
        let version = Version(
            incarnation: zone?.incarnation ?? 0, offset: start.advanced(byBytes: place))
        return try Record(bytes, 0..<bytes.count, version: version, as: id, schema: schema) {
            number throws(StoreError) in
            number == user ? batch.caller : try reading.user(number)
        }
    }
}

extension Record {
    /// What a save sends, under `policy`: values, and nil for fields to be removed.
    func sent(_ policy: SavePolicy, isInsert: Bool) -> [FieldEdits.Edit] {
        guard policy == .allKeys || isInsert, stored.count > 0 else { return edits.all }
        return allKeys.map {
            FieldEdits.Edit(key: $0, value: self[$0], isEncrypted: isEncrypted($0))
        }
            + edits.all.filter { $0.value == nil }
    }

    /// The record as it was before the caller's edits, where all of it is here.
    var ancestor: Record? {
        guard let system, stored.visible == nil else { return nil }
        return Record(
            recordType: recordType, recordID: recordID, system: system, parent: storedParent,
            stored: stored)
    }
}

extension RecordBatch {
    /// The kind of a value that a field of this zone may hold.
    func kind(of edit: FieldEdits.Edit, _ value: RecordValue) throws(StoreError) -> FieldKind {
        let areInside =
            switch value {
            case .reference(let reference): isInside(reference.recordID.zoneID)
            case .list(let values):
                values.allSatisfy { $0.referenceValue.map { isInside($0.recordID.zoneID) } ?? true }
            default: true
            }
        guard areInside else {
            throw StoreError(.invalidArguments, "a reference points into its own zone only")
        }
        let kind: FieldKind
        do {
            kind = try ValueFormat.kind(of: value)
        } catch {
            throw StoreError(
                .invalidArguments, "a list holds values of one kind, and no list")
        }
        return edit.isEncrypted ? try encrypted(kind) : kind
    }

    private func encrypted(_ kind: FieldKind) throws(StoreError) -> FieldKind {
        guard scope != .public else {
            throw StoreError(.invalidArguments, "the public database has no encrypted fields")
        }
        guard let marked = kind.encrypted else {
            throw StoreError(.invalidArguments, "a reference cannot be encrypted")
        }
        return marked
    }
}
