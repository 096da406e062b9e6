internal import StratusBytes
internal import StratusEngine
internal import StratusIndex
internal import StratusJournal

/// Declares an index: from this commit on saves keep it.
struct IndexDeclaration: Transaction {
    let recordType: String
    let field: String
    let option: RecordIndex.Option

    func draft(
        _ reading: StoreReading, _ context: PreparationContext, sink: PartSink
    ) throws(EngineError) -> Draft? {
        var draft = Draft(reading)
        draft.readSet.append(KeySpace.indexes.key())
        let schema = reading.schema
        guard let type = schema.number(recordType), let field = schema.number(field),
            let kind = schema.kind(of: Schema.Column(type: type, field: field))
        else {
            throw .refused(
                .invalidArguments,
                "records of the type '\(recordType)' have no field '\(self.field)' yet")
        }
        guard let form = option.form(kind) else {
            throw .refused(
                .invalidArguments,
                "Field '\(self.field)' has a value type of \(kind.name), which cannot be "
                    + "\(option.rawValue)")
        }
        let all = reading.indexes.all
        if let known = reading.indexes.of(type: type).first(where: {
            $0.field == field && $0.form == form
        }) {
            draft.results = [.done(known)]
            return draft
        }
        guard all.count < IndexTable.limit else {
            throw .refused(.limitExceeded, "a store declares at most 65,536 indexes")
        }
        let index = FieldIndex(
            number: UInt32(all.count), type: type, field: field, form: form)
        try draft.buffer.add(.index) { index.write(to: &$0) }
        draft.results = [.done(index)]
        return draft
    }
}

extension RecordIndex.Option {
    /// The form of an index on fields of that kind; nil where there is none.
    func form(_ kind: FieldKind) -> FieldIndex.Form? {
        let forms: [FieldIndex.Form] =
            switch self {
            case .queryable: [.number, .hash, .cell]
            case .sortable: [.number, .prefix]
            case .searchable: [.word]
            }
        return forms.first { $0.fits(kind) }
    }
}

/// Says that an index has all records, or is kept no more.
struct IndexState: Transaction {
    let number: UInt32
    let state: FieldIndex.State

    func draft(
        _ reading: StoreReading, _ context: PreparationContext, sink: PartSink
    ) throws(EngineError) -> Draft? {
        var draft = Draft(reading)
        draft.readSet.append(KeySpace.indexes.key())
        guard reading.indexes.isKept(number) else {
            throw .refused(.unknownItem, "there is no such index any more")
        }
        var index = reading.indexes.all[Int(number)]
        if index.state == state { return draft }
        index.state = state
        try draft.buffer.add(.index) { index.write(to: &$0) }
        return draft
    }
}

/// Adds the next records of a zone to an index. One that is saved meanwhile is looked at again.
struct IndexBuild: Transaction {
    let index: FieldIndex
    let start: RecordPage.Cursor

    /// Where the next step begins; nil: the zone is done.
    struct End: Sendable {
        var next: RecordPage.Cursor?
    }

    /// Records in one step.
    private static let count = 256

    func draft(
        _ reading: StoreReading, _ context: PreparationContext, sink: PartSink
    ) throws(EngineError) -> Draft? {
        var draft = Draft(reading)
        draft.readSet.append(KeySpace.indexes.key())
        guard reading.indexes.isKept(index.number) else {
            throw .refused(.unknownItem, "the index was removed meanwhile")
        }
        guard let zone = try reading.zone(start.zone), zone.isAlive else {
            draft.results = [.done(End())]
            return draft
        }
        draft.readSet.append(.zoneNumber(start.zone))
        let prefix = KeySpace.types.key(zone: zone.number).appending(index.type)
        // In the order of the names, as the walk goes on.
        let (places, next) = try reading.places(prefix, zone.number, from: start, Self.count)
        var rows = BuiltRowsEntry(index: index.number, records: [])
        var end = next
        var length = 0
        for entry in try reading.entries(places) {
            guard let record = try built(entry, reading) else { continue }
            length += record.lengthInBytes
            // The others go into the next step; one record always fits, as its own entry did.
            if length > context.payloadLimit / 2, !rows.records.isEmpty {
                end = RecordPage.Cursor(
                    zone: zone.number, high: record.name.high, low: record.name.low)
                break
            }
            draft.readSet.append(.record(zone.number, record.name))
            rows.records.append(record)
        }
        if !rows.records.isEmpty {
            let entry = rows
            try draft.buffer.add(.builtRows, in: zone, limit: context.payloadLimit) {
                entry.write(to: &$0)
            }
        }
        draft.results = [.done(End(next: end))]
        return draft
    }

    /// Nil of a record that is in the index already.
    private func built(
        _ entry: JournalEntry, _ reading: StoreReading
    ) throws(EngineError) -> BuiltRowsEntry.Record? {
        let (head, cursor) = try entry.recordHead()
        let fields = try reading.fields(of: entry, head, at: cursor)
        let name = Hash128(
            entry.bytes.span.extracting(head.name), seed: reading.identity.secret)
        let values: [IndexedValue]
        do throws(FormatError) {
            values = try index.form.values(
                of: fields.field(index.field).map { ($0.kind, $0.range) }, in: entry.bytes.span)
        } catch {
            throw .damaged(entry)
        }
        for value in values {
            let key = IndexKey.declared(entry.zone, index.number, value).appending(name)
            if try reading.value(key) == nil {
                return BuiltRowsEntry.Record(name: name, version: entry.version, values: values)
            }
        }
        return nil
    }
}
