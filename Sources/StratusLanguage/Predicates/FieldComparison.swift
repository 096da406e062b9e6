/// A test of one field against constants.
package struct FieldComparison: Hashable, Sendable {
    /// Which elements of a list are tested.
    package enum Quantifier: String, Hashable, Sendable {
        case any = "ANY"
        case all = "ALL"
    }

    package enum Test: Hashable, Sendable {
        case relation(Relation, PredicateValue)
        /// Both bounds included.
        case between(PredicateValue, PredicateValue)
        case isIn([PredicateValue])
        case text(TextRelation, String)
        /// Of a list: that it has the value; of a string: that it has the text in it.
        case contains(PredicateValue)
    }

    package var field: String
    package var test: Test
    package var options: TextOptions
    /// Nil where the value itself is tested.
    package var quantifier: Quantifier?

    package init(
        field: String, _ test: Test, options: TextOptions = [], quantifier: Quantifier? = nil
    ) {
        self.field = field
        self.test = test
        self.options = options
        self.quantifier = quantifier
    }
}

/// How two values are to each other.
package enum Relation: String, Hashable, Sendable, CaseIterable {
    case equal = "="
    case notEqual = "!="
    case less = "<"
    case lessOrEqual = "<="
    case greater = ">"
    case greaterOrEqual = ">="

    /// The same with the sides exchanged.
    package var mirrored: Relation {
        switch self {
        case .equal, .notEqual: self
        case .less: .greater
        case .lessOrEqual: .greaterOrEqual
        case .greater: .less
        case .greaterOrEqual: .lessOrEqual
        }
    }
}

/// How a string is to a text.
package enum TextRelation: String, Hashable, Sendable, CaseIterable {
    case beginsWith = "BEGINSWITH"
    case endsWith = "ENDSWITH"
    /// With `*` for any scalars and `?` for one; `\` takes the meaning from the character after it.
    case like = "LIKE"
}

/// The letters in brackets behind an operator.
package struct TextOptions: OptionSet, Hashable, Sendable {
    package let rawValue: UInt8

    package init(rawValue: UInt8) { self.rawValue = rawValue }

    /// `c`: case does not count.
    package static let caseInsensitive = TextOptions(rawValue: 1)
    /// `d`: diacritics do not count.
    package static let diacriticInsensitive = TextOptions(rawValue: 2)
    /// `l`: as the user's language has it. Kept, and without effect: a store has no language.
    package static let localeSensitive = TextOptions(rawValue: 4)
    /// `n`: scalar by scalar, whatever else is said.
    package static let normalized = TextOptions(rawValue: 8)

    /// The letters, in the order in which they are printed.
    static let letters: [(letter: String, option: TextOptions)] = [
        ("c", .caseInsensitive), ("d", .diacriticInsensitive), ("l", .localeSensitive),
        ("n", .normalized),
    ]
}

/// A search for words in the searchable strings of a record.
package struct TokenSearch: Hashable, Sendable {
    package var text: String
    /// Whether all words of the text are needed, or one.
    package var needsAll: Bool
    /// Nil where the words may stand in any searchable field.
    package var field: String?

    package init(_ text: String, needsAll: Bool, field: String? = nil) {
        self.text = text
        self.needsAll = needsAll
        self.field = field
    }
}

/// A comparison of how far a location is from a point.
package struct DistanceComparison: Hashable, Sendable {
    package var field: String
    package var center: GeographicPoint
    package var relation: Relation
    package var kilometres: Double

    package init(
        field: String, from center: GeographicPoint, _ relation: Relation, kilometres: Double
    ) {
        self.field = field
        self.center = center
        self.relation = relation
        self.kilometres = kilometres
    }
}
