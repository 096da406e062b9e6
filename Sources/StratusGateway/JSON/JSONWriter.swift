internal import StratusBytes

/// Writes JSON, one line a value, for readers such as jq.
///
/// The same value always gives the same bytes. What could harm a terminal is escaped, so that a
/// line may be shown as it is.
package struct JSONWriter {
    /// Most lines fit.
    private var writer = ByteWriter(capacity: 1000)

    package init() {}

    /// What was written, in UTF-8.
    package var bytes: [UInt8] { writer.bytes }

    /// The same.
    package var text: String { String(decoding: bytes, as: UTF8.self) }

    /// A line of the tool, without its end: an object whose first member is its type.
    package static func line(type: String, _ object: JSONObject) -> [UInt8] {
        var writer = JSONWriter()
        writer.append(object, type: type)
        return writer.bytes
    }

    package mutating func append(_ value: JSONValue) {
        switch value {
        case .null: writer.text("null")
        case .boolean(let value): writer.text(value ? "true" : "false")
        case .integer(let value): writer.text(String(value))
        case .number(let number): writer.text(number.text)
        case .string(let value): writer.jsonString(value)
        case .array(let values): append(array: values)
        case .object(let object): append(object)
        }
    }

    private mutating func append(_ object: JSONObject, type: String? = nil) {
        writer.uint8(UInt8(ascii: "{"))
        var isFirst = true
        if let type {
            assert(object["type"] == nil, "a line has one type")
            begin("type", isFirst: true)
            writer.jsonString(type)
            isFirst = false
        }
        for member in object.members {
            begin(member.name, isFirst: isFirst)
            append(member.value)
            isFirst = false
        }
        writer.uint8(UInt8(ascii: "}"))
    }

    private mutating func begin(_ name: String, isFirst: Bool) {
        if !isFirst { writer.uint8(UInt8(ascii: ",")) }
        writer.jsonString(name)
        writer.uint8(UInt8(ascii: ":"))
    }

    private mutating func append(array values: [JSONValue]) {
        writer.uint8(UInt8(ascii: "["))
        for (place, value) in values.enumerated() {
            if place > 0 { writer.uint8(UInt8(ascii: ",")) }
            append(value)
        }
        writer.uint8(UInt8(ascii: "]"))
    }
}
