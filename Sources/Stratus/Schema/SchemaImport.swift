internal import StratusEngine
internal import StratusIndex
internal import StratusJournal
internal import StratusLanguage

/// Makes the schema what a document says: types and fields that are new, and indexes that it declares
/// or declares no more, in one commit.
struct SchemaImport: Transaction {
    let document: SchemaDocument
    let environment: SchemaDocument.Environment

    /// The text that is kept.
    var text: String { document.sorted().text }

    func draft(
        _ reading: StoreReading, _ context: PreparationContext, sink: PartSink
    ) throws(EngineError) -> Draft? {
        // Numbers are given to all that is new.
        guard context.isSerial else { return nil }
        var draft = Draft(reading)
        draft.readSet.append(KeySpace.indexes.key())
        let changes = SchemaDocument.differences(
            from: try reading.schemaDocument(), to: document, in: environment)
        try Self.check(changes)
        draft.results = [.done(changes.map(\.description))]
        if changes.isEmpty { return draft }
        var numbers = NumberAssignment(reading, context)
        var wanted: [FieldIndex] = []
        for type in document.types {
            let typeName = type.name.text
            guard NameRules.isRecordType(typeName) else { continue }
            guard let number = try numbers.type(typeName) else { return nil }
            for field in type.fields where NameRules.isField(field.name.text, ofType: typeName) {
                guard let place = try numbers.field(field.name.text, ofType: typeName) else {
                    return nil
                }
                let column = Schema.Column(type: number, field: place)
                if let kind = FieldKind(field.type.stored) {
                    try numbers.fix(kind, of: column, field.name.text)
                }
                for form in field.indexForms {
                    wanted.append(
                        FieldIndex(number: 0, type: number, field: place, form: form))
                }
            }
        }
        try numbers.write(to: &draft)
        try Self.setIndexes(wanted, reading, &draft)
        let entry = SchemaTextEntry(text: text)
        guard entry.text.utf8.count <= SchemaTextEntry.limit else {
            throw .refused(
                .limitExceeded,
                "the schema takes more than \(SchemaTextEntry.limit) bytes as text")
        }
        try draft.buffer.add(.schema, limit: context.payloadLimit) { entry.write(to: &$0) }
        return draft
    }

    /// Declares the indexes that are not there, and drops all others.
    private static func setIndexes(
        _ wanted: [FieldIndex], _ reading: StoreReading, _ draft: inout Draft
    ) throws(EngineError) {
        func isSame(_ left: FieldIndex, _ right: FieldIndex) -> Bool {
            left.type == right.type && left.field == right.field && left.form == right.form
        }
        let all = reading.indexes.all
        for var index in all where index.state != .dropped {
            if wanted.contains(where: { isSame($0, index) }) { continue }
            index.state = .dropped
            let entry = index
            try draft.buffer.add(.index) { entry.write(to: &$0) }
        }
        var count = all.count
        for var index in wanted {
            if all.contains(where: { $0.state != .dropped && isSame($0, index) }) { continue }
            guard count < IndexTable.limit else {
                throw .refused(.limitExceeded, "a store declares at most 65,536 indexes")
            }
            index.number = UInt32(count)
            count += 1
            let entry = index
            try draft.buffer.add(.index) { entry.write(to: &$0) }
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
    fileprivate init?(_ kind: FieldKind) {
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
        for (column, kind) in schema.whole.columns {
            guard let type = schema.name(column.type), let field = schema.name(column.field),
                let kind = SchemaDocument.FieldType(kind)
            else { continue }
            document.define(field, of: type, kind)
        }
        for place in document.types.indices {
            setOptions(&document.types[place])
        }
        return document
    }

    /// What indexes say of the options that they serve.
    private func setOptions(_ type: inout SchemaDocument.RecordType) {
        let number = schema.number(type.name.text)
        let kept = number.map { indexes.of(type: $0) } ?? []
        for place in type.fields.indices {
            let field = type.fields[place]
            // What is declared of system fields is kept, and no index serves it.
            guard NameRules.isTypeName(field.name.text) else { continue }
            let fieldNumber = schema.number(field.name.text)
            let forms = Set(kept.filter { $0.field == fieldNumber }.map(\.form))
            // Others are kept as they were declared.
            let served = field.served
            if served.contains(where: { $0.form == .number }) {
                let declared = field.options.intersection([.queryable, .sortable])
                type.fields[place].options.subtract([.queryable, .sortable])
                if forms.contains(.number) {
                    type.fields[place].options.formUnion(
                        declared.isEmpty ? [.queryable, .sortable] : declared)
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
    /// Adds a field that a save has made; of one that is there, the kind that was left open.
    fileprivate mutating func define(_ field: String, of type: String, _ kind: FieldType) {
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
