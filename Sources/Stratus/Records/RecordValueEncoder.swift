internal import FoundationEssentials
internal import StratusEngine

/// Turns the properties of a value into fields.
enum RecordValueEncoder {
    /// The fields of `value`, nil for those to be removed.
    static func fields(
        of value: some Encodable
    ) throws(StoreError) -> [String: RecordValue?] {
        let sink = FieldSink(path: [], refusal: Refusal())
        do {
            try value.encode(to: FieldsEncoder(sink: sink))
        } catch {
            throw StoreError(coding: error)
        }
        if let error = sink.refusal.error { throw error }
        return sink.fields
    }

    /// What a property becomes; nil where it is nil.
    fileprivate static func box(
        _ value: some Encodable, at path: [any CodingKey], _ refusal: Refusal
    ) throws -> RecordValue? {
        switch value {
        case let value as RecordValue: return value
        case let value as String: return .string(value)
        case let value as Bool: return .int64(value ? 1 : 0)
        case let value as Double: return .double(value)
        case let value as Float: return .double(Double(value))
        case let value as Date: return .date(value)
        case let value as Data: return .bytes(value)
        case let value as UUID: return .string(value.uuidString)
        case let value as URL: return .string(value.absoluteString)
        case let value as Location: return .location(value)
        case let value as Reference: return .reference(value)
        case let value as Asset: return .asset(value)
        case let value as any FixedWidthInteger:
            guard let integer = Int64(exactly: value) else {
                throw StoreError("an integer has at most 64 bits, one of them the sign", at: path)
            }
            return .int64(integer)
        default:
            let sink = ValueSink(path: path, refusal: refusal)
            try value.encode(to: ValueEncoder(sink: sink))
            if !sink.isAsked { refusal.note(Refusal.nested, at: path) }
            return sink.elements.map { .list($0) } ?? sink.value
        }
    }
}

/// The first thing that cannot be a field. Asking an encoder for a container cannot throw, so that
/// what must not be is noted here and goes nowhere.
private final class Refusal {
    var error: StoreError?

    func note(_ reason: String, at path: [any CodingKey]) {
        if error == nil { error = StoreError(reason, at: path) }
    }

    static let nested = "a value with properties of its own cannot be a field"
}

private final class FieldSink {
    let path: [any CodingKey]
    let refusal: Refusal
    private var values: [String: RecordValue?] = [:]
    private var lists: [String: ValueSink] = [:]

    init(path: [any CodingKey], refusal: Refusal) {
        self.path = path
        self.refusal = refusal
    }

    var fields: [String: RecordValue?] {
        values.merging(lists.mapValues { .list($0.elements ?? []) }) { $1 }
    }

    func set(_ key: any CodingKey, _ value: RecordValue?) {
        values[key.stringValue] = .some(value)
    }

    func beginList(_ key: any CodingKey) -> ValueSink {
        let sink = ValueSink(path: path + [key], refusal: refusal)
        sink.elements = []
        lists[key.stringValue] = sink
        return sink
    }

    /// Takes what has no place in a record.
    func refusing(_ key: (any CodingKey)?) -> FieldSink {
        let path = self.path + (key.map { [$0] } ?? [])
        refusal.note(Refusal.nested, at: path)
        return FieldSink(path: path, refusal: refusal)
    }
}

/// Takes one value: a single one, or the elements of a list.
private final class ValueSink {
    let path: [any CodingKey]
    let refusal: Refusal
    var value: RecordValue?
    var elements: [RecordValue]?
    /// Whether the value said what it is; one that has no properties says nothing.
    var isAsked = false

    init(path: [any CodingKey], refusal: Refusal) {
        self.path = path
        self.refusal = refusal
    }

    func append(_ element: some Encodable) throws {
        let value = try RecordValueEncoder.box(element, at: path, refusal)
        switch value {
        case .list?: refusal.note("a list holds no list", at: path)
        case let value?: elements?.append(value)
        case nil: refusal.note("a list holds no nil", at: path)
        }
    }

    func refusing() -> FieldSink {
        refusal.note(Refusal.nested, at: path)
        return FieldSink(path: path, refusal: refusal)
    }
}

private struct FieldsEncoder: Encoder {
    let sink: FieldSink
    var codingPath: [any CodingKey] { sink.path }
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        KeyedEncodingContainer(FieldsContainer(sink: sink))
    }

    func unkeyedContainer() -> any UnkeyedEncodingContainer {
        ListContainer(sink: refusing())
    }

    func singleValueContainer() -> any SingleValueEncodingContainer {
        SingleContainer(sink: refusing())
    }

    private func refusing() -> ValueSink {
        sink.refusal.note("only a value with properties can be a record", at: sink.path)
        return ValueSink(path: sink.path, refusal: sink.refusal)
    }
}

