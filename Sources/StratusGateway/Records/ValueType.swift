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
}

/// The type of a field's value: of one value, or of all in a list.
enum FieldType: Equatable {
    case one(ValueType)
    case list(ValueType)
    /// A list that does not say of what.
    case emptyList

    private static let emptyListName = "EMPTY_LIST"
    private static let listSuffix = "_LIST"

    var name: String {
        switch self {
        case .one(let type): type.rawValue
        case .list(let type): type.rawValue + Self.listSuffix
        case .emptyList: Self.emptyListName
        }
    }
}

extension FieldType: JSONReadable {
    init(_ json: JSONValue) throws(Mismatch) {
        let text = try String(json)
        if let type = ValueType.allCases.first(where: { $0.rawValue.isSame(as: text) }) {
            self = .one(type)
        } else if text.isSame(as: Self.emptyListName) {
            self = .emptyList
        } else if let type = ValueType.allCases.first(where: {
            ($0.rawValue + Self.listSuffix).isSame(as: text)
        }) {
            self = .list(type)
        } else {
            throw Mismatch("is no type of a field")
        }
    }
}

extension ValueType {
    /// The type that a value has where nobody says it.
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
            } else if object["path"] != nil || object["receipt"] != nil {
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
