internal import StratusEngine
internal import StratusIndex
internal import StratusJournal
internal import StratusLanguage

/// Makes the schema what a document says: types and fields that are new, and indexes that it declares
/// or declares no more, in one commit.
struct SchemaImport: Transaction {
    let document: SchemaDocument
    let environment: SchemaDocument.Environment

    func draft(
        _ reading: StoreReading, _ context: PreparationContext, sink: PartSink
    ) throws(EngineError) -> Draft? {
        // Numbers are given to all that is new.
        guard context.isSerial else { return nil }
        var draft = Draft(reading)
        draft.readSet.append(KeySpace.indexes.key())
        let current = try reading.schemaDocument()
        let changes = SchemaDocument.differences(from: current, to: document, in: environment)
        try Self.check(changes)
        draft.results = [.done(changes.map(\.description))]
        if changes.isEmpty { return draft }
        var numbers = NumberAssignment(reading, context)
        let binaryFields = document.binaryFields
        var wanted: [FieldIndex] = []
        for type in document.types {
            let typeName = type.name.text
            guard NameRules.isRecordType(typeName) else { continue }
            guard let number = try numbers.type(typeName) else { return nil }
            for field in type.fields {
                let name = field.name.text
                var column = SystemField(rawValue: name)?.column
                if NameRules.isField(name, ofType: typeName) {
                    guard let place = try numbers.field(name, ofType: typeName) else { return nil }
                    if let kind = FieldKind(field.type.stored) {
                        let column = Schema.Column(type: number, field: place)
                        try numbers.fix(kind, of: column, name)
                        try numbers.compare(
                            column, byBytes: binaryFields[typeName]?.contains(name) == true)
                    }
                    column = place
                }
                guard let column else { continue }
                for form in field.indexForms {
                    wanted.append(
                        FieldIndex(number: 0, type: number, field: column, form: form))
                }
            }
        }
        for index in document.indexes {
            let type = index.type.text
            guard let number = try numbers.type(type) else { return nil }
            var columns: [UInt32] = []
            for column in index.columns {
                let name = column.field.text
                if let system = SystemField(rawValue: name)?.column {
                    columns.append(system)
                    continue
                }
                guard let place = try numbers.field(name, ofType: type) else { return nil }
                columns.append(place)
            }
            if let declared = document.fieldIndex(of: index, number, columns) {
                wanted.append(declared)
            }
        }
        try numbers.write(to: &draft)
        let schema = draft.schema
        try Self.setIndexes(wanted.map { $0.collated(schema) }, reading, &draft)
        var document = document
        document.migrations = current.migrations
        try draft.add(document, context)
        return draft
    }

    /// Declares the indexes that are not there, and drops all others.
    private static func setIndexes(
        _ wanted: [FieldIndex], _ reading: StoreReading, _ draft: inout Draft
    ) throws(EngineError) {
        let all = reading.indexes.all
        for index in all where index.state != .dropped {
            if !wanted.contains(where: { $0.isLike(index) }) { try draft.drop(index) }
        }
        for (place, index) in wanted.enumerated() {
            if all.contains(where: { $0.state != .dropped && $0.isLike(index) })
                || wanted[..<place].contains(where: { $0.isLike(index) })
            {
                continue
            }
            try draft.declare(index)
        }
    }

    /// Fails where a change would lose data, or is never made.
    private static func check(_ changes: [SchemaChange]) throws(EngineError) {
        let refused = changes.filter { $0.effect != .safe }
        guard let first = refused.first else { return }
        let others = refused.count > 1 ? ", and \(refused.count - 1) more such changes" : ""
        throw .refused(.invalidArguments, "\(first)\(others)")
    }
}

/// Says how the strings of a field are compared.
struct CollationChange: Transaction {
    let recordType: String
    let field: String
    let isBinary: Bool

    func draft(
        _ reading: StoreReading, _ context: PreparationContext, sink: PartSink
    ) throws(EngineError) -> Draft? {
        var document = try reading.schemaDocument()
        let type = reading.schema.number(recordType)
        guard let type, let number = reading.schema.number(field),
            let kind = reading.schema.kind(of: Schema.Column(type: type, field: number)),
            kind.canBeBinary
        else {
            throw .refused(
                .invalidArguments,
                "records of the type '\(recordType)' have no field '\(field)' of strings")
        }
        if isBinary {
            document[binaryFieldsOf: recordType].insert(field)
        } else {
            document[binaryFieldsOf: recordType].remove(field)
        }
        return try SchemaImport(document: document, environment: .development)
            .draft(reading, context, sink: sink)
    }
}

