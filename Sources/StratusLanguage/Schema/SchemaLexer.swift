/// A word, a name or a character of the text of a schema.
struct SchemaToken: Sendable {
    enum Kind: Sendable {
        /// A keyword or a name without quotes.
        case word
        /// A name in double quotes, its text without them.
        case quoted
        /// One character of any other sort.
        case symbol
        /// What follows the last token; the text says what ends there.
        case end
    }

    var kind: Kind
    var text: String
    var place: SchemaPlace

    /// Whether it is that keyword, which is in upper case; the token may be in any case of letters.
    func isKeyword(_ keyword: String) -> Bool {
        kind == .word && text.utf8.count == keyword.utf8.count
            && zip(text.utf8, keyword.utf8).allSatisfy { ($0.isLetter ? $0 & 0xDF : $0) == $1 }
    }

    func isSymbol(_ symbol: String) -> Bool { kind == .symbol && text == symbol }

    /// As a message shows it.
    var description: String {
        switch kind {
        case .word, .symbol: "'\(text.forMessage)'"
        case .quoted: "\"\(text.forMessage)\""
        case .end: text
        }
    }
}

/// Takes the text of a schema apart, one token at a time.
///
/// Comments are skipped. A line comment that begins with `stratus:` is a directive: where it stands
/// is kept, and a lexer of its own reads it, in which there are no comments.
struct SchemaLexer {
    struct Directive: Sendable {
        fileprivate var start: Cursor
        /// The offset of the line break, in bytes.
        fileprivate var end: Int
    }

    /// The directives passed so far.
    private(set) var directives: [Directive] = []
    private let bytes: [UInt8]
    private let end: Int
    private let nameOfEnd: String
    private let hasComments: Bool
    private var cursor = Cursor()

    private static let marker = "stratus:"

    /// Of a text, which must be valid UTF-8.
    init(_ bytes: [UInt8]) {
        self.bytes = bytes
        end = bytes.count
        nameOfEnd = "the end of the text"
        hasComments = true
        if sees("\u{FEFF}") { cursor.offset = "\u{FEFF}".utf8.count }
    }

    /// Of a directive of another's text.
    init(_ directive: Directive, in other: SchemaLexer) {
        bytes = other.bytes
        end = directive.end
        nameOfEnd = "the end of the line"
        hasComments = false
        cursor = directive.start
    }

    /// The next token, for ever `end` behind the last.
    mutating func next() throws(SchemaSyntaxError) -> SchemaToken {
        try skipBlanks()
        let place = cursor.place
        let start = cursor.offset
        guard let byte = peek() else {
            return SchemaToken(kind: .end, text: nameOfEnd, place: place)
        }
        if byte == UInt8(ascii: "\"") { return try quoted() }
        advance()
        if byte.isLetter || byte == UInt8(ascii: "_") {
            while let byte = peek(), byte.isPartOfWord { advance() }
            return SchemaToken(kind: .word, text: text(from: start), place: place)
        }
        while let byte = peek(), byte.continuesScalar { advance() }
        return SchemaToken(kind: .symbol, text: text(from: start), place: place)
    }

    private mutating func quoted() throws(SchemaSyntaxError) -> SchemaToken {
        let place = cursor.place
        advance()
        let start = cursor.offset
        while let byte = peek(), !byte.isLineBreak {
            let text = byte == UInt8(ascii: "\"") ? text(from: start) : nil
            advance()
            if let text { return SchemaToken(kind: .quoted, text: text, place: place) }
        }
        throw SchemaSyntaxError(
            place: place, message: "expected a '\"' that closes this one before the line ends")
    }
}

extension SchemaLexer {
    private mutating func skipBlanks() throws(SchemaSyntaxError) {
        while let byte = peek() {
            if byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") || byte.isLineBreak {
                advance()
            } else if hasComments, sees("//") || sees("--") {
                skipLine()
            } else if hasComments, sees("/*") {
                try skipBlock()
            } else {
                return
            }
        }
    }

    private mutating func skipLine() {
        let mayBeDirective = sees("//")
        advance(2)
        while let byte = peek(), byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") {
            advance()
        }
        let isDirective = mayBeDirective && sees(Self.marker)
        if isDirective { advance(Self.marker.utf8.count) }
        let start = cursor
        while let byte = peek(), !byte.isLineBreak { advance() }
        if isDirective { directives.append(Directive(start: start, end: cursor.offset)) }
    }

    private mutating func skipBlock() throws(SchemaSyntaxError) {
        let place = cursor.place
        advance(2)
        while peek() != nil {
            if sees("*/") { return advance(2) }
            advance()
        }
        throw SchemaSyntaxError(
            place: place, message: "expected a '*/' that closes this comment before the text ends")
    }

    private func peek() -> UInt8? { cursor.offset < end ? bytes[cursor.offset] : nil }

    private func sees(_ text: String) -> Bool {
        bytes[cursor.offset..<end].starts(with: text.utf8)
    }

    private func text(from start: Int) -> String {
        String(decoding: bytes[start..<cursor.offset], as: UTF8.self)
    }

    /// At most to the end.
    private mutating func advance(_ count: Int = 1) {
        for _ in 0..<min(count, end - cursor.offset) { cursor.advance(in: bytes) }
    }
}

extension SchemaLexer {
    /// A place in a text, as an offset in bytes and as line and column.
    struct Cursor: Sendable {
        var offset = 0
        private(set) var place = SchemaPlace(line: 1, column: 1)

        /// Over one byte. A line ends with a line feed, a carriage return, or both.
        mutating func advance(in bytes: [UInt8]) {
            let byte = bytes[offset]
            offset += 1
            let next = offset < bytes.count ? bytes[offset] : nil
            let endsLine =
                byte == UInt8(ascii: "\n")
                || byte == UInt8(ascii: "\r") && next != UInt8(ascii: "\n")
            if endsLine {
                place = SchemaPlace(line: place.line + 1, column: 1)
            } else if !(next?.continuesScalar ?? false) {
                place.column += 1
            }
        }
    }
}

extension UInt8 {
    /// Whether it goes on with a Unicode scalar that an earlier byte of UTF-8 began.
    fileprivate var continuesScalar: Bool { self & 0xC0 == 0x80 }
    fileprivate var isLineBreak: Bool { self == UInt8(ascii: "\n") || self == UInt8(ascii: "\r") }
    /// Real exports have names with a dot without quotes.
    fileprivate var isPartOfWord: Bool {
        isLetter || isDigit || self == UInt8(ascii: "_") || self == UInt8(ascii: ".")
    }
}
