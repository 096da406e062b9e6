/// One side of a comparison.
enum PredicateOperand: Equatable {
    case field(String)
    /// `self` or `allTokens`: all searchable fields.
    case searchable
    case value(PredicateValue)
    case null
    /// `tokenize:using:`.
    case tokens(String)
    case distance(field: String, center: GeographicPoint)
}

extension PredicateParser {
    mutating func operand() throws(PredicateTextError) -> PredicateOperand {
        switch token.kind {
        case .name("allTokens"), .keyword(.itself):
            try advance()
            return .searchable
        case .name, .escapedName: return .field(try field())
        case .placeholder(.key): return .field(try field())
        case .keyword(.null), .keyword(.nil):
            try advance()
            return .null
        case .placeholder(.value) where isNullArgument:
            usedArguments += 1
            try advance()
            return .null
        case .keyword(.tokenize): return try tokenize()
        case .keyword(.distance): return try distance()
        case .symbol(.openList): return .value(.list(try list()))
        case .keyword(let word) where ![.true, .yes, .false, .no, .cast, .now].contains(word):
            let name = word.rawValue.lowercased()
            throw error(
                "expected a field or a value, found \(word.rawValue); "
                    + "a field of that name is written #\(name)")
        default: return .value(try value())
        }
    }

    /// A field's name, under which the tree keeps it.
    mutating func field() throws(PredicateTextError) -> String {
        let name: String
        switch token.kind {
        case .name(let text), .escapedName(let text): name = text
        case .placeholder(.key):
            guard case .string(let text) = try argument() else {
                throw error("argument \(usedArguments) for %K is not the name of a field")
            }
            name = text
        default: throw error("expected a field")
        }
        guard let canonical = SystemField.canonicalName(name) else {
            throw error("not the name of a field: \(name.prefix(64))")
        }
        try advance()
        return canonical
    }

    private var isNullArgument: Bool {
        usedArguments < arguments.values.count && arguments.values[usedArguments] == nil
    }

    /// The next argument. An error stands at the placeholder, which is still the current token.
    mutating func argument() throws(PredicateTextError) -> PredicateValue {
        guard usedArguments < arguments.values.count else {
            throw error("argument \(usedArguments + 1) is missing")
        }
        usedArguments += 1
        guard let value = arguments.values[usedArguments - 1] else {
            throw error("argument \(usedArguments) is nil")
        }
        return value
    }

    // MARK: Functions

    private mutating func tokenize() throws(PredicateTextError) -> PredicateOperand {
        try advance()
        try expect(.symbol(.open), "expected '(' behind tokenize:using:")
        let text = try text()
        try expect(.symbol(.comma), "expected ',' between the two arguments")
        // The options are always those of searches: without case and diacritics.
        _ = try self.text()
        try expect(.symbol(.close), "expected ')' behind the second argument")
        return .tokens(text)
    }

    private mutating func text() throws(PredicateTextError) -> String {
        let place = token.range.lowerBound
        guard case .string(let text) = try value() else {
            throw lexer.error("expected a string", at: place)
        }
        return text
    }

    private mutating func distance() throws(PredicateTextError) -> PredicateOperand {
        try advance()
        try expect(.symbol(.open), "expected '(' behind distanceToLocation:fromLocation:")
        let place = token.range.lowerBound
        let first = try fieldOrValue()
        try expect(.symbol(.comma), "expected ',' between the two arguments")
        let second = try fieldOrValue()
        try expect(.symbol(.close), "expected ')' behind the second argument")
        switch (first, second) {
        case (.field(let field), .value(.location(let center))),
            (.value(.location(let center)), .field(let field)):
            return .distance(field: field, center: center)
        default: throw lexer.error("expected a field and a location", at: place)
        }
    }

    /// An operand that is no function, so that functions do not nest.
    private mutating func fieldOrValue() throws(PredicateTextError) -> PredicateOperand {
        switch token.kind {
        case .name, .escapedName, .placeholder(.key): .field(try field())
        default: .value(try value())
        }
    }
}
