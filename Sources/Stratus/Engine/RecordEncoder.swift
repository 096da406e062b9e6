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
    var numbers: NumberAssignment

    /// Where the value of a field comes from.
    private enum Source {
        /// The bytes of the version that is replaced.
        case stored(Range<Int>)
        case value(RecordValue)
    }

    private struct Field {
        var number: UInt32
        var kind: FieldKind
        /// Of the encoded value, in bytes.
        var length: Int
        var source: Source
    }

    /// A piece that goes through the sink once something follows it, since the last piece does not.
    private var fullPiece: (buffer: CommitBuffer, items: Range<Int>)?

    init(
        reading: StoreReading, role: PreparingRole, zone: ZonePlace, user: UInt32,
        batch: RecordBatch, numbers: NumberAssignment
    ) {
        self.reading = reading
        self.role = role
        self.zone = zone
        self.user = user
        self.batch = batch
        self.numbers = numbers
    }

    /// Adds the entries of all items that have a plan; those that cannot be encoded fail.
    mutating func encode(
        _ plans: [RecordBatch.Plan], into preparation: inout Preparation, sink: PieceSink
    ) throws(StoreError) {
        let items = batch.items
        try numbers.write(to: &preparation)
        var firstOfPiece = 0
        for (index, plan) in plans.enumerated() {
            if case .nothing = plan { continue }
            do throws(StoreError) {
                let place = try encode(items[index], plan, &preparation)
                preparation.results[index] = .staged(place: place)
            } catch {
                preparation.results[index] = .failed(error.with(items[index].recordID))
            }
            if preparation.needsCommitter { return }
            if !preparation.buffer.isEmpty { try emitFullPiece(&preparation, sink) }
            if preparation.needsCommitter { return }
            if preparation.buffer.lengthInBytes > role.pieceLimit * 3 / 4 {
                fullPiece = (preparation.buffer, firstOfPiece..<index + 1)
                firstOfPiece = index + 1
                preparation.buffer = CommitBuffer(capacity: role.pieceLimit)
            }
        }
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
        preparation.resolve(
            items, in: buffer, from: start, batch.zoneID, reading, batch.caller)
    }

    private mutating func encode(
        _ item: RecordBatch.Item, _ plan: RecordBatch.Plan, _ preparation: inout Preparation
    ) throws(StoreError) -> Int {
        let place = preparation.buffer.count
        switch (item, plan) {
        case (.save(let record), .insert(let previous)):
            let fields = try fields(of: record, over: nil, &preparation)
            let now = role.now / 1000
            let head = RecordHead(
                type: try type(of: record, &preparation), name: record.recordID.recordName,
                modified: now, modifier: user, created: now, creator: user, previous: previous,
                parent: record.parent?.recordID.recordName, isUpdate: false)
            try append(head, fields, from: [], to: &preparation)
        case (.save(let record), .update(let replaced, let held)):
            let entry = try entry(replaced, held)
            let (old, stored) = try decode(entry)
            let fields = try fields(of: record, over: stored, &preparation)
            let changesParent = batch.policy == .allKeys || record.parent != record.storedParent
            let head = RecordHead(
                type: old.type, name: old.name, modified: max(role.now / 1000, old.modified + 1),
                modifier: user, created: old.created, creator: old.creator,
                previous: replaced.version,
                parent: changesParent ? record.parent?.recordID.recordName : old.parent,
                isUpdate: true)
            try append(head, fields, from: entry.bytes, to: &preparation)
        case (.delete, .delete(let replaced, let held)):
            let (old, _) = try decode(try entry(replaced, held))
            let tombstone = Tombstone(
                type: old.type, name: old.name, previous: replaced.version, deleter: user,
                deleted: max(role.now / 1000, old.modified + 1))
            try append(.tombstone, to: &preparation) { tombstone.write(to: &$0) }
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
                    schema: reading.state.schema)
            )
        } catch {
            throw StoreError(.damagedPayload(entry.offset))
        }
    }

    /// The fields to write, in order of their numbers: what the caller sends over what there is.
    private mutating func fields(
        of record: Record, over stored: StoredFields?, _ preparation: inout Preparation
    ) throws(StoreError) -> [Field] {
        var fields: [Field] = []
        let type = try type(of: record, &preparation)
        var replaced: Set<UInt32> = []
        let sent = record.sent(batch.policy, isInsert: stored == nil)
        fields.reserveCapacity(sent.count + (stored?.count ?? 0))
        for edit in sent {
            guard let value = edit.value else {
                // A name that nobody ever used gets no number for being taken away.
                if let known = try numbers.known(edit.key) { replaced.insert(known) }
                continue
            }
            guard let number = try numbers.name(edit.key, in: &preparation) else { continue }
            if stored != nil { replaced.insert(number) }
            let kind = try batch.kind(of: value)
            try numbers.fix(
                kind, of: Schema.Column(type: type, field: number), edit.key, in: &preparation)
            fields.append(
                Field(
                    number: number, kind: kind, length: ValueFormat.length(of: value),
                    source: .value(value)))
        }
        stored?.forEach { field in
            if !replaced.contains(field.number) {
                fields.append(
                    Field(
                        number: field.number, kind: field.kind, length: field.range.count,
                        source: .stored(field.range)))
            }
            return true
        }
        fields.sort { $0.number < $1.number }
        return fields
    }

    private mutating func type(
        of record: Record, _ preparation: inout Preparation
    ) throws(StoreError) -> UInt32 {
        try numbers.name(record.recordType, in: &preparation) ?? 0
    }

    private func append(
        _ head: RecordHead, _ fields: [Field], from bytes: [UInt8],
        to preparation: inout Preparation
    ) throws(StoreError) {
        try append(.record, to: &preparation) { writer in
            head.write(to: &writer)
            writer.varint(fields.count)
            for field in fields {
                FieldTable.write(
                    number: field.number, kind: field.kind, length: field.length, to: &writer)
            }
            for field in fields {
                switch field.source {
                case .stored(let range): writer.append(bytes.span.extracting(range))
                case .value(let value): ValueFormat.write(value, to: &writer)
                }
            }
        }
    }

    private func append(
        _ kind: EntryKind, to preparation: inout Preparation, payload: (inout ByteWriter) -> Void
    ) throws(StoreError) {
        do {
            try preparation.buffer.append(
                kind, zone: zone.number, incarnation: zone.incarnation, limit: role.payloadLimit,
                payload: payload)
        } catch {
            throw StoreError(JournalError.entryTooLong)
        }
    }
}

