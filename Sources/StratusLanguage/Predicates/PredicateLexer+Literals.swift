// Quoted text and numbers.

extension PredicateLexer {
    /// The text between two quotes of one kind. In it, `%@`, `%K` and `$name` are only characters,
    /// and a doubled `%%` is two.
    mutating func quoted() throws(PredicateTextError) -> String {
        let start = position
        let quote = peek()
        advance()
        var text: [UInt8] = []
        while let byte = peek() {
            if byte == quote {
                advance()
                return String(decoding: text, as: UTF8.self)
            } else if byte == UInt8(ascii: "\\") {
                text.append(contentsOf: UTF8.encode(try escape()) ?? .init())
            } else {
                text.append(byte)
                advance()
            }
        }
        throw error("the quotation is not closed", at: start)
    }

    /// A backslash with what follows it.
    private mutating func escape() throws(PredicateTextError) -> Unicode.Scalar {
        let start = position
        let letter = peek(1) ?? 0
        advance(2)
        switch letter {
        case UInt8(ascii: "\\"), UInt8(ascii: "'"), UInt8(ascii: "\""):
            return Unicode.Scalar(letter)
        case UInt8(ascii: "n"): return "\n"
        case UInt8(ascii: "r"): return "\r"
        case UInt8(ascii: "t"): return "\t"
        case UInt8(ascii: "u"): return try scalar(digits: 4, from: start)
        case UInt8(ascii: "U"): return try scalar(digits: 8, from: start)
        default:
            throw error(
                #"unknown escape; known are \\, \', \", \n, \r, \t, \uXXXX and \UXXXXXXXX"#,
                at: start)
        }
    }

    private mutating func scalar(
        digits count: Int, from start: Int
    ) throws(PredicateTextError) -> Unicode.Scalar {
        let digits = bytes[position...].prefix(count)
        let text = String(decoding: digits, as: UTF8.self)
        let isNumber = digits.allSatisfy {
            Self.isDigit($0) || (0x61...0x66).contains($0 | 0x20)
        }
        guard isNumber, digits.count == count, let value = UInt32(text, radix: 16),
            let scalar = Unicode.Scalar(value)
        else { throw error("expected \(count) hexadecimal digits of a Unicode scalar", at: start) }
        advance(count)
        return scalar
    }

    /// An integer, also as 0x, 0o or 0b, or a number with a point or an exponent.
    mutating func number() throws(PredicateTextError) -> PredicateToken.Kind {
        let start = position
        let sign = peek() == UInt8(ascii: "-") ? "-" : ""
        advance(sign.utf8.count)
        var isExponent = false
        let isRadix = peek() == UInt8(ascii: "0") && "xXoObB".utf8.contains(peek(1) ?? 0)
        let text = text { byte in
            // A sign belongs to the number right behind the letter of its exponent.
            let isSign = byte == UInt8(ascii: "-") || byte == UInt8(ascii: "+")
            let belongs = Self.isNamePart(byte) || byte == UInt8(ascii: ".") || isExponent && isSign
            isExponent = !isRadix && byte | 0x20 == UInt8(ascii: "e")
            return belongs
        }
        let radixes = ["x": 16, "o": 8, "b": 2]
        let radix = isRadix ? radixes[text.dropFirst().prefix(1).lowercased()] : 10
        let digits = isRadix ? text.dropFirst(2) : Substring(text)
        if digits.utf8.allSatisfy(isRadix ? Self.isNamePart : Self.isDigit) {
            guard digits.utf8.first != UInt8(ascii: "+"),
                let value = Int64(sign + digits, radix: radix ?? 10)
            else { throw error("not an integer of 64 bits: \(sign)\(text.prefix(40))", at: start) }
            return .integer(value)
        }
        let isDecimal = digits.utf8.allSatisfy { Self.isDigit($0) || "+-.eE".utf8.contains($0) }
        guard !isRadix, isDecimal, let value = Double(sign + digits), value.isFinite else {
            throw error("not a number: \(sign)\(text.prefix(40))", at: start)
        }
        return .real(value)
    }
}
