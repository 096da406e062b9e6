// Comparisons: two operands with an operator between them.

extension PredicateParser {
    /// What stands between two operands.
    private enum Operator: Equatable {
        case relation(Relation)
        case text(TextRelation)
        case isIn, between, contains, tokenMatches
    }

    /// A comparison, read but not yet checked.
    private struct Parts {
        var quantifier: FieldComparison.Quantifier?
        var left: PredicateOperand
        var sign: Operator
        var options: TextOptions
        var right: PredicateOperand
        var place: Range<Int>
    }

    mutating func comparison() throws(PredicateTextError) -> RecordPredicate {
        let start = token.range.lowerBound
        var isNegated = false
        var quantifier: FieldComparison.Quantifier?
        if try accept(.keyword(.any)) {
            quantifier = .any
        } else if try accept(.keyword(.some)) {
            quantifier = .any
        } else if try accept(.keyword(.all)) {
            quantifier = .all
        } else if try accept(.keyword(.none)) {
            quantifier = .any
            isNegated = true
        }
        let left = try operand()
        // `f NOT IN {…}`.
        if try accept(.keyword(.not)) { isNegated.toggle() }
        let sign = try self.sign()
        let options = try self.options()
        let right = try operand()
        let parts = Parts(
            quantifier: quantifier, left: left, sign: sign, options: options, right: right,
            place: start..<end)
        guard let predicate = Self.predicate(parts) else {
            throw lexer.error(Self.refusal(parts), at: start)
        }
        return isNegated ? .not(predicate, at: start..<end) : predicate
    }

    private mutating func sign() throws(PredicateTextError) -> Operator {
        let sign: Operator
        switch token.kind {
        case .relation(let relation): sign = .relation(relation)
        case .keyword(.isIn): sign = .isIn
        case .keyword(.between): sign = .between
        case .keyword(.contains): sign = .contains
        case .keyword(.tokenMatches): sign = .tokenMatches
        case .keyword(.beginsWith): sign = .text(.beginsWith)
        case .keyword(.endsWith): sign = .text(.endsWith)
        case .keyword(.like): sign = .text(.like)
        case .keyword(.matches): throw error("regular expressions are not supported")
        default: throw error("expected an operator such as =, <, IN or BEGINSWITH")
        }
        try advance()
        return sign
    }

    private mutating func options() throws(PredicateTextError) -> TextOptions {
        guard case .options(let options) = token.kind else { return [] }
        try advance()
        return options
    }

    // MARK: Meaning

    /// The predicate that a comparison is; nil of one that has no meaning.
    private static func predicate(_ parts: Parts) -> RecordPredicate? {
        let place = parts.place
        switch (parts.left, parts.sign, parts.right, parts.quantifier) {
        case (.searchable, .contains, .value(.string(let text)), nil),
            (.searchable, .contains, .tokens(let text), nil):
            return .search(TokenSearch(text, needsAll: false), at: place)
        case (_, .tokenMatches, .value(.string(let text)), _),
            (_, .tokenMatches, .tokens(let text), _):
            return search(text, parts)
        case (.distance(let field, let center), .relation(let relation), .value(let limit), nil):
            return distance(field, center, relation, limit, at: place)
        case (.value(let limit), .relation(let relation), .distance(let field, let center), nil):
            return distance(field, center, relation.mirrored, limit, at: place)
        case (.field(let field), .relation(let relation), .null, nil),
            (.null, .relation(let relation), .field(let field), nil):
            return nilTest(field, relation, at: place)
        default:
            guard let (field, test) = fieldTest(parts) else { return nil }
            // `ANY {a, b} = f` asks of the constants, not of the field.
            let isOfConstants = if case .value = parts.left { true } else { false }
            let comparison = FieldComparison(
                field: field, test, options: parts.options,
                quantifier: isOfConstants ? nil : parts.quantifier)
            return .comparison(comparison, at: place)
        }
    }

    private static func fieldTest(_ parts: Parts) -> (String, FieldComparison.Test)? {
        switch (parts.left, parts.sign, parts.right, parts.quantifier) {
        case (.field(let field), .relation(let relation), .value(let value), _):
            (field, .relation(relation, value))
        case (.value(let value), .relation(let relation), .field(let field), nil):
            (field, .relation(relation.mirrored, value))
        case (.value(.list(let values)), .relation(.equal), .field(let field), .any):
            (field, .isIn(values))
        case (.field(let field), .isIn, .value(.list(let values)), _): (field, .isIn(values))
        case (.value(let value), .isIn, .field(let field), nil) where value.type != nil:
            (field, .contains(value))
        case (.field(let field), .contains, .value(let value), _) where value.type != nil:
            (field, .contains(value))
        case (.field(let field), .between, .value(.list(let values)), _) where values.count == 2:
            (field, .between(values[0], values[1]))
        case (.field(let field), .text(let relation), .value(.string(let text)), _):
            (field, .text(relation, text))
        default: nil
        }
    }

    /// `ANY f TOKENMATCHES` needs one of the words, without `ANY` all are needed.
    private static func search(_ text: String, _ parts: Parts) -> RecordPredicate? {
        let needsAll = parts.quantifier != .any
        switch parts.left {
        case .searchable: return .search(TokenSearch(text, needsAll: needsAll), at: parts.place)
        case .field(let field):
            let search = TokenSearch(text, needsAll: needsAll, field: field)
            return .search(search, at: parts.place)
        default: return nil
        }
    }

    private static func distance(
        _ field: String, _ center: GeographicPoint, _ relation: Relation, _ limit: PredicateValue,
        at place: Range<Int>
    ) -> RecordPredicate? {
        let kilometres: Double
        switch limit {
        case .int64(let number): kilometres = Double(number)
        case .double(let number): kilometres = number
        default: return nil
        }
        let distance = DistanceComparison(
            field: field, from: center, relation, kilometres: kilometres)
        return .distance(distance, at: place)
    }

    private static func nilTest(
        _ field: String, _ relation: Relation, at place: Range<Int>
    ) -> RecordPredicate? {
        let isNil = RecordPredicate.isNil(field: field, at: place)
        switch relation {
        case .equal: return isNil
        case .notEqual: return .not(isNil, at: place)
        default: return nil
        }
    }

    /// Why a comparison has no meaning.
    private static func refusal(_ parts: Parts) -> String {
        switch (parts.left, parts.sign, parts.right) {
        case (.field, _, .field): "two fields cannot be compared; one side must be a value"
        case (.field, .isIn, _): "IN needs a list such as {1, 2} on its right side"
        case (.field, .between, _): "BETWEEN needs a list of two values on its right side"
        case (.field, .text(let relation), _):
            "\(relation.rawValue) needs a string on its right side"
        case (.field, .contains, _): "CONTAINS needs one value on its right side"
        case (_, .tokenMatches, _): "TOKENMATCHES needs a field and a string"
        case (.searchable, _, _), (_, _, .searchable):
            "self and allTokens are searched by CONTAINS or TOKENMATCHES and a string only"
        case (.distance, _, _), (_, _, .distance): "a distance is compared with a number only"
        case (.null, _, _), (_, _, .null): "nil is compared with a field by = or != only"
        default: "expected a field on one side and a fitting value on the other"
        }
    }
}
