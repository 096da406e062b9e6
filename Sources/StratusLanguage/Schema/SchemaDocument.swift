/// A schema as the CloudKit schema language states it: roles, record types with their fields and
/// grants, and the indexes, collations and migrations that CloudKit has no words for.
///
/// A document may hold anything that the grammar allows; ``validate()`` reports what breaks a rule.
/// The order of all lists is kept, ``sorted()`` gives the order of CloudKit's own exports.
/// Comments are not kept, as CloudKit does not keep them either.
package struct SchemaDocument: Hashable, Sendable {
    /// What `CREATE ROLE` names.
    package var roles: [SchemaName]
    package var types: [RecordType]
    package var indexes: [Index]
    package var collations: [CollationRule]
    /// What is not done of migrations, by types. A store says so; a text that is imported changes nothing
    /// of it.
    package var migrations: [Migration] = []

    /// No list in a document is longer, neither one of fields, grants or columns.
    package static let listLimit = 10_000
    /// The longest text that is parsed, in bytes.
    package static let textLimit = 1 << 20

    package init(
        roles: [SchemaName] = [], types: [RecordType] = [], indexes: [Index] = [],
        collations: [CollationRule] = []
    ) {
        self.roles = roles
        self.types = types
        self.indexes = indexes
        self.collations = collations
    }
}

extension SchemaDocument {
    package struct RecordType: Hashable, Sendable {
        package var name: SchemaName
        /// As listed: the six system fields are there in any case, and listed only for options.
        package var fields: [Field]
        package var grants: [Grant]

        package init(_ name: SchemaName, fields: [Field] = [], grants: [Grant] = []) {
            self.name = name
            self.fields = fields
            self.grants = grants
        }
    }

    /// Rights that a role has on the records of a type in the public database.
    package struct Grant: Hashable, Sendable {
        package var permissions: Set<Permission>
        package var role: SchemaName

        package init(_ permissions: Set<Permission>, to role: SchemaName) {
            self.permissions = permissions
            self.role = role
        }
    }

    /// In the order of CloudKit's exports.
    package enum Permission: String, CaseIterable, Sendable {
        case read = "READ"
        case create = "CREATE"
        case write = "WRITE"
    }

    /// A composite or unique index: `// stratus: INDEX name ON Type (field, field DESC)`, with
    /// `UNIQUE` in place of `INDEX` where no two records may agree in all columns. At the end of the
    /// line of a field, `// stratus: UNIQUE` is one on that field alone, named `Type_field`.
    package struct Index: Hashable, Sendable {
        package struct Column: Hashable, Sendable {
            package var field: SchemaName
            package var isDescending: Bool

            package init(_ field: SchemaName, isDescending: Bool = false) {
                self.field = field
                self.isDescending = isDescending
            }
        }

        package var name: SchemaName
        package var isUnique: Bool
        package var type: SchemaName
        package var columns: [Column]

        package static let columnLimit = 8

        package init(
            _ name: SchemaName, isUnique: Bool = false, on type: SchemaName, columns: [Column]
        ) {
            self.name = name
            self.isUnique = isUnique
            self.type = type
            self.columns = columns
        }
    }

    /// How strings are compared and ordered, in queries and in indexes.
    package enum Collation: String, CaseIterable, Sendable {
        /// By their UTF-8 bytes.
        case binary = "BINARY"
        /// Without regard to case: what a field has that no rule names.
        case folded = "FOLDED"
    }

    /// Fields of a type of which records may have values of another kind, or under another name, until
    /// the migration of the type is done: `// stratus: MIGRATION ON Type (field, field)`.
    package struct Migration: Hashable, Sendable {
        package var type: SchemaName
        package var fields: [SchemaName]

        package init(on type: SchemaName, fields: [SchemaName]) {
            self.type = type
            self.fields = fields
        }
    }

    /// The fields of a type of which a migration is not done.
    package subscript(migratingFieldsOf type: String) -> Set<String> {
        get { Set(migrations.filter { $0.type.text == type }.flatMap { $0.fields.map(\.text) }) }
        set {
            migrations.removeAll { $0.type.text == type }
            if newValue.isEmpty { return }
            let fields = newValue.sorted().map { SchemaName($0) }
            migrations.append(Migration(on: SchemaName(type), fields: fields))
        }
    }

    /// The fields whose strings are compared by their bytes, by types.
    package var binaryFields: [String: Set<String>] {
        collations.reduce(into: [:]) { found, rule in
            if rule.collation == .binary {
                found[rule.type.text, default: []].formUnion(rule.fields.map(\.text))
            }
        }
    }

    /// Those of one type.
    package subscript(binaryFieldsOf type: String) -> Set<String> {
        get { binaryFields[type] ?? [] }
        set {
            collations.removeAll { $0.type.text == type }
            if newValue.isEmpty { return }
            let fields = newValue.sorted().map { SchemaName($0) }
            collations.append(CollationRule(.binary, on: SchemaName(type), fields: fields))
        }
    }

    /// The collation of fields of a type: `// stratus: COLLATION BINARY ON Type (field, field)`.
    package struct CollationRule: Hashable, Sendable {
        package var collation: Collation
        package var type: SchemaName
        package var fields: [SchemaName]

        package init(_ collation: Collation, on type: SchemaName, fields: [SchemaName]) {
            self.collation = collation
            self.type = type
            self.fields = fields
        }
    }
}
