/// Reads predicate text in the format of `NSPredicate`, by recursive descent.
///
///     predicate  = and { ("OR" | "||") and }
///     and        = not { ("AND" | "&&") not }
///     not        = ("NOT" | "!") not | "(" predicate ")" | "TRUEPREDICATE" | "FALSEPREDICATE"
///                | comparison
///
/// Parentheses and `NOT` nest at most ``RecordPredicate/depthLimit`` deep, and so does the tree; the
/// time is in proportion to the text.
package struct PredicateParser {
    /// The longest text, in UTF-8 bytes.
    package static let textLimit = 64 << 10

    var lexer: PredicateLexer
    var token: PredicateToken
    /// Where the last token ended that was taken.
    private(set) var end = 0
    let arguments: PredicateArguments
    var usedArguments = 0

    /// The tree that `text` describes.
    package static func parse(
        _ text: String, _ arguments: PredicateArguments = PredicateArguments()
    ) throws(PredicateTextError) -> RecordPredicate {
        var parser = try PredicateParser(text, arguments)
        return try parser.parse()
    }

    package init(
        _ text: String, _ arguments: PredicateArguments = PredicateArguments()
    ) throws(PredicateTextError) {
        self.arguments = arguments
        let isTooLong = text.utf8.count > Self.textLimit
        lexer = PredicateLexer(isTooLong ? "" : text)
        token = PredicateToken(kind: .end, range: 0..<0)
        if isTooLong {
            throw lexer.error("the text is longer than \(Self.textLimit) bytes", at: 0)
        }
    }

    /// How many bytes the parser looked at, for tests of its complexity.
    package var work: Int { lexer.work }

    package mutating func parse() throws(PredicateTextError) -> RecordPredicate {
        token = try lexer.next()
        let predicate = try disjunction(level: 1)
        guard token.kind == .end else {
            throw error("expected AND, OR or the end of the text")
        }
        guard usedArguments == arguments.values.count else {
            let count = arguments.values.count
            throw error("the text has places for \(usedArguments) arguments, not for \(count)")
        }
        return predicate
    }

    // MARK: Compounds

    private mutating func disjunction(
        level: Int
    ) throws(PredicateTextError) -> RecordPredicate {
        let start = token.range.lowerBound
        var parts = [try conjunction(level: level)]
        while try accept(.keyword(.or)) { parts.append(try conjunction(level: level)) }
        return parts.count == 1 ? parts[0] : try checked(.or(parts, at: start..<end))
    }

    private mutating func conjunction(
        level: Int
    ) throws(PredicateTextError) -> RecordPredicate {
        let start = token.range.lowerBound
        var parts = [try negation(level: level)]
        while try accept(.keyword(.and)) { parts.append(try negation(level: level)) }
        return parts.count == 1 ? parts[0] : try checked(.and(parts, at: start..<end))
    }

    private mutating func negation(level: Int) throws(PredicateTextError) -> RecordPredicate {
        let start = token.range.lowerBound
        let opensLevel = token.kind == .keyword(.not) || token.kind == .symbol(.open)
        guard !opensLevel || level <= RecordPredicate.depthLimit else { throw tooDeep(at: start) }
        if try accept(.keyword(.not)) {
            let part = try negation(level: level + 1)
            return try checked(.not(part, at: start..<end))
        } else if try accept(.symbol(.open)) {
            let part = try disjunction(level: level + 1)
            try expect(.symbol(.close), "expected ')' for the '(' before")
            return part
        } else if try accept(.keyword(.truePredicate)) {
            return .constant(true, at: start..<end)
        } else if try accept(.keyword(.falsePredicate)) {
            return .constant(false, at: start..<end)
        }
        return try checked(comparison())
    }

    private func checked(
        _ predicate: RecordPredicate
    ) throws(PredicateTextError) -> RecordPredicate {
        guard predicate.depth <= RecordPredicate.depthLimit else {
            throw tooDeep(at: predicate.place?.lowerBound ?? 0)
        }
        return predicate
    }

    private func tooDeep(at offset: Int) -> PredicateTextError {
        lexer.error("nested deeper than \(RecordPredicate.depthLimit) levels", at: offset)
    }

    // MARK: Tokens

    /// An error at the current token.
    func error(_ message: String) -> PredicateTextError {
        lexer.error(message, at: token.range.lowerBound)
    }

    mutating func advance() throws(PredicateTextError) {
        end = token.range.upperBound
        token = try lexer.next()
    }

    /// Takes the current token if it is of that kind.
    mutating func accept(_ kind: PredicateToken.Kind) throws(PredicateTextError) -> Bool {
        guard token.kind == kind else { return false }
        try advance()
        return true
    }

    mutating func expect(
        _ kind: PredicateToken.Kind, _ message: String
    ) throws(PredicateTextError) {
        guard try accept(kind) else { throw error(message) }
    }
}
