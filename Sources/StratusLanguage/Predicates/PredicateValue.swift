/// A value that a predicate compares with, or that a record's field has: the kinds of
/// `Formats/Record.md`, "Values".
package enum PredicateValue: Hashable, Sendable {
    case string(String)
    /// An integer; also a Bool, as 0 or 1.
    case int64(Int64)
    case double(Double)
    /// In seconds since 2001-01-01 00:00 UTC.
    case date(Double)
    case bytes([UInt8])
    case location(GeographicPoint)
    case reference(ReferenceTarget)
    /// That there is an asset; its bytes are never compared.
    case asset
    /// Values of one kind, none of them a list.
    case list([PredicateValue])
}

/// A place on the earth.
package struct GeographicPoint: Hashable, Sendable {
    /// In degrees, north positive.
    package var latitude: Double
    /// In degrees, east positive.
    package var longitude: Double

    package init(latitude: Double, longitude: Double) {
        self.latitude = latitude
        self.longitude = longitude
    }
}

/// The record that a reference points to.
package struct ReferenceTarget: Hashable, Sendable {
    package var recordName: String
    /// The name of the target's zone; nil where it is not said.
    package var zone: String?
    /// The user whose zone it is; nil where it is not said.
    package var owner: String?

    package init(recordName: String, zone: String? = nil, owner: String? = nil) {
        self.recordName = recordName
        self.zone = zone
        self.owner = owner
    }

    /// Whether both may be one record: what only one of them says is not compared.
    func matches(_ other: ReferenceTarget) -> Bool {
        func agree(_ left: String?, _ right: String?) -> Bool {
            guard let left, let right else { return true }
            return left.utf8.elementsEqual(right.utf8)
        }
        return agree(recordName, other.recordName) && agree(zone, other.zone)
            && agree(owner, other.owner)
    }
}

/// The kind of values a field has, by the names of CloudKit's schema language.
package enum ValueType: String, Hashable, Sendable {
    case string = "STRING"
    case int64 = "INT64"
    case double = "DOUBLE"
    case date = "TIMESTAMP"
    case bytes = "BYTES"
    case location = "LOCATION"
    case reference = "REFERENCE"
    case asset = "ASSET"

    /// Integers and numbers are compared with each other, all else with its own kind only.
    func isComparable(with other: ValueType) -> Bool {
        self == other || isNumber && other.isNumber
    }

    private var isNumber: Bool { self == .int64 || self == .double }
}

/// The kind of a field: of its value, or of the elements of a list.
package struct FieldType: Hashable, Sendable {
    package var element: ValueType
    package var isList: Bool

    package init(_ element: ValueType, isList: Bool = false) {
        self.element = element
        self.isList = isList
    }
}

extension PredicateValue {
    /// The kind of a value; nil of a list.
    package var type: ValueType? {
        switch self {
        case .string: .string
        case .int64: .int64
        case .double: .double
        case .date: .date
        case .bytes: .bytes
        case .location: .location
        case .reference: .reference
        case .asset: .asset
        case .list: nil
        }
    }

    /// The string, or those of a list; nil of other values.
    var texts: [String]? {
        switch self {
        case .string(let text): [text]
        case .list(let values):
            values.compactMap { if case .string(let text) = $0 { text } else { nil } }
        default: nil
        }
    }

    /// The values of a list, or the value itself.
    package var elements: [PredicateValue] {
        if case .list(let values) = self { values } else { [self] }
    }
}
