/// Checks a document against the rules that the grammar does not have; keeps all findings.
struct SchemaValidator {
    private(set) var findings: [SchemaFinding] = []
    private let document: SchemaDocument
    private let roles: Set<String>
    /// The first type of each name with its fields, the system fields among them.
    private let fieldTypes: [String: [String: SchemaDocument.FieldType]]

    init(_ document: SchemaDocument) {
        self.document = document
        roles = SchemaRules.systemRoles.union(document.roles.map(\.text))
        fieldTypes = Dictionary(
            document.types.map { ($0.name.text, $0.fieldTypes) },
            uniquingKeysWith: { first, _ in first })
    }

    mutating func checkDocument() {
        checkUnique(document.roles, "role")
        for role in document.roles { checkName(role, "role") }
        checkUnique(document.types.map(\.name), "record type")
        for type in document.types {
            checkType(type)
            checkGrants(type)
        }
        checkUnique(document.indexes.map(\.name), "index")
        for index in document.indexes { checkIndex(index) }
        checkCollations()
    }

    private mutating func add(
        _ severity: SchemaFinding.Severity = .error, at name: SchemaName, _ message: String
    ) {
        findings.append(SchemaFinding(severity, at: name.place, message))
    }

    private mutating func checkUnique(_ names: [SchemaName], _ thing: String) {
        var seen: Set<String> = []
        for name in names where !seen.insert(name.text).inserted {
            add(at: name, "\(thing) '\(name)' is there twice")
        }
    }

    /// A name that is not one of the system's.
    private mutating func checkName(_ name: SchemaName, _ thing: String) {
        if name.text.utf8.count > SchemaRules.nameLimit {
            add(
                at: name,
                "the name of \(thing) '\(name)' has \(name.text.utf8.count) bytes, "
                    + "at most \(SchemaRules.nameLimit) are allowed")
        } else if name.text.hasPrefix("_") || name.text.contains(".") {
            add(at: name, "\(thing) '\(name)' has a name that is reserved for the system")
        } else if !SchemaRules.isIdentifier(name.text) {
            add(
                at: name,
                "the name of \(thing) '\(name)' must be of letters, digits and '_', first a letter")
        }
    }
}

// Types, fields and grants.
extension SchemaValidator {
    private mutating func checkType(_ type: SchemaDocument.RecordType) {
        if !SchemaRules.systemTypes.contains(type.name.text) { checkName(type.name, "record type") }
        checkUnique(type.fields.map(\.name), "field")
        for field in type.fields {
            checkFieldName(field.name, of: type)
            checkFieldType(field)
            for option in SchemaDocument.Option.allCases where field.options.contains(option) {
                checkOption(option, of: field)
            }
        }
    }

    private mutating func checkFieldName(
        _ name: SchemaName, of type: SchemaDocument.RecordType
    ) {
        let isOfShares =
            type.name.text == SchemaRules.shareType
            && name.text.hasPrefix(SchemaRules.sharePrefix)
        if isOfShares || SchemaRules.systemFieldTypes[name.text] != nil { return }
        if SchemaRules.recordProperties.contains(name.text) {
            add(at: name, "field '\(name)' has the name of a property that every record has")
        } else {
            checkName(name, "field")
        }
    }

    private mutating func checkFieldType(_ field: SchemaDocument.Field) {
        if let type = SchemaRules.systemFieldTypes[field.name.text], type != field.type {
            add(
                at: field.name,
                "system field '\(field.name)' is of type \(type), not \(field.type)")
        }
        if field.type.isEncrypted && !field.type.element.isEncryptable {
            add(
                at: field.name,
                "field '\(field.name)' cannot be encrypted: it is \(field.type.element.rawValue)")
        }
    }

    private mutating func checkOption(
        _ option: SchemaDocument.Option, of field: SchemaDocument.Field
    ) {
        let subject = "field '\(field.name)' of type \(field.type)"
        switch field.type.support(for: option) {
        case .served: break
        case .unused:
            add(
                .warning, at: field.name,
                "\(option.rawValue) has no effect on \(subject)")
        case .refused: add(at: field.name, "\(subject) cannot be \(option.rawValue)")
        }
    }

    private mutating func checkGrants(_ type: SchemaDocument.RecordType) {
        if type.grants.isEmpty {
            add(
                .warning, at: type.name,
                "record type '\(type.name)' has no GRANT: the public database does not serve it")
        }
        for grant in type.grants {
            if grant.permissions.isEmpty {
                add(at: grant.role, "a grant to role '\(grant.role)' grants nothing")
            }
            if !roles.contains(grant.role.text) {
                add(
                    at: grant.role,
                    "role '\(grant.role)' is not defined: CREATE ROLE \(grant.role) does")
            }
            if grant.role.text == "_creator" && grant.permissions.contains(.create) {
                add(
                    .warning, at: grant.role,
                    "CREATE has no effect on role '_creator': a new record has no creator yet")
            }
        }
    }
}

// Indexes and collations.
extension SchemaValidator {
    private mutating func checkIndex(_ index: SchemaDocument.Index) {
        checkName(index.name, "index")
        checkUnique(index.columns.map(\.field), "column")
        let limit = SchemaDocument.Index.columnLimit
        // One on a single field is declared by an option of that.
        let least = index.isUnique ? 1 : 2
        if !(least...limit).contains(index.columns.count) {
            add(
                at: index.name,
                "index '\(index.name)' has \(index.columns.count) columns, "
                    + "\(least) to \(limit) are allowed"
            )
        }
        checkFields(index.columns.map(\.field), of: index.type) { name, type in
            let isSystem = SchemaRules.systemFieldTypes[name.text] != nil
            let field = SystemField(rawValue: name.text)
            if !type.isIndexable || isSystem && field?.isColumn != true {
                return "cannot be a column of an index"
            }
            return index.isUnique && field?.changes == true
                ? "is changed by every save, and cannot be a column of a unique index" : nil
        }
    }

    private mutating func checkCollations() {
        var seen: [String: Set<String>] = [:]
        for rule in document.collations {
            if rule.fields.isEmpty { add(at: rule.type, "a collation names no field") }
            checkFields(rule.fields, of: rule.type) { _, type in
                type.isCollatable ? nil : "has no collation"
            }
            for field in rule.fields
            where !seen[rule.type.text, default: []].insert(field.text).inserted {
                add(at: field, "field '\(field)' has a collation already")
            }
        }
    }

    /// Each must be a field of that type, for which `refusal` knows no reason.
    private mutating func checkFields(
        _ fields: [SchemaName], of type: SchemaName,
        refusal: (SchemaName, SchemaDocument.FieldType) -> String?
    ) {
        guard let known = fieldTypes[type.text] else {
            return add(at: type, "there is no record type '\(type)'")
        }
        for field in fields {
            if let found = known[field.text] {
                if let reason = refusal(field, found) {
                    add(at: field, "field '\(field)' of type \(found) \(reason)")
                }
            } else {
                add(at: field, "record type '\(type)' has no field '\(field)'")
            }
        }
    }
}

extension SchemaDocument.RecordType {
    fileprivate var fieldTypes: [String: SchemaDocument.FieldType] {
        fields.reduce(into: SchemaRules.systemFieldTypes) { types, field in
            if types[field.name.text] == nil { types[field.name.text] = field.type }
        }
    }
}
