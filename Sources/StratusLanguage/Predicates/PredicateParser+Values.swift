internal import StratusBytes

// Constants: literals, arguments, variables, `now()` and `CAST`.

extension PredicateParser {
    /// A constant. Where it may be a list, it comes from an argument or a variable.
    mutating func value() throws(PredicateTextError) -> PredicateValue {
        let value: PredicateValue
        switch token.kind {
        case .string, .integer, .real: return try literal()
        case .keyword(.true), .keyword(.yes): value = .int64(1)
        case .keyword(.false), .keyword(.no): value = .int64(0)
        case .keyword(.now):
            guard let now = arguments.now else { throw error("now() is not known here") }
            try advance()
            try expect(.symbol(.open), "expected '(' behind now")
            try expect(.symbol(.close), "expected ')' behind now(")
            return .date(now)
        case .keyword(.cast): return try cast()
        case .variable(let name):
            guard let found = arguments.variables[name] else {
                throw error("the variable $\(name.prefix(64)) has no value")
            }
            value = found
        case .placeholder(let placeholder): value = try argument(for: placeholder)
        default: throw error("expected a value")
        }
        if case .list(let values) = value, values.contains(where: { $0.type == nil }) {
            throw error("a list in a list is not supported")
        }
        try advance()
        return value
    }

    private mutating func argument(
        for placeholder: PredicateToken.Placeholder
    ) throws(PredicateTextError) -> PredicateValue {
        let value = try argument()
        switch (placeholder, value) {
        case (.value, _), (.integer, .int64), (.real, .double), (.string, .string): return value
        case (.real, .int64(let number)): return .double(Double(number))
        default:
            throw error("argument \(usedArguments) does not fit \(placeholder.rawValue)")
        }
    }

    /// `{…}` with constants, none of them a list.
    mutating func list() throws(PredicateTextError) -> [PredicateValue] {
        try elements { parser throws(PredicateTextError) in
            let place = parser.token.range.lowerBound
            let value = try parser.value()
            guard value.type != nil else {
                throw parser.lexer.error("a list in a list is not supported", at: place)
            }
            return value
        }
    }

    private mutating func elements(
        _ element: (inout PredicateParser) throws(PredicateTextError) -> PredicateValue
    ) throws(PredicateTextError) -> [PredicateValue] {
        try expect(.symbol(.openList), "expected '{'")
        var values: [PredicateValue] = []
        if try accept(.symbol(.closeList)) { return values }
        repeat { values.append(try element(&self)) } while try accept(.symbol(.comma))
        try expect(.symbol(.closeList), "expected ',' or '}' in the list")
        return values
    }

    private mutating func literal() throws(PredicateTextError) -> PredicateValue {
        let value: PredicateValue
        switch token.kind {
        case .string(let text): value = .string(text)
        case .integer(let number): value = .int64(number)
        case .real(let number): value = .double(number)
        default: throw error("expected a string or a number")
        }
        try advance()
        return value
    }

    /// `CAST(literals, 'class')`: the values that have no literal of their own.
    private mutating func cast() throws(PredicateTextError) -> PredicateValue {
        let place = token.range.lowerBound
        try advance()
        try expect(.symbol(.open), "expected '(' behind CAST")
        let parts: [PredicateValue]
        if token.kind == .symbol(.openList) {
            parts = try elements { parser throws(PredicateTextError) in try parser.literal() }
        } else {
            parts = [try literal()]
        }
        try expect(.symbol(.comma), "expected ',' and the name of a class")
        guard case .string(let name) = token.kind else { throw error("expected a class in quotes") }
        try advance()
        try expect(.symbol(.close), "expected ')' behind the class")
        guard let value = CastValue.value(parts, as: name) else {
            throw lexer.error("not the parts of a value of \(name.prefix(64))", at: place)
        }
        return value
    }
}

/// Values as `CAST` writes them.
enum CastValue {
    static func value(_ parts: [PredicateValue], as name: String) -> PredicateValue? {
        let numbers = parts.compactMap(number)
        let texts = parts.compactMap { if case .string(let text) = $0 { text } else { nil } }
        switch (name, parts.count) {
        case ("double", 1): return numbers.first.map { .double($0) }
        case ("NSDate", 1): return numbers.first.map { .date($0) }
        case ("NSData", 1): return texts.first.flatMap(Hex.decode).map { .bytes($0) }
        case ("CKAsset", 0): return .asset
        case ("CLLocation", 2) where numbers.count == 2:
            return .location(GeographicPoint(latitude: numbers[0], longitude: numbers[1]))
        case ("CKReference", 1...3) where texts.count == parts.count:
            // An empty name stands for one that is not said.
            let names = texts.map { $0.isEmpty ? nil : $0 } + [nil, nil]
            return .reference(
                ReferenceTarget(recordName: texts[0], zone: names[1], owner: names[2]))
        default: return nil
        }
    }

    /// A number, also one that has no literal.
    private static func number(_ value: PredicateValue) -> Double? {
        switch value {
        case .int64(let number): Double(number)
        case .double(let number): number
        case .string("nan"): .nan
        case .string("inf"): .infinity
        case .string("-inf"): -.infinity
        default: nil
        }
    }
}
