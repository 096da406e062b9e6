extension SchemaDocument {
    /// The same schema in the order of CloudKit's exports: all by name, in the order of ASCII, with
    /// one grant for each role of a type.
    package func sorted() -> SchemaDocument {
        var sorted = self
        sorted.roles.sort { $0.text < $1.text }
        sorted.types.sort { $0.name.text < $1.name.text }
        for place in sorted.types.indices { sorted.types[place].sort() }
        sorted.indexes.sort { $0.name.text < $1.name.text }
        sorted.collations.sort {
            ($0.type.text, $0.collation.rawValue) < ($1.type.text, $1.collation.rawValue)
        }
        sorted.migrations.sort { $0.type.text < $1.type.text }
        return sorted
    }
}

extension SchemaDocument.RecordType {
    fileprivate mutating func sort() {
        fields.sort { $0.name.text < $1.name.text }
        grants = permissions.sorted { $0.key.text < $1.key.text }.map {
            SchemaDocument.Grant($0.value, to: $0.key)
        }
    }

    /// What each role may, over all grants.
    package var permissions: [SchemaName: Set<SchemaDocument.Permission>] {
        grants.reduce(into: [:]) { $0[$1.role, default: []].formUnion($1.permissions) }
    }
}
