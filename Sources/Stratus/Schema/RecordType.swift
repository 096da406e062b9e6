internal import StratusEngine
internal import StratusLanguage

/// What a store knows of the records of a type.
public struct RecordType: Hashable, Sendable {
    /// A field of records of the type.
    public struct Field: Hashable, Sendable {
        /// Its key in records.
        public var name: String
        /// What it holds; nil of a number of which the first save says whether it is an integer.
        public var type: Record.FieldType?
        /// How its strings are compared; of no effect where it holds no strings.
        public var collation: Collation
    }

    /// How the strings of a field are compared by `=`, `<`, `IN` and `BETWEEN`, sorted, and told apart by an
    /// index that is unique.
    public enum Collation: String, Hashable, Sendable, CaseIterable {
        /// Without regard to case: what a field has of which nothing else is said.
        case folded = "FOLDED"
        /// By their UTF-8 bytes.
        case binary = "BINARY"
    }

    /// That of records.
    public var name: String
    /// In the order of their names, without system fields.
    public var fields: [Field]
    /// In the order in which they were declared.
    public var indexes: [RecordIndex]
    /// The fields of which a migration is not done, sorted: records may still have values of another type, or
    /// under another name. See ``Container/migrate(_:_:asHost:)``.
    public var migratingFields: [String]
}

extension Record {
    /// What a field holds: one value, or a list of values, of one kind.
    public struct FieldType: Hashable, Sendable, CustomStringConvertible {
        /// A kind of value, by the names of CloudKit's schema language.
        public enum Element: String, Hashable, Sendable, CaseIterable {
            case asset = "ASSET"
            case bytes = "BYTES"
            case double = "DOUBLE"
            case int64 = "INT64"
            case location = "LOCATION"
            case reference = "REFERENCE"
            case string = "STRING"
            case timestamp = "TIMESTAMP"
        }

        /// The kind of the value or, of a list, of each of its elements.
        public var element: Element
        /// Whether it is a list of such values.
        public var isList: Bool
        /// Whether the field is flagged: ``Record/encryptedValues``. Assets and references never are.
        public var isEncrypted: Bool

        /// One value of a kind, where nothing else is said.
        public init(_ element: Element, isList: Bool = false, isEncrypted: Bool = false) {
            self.element = element
            self.isList = isList
            self.isEncrypted = isEncrypted
        }

        /// `ASSET`
        public static let asset = FieldType(.asset)
        /// `BYTES`
        public static let bytes = FieldType(.bytes)
        /// `DOUBLE`
        public static let double = FieldType(.double)
        /// `INT64`
        public static let int64 = FieldType(.int64)
        /// `LOCATION`
        public static let location = FieldType(.location)
        /// `REFERENCE`
        public static let reference = FieldType(.reference)
        /// `STRING`
        public static let string = FieldType(.string)
        /// `TIMESTAMP`
        public static let timestamp = FieldType(.timestamp)

        /// A list, such as `LIST<STRING>`.
        public static func list(of element: Element) -> FieldType {
            FieldType(element, isList: true)
        }

        /// As the schema language writes it, such as `LIST<STRING>`.
        public var description: String { declared.description }
    }
}

extension Record.FieldType {
    init?(_ type: SchemaDocument.FieldType) {
        guard let element = Element(rawValue: type.stored.element.rawValue) else { return nil }
        self.init(element, isList: type.isList, isEncrypted: type.isEncrypted)
    }

    /// As a schema states it.
    fileprivate var declared: SchemaDocument.FieldType {
        let element: SchemaDocument.Element =
            switch element {
            case .asset: .asset
            case .bytes: .bytes
            case .double: .double
            case .int64: .int64
            case .location: .location
            case .reference: .reference
            case .string: .string
            case .timestamp: .timestamp
            }
        return SchemaDocument.FieldType(element, isList: isList, isEncrypted: isEncrypted)
    }

    /// As the store has it; nil of an encrypted asset or reference.
    var kind: FieldKind? { FieldKind(declared) }
}

extension Container {
    /// The record types that were declared or that saves have made, in the order of their names, with
    /// their fields and indexes.
    public nonisolated(nonsending) func recordTypes() async throws(StoreError) -> [RecordType] {
        try await answer { () async throws(EngineError) -> [RecordType] in
            try await read { reading throws(EngineError) in
                let document = try reading.schemaDocument().sorted()
                let indexes = reading.indexes.all.compactMap { RecordIndex($0, reading.schema) }
                return document.types.map { RecordType($0, of: document, indexes) }
            }
        }
    }
}

extension RecordType {
    fileprivate init(
        _ type: SchemaDocument.RecordType, of document: SchemaDocument, _ indexes: [RecordIndex]
    ) {
        name = type.name.text
        let binaryFields = document[binaryFieldsOf: type.name.text]
        fields = type.fields.compactMap { field in
            let name = field.name.text
            if SystemField.isName(name) { return nil }
            return Field(
                name: name, type: Record.FieldType(field.type),
                collation: binaryFields.contains(name) ? .binary : .folded)
        }
        self.indexes = indexes.filter { $0.recordType == type.name.text }
        migratingFields = document[migratingFieldsOf: type.name.text].sorted()
    }
}
