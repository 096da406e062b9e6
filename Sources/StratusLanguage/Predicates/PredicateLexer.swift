/// Divides predicate text into tokens. Every byte is read once or twice.
struct PredicateLexer {
    let bytes: [UInt8]
    private(set) var position = 0
    /// How many bytes were looked at, so that tests can tell the work from the time it takes.
    private(set) var work = 0

    init(_ text: String) { bytes = Array(text.utf8) }

    mutating func next() throws(PredicateTextError) -> PredicateToken {
        while let byte = peek(), byte == 0x20 || (0x09...0x0d).contains(byte) { position += 1 }
        let start = position
        let kind = try scan()
        return PredicateToken(kind: kind, range: start..<position)
    }

    func error(_ message: String, at offset: Int) -> PredicateTextError {
        PredicateTextError(message: message, place: TextPlace(offset: offset, in: bytes))
    }

    private mutating func scan() throws(PredicateTextError) -> PredicateToken.Kind {
        guard let byte = peek() else { return .end }
        switch byte {
        case UInt8(ascii: "'"), UInt8(ascii: "\""): return .string(try quoted())
        case UInt8(ascii: "["): return .options(try options())
        case UInt8(ascii: "%"): return try placeholder()
        case UInt8(ascii: "#"):
            position += 1
            return .escapedName(try identifier("a field's name after '#'"))
        case UInt8(ascii: "$"):
            position += 1
            return .variable(try identifier("a variable's name after '$'"))
        case _ where Self.isDigit(byte): return try number()
        case UInt8(ascii: "-"), UInt8(ascii: "."):
            let next = peek(1) ?? 0
            let isNumber = Self.isDigit(next) || byte != UInt8(ascii: ".") && next == 0x2e
            if isNumber { return try number() }
            let message =
                byte == UInt8(ascii: ".")
                ? "a predicate names a field of its own record; paths with '.' are not supported"
                : "expected a number after '-'"
            throw error(message, at: position)
        case _ where Self.isNameStart(byte):
            // Functions have colons in their names.
            let name = text(while: { Self.isNamePart($0) || $0 == UInt8(ascii: ":") })
            return PredicateToken.Keyword(name: name).map { .keyword($0) } ?? .name(name)
        default: return try sign(byte)
        }
    }

    // MARK: Signs

    private static let signs: [(text: String, kind: PredicateToken.Kind)] = [
        // Longer ones first.
        ("==", .relation(.equal)), ("!=", .relation(.notEqual)), ("<>", .relation(.notEqual)),
        ("<=", .relation(.lessOrEqual)), ("=<", .relation(.lessOrEqual)),
        (">=", .relation(.greaterOrEqual)), ("=>", .relation(.greaterOrEqual)),
        ("&&", .keyword(.and)), ("||", .keyword(.or)), ("=", .relation(.equal)),
        ("<", .relation(.less)), (">", .relation(.greater)), ("!", .keyword(.not)),
        ("(", .symbol(.open)), (")", .symbol(.close)), ("{", .symbol(.openList)),
        ("}", .symbol(.closeList)), (",", .symbol(.comma)),
    ]

    private mutating func sign(_ byte: UInt8) throws(PredicateTextError) -> PredicateToken.Kind {
        for (text, kind) in Self.signs where bytes[position...].starts(with: text.utf8) {
            position += text.utf8.count
            work += text.utf8.count
            return kind
        }
        let rest = String(decoding: bytes[position...].prefix(4), as: UTF8.self)
        throw error("unexpected character '\(rest.prefix(1))'", at: position)
    }

    /// The letters in brackets behind an operator.
    private mutating func options() throws(PredicateTextError) -> TextOptions {
        let start = position
        position += 1
        let letters = text(while: Self.isNamePart)
        var options: TextOptions = []
        for letter in letters.lowercased() {
            guard let found = TextOptions.letters.first(where: { $0.letter == String(letter) })
            else {
                throw error("unknown option '\(letter)'; known are c, d, l and n", at: start)
            }
            options.insert(found.option)
        }
        guard !letters.isEmpty, peek() == UInt8(ascii: "]") else {
            throw error("expected options such as [c] or [cd]", at: start)
        }
        position += 1
        return options
    }

    private mutating func placeholder() throws(PredicateTextError) -> PredicateToken.Kind {
        let start = position
        position += 1
        // Flags, width, precision and length say how to print, which is not done here.
        _ = text(while: { "0123456789.+-hlqLzjt".utf8.contains($0) })
        let letter = peek() ?? 0
        position += letter == 0 ? 0 : 1
        switch letter {
        case UInt8(ascii: "@"): return .placeholder(.value)
        case UInt8(ascii: "K"): return .placeholder(.key)
        case _ where "diuxXoc".utf8.contains(letter): return .placeholder(.integer)
        case _ where "fFeEgGaA".utf8.contains(letter): return .placeholder(.real)
        case _ where "sS".utf8.contains(letter): return .placeholder(.string)
        // Outside of quotes, where it cannot be part of a text, it is one.
        case UInt8(ascii: "%"): return .string("%")
        default:
            throw error("unknown placeholder; known are %@, %K, %d, %ld, %f, %s", at: start)
        }
    }

    private mutating func identifier(_ what: String) throws(PredicateTextError) -> String {
        guard let byte = peek(), Self.isNameStart(byte) else {
            throw error("expected \(what)", at: position)
        }
        return text(while: Self.isNamePart)
    }

    // MARK: Bytes

    mutating func peek(_ distance: Int = 0) -> UInt8? {
        work += 1
        return position + distance < bytes.count ? bytes[position + distance] : nil
    }

    mutating func advance(_ count: Int = 1) { position += count }

    /// The text up to the first byte that does not satisfy the condition.
    mutating func text(while condition: (UInt8) -> Bool) -> String {
        let start = position
        while let byte = peek(), condition(byte) { position += 1 }
        return String(decoding: bytes[start..<position], as: UTF8.self)
    }

    static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }
    static func isLetter(_ byte: UInt8) -> Bool { (0x61...0x7a).contains(byte | 0x20) }
    static func isNameStart(_ byte: UInt8) -> Bool { isLetter(byte) || byte == UInt8(ascii: "_") }
    static func isNamePart(_ byte: UInt8) -> Bool { isNameStart(byte) || isDigit(byte) }
}
