extension SchemaDocument {
    package struct Field: Hashable, Sendable {
        package var name: SchemaName
        package var type: FieldType
        package var options: Set<Option>

        package init(_ name: SchemaName, _ type: FieldType, _ options: Set<Option> = []) {
            self.name = name
            self.type = type
            self.options = options
        }
    }

    /// What a field holds: one value, or a list of values, of one kind.
    package struct FieldType: Hashable, Sendable, CustomStringConvertible {
        package var element: Element
        package var isList: Bool
        package var isEncrypted: Bool

        package init(_ element: Element, isList: Bool = false, isEncrypted: Bool = false) {
            self.element = element
            self.isList = isList
            self.isEncrypted = isEncrypted
        }

        /// As the schema language writes it.
        package var description: String {
            let primitive = (isEncrypted ? "ENCRYPTED " : "") + element.rawValue
            return isList ? "LIST<\(primitive)>" : primitive
        }

        /// The same with a number of a preferred kind as that kind: records hold the same values.
        package var stored: FieldType {
            var stored = self
            stored.element = element.preferred ?? element
            return stored
        }
    }

    /// A kind of value, as the schema language writes it.
    package enum Element: String, CaseIterable, Sendable {
        case asset = "ASSET"
        case bytes = "BYTES"
        case double = "DOUBLE"
        case int64 = "INT64"
        case location = "LOCATION"
        /// A numeric field that a save created in the development environment: values of either
        /// kind, until one is preferred.
        case number = "NUMBER"
        case numberAsDouble = "NUMBER PREFERRED AS DOUBLE"
        case numberAsInt64 = "NUMBER PREFERRED AS INT64"
        case reference = "REFERENCE"
        case string = "STRING"
        case timestamp = "TIMESTAMP"

        /// The kind that a `NUMBER` is preferred as; nil of all others.
        package var preferred: Element? {
            switch self {
            case .numberAsDouble: .double
            case .numberAsInt64: .int64
            default: nil
            }
        }

        /// Those that one word names.
        static let words = allCases.filter { $0.preferred == nil }
        /// What `PREFERRED AS` may name.
        static let preferable: [Element] = [.double, .int64]
    }

    /// An index on a field, in the order of CloudKit's exports.
    package enum Option: String, CaseIterable, Sendable {
        /// Equality, membership in a list, distance.
        case queryable = "QUERYABLE"
        /// Words of a text.
        case searchable = "SEARCHABLE"
        /// Ranges and order.
        case sortable = "SORTABLE"
    }
}

extension Set where Element: CaseIterable & RawRepresentable<String> {
    /// The words of the members, in the order of the type's cases.
    var words: [String] { Element.allCases.filter(contains).map(\.rawValue) }
}
