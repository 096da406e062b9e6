internal import StratusEngine
internal import StratusIndex
internal import StratusJournal
internal import StratusLanguage

/// Changes what the schema says of the fields of a type as the steps of a migration say, with its
/// indexes, in one commit. Its result is whether records have to be changed then: a `Bool`.
struct MigrationStart: Transaction {
    let recordType: String
    let steps: MigrationSteps

    func draft(
        _ reading: StoreReading, _ context: PreparationContext, sink: PartSink
    ) throws(EngineError) -> Draft? {
        // Only a serial preparation excludes that a save gives a field a kind meanwhile.
        guard context.isSerial else { return nil }
        var draft = Draft(reading)
        var fields = MigratedFields(of: recordType, reading.schema)
        try fields.take(steps)
        var document = try reading.schemaDocument()
        if !fields.changed.isEmpty {
            document.change(fields)
            let isBinary = document[binaryFieldsOf: recordType].contains
            guard try write(fields, isBinary, reading, context, &draft) else { return nil }
            try draft.add(document, context)
        }
        draft.results = [.done(!document[migratingFieldsOf: recordType].isEmpty)]
        return draft
    }

    /// Adds the names and kinds, and what becomes of indexes; false where numbers cannot be given.
    private func write(
        _ fields: MigratedFields, _ isBinary: (String) -> Bool, _ reading: StoreReading,
        _ context: PreparationContext, _ draft: inout Draft
    ) throws(EngineError) -> Bool {
        guard NameRules.isRecordType(recordType) else { throw .refused(.badName) }
        var numbers = NumberAssignment(reading, context)
        guard let type = try numbers.type(recordType) else { return false }
        var columns: [String: UInt32] = [:]
        for name in fields.changed.sorted() {
            if NameRules.isReserved(name) { throw .refused(.reservedName) }
            guard let column = try numbers.field(name, ofType: recordType) else { return false }
            columns[name] = column
            let field = Schema.Column(type: type, field: column)
            try numbers.replace(field, by: fields.kinds[name])
            if fields.kinds[name] != nil { try numbers.compare(field, byBytes: isBinary(name)) }
        }
        try numbers.write(to: &draft)
        for index in reading.indexes.of(type: type) {
            let new = fields.changed(index, columns, draft.schema)
            if new == index { continue }
            try draft.drop(index)
            guard var new else { continue }
            new.state = .building
            try draft.declare(new)
        }
        return true
    }
}

/// Says that all records are as a migration makes them.
struct MigrationEnd: Transaction {
    let recordType: String

    func draft(
        _ reading: StoreReading, _ context: PreparationContext, sink: PartSink
    ) throws(EngineError) -> Draft? {
        guard context.isSerial else { return nil }
        var draft = Draft(reading)
        var document = try reading.schemaDocument()
        document[migratingFieldsOf: recordType] = []
        try draft.add(document, context)
        return draft
    }
}

/// The fields of a type, from what they are to what the steps of a migration make of them.
private struct MigratedFields {
    let type: String
    private let before: [String: FieldKind]
    /// As they are after the steps so far.
    private(set) var kinds: [String: FieldKind]
    /// The new names of fields, by those that they had at first.
    private(set) var names: [String: String] = [:]
    /// Those of which records may have what they are to have no more.
    private(set) var ofRecords: Set<String> = []

    init(of type: String, _ schema: Schema) {
        self.type = type
        var kinds: [String: FieldKind] = [:]
        if let number = schema.number(type) {
            for (field, kind) in schema.fields(of: number) {
                if let name = schema.name(field) { kinds[name] = kind }
            }
        }
        before = kinds
        self.kinds = kinds
    }

    /// Whether the type had a field of that name before.
    func isKnown(_ name: String) -> Bool { before[name] != nil }

    /// The names that have another kind now, or none any more.
    var changed: Set<String> {
        Set(before.keys).union(kinds.keys).filter { before[$0] != kinds[$0] }
    }

