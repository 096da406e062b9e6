internal import StratusBytes
internal import StratusEngine
internal import StratusIndex
internal import StratusJournal
internal import StratusLanguage

/// Declares an index: from this commit on saves keep it.
struct IndexDeclaration: Transaction {
    /// What the rows of an index are to have.
    enum Content: Sendable {
        /// Values of a field that such an option serves.
        case plain(RecordIndex.Option)
        /// Those of all columns but the last, then that of the last in order.
        case combined
        /// Those of all columns, which no two records have.
        case unique
    }

    let recordType: String
    let fields: [String]
    let content: Content

    func draft(
        _ reading: StoreReading, _ context: PreparationContext, sink: PartSink
    ) throws(EngineError) -> Draft? {
        var draft = Draft(reading)
        draft.readSet.append(KeySpace.indexes.key())
        let index = try index(reading.schema)
        if let known = reading.indexes.of(type: index.type).first(where: { $0.isLike(index) }) {
            draft.results = [.done(known)]
        } else {
            draft.results = [.done(try draft.declare(index))]
        }
        return draft
    }

    private func index(_ schema: Schema) throws(EngineError) -> FieldIndex {
        let names = fields.map { SystemField.canonicalName($0) ?? $0 }
        guard 1...FieldIndex.columnLimit ~= names.count, Set(names).count == names.count else {
            throw .refused(
                .invalidArguments,
                "an index is on 1 to \(FieldIndex.columnLimit) fields, each of them once")
        }
        let type = schema.number(recordType)
        var columns: [UInt32] = []
        var form: FieldIndex.Form?
        for name in names {
            guard let type, let field = schema.columnNumber(name),
                let kind = schema.columnKind(field, of: type)
            else {
                throw .refused(
                    .invalidArguments,
                    "records of the type '\(recordType)' have no field '\(name)' yet")
            }
            form = content.form(kind, of: field)
            guard form != nil else {
                let type = SystemField(rawValue: name) == nil ? kind.name : "a system field"
                throw .refused(
                    .invalidArguments,
                    "Field '\(name)' has a value type of \(type), which cannot be "
                        + content.description)
            }
            columns.append(field)
        }
        guard let type, let form, let last = columns.popLast() else {
            throw .refused(.internalError, "an index has no fields")
        }
        return FieldIndex(number: 0, type: type, leading: columns, field: last, form: form)
            .collated(schema)
    }
}

extension IndexDeclaration.Content {
    /// The form of an index of which the last column, or any other, is of that kind; nil where there is
    /// none.
    fileprivate func form(_ kind: FieldKind, of column: UInt32) -> FieldIndex.Form? {
        switch self {
        case .plain(let option): option.form(kind, of: column)
        case .unique: FieldIndex.canBeUnique(column, kind) ? .digest : nil
        case .combined: FieldIndex.Form.ofLast(kind)
        }
    }

    /// What a field cannot be of which it has no form.
    fileprivate var description: String {
        switch self {
        case .plain(let option): option.rawValue
        case .combined, .unique: "a column of an index"
        }
    }
}

extension RecordIndex.Option {
    /// The form of an index on a column of that kind; nil where there is none.
    func form(_ kind: FieldKind, of column: UInt32) -> FieldIndex.Form? {
        if self == .sortable, SystemField(column: column)?.isUser == true { return nil }
        let forms: [FieldIndex.Form] =
            switch self {
            case .queryable: [.number, .hash, .cell]
            case .sortable: [.number, .prefix]
            case .searchable: [.word]
            }
        return forms.first { $0.fits(kind) }
    }
}

extension FieldIndex {
    /// The same, with strings as the schema says that they are compared.
    func collated(_ schema: Schema) -> FieldIndex {
        var index = self
        index.binaryColumns = schema.binaryColumns(of: self)
        return index
    }

    /// Whether a unique index can have such a column. What every save changes is none.
    fileprivate static func canBeUnique(_ column: UInt32, _ kind: FieldKind) -> Bool {
        Form.digest.fits(kind) && SystemField(column: column)?.changes != true
    }
}

extension Draft {
    /// Adds the entry of an index.
    mutating func add(_ index: FieldIndex) throws(EngineError) {
        try buffer.add(.index) { index.write(to: &$0) }
    }

    /// Declares an index, whatever its number is: it gets the next one. Returns it with that.
    @discardableResult
    mutating func declare(_ index: FieldIndex) throws(EngineError) -> FieldIndex {
        guard indexes.all.count < IndexTable.limit else {
            throw .refused(.limitExceeded, "a store declares at most 65,536 indexes")
        }
        var index = index
        index.number = UInt32(indexes.all.count)
        try add(index)
        indexes = indexes.declaring(index)
        return index
    }

    /// Says that an index is kept no more.
    mutating func drop(_ index: FieldIndex) throws(EngineError) {
        var index = index
        index.state = .dropped
        try add(index)
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
        try draft.add(index)
        return draft
    }
}

