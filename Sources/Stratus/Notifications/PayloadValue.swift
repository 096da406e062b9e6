/// A part of a payload. The same value always gives the same bytes: names stand in the order of
/// their bytes, and there is no white space.
enum PayloadValue: Equatable, Sendable {
    case integer(Int64)
    /// A finite number.
    case number(Double)
    case text(String)
    case list([PayloadValue])
    case object([String: PayloadValue])

    /// As JSON (RFC 8259).
    var json: String {
        var text = ""
        write(to: &text)
        return text
    }

    private func write(to text: inout String) {
        switch self {
        case .integer(let value): text += String(value)
        case .number(let value): text += value.description
        case .text(let value): Self.write(value, to: &text)
        case .list(let values):
            text += "["
            for (place, value) in values.enumerated() {
                if place > 0 { text += "," }
                value.write(to: &text)
            }
            text += "]"
        case .object(let members):
            text += "{"
            // All names are ASCII, whose order is that of the bytes.
            for (place, member) in members.sorted(by: { $0.key < $1.key }).enumerated() {
                if place > 0 { text += "," }
                Self.write(member.key, to: &text)
                text += ":"
                member.value.write(to: &text)
            }
            text += "}"
        }
    }

    /// Control characters, and what controls the direction of text, stand as `\u` and four digits,
    /// so that a payload can be shown as it is.
    private static func write(_ value: String, to text: inout String) {
        text += "\""
        for scalar in value.unicodeScalars {
            switch scalar {
            case "\"": text += "\\\""
            case "\\": text += "\\\\"
            case "\n": text += "\\n"
            case "\r": text += "\\r"
            case "\t": text += "\\t"
            default:
                if isEscaped(scalar) {
                    // All of them lie below 2^16.
                    let digits = String(scalar.value, radix: 16)
                    text += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
                } else {
                    text.unicodeScalars.append(scalar)
                }
            }
        }
        text += "\""
    }

    private static func isEscaped(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x00...0x1F, 0x7F...0x9F: true
        case 0x061C, 0x200E, 0x200F, 0x2028...0x202E, 0x2066...0x2069, 0xFEFF: true
        default: false
        }
    }
}

extension String {
    /// Its first Unicode scalars.
    func prefix(scalars count: Int) -> String {
        String(String.UnicodeScalarView(unicodeScalars.prefix(count)))
    }
}
