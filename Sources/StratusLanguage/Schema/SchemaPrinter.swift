/// Writes a schema as the exports of CloudKit's tools look: names and types in columns, options and
/// permissions in one order, names in double quotes only where they need them.
///
/// What is written is parsed to an equal document, unless no text can state it: where a grant, an
/// index or a collation is empty, or a name holds a double quote or a line break.
/// ``SchemaDocument/validate()`` reports these.
struct SchemaPrinter {
    private static let indent = "    "
    /// A longer name, which is not valid, does not widen the column of all others.
    private static let widthLimit = SchemaRules.nameLimit + 2

    static func text(of document: SchemaDocument) -> String {
        var blocks = ["DEFINE SCHEMA"]
        if !document.roles.isEmpty {
            blocks.append(lines(document.roles.map { "CREATE ROLE \(name($0));" }))
        }
        blocks += document.types.map(recordType)
        let directives =
            document.indexes.map(index) + document.collations.map(collationRule)
            + document.migrations.map { "MIGRATION " + typeAndFields($0.type, $0.fields) }
        if !directives.isEmpty { blocks.append(lines(directives.map { "// stratus: \($0)" })) }
        return blocks.joined(separator: "\n\n") + "\n"
    }

    private static func recordType(_ type: SchemaDocument.RecordType) -> String {
        let names = type.fields.map { name($0.name) }
        let width = min(names.lazy.map { $0.utf8.count }.max() ?? 0, widthLimit)
        var items = zip(names, type.fields).map { name, field in
            // Characters of more than one byte are in no valid name: columns need not fit there.
            let padding = String(repeating: " ", count: max(0, width - name.utf8.count))
            let words = [name + padding, field.type.description] + field.options.words
            return words.joined(separator: " ")
        }
        items += type.grants.map { grant in
            "GRANT \(grant.permissions.words.joined(separator: ", ")) TO \(name(grant.role))"
        }
        let separated = items.enumerated().map { number, item in
            indent + item + (number < items.count - 1 ? "," : "")
        }
        return lines(["RECORD TYPE \(name(type.name)) ("] + separated + [");"])
    }

    private static func index(_ index: SchemaDocument.Index) -> String {
        let columns = index.columns.map { name($0.field) + ($0.isDescending ? " DESC" : "") }
        return "\(index.isUnique ? "UNIQUE" : "INDEX") \(name(index.name)) "
            + "ON \(name(index.type)) (\(columns.joined(separator: ", ")))"
    }

    private static func collationRule(_ rule: SchemaDocument.CollationRule) -> String {
        "COLLATION \(rule.collation.rawValue) " + typeAndFields(rule.type, rule.fields)
    }

    private static func typeAndFields(_ type: SchemaName, _ fields: [SchemaName]) -> String {
        "ON \(name(type)) (\(fields.map(name).joined(separator: ", ")))"
    }

    private static func lines(_ lines: [String]) -> String {
        lines.map { indent + $0 }.joined(separator: "\n")
    }

    private static func name(_ name: SchemaName) -> String {
        SchemaRules.isPlain(name.text) ? name.text : "\"\(name.text)\""
    }
}