/// Adds the next records of a zone to an index. One that is saved meanwhile is looked at again.
struct IndexBuild: Transaction {
    let index: FieldIndex
    /// Where the index was declared, if nothing was built of it but by this walk; nil: some may be there.
    let declared: JournalOffset?
    let start: RecordPage.Cursor

    struct End: Sendable {
        /// Where the next step begins; nil: the zone is done.
        var next: RecordPage.Cursor?
        /// What is wrong with records of the step: each has values that another one has, under a
        /// unique index.
        var duplicates: [StoreError] = []
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
        // In the order of the names, as the walk goes on.
        let (places, next) = try reading.places(
            try prefix(in: zone, reading), zone.number, from: start, Self.count)
        var rows = BuiltRowsEntry(index: index.number, records: [])
        var end = End(next: next)
        var found: [IndexedValue: Hash128] = [:]
        var length = 0
        for entry in try reading.entries(places) {
            let (head, cursor) = try entry.recordHead()
            if head.type != index.type { continue }
            let record = try record(of: entry, head, at: cursor, reading)
            let isBuilt = try isBuilt(record, of: entry, head, in: zone, reading)
            if !isBuilt { length += record.lengthInBytes }
            // The others go into the next step; one record always fits, as its own entry did.
            if length > context.payloadLimit / 2, !rows.records.isEmpty {
                end.next = RecordPage.Cursor(
                    zone: zone.number, high: record.name.high, low: record.name.low)
                break
            }
            if index.isUnique,
                let other = try holder(
                    record.values, of: record.name, in: zone, &found, reading, &draft)
            {
                end.duplicates.append(try duplicate(record.name, other, in: zone, reading))
            }
            if isBuilt { continue }
            draft.readSet.append(.record(zone.number, record.name))
            rows.records.append(record)
        }
        if !rows.records.isEmpty {
            let entry = rows
            try draft.buffer.add(.builtRows, in: zone, limit: context.payloadLimit) {
                entry.write(to: &$0)
            }
        }
        draft.results = [.done(end)]
        return draft
    }

    /// What is walked through: all records of the zone, whose rows say where they lie, or those of the
    /// type, each of which is looked for, where these are few of all.
    private func prefix(
        in zone: ZonePlace, _ reading: StoreReading
    ) throws(EngineError) -> IndexKey {
        let all = KeySpace.records.key(zone: zone.number)
        let ofType = KeySpace.types.key(zone: zone.number).appending(index.type)
        let count = try reading.estimatedCount(ofType.asPrefix)
        return try count >= reading.estimatedCount(all.asPrefix) / 4 ? all : ofType
    }

    private func record(
        of entry: JournalEntry, _ head: RecordHead, at cursor: ByteCursor, _ reading: StoreReading
    ) throws(EngineError) -> BuiltRowsEntry.Record {
        let fields = try reading.fields(of: entry, head, at: cursor)
        let name = Hash128(
            entry.bytes.span.extracting(head.name), seed: reading.identity.secret)
        do throws(FormatError) {
            return BuiltRowsEntry.Record(
                name: name, version: entry.version,
                values: try index.values(of: head, fields))
        } catch {
            throw .damaged(entry)
        }
    }

    /// Whether all rows of a record are there already.
    private func isBuilt(
        _ record: BuiltRowsEntry.Record, of entry: JournalEntry, _ head: RecordHead,
        in zone: ZonePlace, _ reading: StoreReading
    ) throws(EngineError) -> Bool {
        if record.values.isEmpty { return true }
        if let declared {
            if entry.offset < declared { return false }
            // The entry of a record that was not there before says all rows.
            if head.previous == .none { return true }
        }
        for value in record.values {
            let key = IndexKey.declared(zone.number, index.number, value)
            if try reading.value(key.appending(record.name)) == nil { return false }
        }
        return true
    }

    /// A record that has one of the values, too, and comes first in the walk; `found` are those of the
    /// step so far. So of two records one is found, though the walk was begun anew in between.
    private func holder(
        _ values: [IndexedValue], of name: Hash128, in zone: ZonePlace,
        _ found: inout [IndexedValue: Hash128], _ reading: StoreReading, _ draft: inout Draft
    ) throws(EngineError) -> Hash128? {
        for value in values {
            if let other = found[value] { return other }
            found[value] = name
            let range = IndexKey.declared(zone.number, index.number, value).asPrefix
            draft.readRanges.append(range)
            var other: Hash128?
            try reading.scan(range) { key, _ in
                other = key.namedRecord.flatMap { $0 < name ? $0 : nil }
                return other == nil
            }
            if let other { return other }
        }
        return nil
    }

    private func duplicate(
        _ name: Hash128, _ other: Hash128, in zone: ZonePlace, _ reading: StoreReading
    ) throws(EngineError) -> StoreError {
        let owner = try reading.user(zone.database)?.recordName
        let id = RecordZone.ID(
            zoneName: try reading.zoneEntry(zone).name,
            ownerName: owner ?? RecordZone.ID.currentUser)
        let error = StoreError.duplicate(
            reading.columns(of: index.number), of: try reading.recordID(other, in: zone, as: id))
        return try reading.recordID(name, in: zone, as: id).map { error.with($0) } ?? error
    }
}
