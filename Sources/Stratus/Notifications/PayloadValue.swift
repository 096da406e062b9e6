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
        var writer = ByteWriter()
        write(to: &writer)
        return String(decoding: writer.bytes, as: UTF8.self)
    }

    private func write(to writer: inout ByteWriter) {
        switch self {
        case .integer(let value): writer.text(String(value))
        case .number(let value): writer.text(value.description)
        case .text(let value): writer.jsonString(value)
        case .list(let values):
            writer.text("[")
            for (place, value) in values.enumerated() {
                if place > 0 { writer.text(",") }
                value.write(to: &writer)
            }
            writer.text("]")
        case .object(let members):
            writer.text("{")
            // All names are ASCII, whose order is that of the bytes.
            for (place, member) in members.sorted(by: { $0.key < $1.key }).enumerated() {
                if place > 0 { writer.text(",") }
                writer.jsonString(member.key)
                writer.text(":")
                member.value.write(to: &writer)
            }
            writer.text("}")
        }
    }
}

extension String {
    /// Its first Unicode scalars.
    func prefix(scalars count: Int) -> String {
        String(String.UnicodeScalarView(unicodeScalars.prefix(count)))
    }
}
