internal import Stratus

/// The types of values, as JSON names them.
enum ValueType: String, CaseIterable {
    case string = "STRING"
    case int64 = "INT64"
    case double = "DOUBLE"
    case timestamp = "TIMESTAMP"
    case bytes = "BYTES"
    case location = "LOCATION"
    case reference = "REFERENCE"
    case asset = "ASSETID"

    init?(name: String) {
        let name = name.isSame(as: "ASSET") ? Self.asset.rawValue : name
        guard let type = Self.allCases.first(where: { $0.rawValue.isSame(as: name) }) else {
            return nil
        }
        self = type
    }
}

/// The type of a field's value: of one value, or of all in a list.
enum FieldType: Equatable {
    case one(ValueType)
    case list(ValueType)
    /// A list without values.
    case emptyList
    /// A list whose values say of what.
    case anyList

    private static let emptyListName = "EMPTY_LIST"
    private static let anyListName = "UNKNOWN_LIST"
    private static let listSuffix = "_LIST"

    var name: String {
        switch self {
        case .one(let type): type.rawValue
        case .list(let type): type.rawValue + Self.listSuffix
        case .emptyList: Self.emptyListName
        case .anyList: Self.anyListName
        }
    }

    /// The type of that name, as Web Services and the schema language write it.
    init?(name: String) {
        if let type = ValueType(name: name) {
            self = .one(type)
        } else if name.isSame(as: Self.emptyListName) {
            self = .emptyList
        } else if name.isSame(as: Self.anyListName) {
            self = .anyList
        } else if name.hasSuffix(Self.listSuffix),
            let type = ValueType(name: String(name.dropLast(Self.listSuffix.count)))
        {
            self = .list(type)
        } else {
            return nil
        }
    }
}

/// What a request says of the type of a field.
struct FieldTypeInput: JSONReadable {
    let type: FieldType
    /// Whether the name is that of an encrypted field: `ENCRYPTED_STRING`.
    let isEncrypted: Bool

    private static let encryptedPrefix = "ENCRYPTED_"

    init(_ json: JSONValue) throws(Mismatch) {
        let name = try String(json)
        isEncrypted = name.hasPrefix(Self.encryptedPrefix)
        let plain = isEncrypted ? String(name.dropFirst(Self.encryptedPrefix.count)) : name
        guard let type = FieldType(name: plain) else { throw Mismatch("is no type of a field") }
        self.type = type
    }
}

extension ValueType {
    /// The type of a value that is given without one.
    init(of json: JSONValue) throws(Mismatch) {
        switch json {
        case .string: self = .string
        case .integer, .boolean: self = .int64
        case .number: self = .double
        case .object(let object):
            if object["recordName"] != nil {
                self = .reference
            } else if object["latitude"] != nil {
                self = .location
            } else if AssetInput.isAsset(object) {
                self = .asset
            } else {
                throw Mismatch("is an object of no known type")
            }
        case .null, .array: throw Mismatch("is no value of a field")
        }
    }

    /// The type of a list's values; nil where there are none. Among numbers with a fraction one
    /// without is one too.
    static func common(of values: [JSONValue]) throws(Mismatch) -> ValueType? {
        var types: [ValueType] = []
        for (index, value) in values.enumerated() {
            do throws(Mismatch) {
                types.append(try ValueType(of: value))
            } catch {
                throw error.at(index)
            }
        }
        let isNumeric = types.allSatisfy { $0 == .int64 || $0 == .double }
        return isNumeric && types.contains(.double) ? .double : types.first
    }

    init(of value: RecordValue) {
        switch value {
        case .string: self = .string
        case .int64: self = .int64
        case .double: self = .double
        case .date: self = .timestamp
        case .bytes: self = .bytes
        case .location: self = .location
        case .reference: self = .reference
        case .asset: self = .asset
        // A list in a list is never stored.
        case .list: self = .string
        }
    }
}