private struct ValueEncoder: Encoder {
    let sink: ValueSink
    var codingPath: [any CodingKey] { sink.path }
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        sink.isAsked = true
        return KeyedEncodingContainer(FieldsContainer(sink: sink.refusing()))
    }

    func unkeyedContainer() -> any UnkeyedEncodingContainer {
        sink.isAsked = true
        sink.elements = sink.elements ?? []
        return ListContainer(sink: sink)
    }

    func singleValueContainer() -> any SingleValueEncodingContainer {
        sink.isAsked = true
        return SingleContainer(sink: sink)
    }
}

private struct FieldsContainer<Key: CodingKey>: KeyedEncodingContainerProtocol {
    let sink: FieldSink
    var codingPath: [any CodingKey] { sink.path }

    func encodeNil(forKey key: Key) { sink.set(key, nil) }

    func encode<Value: Encodable>(_ value: Value, forKey key: Key) throws {
        sink.set(key, try RecordValueEncoder.box(value, at: sink.path + [key], sink.refusal))
    }

    func nestedContainer<NestedKey: CodingKey>(
        keyedBy keyType: NestedKey.Type, forKey key: Key
    ) -> KeyedEncodingContainer<NestedKey> {
        KeyedEncodingContainer(FieldsContainer<NestedKey>(sink: sink.refusing(key)))
    }

    func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
        ListContainer(sink: sink.beginList(key))
    }

    func superEncoder() -> any Encoder { FieldsEncoder(sink: sink.refusing(nil)) }
    func superEncoder(forKey key: Key) -> any Encoder { FieldsEncoder(sink: sink.refusing(key)) }
}

// A property that is nil is told, so that its field is removed; by default it would be left out.
extension FieldsContainer {
    func encodeIfPresent(_ value: Bool?, forKey key: Key) throws { try set(value, key) }
    func encodeIfPresent(_ value: String?, forKey key: Key) throws { try set(value, key) }
    func encodeIfPresent(_ value: Double?, forKey key: Key) throws { try set(value, key) }
    func encodeIfPresent(_ value: Float?, forKey key: Key) throws { try set(value, key) }
    func encodeIfPresent(_ value: Int?, forKey key: Key) throws { try set(value, key) }
    func encodeIfPresent(_ value: Int8?, forKey key: Key) throws { try set(value, key) }
    func encodeIfPresent(_ value: Int16?, forKey key: Key) throws { try set(value, key) }
    func encodeIfPresent(_ value: Int32?, forKey key: Key) throws { try set(value, key) }
    func encodeIfPresent(_ value: Int64?, forKey key: Key) throws { try set(value, key) }
    func encodeIfPresent(_ value: Int128?, forKey key: Key) throws { try set(value, key) }
    func encodeIfPresent(_ value: UInt?, forKey key: Key) throws { try set(value, key) }
    func encodeIfPresent(_ value: UInt8?, forKey key: Key) throws { try set(value, key) }
    func encodeIfPresent(_ value: UInt16?, forKey key: Key) throws { try set(value, key) }
    func encodeIfPresent(_ value: UInt32?, forKey key: Key) throws { try set(value, key) }
    func encodeIfPresent(_ value: UInt64?, forKey key: Key) throws { try set(value, key) }
    func encodeIfPresent(_ value: UInt128?, forKey key: Key) throws { try set(value, key) }
    func encodeIfPresent<Value: Encodable>(_ value: Value?, forKey key: Key) throws {
        try set(value, key)
    }

    private func set(_ value: (some Encodable)?, _ key: Key) throws {
        if let value { try encode(value, forKey: key) } else { encodeNil(forKey: key) }
    }
}

private struct ListContainer: UnkeyedEncodingContainer {
    let sink: ValueSink
    var codingPath: [any CodingKey] { sink.path }
    var count: Int { sink.elements?.count ?? 0 }

    func encodeNil() throws { try sink.append(RecordValue?.none) }
    func encode<Value: Encodable>(_ value: Value) throws { try sink.append(value) }

    func nestedContainer<NestedKey: CodingKey>(
        keyedBy keyType: NestedKey.Type
    ) -> KeyedEncodingContainer<NestedKey> {
        KeyedEncodingContainer(FieldsContainer<NestedKey>(sink: sink.refusing()))
    }

    func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer {
        sink.refusal.note("a list holds no list", at: sink.path)
        return ListContainer(sink: ValueSink(path: sink.path, refusal: sink.refusal))
    }

    func superEncoder() -> any Encoder { FieldsEncoder(sink: sink.refusing()) }
}

private struct SingleContainer: SingleValueEncodingContainer {
    let sink: ValueSink
    var codingPath: [any CodingKey] { sink.path }

    func encodeNil() throws { sink.value = nil }

    func encode<Value: Encodable>(_ value: Value) throws {
        switch try RecordValueEncoder.box(value, at: sink.path, sink.refusal) {
        case .list(let elements)?: sink.elements = elements
        case let single: sink.value = single
        }
    }
}
