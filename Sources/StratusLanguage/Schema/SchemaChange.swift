/// One thing that an import changes in a schema.
package struct SchemaChange: Hashable, Sendable, CustomStringConvertible {
    package enum Action: Hashable, Sendable {
        case addRole(String)
        case removeRole(String)
        /// With all its fields, options and grants.
        case addType(String)
        case removeType(String)
        case addField(String, of: String, SchemaDocument.FieldType)
        case removeField(String, of: String)
        case changeField(
            String, of: String, from: SchemaDocument.FieldType, to: SchemaDocument.FieldType)
        case addOptions(Set<SchemaDocument.Option>, field: String, of: String)
        case removeOptions(Set<SchemaDocument.Option>, field: String, of: String)
        case addGrant(Set<SchemaDocument.Permission>, role: String, type: String)
        case removeGrant(Set<SchemaDocument.Permission>, role: String, type: String)
        case addIndex(SchemaDocument.Index)
        case removeIndex(SchemaDocument.Index)
        case changeCollation(
            field: String, of: String, from: SchemaDocument.Collation, to: SchemaDocument.Collation)
    }

    package enum Effect: Hashable, Sendable {
        /// No data is lost.
        case safe
        /// Values of records, or who has a role, would be lost. An import that has such a change
        /// must change nothing unless the caller accepts the loss.
        case losesData
        /// Never made; the text says why.
        case refused(String)
    }

    package var action: Action
    package var effect: Effect

    package init(_ action: Action, _ effect: Effect = .safe) {
        self.action = action
        self.effect = effect
    }

    /// One line: what changes, and what is wrong with it.
    package var description: String {
        switch effect {
        case .safe: action.description
        case .losesData: "\(action): its data would be lost"
        case .refused(let reason): "\(action): refused, \(reason)"
        }
    }
}

extension SchemaChange.Action: CustomStringConvertible {
    package var description: String {
        switch self {
        case .addRole(let role): "add role '\(role.forMessage)'"
        case .removeRole(let role): "remove role '\(role.forMessage)'"
        case .addType(let type): "add record type '\(type.forMessage)'"
        case .removeType(let type): "remove record type '\(type.forMessage)'"
        case .addField(let field, let type, let kind):
            "add \(Self.field(field, type)) of type \(kind)"
        case .removeField(let field, let type): "remove \(Self.field(field, type))"
        case .changeField(let field, let type, let old, let new):
            "change \(Self.field(field, type)) from \(old) to \(new)"
        case .addOptions(let options, let field, let type):
            "make \(Self.field(field, type)) \(options.words.joined(separator: ", "))"
        case .removeOptions(let options, let field, let type):
            "make \(Self.field(field, type)) no longer \(options.words.joined(separator: ", "))"
        case .addGrant(let permissions, let role, let type):
            "grant \(permissions.words.joined(separator: ", ")) on record type "
                + "'\(type.forMessage)' to role '\(role.forMessage)'"
        case .removeGrant(let permissions, let role, let type):
            "revoke \(permissions.words.joined(separator: ", ")) on record type "
                + "'\(type.forMessage)' from role '\(role.forMessage)'"
        case .addIndex(let index): "add \(Self.index(index))"
        case .removeIndex(let index): "remove \(Self.index(index))"
        case .changeCollation(let field, let type, let old, let new):
            "change the collation of \(Self.field(field, type)) "
                + "from \(old.rawValue) to \(new.rawValue)"
        }
    }

    private static func field(_ field: String, _ type: String) -> String {
        "field '\(type.forMessage).\(field.forMessage)'"
    }

    private static func index(_ index: SchemaDocument.Index) -> String {
        let columns = index.columns.map { "\($0.field)" + ($0.isDescending ? " DESC" : "") }
        return "\(index.isUnique ? "unique index" : "index") '\(index.name)' on record type "
            + "'\(index.type)' (\(columns.joined(separator: ", ")))"
    }
}