extension Draft {
    /// Adds the entry of a schema as text.
    mutating func add(
        _ document: SchemaDocument, _ context: PreparationContext
    ) throws(EngineError) {
        let entry = SchemaTextEntry(text: document.sorted().text)
        guard entry.text.utf8.count <= SchemaTextEntry.limit else {
            throw .refused(
                .limitExceeded,
                "the schema takes more than \(SchemaTextEntry.limit) bytes as text")
        }
        try buffer.add(.schema, limit: context.payloadLimit) { entry.write(to: &$0) }
    }
}

extension SchemaDocument {
    /// The index that one on several fields, or a unique one, is in a store where type and columns have
    /// these numbers; nil where a column is none of its type.
    fileprivate func fieldIndex(
        of index: Index, _ type: UInt32, _ columns: [UInt32]
    ) -> FieldIndex? {
        guard let last = index.columns.last?.field, let field = columns.last,
            let form = index.isUnique ? .digest : form(ofLast: last, of: index.type)
        else { return nil }
        return FieldIndex(
            number: 0, type: type, leading: columns.dropLast(), field: field, form: form)
    }

    /// That of an index of which a field is the last of several; nil where it is none of the type.
    private func form(ofLast name: SchemaName, of type: SchemaName) -> FieldIndex.Form? {
        if SystemField.isName(name.text) { return .number }
        let field = types.first { $0.name == type }?.fields.first { $0.name == name }
        // Of numbers of which a save says the kind, all have one form.
        return field.flatMap { FieldKind($0.type).map(FieldIndex.Form.ofLast) ?? .number }
    }
}

extension SchemaDocument.Field {
    /// The forms of the indexes that its options ask for.
    var indexForms: [FieldIndex.Form] {
        var asked: [FieldIndex.Form] = []
        for (option, form) in served where options.contains(option) && !asked.contains(form) {
            asked.append(form)
        }
        return asked
    }

    /// The options that indexes on such a field serve, each with the form of its index.
    fileprivate var served: [(option: SchemaDocument.Option, form: FieldIndex.Form)] {
        if type.isEncrypted { return [] }
        if SystemField.isName(name.text) {
            guard let field = SystemField(rawValue: name.text), field.isColumn else { return [] }
            if field.isUser { return [(.queryable, .number)] }
        }
        switch type.stored.element {
        case .int64, .double, .number, .numberAsInt64, .numberAsDouble, .timestamp:
            // One serves both.
            return type.isList
                ? [(.queryable, .hash)] : [(.queryable, .number), (.sortable, .number)]
        case .string:
            let order: [(option: SchemaDocument.Option, form: FieldIndex.Form)] =
                type.isList ? [] : [(.sortable, .prefix)]
            return [(.queryable, .hash), (.searchable, .word)] + order
        case .reference: return [(.queryable, .hash)]
        case .bytes: return type.isList ? [] : [(.queryable, .hash)]
        case .location: return [(.queryable, .cell)]
        case .asset: return []
        }
    }
}

extension FieldKind {
    /// Nil of numbers whose kind the first save decides.
    init?(_ type: SchemaDocument.FieldType) {
        let element: ValueKind
        switch type.element {
        case .asset: element = .asset
        case .bytes: element = .bytes
        case .double, .numberAsDouble: element = .double
        case .int64, .numberAsInt64: element = .int64
        case .location: element = .location
        case .number: return nil
        case .reference: element = .reference
        case .string: element = .string
        case .timestamp: element = .date
        }
        let kind = FieldKind(element, isList: type.isList)
        guard type.isEncrypted else {
            self = kind
            return
        }
        guard let encrypted = kind.encrypted else { return nil }
        self = encrypted
    }
}

extension SchemaDocument.FieldType {
    init?(_ kind: FieldKind) {
        guard let element = kind.element,
            let name = SchemaDocument.Element(rawValue: FieldKind(element).name)
        else { return nil }
        self.init(name, isList: kind.isList, isEncrypted: kind.isEncrypted)
    }
}

