package import FoundationEssentials

/// What JSON has no words for, as the tool and the maintenance calls say it.
extension JSONValue {
    private static let largestExactInteger: UInt = 1 << 53

    /// Beyond 2^53, where many readers round, `{"$integer": "…"}`. For what is always large by
    /// nature, such as an offset, there is ``offset(_:)``.
    package static func exact(_ value: Int) -> JSONValue {
        value.magnitude <= largestExactInteger
            ? .integer(value) : .object(["$integer": .string(String(value))])
    }

    /// What JSON cannot say becomes `{"$double": "nan"}`, `"inf"` or `"-inf"`.
    package static func double(_ value: Double) -> JSONValue {
        if let number = JSONNumber(value) { return .number(number) }
        return .object(["$double": .string(value.isNaN ? "nan" : value < 0 ? "-inf" : "inf")])
    }

    /// `{"$bytes": base64}`.
    package static func bytes(_ value: [UInt8]) -> JSONValue {
        .object(["$bytes": .string(Data(value).base64EncodedString())])
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
