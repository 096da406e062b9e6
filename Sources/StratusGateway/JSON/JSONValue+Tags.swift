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

/// Members of what another process answers.
extension JSONObject {
    /// The text of a member; nil where there is none.
    package func text(_ name: String) -> String? {
        if case .string(let text)? = self[name] { text } else { nil }
    }

    /// The object that a member is; nil where it is none.
    package func object(_ name: String) -> JSONObject? {
        if case .object(let object)? = self[name] { object } else { nil }
    }

    /// The objects in a list; none where there is no list.
    package func objects(_ name: String) -> [JSONObject] {
        list(name).compactMap { if case .object(let object) = $0 { object } else { nil } }
    }

    /// The texts in a list; none where there is no list.
    package func texts(_ name: String) -> [String] {
        list(name).compactMap { if case .string(let text) = $0 { text } else { nil } }
    }

    private func list(_ name: String) -> [JSONValue] {
        if case .array(let values)? = self[name] { values } else { [] }
    }
}
