/// Swift text taken apart: as written, the code alone, the comments alone, line by line.
///
/// Where the code is alone, comments, strings and raw identifiers are blank. So a rule about code
/// does not trip over prose, nor over the bad samples of its own test. What is interpolated into a
/// string is code. Regular expression literals are not known.
struct SwiftText {
    let lines: [String]
    let code: [String]
    let comments: [String]
    let tokens: [Token]

    /// A word, or one character of anything else that is code.
    struct Token {
        let text: String
        /// The first line is 1.
        let line: Int
    }

    init(_ text: String) {
        var scanner = SwiftScanner(text)
        scanner.run()
        lines = Self.lines(of: Array(text.utf8))
        code = Self.lines(of: scanner.code)
        comments = Self.lines(of: scanner.comments)
        tokens = Self.tokens(in: code)
    }

    /// The places among the tokens where `pattern` begins.
    func places(of pattern: [String]) -> [Int] {
        tokens.indices.filter { place in
            tokens[place...].prefix(pattern.count).map(\.text) == pattern
        }
    }

    /// The text of the token `distance` away, or nothing beyond either end.
    func token(at place: Int, _ distance: Int = 0) -> String {
        tokens.indices.contains(place + distance) ? tokens[place + distance].text : ""
    }

    /// The words and single characters in some lines, without blanks.
    static func tokens(in lines: [String]) -> [Token] {
        lines.enumerated().flatMap { number, line in
            var tokens: [Token] = []
            var word = ""
            for character in line + " " {
                if character.isLetter || character.isNumber || character == "_" {
                    word.append(character)
                    continue
                }
                if !word.isEmpty { tokens.append(Token(text: word, line: number + 1)) }
                word = ""
                if !character.isWhitespace {
                    tokens.append(Token(text: String(character), line: number + 1))
                }
            }
            return tokens
        }
    }

    private static func lines(of bytes: [UInt8]) -> [String] {
        var lines = bytes.split(separator: 0x0a, omittingEmptySubsequences: false)
        // What follows the last newline is not a line, unless there is something.
        if lines.last?.isEmpty == true { lines.removeLast() }
        return lines.map { String(decoding: $0, as: UTF8.self) }
    }
}

/// Tells code from comments and strings, byte by byte.
struct SwiftScanner {
    /// The text with everything blank but code, or but comments. Newlines stay.
    private(set) var code: [UInt8] = []
    private(set) var comments: [UInt8] = []

    private let bytes: [UInt8]
    private var place = 0
    /// What the place lies in, innermost last: code, a string in it, code in that, and so on.
    private var modes: [Mode] = [.code(parentheses: 0)]

    private enum Mode {
        case code(parentheses: Int)
        case string(hashes: Int, quotes: Int)
    }

    private enum Part { case code, comment, literal }

    init(_ text: String) { bytes = Array(text.utf8) }

    mutating func run() {
        while place < bytes.count, let mode = modes.last {
            switch mode {
            case .code(let parentheses): scanCode(parentheses)
            case .string(let hashes, let quotes): scanString(hashes, quotes)
            }
        }
    }

    private mutating func scanCode(_ parentheses: Int) {
        let hashes = bytes[place...].prefix { $0 == UInt8(ascii: "#") }.count
        if sees("//") {
            while place < bytes.count, !sees("\n") { take(1, .comment) }
        } else if sees("/*") {
            takeBlockComment()
        } else if sees("\"", after: hashes) {
            let quotes = sees("\"\"\"", after: hashes) ? 3 : 1
            take(hashes + quotes, .literal)
            modes.append(.string(hashes: hashes, quotes: quotes))
        } else if sees("`") {
            take(1, .literal)
            while place < bytes.count, !sees("`"), !sees("\n") { take(1, .literal) }
            take(1, .literal)
        } else if sees("("), modes.count > 1 {
            modes[modes.count - 1] = .code(parentheses: parentheses + 1)
            take(1, .code)
        } else if sees(")"), modes.count > 1 {
            // The last one ends the interpolation.
            if parentheses == 0 {
                modes.removeLast()
                take(1, .literal)
            } else {
                modes[modes.count - 1] = .code(parentheses: parentheses - 1)
                take(1, .code)
            }
        } else {
            take(1, .code)
        }
    }

    private mutating func scanString(_ hashes: Int, _ quotes: Int) {
        let fence = String(repeating: "#", count: hashes)
        let end = String(repeating: "\"", count: quotes) + fence
        if sees(end) {
            take(end.utf8.count, .literal)
            modes.removeLast()
        } else if sees("\\" + fence + "(") {
            take(hashes + 2, .literal)
            modes.append(.code(parentheses: 0))
        } else if sees("\\" + fence) {
            take(hashes + 2, .literal)
        } else {
            // A string on one line ends with it, so that a slip costs one line at most.
            if quotes == 1, sees("\n") { modes.removeLast() }
            take(1, .literal)
        }
    }

    private mutating func takeBlockComment() {
        var depth = 0
        repeat {
            if sees("/*") {
                depth += 1
                take(2, .comment)
            } else if sees("*/") {
                depth -= 1
                take(2, .comment)
            } else {
                take(1, .comment)
            }
        } while depth > 0 && place < bytes.count
    }

    private func sees(_ text: String, after distance: Int = 0) -> Bool {
        bytes[place...].dropFirst(distance).starts(with: text.utf8)
    }

    private mutating func take(_ count: Int, _ part: Part) {
        for _ in 0..<min(count, bytes.count - place) {
            let byte = bytes[place]
            let blank = byte == UInt8(ascii: "\n") ? byte : UInt8(ascii: " ")
            code.append(part == .code ? byte : blank)
            comments.append(part == .comment ? byte : blank)
            place += 1
        }
    }
}
