extension RecordPredicate {
    /// The names of the fields that it asks for, with its places in the text, in the order of the text.
    package var fields: [(name: String, place: Range<Int>?)] {
        switch form {
        case .constant: []
        case .and(let parts), .or(let parts): parts.flatMap(\.fields)
        case .not(let part): part.fields
        case .isNil(let field): [(field, place)]
        case .comparison(let comparison): [(comparison.field, place)]
        case .distance(let distance): [(distance.field, place)]
        case .search(let search): search.field.map { [($0, place)] } ?? []
        }
    }

    /// Whether it asks for own fields by their names alone: for no ``SystemField``, and with no search
    /// of all fields.
    package var asksForNamedFields: Bool {
        switch form {
        case .constant: true
        case .and(let parts), .or(let parts): parts.allSatisfy(\.asksForNamedFields)
        case .not(let part): part.asksForNamedFields
        case .search(let search) where search.field == nil: false
        case .isNil, .comparison, .distance, .search:
            fields.allSatisfy { !SystemField.isName($0.name) }
        }
    }
}
