internal import StratusBytes

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
        case .string(let value): text.appendJSON(value)
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
            text.appendJSON(type)
            isFirst = false
        }
        for member in object.members {
            if !isFirst { text += "," }
            isFirst = false
            text.appendJSON(member.name)
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
