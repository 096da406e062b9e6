/// Writes JSON, one line a value, for readers such as jq.
///
/// The same value always gives the same bytes. What could harm a terminal is escaped, so that a
/// line may be shown as it is.
package struct JSONWriter {
    package private(set) var text = ""

    package init() {}

    /// A line of the tool: an object whose first member is its type.
    package static func line(type: String, _ object: JSONObject) -> String {
        var writer = JSONWriter()
        writer.append(object, type: type)
        return writer.text
    }

    package mutating func append(_ value: JSONValue) {
        switch value {
        case .null: text += "null"
        case .boolean(let value): text += value ? "true" : "false"
        case .integer(let value): text += String(value)
        case .number(let number): text += number.text
        case .string(let value): append(string: value)
        case .array(let values): append(array: values)
        case .object(let object): append(object)
        }
    }

    private mutating func append(_ object: JSONObject, type: String? = nil) {
        text += "{"
        var isFirst = true
        if let type {
            assert(object["type"] == nil, "a line has one type")
            text += "\"type\":"
            append(string: type)
            isFirst = false
        }
        for member in object.members {
            if !isFirst { text += "," }
            isFirst = false
            append(string: member.name)
            text += ":"
            append(member.value)
        }
        text += "}"
    }

    private mutating func append(array values: [JSONValue]) {
        text += "["
        for (place, value) in values.enumerated() {
            if place > 0 { text += "," }
            append(value)
        }
        text += "]"
    }

    private mutating func append(string: String) {
        text += "\""
        if string.utf8.allSatisfy(Self.standsForItself) {
            text += string
        } else {
            for scalar in string.unicodeScalars { append(scalar) }
        }
        text += "\""
    }

    private static func standsForItself(_ byte: UInt8) -> Bool {
        byte >= 0x20 && byte < 0x7F && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "\\")
    }

    private mutating func append(_ scalar: Unicode.Scalar) {
        switch scalar {
        case "\"": text += "\\\""
        case "\\": text += "\\\\"
        case "\n": text += "\\n"
        case "\r": text += "\\r"
        case "\t": text += "\\t"
        default:
            guard scalar.isHazardous else {
                text.unicodeScalars.append(scalar)
                return
            }
            // All of them lie below 2^16, so four digits always do.
            let digits = String(scalar.value, radix: 16)
            text += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
        }
    }
}

extension Unicode.Scalar {
    /// Whether a terminal or a reader may take this for more than a letter: control characters,
    /// old and new, line separators, and controls of the direction of text.
    package var isHazardous: Bool {
        switch value {
        case 0x00...0x1F, 0x7F...0x9F: true
        case 0x061C, 0x200E, 0x200F, 0x2028...0x202E, 0x2066...0x2069, 0xFEFF: true
        default: false
        }
    }
}
