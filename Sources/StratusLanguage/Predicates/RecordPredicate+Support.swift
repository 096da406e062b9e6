extension RecordPredicate {
    /// Fails for a predicate deeper than ``depthLimit``, which nothing here recurses into.
    package func checkDepth() throws(UnsupportedPredicate) {
        guard depth <= Self.depthLimit else {
            throw UnsupportedPredicate(
                "nested deeper than \(Self.depthLimit) levels", at: place)
        }
    }

    /// The first form, in the order of the text, that CloudKit's service does not support; nil where
    /// it supports all.
    ///
    /// `types` tells the kinds of fields. Of a field without a known kind, `CONTAINS` passes for the
    /// membership of a list.
    package func firstUnsupportedByCloudKit(
        types: (String) -> FieldType? = { _ in nil }
    ) -> UnsupportedPredicate? {
        do throws(UnsupportedPredicate) {
            try checkDepth()
            try checkCloudKit(types)
            return nil
        } catch {
            return error
        }
    }

    private func checkCloudKit(
        _ types: (String) -> FieldType?
    ) throws(UnsupportedPredicate) {
        switch form {
        case .constant: return
        case .and(let parts): for part in parts { try part.checkCloudKit(types) }
        case .or: throw unsupported("OR")
        case .not(let part):
            if let form = part.formNotNegated {
                throw unsupported("NOT of \(form)")
            }
            try part.checkCloudKit(types)
        case .isNil: throw unsupported("a comparison with nil")
        case .search: return
        case .distance(let distance):
            guard distance.relation == .less else {
                throw unsupported("\(distance.relation.rawValue) with a distance")
            }
        case .comparison(let comparison): try checkCloudKit(comparison, types)
        }
    }

    private func checkCloudKit(
        _ comparison: FieldComparison, _ types: (String) -> FieldType?
    ) throws(UnsupportedPredicate) {
        if comparison.field == SystemField.parent.rawValue {
            throw unsupported("a comparison of \(comparison.field)")
        }
        if comparison.quantifier == .all { throw unsupported("ALL") }
        let type = types(comparison.field)
        switch comparison.test {
        case .text(.beginsWith, _): return
        case .text(let relation, _): throw unsupported(relation.rawValue)
        case .contains where comparison.quantifier != nil || type?.isList == false:
            throw unsupported("CONTAINS on a string")
        case .relation(let relation, let value):
            if case .list = value { throw unsupported("a comparison of whole lists") }
            let isEquality = relation == .equal || relation == .notEqual
            if value.type == .bytes && !isEquality {
                throw unsupported("\(relation.rawValue) with bytes")
            }
        case .between(.bytes, _), .between(_, .bytes): throw unsupported("BETWEEN with bytes")
        default: break
        }
        for value in comparison.test.constants {
            switch value.type {
            case .location: throw unsupported("a location compared other than by distance")
            case .asset: throw unsupported("a comparison of assets")
            default: break
            }
        }
    }

    private func unsupported(_ form: String) -> UnsupportedPredicate {
        UnsupportedPredicate("\(form) is not supported by CloudKit", at: place)
    }

    /// The name of a form that CloudKit does not negate.
    private var formNotNegated: String? {
        switch form {
        case .and: "a compound predicate"
        case .search: "a token search"
        case .distance: "a distance"
        case .comparison(let comparison):
            if case .between = comparison.test { "BETWEEN" } else { nil }
        default: nil
        }
    }
}

extension FieldComparison.Test {
    /// The values that a field is compared with.
    var constants: [PredicateValue] {
        switch self {
        case .relation(_, let value), .contains(let value): value.elements
        case .between(let low, let high): [low, high]
        case .isIn(let values): values
        case .text(_, let text): [.string(text)]
        }
    }
}