extension StoreReading {
    /// The schema as it is: what was declared last, with the fields that saves have made since, and the
    /// options of the indexes that are there.
    func schemaDocument() throws(EngineError) -> SchemaDocument {
        var document = SchemaDocument()
        if let value = try value(KeySpace.schemaText.key()) {
            let entry = try entry(EntryLocation(value))
            let declared = entry.withPayload { bytes in
                (try? SchemaTextEntry(bytes)).flatMap { try? SchemaDocument(parsing: $0.text) }
            }
            guard let declared else { throw .damaged(entry) }
            document = declared
        }
        for (column, kind) in schema.whole.kinds {
            guard let type = schema.name(column.type), let field = schema.name(column.field),
                let kind = SchemaDocument.FieldType(kind)
            else { continue }
            document.define(field, of: type, kind)
        }
        setCollations(&document)
        for index in indexes.all where index.isPlain && index.state != .dropped {
            if let type = schema.name(index.type),
                let field = SystemField(column: index.field)?.rawValue,
                let kind = SchemaRules.systemFieldTypes[field]
            {
                document.define(field, of: type, kind)
            }
        }
        for place in document.types.indices {
            setOptions(&document.types[place])
        }
        setIndexes(&document)
        return document
    }

    /// What the columns say, where the text says something else.
    private func setCollations(_ document: inout SchemaDocument) {
        var binary: [String: Set<String>] = [:]
        for column in schema.binaryColumns {
            if let type = schema.name(column.type), let field = schema.name(column.field) {
                binary[type, default: []].insert(field)
            }
        }
        let stated = document.binaryFields
        for type in document.types.map(\.name.text) where stated[type] != binary[type] {
            document[binaryFieldsOf: type] = binary[type] ?? []
        }
    }

    /// The indexes on several fields, and the unique ones, that there are, each under the name that it
    /// was given.
    private func setIndexes(_ document: inout SchemaDocument) {
        let kept = indexes.all.filter { !$0.isPlain && $0.state != .dropped }
        let declared = document
        document.indexes = declared.indexes.filter { index in
            guard let type = schema.number(index.type.text) else { return false }
            let columns = index.columns.compactMap { schema.columnNumber($0.field.text) }
            guard columns.count == index.columns.count,
                let field = declared.fieldIndex(of: index, type, columns)?.collated(schema)
            else { return false }
            return kept.contains { $0.isLike(field) }
        }
        for index in kept {
            guard let type = schema.name(index.type) else { continue }
            let fields = index.columns.compactMap { schema.columnName($0) }
            let isNamed = document.indexes.contains {
                $0.isUnique == index.isUnique && $0.type.text == type
                    && $0.columns.map(\.field.text) == fields
            }
            if isNamed { continue }
            var name = "index_\(index.number)"
            while document.indexes.contains(where: { $0.name.text == name }) { name += "_" }
            document.indexes.append(
                SchemaDocument.Index(
                    SchemaName(name), isUnique: index.isUnique, on: SchemaName(type),
                    columns: fields.map { SchemaDocument.Index.Column(SchemaName($0)) }))
        }
    }

    /// What indexes say of the options that they serve.
    private func setOptions(_ type: inout SchemaDocument.RecordType) {
        let number = schema.number(type.name.text)
        let kept = number.map { indexes.of(type: $0) } ?? []
        for place in type.fields.indices {
            let field = type.fields[place]
            let name = field.name.text
            // Options that no index serves are kept as they were declared.
            guard NameRules.isTypeName(name) || SystemField(rawValue: name) != nil else { continue }
            let fieldNumber = schema.columnNumber(name)
            let forms = Set(kept.filter { $0.isPlain && $0.field == fieldNumber }.map(\.form))
            let served = field.served
            if served.contains(where: { $0.form == .number }) {
                let all = Set(served.map(\.option))
                let declared = field.options.intersection(all)
                type.fields[place].options.subtract(all)
                if forms.contains(.number) {
                    type.fields[place].options.formUnion(declared.isEmpty ? all : declared)
                }
                continue
            }
            for (option, form) in served {
                if forms.contains(form) {
                    type.fields[place].options.insert(option)
                } else {
                    type.fields[place].options.remove(option)
                }
            }
        }
    }
}

extension SchemaDocument {
    /// Adds a field that a save has made, or a system field that an index is on; of one that is there, the
    /// kind that was left open.
    mutating func define(_ field: String, of type: String, _ kind: FieldType) {
        let place: Int
        if let known = types.firstIndex(where: { $0.name.text == type }) {
            place = known
        } else {
            place = types.count
            types.append(
                RecordType(
                    SchemaName(type),
                    grants: [
                        Grant([.write], to: "_creator"), Grant([.create], to: "_icloud"),
                        Grant([.read], to: "_world"),
                    ]))
        }
        guard let known = types[place].fields.firstIndex(where: { $0.name.text == field }) else {
            types[place].fields.append(Field(SchemaName(field), kind))
            return
        }
        if types[place].fields[known].type.element == .number {
            types[place].fields[known].type = kind
        }
    }
}
