internal import FoundationEssentials
internal import StratusEngine

/// Reads a property from the value of a field.
enum RecordValueDecoder {
    static func unbox<Value: Decodable>(
        _ value: RecordValue, as type: Value.Type, at path: [any CodingKey]
    ) throws -> Value {
        let read: (any Sendable)?
        switch type {
        case is RecordValue.Type: read = value
        case is String.Type: read = value.stringValue
        case is Bool.Type: read = value.int64Value.flatMap { Bool(exactly: $0) }
        case is Double.Type: read = value.doubleValue
        case is Float.Type: read = value.doubleValue.map { Float($0) }
        case is Date.Type: read = value.dateValue
        case is Data.Type: read = value.bytesValue
        case is UUID.Type: read = value.stringValue.flatMap { UUID(uuidString: $0) }
        case is URL.Type: read = value.stringValue.flatMap { URL(string: $0) }
        case is Location.Type: read = value.locationValue
        case is Reference.Type: read = value.referenceValue
        case is Asset.Type: read = value.assetValue
        case let type as any (FixedWidthInteger & Sendable).Type:
            read = value.int64Value.flatMap { integer($0, as: type) }
        default:
            return try Value(from: ValueDecoder(value: value, codingPath: path))
        }
        guard let read = read as? Value else { throw mismatch(value, type, at: path) }
        return read
    }

    private static func integer<Integer: FixedWidthInteger & Sendable>(
        _ value: Int64, as type: Integer.Type
    ) -> (any Sendable)? {
        Integer(exactly: value)
    }

    static func mismatch(
        _ value: RecordValue, _ type: Any.Type, at path: [any CodingKey]
    ) -> DecodingError {
        let kind = (try? ValueFormat.kind(of: value))?.name ?? "LIST"
        return DecodingError.typeMismatch(
            type,
            DecodingError.Context(
                codingPath: path, debugDescription: "this \(kind) cannot be read as \(type)"))
    }

    static func nested(_ type: Any.Type, at path: [any CodingKey]) -> DecodingError {
        DecodingError.typeMismatch(
            type,
            DecodingError.Context(
                codingPath: path,
                debugDescription: "a value with properties of its own cannot be a field"))
    }
}

extension Bool {
    fileprivate init?(exactly value: Int64) {
        guard value == 0 || value == 1 else { return nil }
        self = value == 1
    }
}

/// Gives the fields of a record to a value that is being made.
struct RecordFieldsDecoder: Decoder {
    let record: Record
    var codingPath: [any CodingKey] { [] }
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedDecodingContainer<Key> {
        KeyedDecodingContainer(FieldsContainer(record: record))
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer { throw notKeyed }
    func singleValueContainer() throws -> any SingleValueDecodingContainer { throw notKeyed }

    private var notKeyed: StoreError {
        StoreError("only a value with properties can be a record", at: [])
    }
}

private struct FieldsContainer<Key: CodingKey>: KeyedDecodingContainerProtocol {
    let record: Record
    var codingPath: [any CodingKey] { [] }
    var allKeys: [Key] { record.allKeys.compactMap { Key(stringValue: $0) } }

    func contains(_ key: Key) -> Bool { record[key.stringValue] != nil }
    func decodeNil(forKey key: Key) -> Bool { !contains(key) }

    func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
        try RecordValueDecoder.unbox(value(key), as: type, at: [key])
    }

    func nestedContainer<NestedKey: CodingKey>(
        keyedBy type: NestedKey.Type, forKey key: Key
    ) throws -> KeyedDecodingContainer<NestedKey> {
        throw RecordValueDecoder.nested([String: RecordValue].self, at: [key])
    }

    func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
        try ValueDecoder(value: value(key), codingPath: [key]).unkeyedContainer()
    }

    func superDecoder() throws -> any Decoder {
        throw RecordValueDecoder.nested([String: RecordValue].self, at: [])
    }

    func superDecoder(forKey key: Key) throws -> any Decoder {
        throw RecordValueDecoder.nested([String: RecordValue].self, at: [key])
    }

    private func value(_ key: Key) throws -> RecordValue {
        guard let value = record[key.stringValue] else {
            throw DecodingError.keyNotFound(
                key, DecodingError.Context(codingPath: [], debugDescription: ""))
        }
        return value
    }
}

private struct ValueDecoder: Decoder {
    let value: RecordValue
    let codingPath: [any CodingKey]
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(
        keyedBy type: Key.Type
    ) throws -> KeyedDecodingContainer<Key> {
        throw RecordValueDecoder.nested([String: RecordValue].self, at: codingPath)
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
        guard case .list(let elements) = value else {
            throw RecordValueDecoder.mismatch(value, [RecordValue].self, at: codingPath)
        }
        return ListContainer(elements: elements, codingPath: codingPath)
    }

    func singleValueContainer() -> any SingleValueDecodingContainer {
        SingleContainer(value: value, codingPath: codingPath)
    }
}

private struct ListContainer: UnkeyedDecodingContainer {
    let elements: [RecordValue]
    let codingPath: [any CodingKey]
    var currentIndex = 0
    var count: Int? { elements.count }
    var isAtEnd: Bool { currentIndex == elements.count }

    func decodeNil() -> Bool { false }

    mutating func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
        guard !isAtEnd else {
            throw DecodingError.valueNotFound(
                type,
                DecodingError.Context(
                    codingPath: codingPath, debugDescription: "the list has no more values"))
        }
        let value = try RecordValueDecoder.unbox(
            elements[currentIndex], as: type, at: codingPath)
        currentIndex += 1
        return value
    }

    func nestedContainer<NestedKey: CodingKey>(
        keyedBy type: NestedKey.Type
    ) throws -> KeyedDecodingContainer<NestedKey> {
        throw RecordValueDecoder.nested([String: RecordValue].self, at: codingPath)
    }

    func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
        throw RecordValueDecoder.nested([RecordValue].self, at: codingPath)
    }

    func superDecoder() throws -> any Decoder {
        throw RecordValueDecoder.nested([String: RecordValue].self, at: codingPath)
    }
}

private struct SingleContainer: SingleValueDecodingContainer {
    let value: RecordValue
    let codingPath: [any CodingKey]

    func decodeNil() -> Bool { false }

    func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
        try RecordValueDecoder.unbox(value, as: type, at: codingPath)
    }
}
