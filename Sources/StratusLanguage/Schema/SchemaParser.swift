/// Reads the text of a schema, by the grammar of Apple's page "Integrating a Text-Based Schema into
/// Your Workflow" and the directives of ``SchemaDocument``.
///
/// Keywords are taken in any case of letters, system names also without quotes. The grammar does
/// not nest, and each token is looked at once: the time is linear in the length of the text.
struct SchemaParser {
    private var lexer: SchemaLexer
    /// The first token that is not used up.
    private var token: SchemaToken

    private init(_ lexer: SchemaLexer) throws(SchemaSyntaxError) {
        self.lexer = lexer
        token = try self.lexer.next()
    }

    /// The schema that `bytes` state, which must be valid UTF-8 and not above the limit in length.
    static func document(_ bytes: [UInt8]) throws(SchemaSyntaxError) -> SchemaDocument {
        var document = SchemaDocument()
        var parser = try SchemaParser(SchemaLexer(bytes))
        try parser.statements(into: &document)
        if parser.lexer.directives.isEmpty { return document }
        let fields = document.fieldsByLine
        for directive in parser.lexer.directives {
            var inner = try SchemaParser(SchemaLexer(directive, in: parser.lexer))
            try inner.directive(into: &document, fields)
        }
        return document
    }
}

// DEFINE SCHEMA { ( CREATE ROLE name | RECORD TYPE name "(" [ item { "," item } ] ")" ) ";" }
extension SchemaParser {
    private mutating func statements(
        into document: inout SchemaDocument
    ) throws(SchemaSyntaxError) {
        try expect(keyword: "DEFINE")
        try expect(keyword: "SCHEMA")
        while token.kind != .end {
            if try skip(keyword: "CREATE") {
                try expect(keyword: "ROLE")
                try append(try name(of: "a role"), to: &document.roles, "roles")
            } else if try skip(keyword: "RECORD") {
                try expect(keyword: "TYPE")
                try append(try recordType(), to: &document.types, "record types")
            } else {
                throw unexpected("CREATE ROLE or RECORD TYPE")
            }
            try expect(symbol: ";")
        }
    }

    private mutating func recordType() throws(SchemaSyntaxError) -> SchemaDocument.RecordType {
        var type = SchemaDocument.RecordType(try name(of: "a record type"))
        try expect(symbol: "(")
        if try skip(symbol: ")") { return type }
        var others: [String] = []
        repeat {
            if try skip(keyword: "GRANT") {
                try append(try grant(), to: &type.grants, "grants")
                others = ["','"]
            } else {
                try append(try field(), to: &type.fields, "fields")
                others = SchemaDocument.Option.allCases.map(\.rawValue) + ["','"]
            }
        } while try skip(symbol: ",")
        try expect(symbol: ")", orElse: others)
        return type
    }

    private mutating func grant() throws(SchemaSyntaxError) -> SchemaDocument.Grant {
        var permissions: Set<SchemaDocument.Permission> = []
        repeat {
            permissions.insert(try word(of: SchemaDocument.Permission.allCases))
        } while try skip(symbol: ",")
        try expect(keyword: "TO")
        return SchemaDocument.Grant(permissions, to: try name(of: "a role"))
    }

    private mutating func field() throws(SchemaSyntaxError) -> SchemaDocument.Field {
        var field = SchemaDocument.Field(try name(of: "a field"), try fieldType())
        while let option = try optionalWord(of: SchemaDocument.Option.allCases) {
            field.options.insert(option)
        }
        return field
    }

    private mutating func fieldType() throws(SchemaSyntaxError) -> SchemaDocument.FieldType {
        guard try skip(keyword: "LIST") else { return try primitive() }
        try expect(symbol: "<")
        var type = try primitive()
        try expect(symbol: ">")
        type.isList = true
        return type
    }

    private mutating func primitive() throws(SchemaSyntaxError) -> SchemaDocument.FieldType {
        let isEncrypted = try skip(keyword: "ENCRYPTED")
        guard var element = try optionalWord(of: SchemaDocument.Element.words) else {
            throw unexpected("a type")
        }
        if element == .number, try skip(keyword: "PREFERRED") {
            try expect(keyword: "AS")
            let preferred = try word(of: SchemaDocument.Element.preferable)
            element = preferred == .double ? .numberAsDouble : .numberAsInt64
        }
        return SchemaDocument.FieldType(element, isEncrypted: isEncrypted)
    }
}

// ( INDEX | UNIQUE ) name ON type "(" field [ ASC | DESC ] { "," … } ")" [ ";" ]
// UNIQUE [ ";" ], where a field stands in the line
// COLLATION ( BINARY | FOLDED ) ON type "(" field { "," field } ")" [ ";" ]
// MIGRATION ON type "(" field { "," field } ")" [ ";" ]
extension SchemaParser {
    /// `fields` are the last ones of the lines.
    private mutating func directive(
        into document: inout SchemaDocument, _ fields: [Int: (type: SchemaName, name: SchemaName)]
    ) throws(SchemaSyntaxError) {
        let line = token.place.line
        if try skip(keyword: "COLLATION") {
            let collation = try word(of: SchemaDocument.Collation.allCases)
            let (type, fields) = try typeAndFields()
            let rule = SchemaDocument.CollationRule(collation, on: type, fields: fields)
            try append(rule, to: &document.collations, "collations")
        } else if try skip(keyword: "MIGRATION") {
            let (type, fields) = try typeAndFields()
            let migration = SchemaDocument.Migration(on: type, fields: fields)
            try append(migration, to: &document.migrations, "migrations")
        } else if try skip(keyword: "UNIQUE") {
            let isAlone = token.kind == .end || token.isSymbol(";")
            if isAlone, let field = fields[line] {
                let name = "\(field.type.text)_\(field.name.text)".prefix(SchemaRules.nameLimit)
                let index = SchemaDocument.Index(
                    SchemaName(String(name), at: field.name.place), isUnique: true,
                    on: field.type, columns: [.init(field.name)])
                try append(index, to: &document.indexes, "indexes")
            } else {
                try append(try index(isUnique: true), to: &document.indexes, "indexes")
            }
        } else if try skip(keyword: "INDEX") {
            try append(try index(isUnique: false), to: &document.indexes, "indexes")
        } else {
            throw unexpected("INDEX, UNIQUE, COLLATION or MIGRATION")
        }
        _ = try skip(symbol: ";")
        if token.kind != .end { throw unexpected("the end of the line") }
    }