extension Preparation {
    /// Turns staged items into the records they have become, now that it is known where the
    /// entries begin.
    mutating func resolve(
        _ items: Range<Int>, in buffer: CommitBuffer, from start: JournalOffset,
        _ zoneID: RecordZone.ID,
        _ reading: StoreReading, _ caller: UserID
    ) {
        let incarnation = zone?.incarnation ?? 0
        for index in items {
            guard case .staged(let place) = results[index] else { continue }
            guard let (kind, bytes) = buffer.entry(at: place), kind == .record else {
                results[index] = .unchanged
                continue
            }
            let offset = start.advanced(byBytes: place)
            do {
                results[index] = .saved(
                    try Record(
                        bytes, 0..<bytes.count,
                        version: Version(incarnation: incarnation, offset: offset),
                        in: zoneID, schema: schema
                    ) { $0 == user ? caller : reading.user($0) })
            } catch {
                results[index] = .failed(error)
            }
        }
    }
}

extension Record {
    /// What a save sends, under `policy`: values, and nil for fields to be removed.
    func sent(_ policy: SavePolicy, isInsert: Bool) -> [FieldEdits.Edit] {
        guard policy == .allKeys || isInsert, stored.count > 0 else { return edits.all }
        return allKeys.map { FieldEdits.Edit(key: $0, value: self[$0]) }
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
    func kind(of value: RecordValue) throws(StoreError) -> FieldKind {
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
        do {
            return try ValueFormat.kind(of: value)
        } catch {
            throw StoreError(
                .invalidArguments, "a list holds values of one kind, and no list")
        }
    }
}
