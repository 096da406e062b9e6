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
}
