package import FoundationEssentials

/// A value that the tool writes as JSON. Nothing here reads JSON.
package enum JSONValue: Equatable, Sendable {
    case null
    case boolean(Bool)
    /// Beyond 2^53 many readers round: then it becomes `{"$integer": "…"}`. For what is always
    /// large by nature, such as an offset, use ``offset(_:)``.
    case integer(Int)
    /// What JSON cannot say becomes `{"$double": "nan"}`, `"inf"` or `"-inf"`.
    case double(Double)
    case string(String)
    /// `{"$bytes": base64}`.
    case bytes([UInt8])
    /// RFC 3339, UTC, milliseconds; outside the years 1 to 9999 `{"$seconds": …}` since 1970.
    case date(Date)
    case array([JSONValue])
    case object(JSONObject)

    /// An offset, a token or a version: always text, so that its type does not hang on its size.
    package static func offset(_ value: UInt64) -> JSONValue {
        .string(String(value))
    }

    package static func strings(_ values: [String]) -> JSONValue {
        .array(values.map(JSONValue.string))
    }
}

/// Names and values in the order given, which is the order written.
///
/// The names of an object are fixed by the command that writes it, and so is their order; where the
/// names are data, the caller sorts them, so that two outputs can be compared line by line.
package struct JSONObject: Equatable, Sendable {
    package struct Member: Equatable, Sendable {
        package var name: String
        package var value: JSONValue
    }

    package private(set) var members: [Member] = []

    package init() {}

    /// The name must be new. A value of nil leaves the member out.
    package mutating func append(_ name: String, _ value: JSONValue?) {
        guard let value else { return }
        assert(!members.contains { $0.name == name }, "a name twice in one object")
        members.append(Member(name: name, value: value))
    }
}

extension JSONObject: ExpressibleByDictionaryLiteral {
    package init(dictionaryLiteral elements: (String, JSONValue)...) {
        for (name, value) in elements { append(name, value) }
    }
}

extension JSONValue: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral {
    package init(stringLiteral value: String) { self = .string(value) }
    package init(integerLiteral value: Int) { self = .integer(value) }
}

extension JSONValue: ExpressibleByBooleanLiteral, ExpressibleByFloatLiteral {
    package init(booleanLiteral value: Bool) { self = .boolean(value) }
    package init(floatLiteral value: Double) { self = .double(value) }
}

extension JSONValue: ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral {
    package init(arrayLiteral elements: JSONValue...) { self = .array(elements) }
    package init(dictionaryLiteral elements: (String, JSONValue)...) {
        var object = JSONObject()
        for (name, value) in elements { object.append(name, value) }
        self = .object(object)
    }
}
