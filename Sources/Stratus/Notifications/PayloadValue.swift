internal import StratusBytes

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
        case .text(let value): text.appendJSON(value)
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
                text.appendJSON(member.key)
                text += ":"
                member.value.write(to: &text)
            }
            text += "}"
        }
    }
}

extension String {
    /// Its first Unicode scalars.
    func prefix(scalars count: Int) -> String {
        String(String.UnicodeScalarView(unicodeScalars.prefix(count)))
    }
}