    /// ON type "(" field { "," field } ")"
    private mutating func typeAndFields() throws(SchemaSyntaxError) -> (SchemaName, [SchemaName]) {
        try expect(keyword: "ON")
        let type = try name(of: "a record type")
        var fields: [SchemaName] = []
        try expect(symbol: "(")
        repeat {
            try append(try name(of: "a field"), to: &fields, "fields")
        } while try skip(symbol: ",")
        try expect(symbol: ")", orElse: ["','"])
        return (type, fields)
    }

    private mutating func index(
        isUnique: Bool
    ) throws(SchemaSyntaxError) -> SchemaDocument.Index {
        let name = try name(of: "an index")
        try expect(keyword: "ON")
        var index = SchemaDocument.Index(
            name, isUnique: isUnique, on: try self.name(of: "a record type"), columns: [])
        try expect(symbol: "(")
        repeat {
            try append(try column(), to: &index.columns, "columns")
        } while try skip(symbol: ",")
        try expect(symbol: ")", orElse: ["ASC", "DESC", "','"])
        return index
    }

    private mutating func column() throws(SchemaSyntaxError) -> SchemaDocument.Index.Column {
        var column = SchemaDocument.Index.Column(try name(of: "a field"))
        column.isDescending = try skip(keyword: "DESC")
        if !column.isDescending { _ = try skip(keyword: "ASC") }
        return column
    }
}

extension SchemaDocument {
    /// The last field whose name stands in a line, by lines.
    fileprivate var fieldsByLine: [Int: (type: SchemaName, name: SchemaName)] {
        var fields: [Int: (type: SchemaName, name: SchemaName)] = [:]
        for type in types {
            for field in type.fields {
                if let place = field.name.place { fields[place.line] = (type.name, field.name) }
            }
        }
        return fields
    }
}

extension SchemaParser {
    private func unexpected(_ expected: String) -> SchemaSyntaxError {
        SchemaSyntaxError(
            place: token.place, message: "expected \(expected), found \(token.description)")
    }

    private mutating func advance() throws(SchemaSyntaxError) { token = try lexer.next() }

    private mutating func skip(keyword: String) throws(SchemaSyntaxError) -> Bool {
        guard token.isKeyword(keyword) else { return false }
        try advance()
        return true
    }

    private mutating func skip(symbol: String) throws(SchemaSyntaxError) -> Bool {
        guard token.isSymbol(symbol) else { return false }
        try advance()
        return true
    }

    private mutating func expect(keyword: String) throws(SchemaSyntaxError) {
        guard try skip(keyword: keyword) else { throw unexpected(keyword) }
    }

    /// `others` are what could stand there too.
    private mutating func expect(
        symbol: String, orElse others: [String] = []
    ) throws(SchemaSyntaxError) {
        guard try skip(symbol: symbol) else {
            throw unexpected((others + ["'\(symbol)'"]).alternatives)
        }
    }

    private mutating func name(of thing: String) throws(SchemaSyntaxError) -> SchemaName {
        let isName = token.kind == .word || token.kind == .quoted && !token.text.isEmpty
        guard isName else { throw unexpected("the name of \(thing)") }
        if token.kind == .word, SchemaRules.reservedWords.contains(where: token.isKeyword) {
            throw unexpected("the name of \(thing), a reserved word only in double quotes")
        }
        let name = SchemaName(token.text, at: token.place)
        try advance()
        return name
    }

    private mutating func optionalWord<Word: RawRepresentable<String>>(
        of words: [Word]
    ) throws(SchemaSyntaxError) -> Word? {
        guard let word = words.first(where: { token.isKeyword($0.rawValue) }) else { return nil }
        try advance()
        return word
    }

    private mutating func word<Word: RawRepresentable<String>>(
        of words: [Word]
    ) throws(SchemaSyntaxError) -> Word {
        guard let word = try optionalWord(of: words) else {
            throw unexpected(words.map(\.rawValue).alternatives)
        }
        return word
    }

    /// Above the limit, the place is that behind the item.
    private func append<Item>(
        _ item: Item, to list: inout [Item], _ plural: String
    ) throws(SchemaSyntaxError) {
        guard list.count < SchemaDocument.listLimit else {
            throw unexpected("at most \(SchemaDocument.listLimit) \(plural)")
        }
        list.append(item)
    }
}

extension [String] {
    /// "a, b or c".
    fileprivate var alternatives: String {
        (dropLast(2) + [suffix(2).joined(separator: " or ")]).joined(separator: ", ")
    }
}