    mutating func take(_ steps: MigrationSteps) throws(EngineError) {
        for placed in steps.all {
            switch placed.step {
            case .add(let field, let type, let value):
                if placed.laterNames.contains(where: { kinds[$0] != nil }) { continue }
                let kind = try Self.kind(of: type, field)
                if let known = kinds[field] {
                    if placed.laterTypes.contains(where: { $0.kind == known }) { continue }
                    try expect(kind, of: field)
                } else {
                    if value != nil { ofRecords.insert(field) }
                    kinds[field] = kind
                }
            case .rename(let field, let name):
                guard let kind = kinds[field] else { continue }
                try expect(kind, of: name)
                kinds[field] = nil
                kinds[name] = kind
                ofRecords.formUnion([field, name])
                for (first, last) in names where last == field { names[first] = name }
                if before[field] != nil, names[field] == nil { names[field] = name }
            case .change(let field, let type, _):
                let kind = try Self.kind(of: type, field)
                guard let known = kinds[field], known != kind,
                    !placed.laterTypes.contains(where: { $0.kind == known })
                else { continue }
                kinds[field] = kind
                ofRecords.insert(field)
            }
        }
    }

    private static func kind(
        of type: Record.FieldType, _ field: String
    ) throws(EngineError) -> FieldKind {
        guard let kind = type.kind else {
            throw .refused(.invalidArguments, "field '\(field)' cannot be of type \(type)")
        }
        return kind
    }

    /// Fails where a field has another kind.
    private func expect(_ kind: FieldKind, of field: String) throws(EngineError) {
        guard let known = kinds[field], known != kind else { return }
        throw .refused(
            .invalidArguments,
            "field '\(field)' is of type \(known.name) already, not of type \(kind.name)")
    }

    /// What an index of the type becomes; nil where the fields have kinds that it cannot have.
    /// `columns` are the numbers of the names that are changed.
    func changed(
        _ index: FieldIndex, _ columns: [String: UInt32], _ schema: Schema
    ) -> FieldIndex? {
        let old = Dictionary(uniqueKeysWithValues: columns.map { ($0.value, $0.key) })
        func column(_ number: UInt32) -> UInt32? {
            guard let name = old[number] else { return number }
            return columns[names[name] ?? name]
        }
        var new = index
        let leading = index.leading.compactMap(column)
        guard let field = column(index.field), leading.count == index.leading.count,
            Set(leading + [field]).count == leading.count + 1,
            leading.allSatisfy({
                schema.columnKind($0, of: index.type).map(FieldIndex.Form.digest.fits) == true
            }),
            let kind = schema.columnKind(field, of: index.type)
        else { return nil }
        new.leading = leading
        new.field = field
        new = new.collated(schema)
        if index.form.fits(kind) { return new }
        guard index.isPlain, let form = index.form.option.form(kind, of: field) else { return nil }
        new.form = form
        return new
    }
}

extension FieldIndex.Form {
    /// What an index of one field serves first of all.
    fileprivate var option: RecordIndex.Option {
        switch self {
        case .hash, .cell, .digest, .number: .queryable
        case .prefix: .sortable
        case .word: .searchable
        }
    }
}

extension SchemaDocument {
    /// Says of the fields of a type what they are now.
    fileprivate mutating func change(_ fields: MigratedFields) {
        func renamed(_ name: SchemaName, of type: SchemaName) -> SchemaName {
            guard type.text == fields.type, let new = fields.names[name.text] else { return name }
            return SchemaName(new)
        }
        if let place = types.firstIndex(where: { $0.name.text == fields.type }) {
            let declared = types[place].fields
            types[place].fields = []
            for var field in declared {
                field.name = renamed(field.name, of: types[place].name)
                if types[place].fields.contains(where: { $0.name == field.name }) { continue }
                let kind = fields.kinds[field.name.text].flatMap(FieldType.init)
                if let kind, field.type.stored != kind { field.type = kind }
                types[place].fields.append(field)
            }
        }
        for name in fields.changed.sorted() {
            if let kind = fields.kinds[name].flatMap(FieldType.init) {
                define(name, of: fields.type, kind)
            }
        }
        for place in indexes.indices {
            let type = indexes[place].type
            for column in indexes[place].columns.indices {
                let name = indexes[place].columns[column].field
                indexes[place].columns[column].field = renamed(name, of: type)
            }
        }
        for place in collations.indices {
            let type = collations[place].type
            if type.text != fields.type { continue }
            // A field that was there keeps its own collation when another one becomes it.
            collations[place].fields.removeAll { name in
                fields.names[name.text].map { fields.isKnown($0) } ?? false
            }
            collations[place].fields = collations[place].fields.map { renamed($0, of: type) }
            collations[place].fields.removeAll { fields.kinds[$0.text]?.canBeBinary != true }
        }
        collations.removeAll(where: \.fields.isEmpty)
        self[migratingFieldsOf: fields.type].formUnion(fields.ofRecords)
    }
}
