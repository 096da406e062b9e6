internal import StratusBytes

/// Reads JSON as RFC 8259 has it and nothing beside: UTF-8, each name once in an object, whole
/// surrogate pairs, numbers that a Double can hold, nesting to a limit.
///
/// No reader of the toolchain reports a name given twice or keeps an integer exact.
package struct JSONReader {
    package static let nestingLimit = 64
    /// What a value takes in memory is many times what a short one takes in the text.
    package static let valueLimit = 1 << 23

    private var position = 0
    private var valueCount = 0

    /// The one value in `bytes`.
    package static func read(_ bytes: Span<UInt8>) throws(JSONError) -> JSONValue {
        var reader = JSONReader()
        reader.skipSpace(bytes)
        let value = try reader.value(bytes, depth: 0)
        reader.skipSpace(bytes)
        guard reader.position == bytes.count else {
            throw reader.failure("something follows the value")
        }
        return value
    }

    private func failure(_ reason: String) -> JSONError {
        JSONError(reason: reason, byte: position)
    }

    private func peek(_ bytes: Span<UInt8>) -> UInt8? {
        position < bytes.count ? bytes[position] : nil
    }

    private mutating func skipSpace(_ bytes: Span<UInt8>) {
        while let byte = peek(bytes), byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 {
            position += 1
        }
    }

    private mutating func skip(_ byte: UInt8, _ bytes: Span<UInt8>) -> Bool {
        guard peek(bytes) == byte else { return false }
        position += 1
        return true
    }

    private mutating func value(
        _ bytes: Span<UInt8>, depth: Int
    ) throws(JSONError) -> JSONValue {
        valueCount += 1
        guard valueCount <= Self.valueLimit else { throw failure("more than 2^23 values") }
        switch peek(bytes) {
        case UInt8(ascii: "{"): return try object(bytes, depth: depth + 1)
        case UInt8(ascii: "["): return try array(bytes, depth: depth + 1)
        case UInt8(ascii: "\""): return .string(try string(bytes))
        case UInt8(ascii: "t"): return try word("true", .boolean(true), bytes)
        case UInt8(ascii: "f"): return try word("false", .boolean(false), bytes)
        case UInt8(ascii: "n"): return try word("null", .null, bytes)
        case UInt8(ascii: "-"), .some(UInt8(ascii: "0")...UInt8(ascii: "9")):
            return try number(bytes)
        case nil: throw failure("the text ends where a value is due")
        default: throw failure("a value is due here")
        }
    }

    private mutating func word(
        _ word: String, _ value: JSONValue, _ bytes: Span<UInt8>
    ) throws(JSONError) -> JSONValue {
        let end = position + word.utf8.count
        guard end <= bytes.count, bytes.equals(word, in: position..<end) else {
            throw failure("a value is due here")
        }
        position = end
        return value
    }

    private mutating func array(
        _ bytes: Span<UInt8>, depth: Int
    ) throws(JSONError) -> JSONValue {
        guard depth <= Self.nestingLimit else { throw failure("nested too deep") }
        position += 1
        var values: [JSONValue] = []
        skipSpace(bytes)
        if skip(UInt8(ascii: "]"), bytes) { return .array(values) }
        while true {
            skipSpace(bytes)
            values.append(try value(bytes, depth: depth))
            skipSpace(bytes)
            if skip(UInt8(ascii: "]"), bytes) { return .array(values) }
            guard skip(UInt8(ascii: ","), bytes) else { throw failure("',' or ']' is due here") }
        }
    }

    private mutating func object(
        _ bytes: Span<UInt8>, depth: Int
    ) throws(JSONError) -> JSONValue {
        guard depth <= Self.nestingLimit else { throw failure("nested too deep") }
        position += 1
        var members: [JSONObject.Member] = []
        var names = NameSet()
        skipSpace(bytes)
        if skip(UInt8(ascii: "}"), bytes) { return .object(JSONObject()) }
        while true {
            skipSpace(bytes)
            guard peek(bytes) == UInt8(ascii: "\"") else { throw failure("a name is due here") }
            let start = position
            let name = try string(bytes)
            guard names.insert(name, members) else {
                throw JSONError(reason: "a name twice in one object", byte: start)
            }
            skipSpace(bytes)
            guard skip(UInt8(ascii: ":"), bytes) else { throw failure("':' is due here") }
            skipSpace(bytes)
            let value = try value(bytes, depth: depth)
            members.append(JSONObject.Member(name: name, value: value))
            skipSpace(bytes)
            if skip(UInt8(ascii: "}"), bytes) { return .object(JSONObject(checked: members)) }
            guard skip(UInt8(ascii: ","), bytes) else { throw failure("',' or '}' is due here") }
        }
    }
}

/// Why a text is no JSON, and at which byte, counted from 0.
package struct JSONError: Error, Equatable, Sendable {
    package var reason: String
    package var byte: Int
}

/// The names of an object: few are compared one by one, many are looked up.
private struct NameSet {
    private static let listLimit = 16
    private var bytes: Set<[UInt8]> = []

