import StratusLanguage
import Testing

typealias Schema = SchemaDocument

struct SchemaParserTests {
    private func onlyType(_ items: String) throws -> Schema.RecordType {
        let document = try Schema(parsing: "DEFINE SCHEMA RECORD TYPE T (\(items));")
        try #require(document.types.count == 1)
        return document.types[0]
    }

    @Test func `all that a schema may state is read`() throws {
        let document = try Schema(parsing: SchemaSamples.boats)
        #expect(document.roles == ["Curator"])
        #expect(document.types.map(\.name) == ["Users", "Boat"])
        #expect(
            document.types[1].fields == [
                .init("___recordID", .init(.reference), [.queryable]),
                .init("___createTime", .init(.timestamp), [.queryable, .sortable]),
                .init("name", .init(.string), [.queryable, .sortable, .searchable]),
                .init("berths", .init(.int64), [.queryable, .sortable]),
                .init("draught", .init(.numberAsDouble)),
                .init("launched", .init(.timestamp), [.sortable]),
                .init("mooring", .init(.location), [.queryable]),
                .init("harbour", .init(.reference), [.queryable]),
                .init("tags", .init(.string, isList: true), [.queryable, .searchable]),
                .init("crew", .init(.reference, isList: true)),
                .init("photo", .init(.asset)),
                .init("logbookKey", .init(.bytes, isEncrypted: true)),
                .init("queryable", .init(.string)),
            ])
        #expect(
            document.types[1].grants == [
                .init([.write], to: "_creator"), .init([.create], to: "_icloud"),
                .init([.read], to: "_world"), .init([.read, .create, .write], to: "Curator"),
            ])
        #expect(document.validate() == [])
    }

    @Test func `a schema may be empty, and so may a record type`() throws {
        #expect(try Schema(parsing: "DEFINE SCHEMA") == Schema())
        #expect(try Schema(parsing: "DEFINE SCHEMA RECORD TYPE T ();").types == [.init("T")])
    }

    @Test(arguments: Schema.Element.allCases)
    func `a type is one value, a list, encrypted, or both`(element: Schema.Element) throws {
        let word = element.rawValue
        let type = try onlyType(
            "a \(word), b LIST<\(word)>, c ENCRYPTED \(word), d LIST < ENCRYPTED \(word) >")
        #expect(
            type.fields.map(\.type) == [
                .init(element), .init(element, isList: true), .init(element, isEncrypted: true),
                .init(element, isList: true, isEncrypted: true),
            ])
    }

    @Test func `keywords are read in any case of letters, and names keep theirs`() throws {
        let text =
            "define Schema create role Ann; record type aB (cD list<string> Queryable, "
            + "e number preferred as int64, grant read, Write to Ann);"
        let document = try Schema(parsing: text)
        #expect(document.roles == ["Ann"])
        #expect(document.types[0].name == "aB")
        #expect(
            document.types[0].fields == [
                .init("cD", .init(.string, isList: true), [.queryable]),
                .init("e", .init(.numberAsInt64)),
            ])
        #expect(document.types[0].grants == [.init([.read, .write], to: "Ann")])
    }

    @Test func `system names are read with quotes and without`() throws {
        let quoted = #"""
            DEFINE SCHEMA RECORD TYPE "cloudkit.share" ("cloudkit.title" STRING,
            "___etag" STRING, GRANT READ TO "_world");
            """#
        let document = try Schema(parsing: quoted)
        #expect(document.types[0].name == "cloudkit.share")
        #expect(document.types[0].fields.map(\.name) == ["cloudkit.title", "___etag"])
        #expect(try Schema(parsing: quoted.filter { $0 != "\"" }) == document)
    }

    @Test func `words that are not reserved are names without quotes`() throws {
        let type = try onlyType(
            "type STRING, list LIST<STRING>, to INT64, read INT64, string STRING, create BYTES")
        #expect(type.fields.map(\.name) == ["type", "list", "to", "read", "string", "create"])
    }

    @Test(arguments: ["grant", "preferred", "queryable", "sortable", "searchable", "Sortable"])
    func `a reserved word is a name in quotes, and only there`(word: String) throws {
        let type = try onlyType("\"\(word)\" STRING")
        #expect(type.fields == [.init(SchemaName(word), .init(.string))])
        #expect(throws: SchemaSyntaxError.self) { try onlyType("\(word) STRING") }
    }

    @Test func `options may stand in any order, also twice`() throws {
        let type = try onlyType("a STRING SORTABLE QUERYABLE SORTABLE")
        #expect(type.fields[0].options == [.sortable, .queryable])
    }

    @Test func `fields and grants may be mixed`() throws {
        let type = try onlyType("GRANT READ TO a, b STRING, GRANT WRITE TO a, c STRING")
        #expect(type.fields.map(\.name) == ["b", "c"])
        #expect(type.permissions == ["a": [.read, .write]])
    }

    @Test(arguments: [
        "// one\n", "-- one\n", "/* one */", "/* one\n two */", "/**/", "/***/", "/* // */",
        "// /*\n", "-- \"\n", "//\n", "--\r", "//\r\n", "\t", "\r", "// stratus\n",
        "/* // stratus: FOO */", "-- // stratus: FOO\n", "-- stratus: FOO\n", "// Stratus: FOO\n",
        "// stratus FOO\n", "// a stratus: FOO\n", "// größer 🚀\n",
    ])
    func `comments and blanks may stand between all tokens`(blank: String) throws {
        let tokens = [
            "DEFINE", "SCHEMA", "RECORD", "TYPE", "T", "(", "a", "LIST", "<", "STRING", ">",
            "SORTABLE", ",", "GRANT", "READ", ",", "WRITE", "TO", "\"_world\"", ")", ";",
        ]
        let text = " " + tokens.joined(separator: " " + blank) + blank
        #expect(
            try Schema(parsing: text).types == [
                .init(
                    "T", fields: [.init("a", .init(.string, isList: true), [.sortable])],
                    grants: [.init([.read, .write], to: "_world")])
            ])
    }

    @Test func `a byte order mark may begin the text`() throws {
        #expect(try Schema(parsing: "\u{FEFF}DEFINE SCHEMA") == Schema())
    }

    @Test func `names have the places where they stand, which equality does not regard`() throws {
        let document = try Schema(
            parsing: "DEFINE SCHEMA\n  CREATE ROLE r;\r\n"
                + "\tRECORD TYPE /* ü🚀 */ \"T\" (a STRING);")
        #expect(document.roles[0].place == SchemaPlace(line: 2, column: 15))
        #expect(document.types[0].name.place == SchemaPlace(line: 3, column: 23))
        #expect(document.types[0].fields[0].name.place == SchemaPlace(line: 3, column: 28))
        let made = Schema(roles: ["r"], types: [.init("T", fields: [.init("a", .init(.string))])])
        #expect(document == made && document.hashValue == made.hashValue)
        #expect(made.roles[0].place == nil)
    }
}
