import StratusLanguage
import Testing

struct SchemaPrinterTests {
    @Test func `an export of CloudKit is printed as it was`() throws {
        let document = try Schema(parsing: SchemaSamples.export)
        #expect(document.text == SchemaSamples.export)
        #expect(document.sorted() == document)
        #expect(document.validate().filter { $0.severity == .error } == [])
    }

    @Test func `what is printed parses to an equal document`() throws {
        let document = try Schema(parsing: SchemaSamples.boats)
        #expect(try Schema(parsing: document.text) == document)
        #expect(try Schema(parsing: document.text).text == document.text)
    }

    @Test func `what is empty is printed so that it parses`() throws {
        #expect(Schema().text == "DEFINE SCHEMA\n")
        #expect(
            Schema(types: [.init("T")]).text
                == "DEFINE SCHEMA\n\n    RECORD TYPE T (\n    );\n")
    }

    @Test func `names are quoted where they need it`() throws {
        let names: [SchemaName] = ["a", "a_1", "Grant", "SORTABLE", "_x", "a.b", "1a", "ä", "a b"]
        let text = Schema(roles: names).text
        for (name, quoted) in zip(names, [false, false] + Array(repeating: true, count: 7)) {
            #expect(text.contains("\"\(name.text)\";") == quoted)
            #expect(text.contains(" \(name.text);") == !quoted)
        }
        #expect(try Schema(parsing: text).roles == names)
    }

    @Test func `a name that is too long does not widen the column of names`() throws {
        let long = SchemaName(String(repeating: "n", count: 1000))
        let document = Schema(types: [
            .init("T", fields: [.init(long, .init(.string)), .init("b", .init(.string))])
        ])
        #expect(document.text.utf8.count < 1500)
        #expect(try Schema(parsing: document.text) == document)
    }

    @Test func `equal documents are printed alike, whatever the order of their sets`() {
        let options = Schema.Option.allCases, permissions = Schema.Permission.allCases
        func document(_ options: [Schema.Option], _ permissions: [Schema.Permission]) -> Schema {
            Schema(types: [
                .init(
                    "T", fields: [.init("a", .init(.string), Set(options))],
                    grants: [.init(Set(permissions), to: "r")])
            ])
        }
        let text = document(options, permissions).text
        #expect(text == document(options.reversed(), permissions.reversed()).text)
        #expect(text.contains("a STRING QUERYABLE SEARCHABLE SORTABLE,\n"))
        #expect(text.contains("GRANT READ, CREATE, WRITE TO r\n"))
    }

    @Test func `sorted gives the order of exports and one grant for each role`() throws {
        let document = try Schema(
            parsing: """
                DEFINE SCHEMA CREATE ROLE b; CREATE ROLE a; RECORD TYPE b ();
                RECORD TYPE T (z STRING, Z STRING, "___etag" STRING,
                GRANT READ TO b, GRANT READ TO "_world", GRANT WRITE TO b);
                // stratus: INDEX j ON T (z)
                // stratus: INDEX i ON T (z, Z)
                // stratus: COLLATION FOLDED ON T (z)
                // stratus: COLLATION BINARY ON T (Z)
                """)
        #expect(
            document.sorted().text == """
                DEFINE SCHEMA

                    CREATE ROLE a;
                    CREATE ROLE b;

                    RECORD TYPE T (
                        Z         STRING,
                        "___etag" STRING,
                        z         STRING,
                        GRANT READ TO "_world",
                        GRANT READ, WRITE TO b
                    );

                    RECORD TYPE b (
                    );

                    // stratus: INDEX i ON T (z, Z)
                    // stratus: INDEX j ON T (z)
                    // stratus: COLLATION BINARY ON T (Z)
                    // stratus: COLLATION FOLDED ON T (z)

                """)
    }
}