    /// Whether `name` is none of `members`, to which it is about to be added.
    mutating func insert(_ name: String, _ members: [JSONObject.Member]) -> Bool {
        if members.count < Self.listLimit {
            return !members.contains { $0.name.isSame(as: name) }
        }
        if bytes.isEmpty { bytes = Set(members.map { Array($0.name.utf8) }) }
        return bytes.insert(Array(name.utf8)).inserted
    }
}

extension JSONReader {
    private mutating func skipDigits(_ bytes: Span<UInt8>) -> Int {
        let start = position
        while let byte = peek(bytes), byte >= 0x30, byte <= 0x39 { position += 1 }
        return position - start
    }

    private mutating func number(_ bytes: Span<UInt8>) throws(JSONError) -> JSONValue {
        let start = position
        let isNegative = skip(UInt8(ascii: "-"), bytes)
        let isZero = peek(bytes) == 0x30
        let count = skipDigits(bytes)
        guard count == 1 || (count > 1 && !isZero) else { throw failure("no number") }
        var isInteger = true
        if skip(UInt8(ascii: "."), bytes) {
            isInteger = false
            guard skipDigits(bytes) > 0 else { throw failure("no number") }
        }
        if skip(UInt8(ascii: "e"), bytes) || skip(UInt8(ascii: "E"), bytes) {
            isInteger = false
            if !skip(UInt8(ascii: "+"), bytes) { _ = skip(UInt8(ascii: "-"), bytes) }
            guard skipDigits(bytes) > 0 else { throw failure("no number") }
        }
        let text = bytes.text(in: start..<position) ?? ""
        // -0 is not the integer 0.
        if isInteger, !(isNegative && isZero), let integer = Int(text) { return .integer(integer) }
        guard let value = Double(text), value.isFinite else {
            throw JSONError(reason: "a number beyond what 64 bits can hold", byte: start)
        }
        return .number(JSONNumber(checked: text))
    }

    private mutating func string(_ bytes: Span<UInt8>) throws(JSONError) -> String {
        position += 1
        let start = position
        while let byte = peek(bytes), byte != UInt8(ascii: "\""), byte != UInt8(ascii: "\\"),
            byte >= 0x20
        {
            position += 1
        }
        // Most text has nothing to unescape.
        if peek(bytes) != UInt8(ascii: "\"") { return try escapedString(bytes, from: start) }
        guard let text = bytes.text(in: start..<position) else {
            throw JSONError(reason: "text is not UTF-8", byte: start)
        }
        position += 1
        return text
    }

    private mutating func escapedString(
        _ bytes: Span<UInt8>, from start: Int
    ) throws(JSONError) -> String {
        var text = bytes.array(in: start..<position)
        while true {
            guard let byte = peek(bytes) else { throw failure("the text ends inside a string") }
            guard byte >= 0x20 else { throw failure("a control character inside a string") }
            position += 1
            switch byte {
            case UInt8(ascii: "\""):
                guard let string = text.span.text(in: 0..<text.count) else {
                    throw JSONError(reason: "text is not UTF-8", byte: start)
                }
                return string
            case UInt8(ascii: "\\"): try unescape(bytes, into: &text)
            default: text.append(byte)
            }
        }
    }

    private mutating func unescape(
        _ bytes: Span<UInt8>, into text: inout [UInt8]
    ) throws(JSONError) {
        let letter = peek(bytes)
        position += 1
        switch letter {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): text.append(letter ?? 0)
        case UInt8(ascii: "b"): text.append(0x08)
        case UInt8(ascii: "f"): text.append(0x0C)
        case UInt8(ascii: "n"): text.append(0x0A)
        case UInt8(ascii: "r"): text.append(0x0D)
        case UInt8(ascii: "t"): text.append(0x09)
        case UInt8(ascii: "u"): text += try scalar(bytes).utf8
        default:
            position -= 1
            throw failure("no escape")
        }
    }

    /// What `\u` and four digits, or two such, stand for.
    private mutating func scalar(_ bytes: Span<UInt8>) throws(JSONError) -> String {
        let start = position
        var value = try codeUnit(bytes)
        if value & 0xFC00 == 0xD800, skip(UInt8(ascii: "\\"), bytes),
            skip(UInt8(ascii: "u"), bytes)
        {
            let low = try codeUnit(bytes)
            guard low & 0xFC00 == 0xDC00 else {
                throw JSONError(reason: "half of a surrogate pair", byte: start)
            }
            value = 0x10000 + (value & 0x3FF) << 10 + low & 0x3FF
        }
        guard let scalar = Unicode.Scalar(value) else {
            throw JSONError(reason: "half of a surrogate pair", byte: start)
        }
        return String(Character(scalar))
    }

    private mutating func codeUnit(_ bytes: Span<UInt8>) throws(JSONError) -> UInt32 {
        var value: UInt32 = 0
        for _ in 0..<4 {
            guard let byte = peek(bytes), let digit = Character(Unicode.Scalar(byte)).hexDigitValue
            else { throw failure("four hexadecimal digits are due here") }
            value = value << 4 | UInt32(digit)
            position += 1
        }
        return value
    }
}
