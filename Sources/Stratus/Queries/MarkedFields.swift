internal import StratusEngine
internal import StratusIndex
internal import StratusJournal
internal import StratusLanguage

/// What the fields of a type are marked as in the schema: QUERYABLE, SORTABLE, SEARCHABLE. Of a query
/// that CloudKit's service answers nothing else is asked.
struct MarkedFields {
    private let type: String
    private let options: [String: Set<SchemaDocument.Option>]

    init(ofType type: String, _ reading: StoreReading) throws(EngineError) {
        self.type = type
        options = try reading.schemaOptions().ofTypes[type] ?? [:]
    }

    private func has(_ option: SchemaDocument.Option, _ field: String) -> Bool {
        options[field]?.contains(option) == true
    }

    /// Fails where a field is not marked so.
    private func demand(
        _ option: SchemaDocument.Option, of field: String
    ) throws(EngineError) {
        if !has(option, field) { throw .refused(.notMarked(field, option)) }
    }

    /// Those that are marked SEARCHABLE.
    func searchable(_ fields: [String]) -> [String] { fields.filter { has(.searchable, $0) } }

    /// Fails where the predicate asks for more than its fields are marked as.
    func check(_ predicate: RecordPredicate) throws(EngineError) {
        if predicate.isAll, !has(.queryable, SystemField.recordID.rawValue) {
            throw .refused(.notMarked("recordName", .queryable))
        }
        for part in predicate.leaves { try check(leaf: part) }
    }

    /// Fails where records cannot be sorted by a field, or by the distance of the places in it.
    func check(sortingBy field: String, byDistance: Bool) throws(EngineError) {
        if has(byDistance ? .queryable : .sortable, field) { return }
        throw .refused(.notMarked(field, .sortable))
    }

    private func check(leaf part: RecordPredicate) throws(EngineError) {
        switch part.form {
        case .search(let search):
            if let field = search.field {
                try demand(.searchable, of: field)
            } else if !options.values.contains(where: { $0.contains(.searchable) }) {
                throw .refused(
                    .invalidArguments, "no field of the type '\(type)' is marked searchable")
            }
        case .comparison(let comparison):
            let field = comparison.field
            // One without any mark is said to lack the first.
            let isOrdered =
                comparison.asksForOrder && (has(.queryable, field) || has(.sortable, field))
            try demand(isOrdered ? .sortable : .queryable, of: field)
        case .isNil(let field): try demand(.queryable, of: field)
        case .distance(let distance): try demand(.queryable, of: distance.field)
        case .constant, .and, .or, .not: return
        }
    }
}

extension StoreError {
    /// As the service says it.
    static func notMarked(_ field: String, _ option: SchemaDocument.Option) -> StoreError {
        StoreError(
            .invalidArguments, "Field '\(field)' is not marked \(option.rawValue.lowercased())")
    }
}

extension RecordPredicate {
    /// Whether all records satisfy it, whatever they have.
    fileprivate var isAll: Bool { form == .constant(true) }

    /// What it is made of, each of one field or none.
    fileprivate var leaves: [RecordPredicate] {
        switch form {
        case .and(let parts), .or(let parts): parts.flatMap(\.leaves)
        case .not(let part): part.leaves
        case .constant, .isNil, .comparison, .search, .distance: [self]
        }
    }
}

extension FieldComparison {
    /// Whether it asks for a part of the values in their order.
    fileprivate var asksForOrder: Bool {
        switch test {
        case .relation(.equal, _), .relation(.notEqual, _), .isIn, .contains: false
        case .text(.endsWith, _), .text(.like, _): false
        case .relation, .between, .text(.beginsWith, _): true
        }
    }
}

/// The options of all fields, derived from the schema.
private final class SchemaOptions: DerivedState {
    let ofTypes: [String: [String: Set<SchemaDocument.Option>]]

    init(_ document: SchemaDocument) {
        ofTypes = Dictionary(
            document.types.map { type in
                (
                    type.name.text,
                    Dictionary(
                        type.fields.map { ($0.name.text, $0.options) },
                        uniquingKeysWith: { $0.union($1) })
                )
            }, uniquingKeysWith: { first, _ in first })
    }
}

extension StoreReading {
    /// Indexes and the text of the schema say which they are.
    fileprivate func schemaOptions() throws(EngineError) -> SchemaOptions {
        let indexes = try value(KeySpace.indexes.key())?.stamp ?? 0
        let text = try value(KeySpace.schemaText.key())?.stamp ?? 0
        let changed = JournalOffset(rawValue: max(indexes, text))
        // Grants are derived from the same text.
        if let known = derived(1, from: changed) as? SchemaOptions { return known }
        let options = SchemaOptions(try schemaDocument())
        keep(options, 1, derivedFrom: changed)
        return options
    }
}
