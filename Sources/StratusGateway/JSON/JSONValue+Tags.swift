package import FoundationEssentials

/// What JSON has no words for, as the tool and the maintenance calls say it.
extension JSONValue {
    /// What JSON cannot say becomes `{"$double": "nan"}`, `"inf"` or `"-inf"`.
    package static func double(_ value: Double) -> JSONValue {
        if let number = JSONNumber(value) { return .number(number) }
        return .object(["$double": .string(value.isNaN ? "nan" : value < 0 ? "-inf" : "inf")])
    }

    /// RFC 3339, UTC, milliseconds; outside the years 1 to 9999 `{"$seconds": …}` since 1970.
    package static func date(_ value: Date) -> JSONValue {
        let seconds = value.timeIntervalSince1970
        if let timestamp = Timestamp.text(secondsSince1970: seconds) { return .string(timestamp) }
        return .object(["$seconds": .double(seconds)])
    }

    /// An offset, a token or a version: always text, so that its type does not hang on its size.
    package static func offset(_ value: UInt64) -> JSONValue { .string(String(value)) }

    package static func strings(_ values: [String]) -> JSONValue {
        .array(values.map(JSONValue.string))
    }
}
