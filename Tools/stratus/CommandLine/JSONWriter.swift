internal import FoundationEssentials

/// Writes JSON, one line a value, for readers such as jq.
///
/// The lines of a command are objects whose first member is `type`. The same value always gives
/// the same bytes. What could harm a terminal is escaped, so that a line may be shown as it is.
package struct JSONWriter {
    package private(set) var text = ""

    package init() {}

    package static func line(type: String, _ object: JSONObject) -> String {
        var writer = JSONWriter()
        writer.append(object, type: type)
        return writer.text
    }

    package mutating func append(_ value: JSONValue) {
        switch value {
        case .null: text += "null"
        case .boolean(let value): text += value ? "true" : "false"
        case .integer(let value): append(integer: value)
        case .double(let value): append(double: value)
        case .string(let value): append(string: value)
        case .bytes(let value): append(tag: "$bytes", Data(value).base64EncodedString())
        case .date(let value): append(date: value)
        case .array(let values): append(array: values)
        case .object(let object): append(object)
        }
    }

    private mutating func append(_ object: JSONObject, type: String? = nil) {
        text += "{"
        var isFirst = true
        if let type {
            assert(!object.members.contains { $0.name == "type" }, "a line has one type")
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
}

extension JSONWriter {
    private static let largestExactInteger: UInt = 1 << 53

    private mutating func append(integer value: Int) {
        if value.magnitude <= Self.largestExactInteger {
            text += String(value)
        } else {
            append(tag: "$integer", String(value))
        }
    }

    private mutating func append(double value: Double) {
        if value.isFinite {
            // The shortest digits that read back as the same number, in a form JSON allows.
            text += value.description
        } else {
            append(tag: "$double", value.isNaN ? "nan" : value < 0 ? "-inf" : "inf")
        }
    }

    private mutating func append(date value: Date) {
        let seconds = value.timeIntervalSince1970
        if let timestamp = Timestamp.text(secondsSince1970: seconds) {
            append(string: timestamp)
        } else {
            text += "{\"$seconds\":"
            append(double: seconds)
            text += "}"
        }
    }

    private mutating func append(tag: String, _ content: String) {
        text += "{\"\(tag)\":\"\(content)\"}"
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
