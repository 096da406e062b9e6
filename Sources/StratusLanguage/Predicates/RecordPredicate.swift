/// A condition on records: a tree of comparisons.
///
/// Two predicates are equal if they have the same form; their places in a text are not compared.
/// `String` holds texts for equal that differ in normalisation only, and the evaluator does not: a
/// cache takes the UTF-8 of ``description`` as its key.
package struct RecordPredicate: Hashable, Sendable {
    /// Deeper predicates are refused by the parser and by ``PredicateEvaluator``.
    package static let depthLimit = 64

    package indirect enum Form: Hashable, Sendable {
        case constant(Bool)
        /// Two predicates or more, none of them itself an `and`.
        case and([RecordPredicate])
        /// Two predicates or more, none of them itself an `or`.
        case or([RecordPredicate])
        case not(RecordPredicate)
        /// That a record lacks the field.
        case isNil(field: String)
        case comparison(FieldComparison)
        case search(TokenSearch)
        case distance(DistanceComparison)
    }

    package let form: Form
    /// The levels of the tree, 1 for a comparison.
    package let depth: Int
    /// Where it stood in its text, in UTF-8 bytes; nil of one that was not parsed.
    package let place: Range<Int>?

    private init(_ form: Form, depth: Int, place: Range<Int>?) {
        self.form = form
        self.depth = depth
        self.place = place
    }

    package static func == (left: RecordPredicate, right: RecordPredicate) -> Bool {
        left.form == right.form
    }

    package func hash(into hasher: inout Hasher) { hasher.combine(form) }
}

extension RecordPredicate {
    package static func constant(_ value: Bool, at place: Range<Int>? = nil) -> RecordPredicate {
        RecordPredicate(.constant(value), depth: 1, place: place)
    }

    /// Holds where all parts do. An `and` among them is flattened; without parts it is true.
    package static func and(
        _ parts: [RecordPredicate], at place: Range<Int>? = nil
    ) -> RecordPredicate {
        let parts = parts.flatMap { part in
            if case .and(let inner) = part.form { inner } else { [part] }
        }
        return compound(.and(parts), parts, empty: true, at: place)
    }

    /// Holds where one part does. An `or` among them is flattened; without parts it is false.
    package static func or(
        _ parts: [RecordPredicate], at place: Range<Int>? = nil
    ) -> RecordPredicate {
        let parts = parts.flatMap { part in
            if case .or(let inner) = part.form { inner } else { [part] }
        }
        return compound(.or(parts), parts, empty: false, at: place)
    }

    package static func not(
        _ part: RecordPredicate, at place: Range<Int>? = nil
    ) -> RecordPredicate {
        RecordPredicate(.not(part), depth: part.depth + 1, place: place)
    }

    /// Holds for records without the field.
    package static func isNil(field: String, at place: Range<Int>? = nil) -> RecordPredicate {
        RecordPredicate(.isNil(field: field), depth: 1, place: place)
    }

    package static func comparison(
        _ comparison: FieldComparison, at place: Range<Int>? = nil
    ) -> RecordPredicate {
        RecordPredicate(.comparison(comparison), depth: 1, place: place)
    }

    package static func search(
        _ search: TokenSearch, at place: Range<Int>? = nil
    ) -> RecordPredicate {
        RecordPredicate(.search(search), depth: 1, place: place)
    }

    package static func distance(
        _ distance: DistanceComparison, at place: Range<Int>? = nil
    ) -> RecordPredicate {
        RecordPredicate(.distance(distance), depth: 1, place: place)
    }

    private static func compound(
        _ form: Form, _ parts: [RecordPredicate], empty: Bool, at place: Range<Int>?
    ) -> RecordPredicate {
        if parts.count < 2 { return parts.first ?? constant(empty, at: place) }
        let depth = parts.reduce(0) { max($0, $1.depth) } + 1
        return RecordPredicate(form, depth: depth, place: place)
    }
}
