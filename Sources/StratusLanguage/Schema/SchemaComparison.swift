extension SchemaDocument {
    /// The two environments of a container.
    package enum Environment: Sendable {
        case development
        /// Whose schema only grows, but for indexes and grants.
        case production
    }

    /// The changes that an import of `new` over `old` makes, in the order of `new`, what is removed
    /// before what is added. Both must be valid.
    ///
    /// System fields and system types are never removed; where a text omits a system field it has
    /// no options, where it omits a system type that stays as it is. Reordering changes nothing.
    package static func differences(
        from old: SchemaDocument, to new: SchemaDocument, in environment: Environment
    ) -> [SchemaChange] {
        var comparison = SchemaComparison(environment)
        comparison.compareRoles(old, new)
        comparison.compareTypes(old, new)
        comparison.compareIndexes(old, new)
        comparison.compareCollations(old, new)
        return comparison.changes
    }
}

/// Finds what differs in two schemas and whether it may change.
struct SchemaComparison {
    private(set) var changes: [SchemaChange] = []
    private let environment: SchemaDocument.Environment

    init(_ environment: SchemaDocument.Environment) { self.environment = environment }

    private mutating func add(
        _ action: SchemaChange.Action, _ effect: SchemaChange.Effect = .safe
    ) {
        changes.append(SchemaChange(action, effect))
    }

    /// Of a change that takes something away which records or users have.
    private var loss: SchemaChange.Effect {
        environment == .development ? .losesData : .refused("a production schema only grows")
    }

    /// Options or permissions: what is no longer there, and what is there now.
    private mutating func compare<Word>(
        _ old: Set<Word>, _ new: Set<Word>, remove: (Set<Word>) -> SchemaChange.Action,
        add addition: (Set<Word>) -> SchemaChange.Action
    ) {
        let (gone, fresh) = (old.subtracting(new), new.subtracting(old))
        if !gone.isEmpty { add(remove(gone)) }
        if !fresh.isEmpty { add(addition(fresh)) }
    }
}

extension SchemaComparison {
    mutating func compareRoles(_ old: SchemaDocument, _ new: SchemaDocument) {
        let (known, wanted) = (Set(old.roles), Set(new.roles))
        for role in old.roles where !wanted.contains(role) { add(.removeRole(role.text), loss) }
        for role in new.roles where !known.contains(role) { add(.addRole(role.text)) }
    }

    mutating func compareTypes(_ old: SchemaDocument, _ new: SchemaDocument) {
        let known = Dictionary(old.types, by: \.name)
        let wanted = Set(new.types.map(\.name))
        for type in old.types
        where !wanted.contains(type.name) && !SchemaRules.systemTypes.contains(type.name.text) {
            add(.removeType(type.name.text), loss)
        }
        for type in new.types {
            if let before = known[type.name] {
                compareFields(before, type)
                compareGrants(before, type)
            } else {
                add(.addType(type.name.text))
            }
        }
    }

    private mutating func compareFields(
        _ old: SchemaDocument.RecordType, _ new: SchemaDocument.RecordType
    ) {
        let type = new.name.text
        let (known, wanted) = (old.allFields, new.allFields)
        let (before, after) = (Dictionary(known, by: \.name), Set(wanted.map(\.name)))
        for field in known where !after.contains(field.name) {
            add(.removeField(field.name.text, of: type), loss)
        }
        for field in wanted {
            let name = field.name.text
            let former = before[field.name]
            if let former {
                if former.type.stored != field.type.stored {
                    let action = SchemaChange.Action.changeField(
                        name, of: type, from: former.type, to: field.type)
                    add(action, effect(from: former.type, to: field.type))
                }
            } else {
                add(.addField(name, of: type, field.type))
            }
            compare(
                former?.options ?? [], field.options,
                remove: { .removeOptions($0, field: name, of: type) },
                add: { .addOptions($0, field: name, of: type) })
        }
    }

    /// Of another type of a field.
    private func effect(
        from old: SchemaDocument.FieldType, to new: SchemaDocument.FieldType
    ) -> SchemaChange.Effect {
        var preferring = old
        preferring.element = new.element
        if old.element == .number, new.element.preferred != nil, preferring == new { return .safe }
        if old.element.preferred != nil { return .refused("what PREFERRED AS names is fixed") }
        if new.isEncrypted && !old.isEncrypted {
            return .refused("only a new field can be encrypted")
        }
        return loss
    }

    private mutating func compareGrants(
        _ old: SchemaDocument.RecordType, _ new: SchemaDocument.RecordType
    ) {
        let (before, after) = (old.permissions, new.permissions)
        let roles = Set(before.keys).union(after.keys).map(\.text).sorted()
        let type = new.name.text
        for role in roles {
            let name = SchemaName(role)
            compare(
                before[name] ?? [], after[name] ?? [],
                remove: { .removeGrant($0, role: role, type: type) },
                add: { .addGrant($0, role: role, type: type) })
        }
    }
}

extension SchemaComparison {
    /// An index that has another definition is another index, which must be built anew.
    mutating func compareIndexes(_ old: SchemaDocument, _ new: SchemaDocument) {
        let (known, wanted) = (Set(old.indexes), Set(new.indexes))
        for index in old.indexes where !wanted.contains(index) { add(.removeIndex(index)) }
        for index in new.indexes where !known.contains(index) { add(.addIndex(index)) }
    }

    mutating func compareCollations(_ old: SchemaDocument, _ new: SchemaDocument) {
        // Fields that are not there on one side have the collation that all have.
        let (before, after) = (old.collationsByField, new.collationsByField)
        let columns = Set(before.keys).union(after.keys)
            .sorted { ($0.type, $0.field) < ($1.type, $1.field) }
        for column in columns {
            let (had, has) = (before[column] ?? .folded, after[column] ?? .folded)
            if had == has { continue }
            add(.changeCollation(field: column.field, of: column.type, from: had, to: has))
        }
    }
}

private struct Column: Hashable {
    var type: String
    var field: String
}

extension SchemaDocument {
    fileprivate var collationsByField: [Column: Collation] {
        collations.reduce(into: [:]) { found, rule in
            for field in rule.fields {
                found[Column(type: rule.type.text, field: field.text)] = rule.collation
            }
        }
    }
}

extension SchemaDocument.RecordType {
    /// Those listed, and the system fields that are not, which have no options then.
    fileprivate var allFields: [SchemaDocument.Field] {
        let listed = Set(fields.map(\.name.text))
        return fields
            + SchemaRules.systemFields.filter { !listed.contains($0.name) }
            .map { SchemaDocument.Field(SchemaName($0.name), $0.type) }
    }
}

extension Dictionary {
    /// The first value of each key.
    fileprivate init(_ values: [Value], by key: (Value) -> Key) {
        self.init(values.map { (key($0), $0) }, uniquingKeysWith: { first, _ in first })
    }
}
