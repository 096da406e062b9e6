import StratusLanguage
import Testing

/// What CloudKit cannot say, in comments that its tools pass over.
struct SchemaDirectiveTests {
    private func parse(_ directives: String) throws -> Schema {
        try Schema(parsing: "DEFINE SCHEMA\n" + directives)
    }

    @Test func `composite and unique indexes are read`() throws {
        let document = try parse(
            """
            // stratus: INDEX byName ON Boat (name, launched DESC, berths ASC)
            // stratus: UNIQUE registration ON "Boat" ("queryable")
            """)
        #expect(
            document.indexes == [
                .init(
                    "byName", on: "Boat",
                    columns: [
                        .init("name"), .init("launched", isDescending: true), .init("berths"),
                    ]
                ),
                .init("registration", isUnique: true, on: "Boat", columns: [.init("queryable")]),
            ])
    }

    @Test(arguments: ["", ";", " ; "])
    func `a field is unique where its line ends so`(end: String) throws {
        let document = try parse(
            """
            RECORD TYPE T (
                a STRING, // stratus: UNIQUE\(end)
                b STRING, c INT64, // stratus: unique
                d STRING // stratus: UNIQUE twice ON T (a, d)
            );
            """)
        #expect(
            document.indexes == [
                .init("T_a", isUnique: true, on: "T", columns: [.init("a")]),
                .init("T_c", isUnique: true, on: "T", columns: [.init("c")]),
                .init("twice", isUnique: true, on: "T", columns: [.init("a"), .init("d")]),
            ])
        #expect(try Schema(parsing: document.text) == document)
    }

    @Test func `collations are read`() throws {
        let document = try parse(
            "// stratus: COLLATION BINARY ON T (a, b)\n// stratus: collation folded on T (c)")
        #expect(
            document.collations == [
                .init(.binary, on: "T", fields: ["a", "b"]), .init(.folded, on: "T", fields: ["c"]),
            ])
    }

    @Test(arguments: [
        "//stratus:INDEX i ON T(a)", "//  \t stratus:   INDEX i ON T (a) ;",
        "// stratus: INDEX i ON T (a)\r", "// stratus: INDEX i ON T (a)\r\n",
        "CREATE ROLE // stratus: INDEX i ON T (a)\nr;",
        "RECORD TYPE R ( // stratus: INDEX i ON T (a)\n a STRING);",
    ])
    func `a directive may stand wherever a line comment may`(text: String) throws {
        #expect(try parse(text).indexes == [.init("i", on: "T", columns: [.init("a")])])
    }

    @Test(arguments: [
        ("", "expected INDEX, UNIQUE, COLLATION or MIGRATION, found the end of the line", 12),
        (" INDEXES", "expected INDEX, UNIQUE, COLLATION or MIGRATION, found 'INDEXES'", 13),
        (" INDEX ON T (a)", "expected ON, found 'T'", 22),
        (" INDEX i ON T ()", "expected the name of a field, found ')'", 27),
        (" INDEX i ON T (a, b DOWN)", "expected ASC, DESC, ',' or ')', found 'DOWN'", 32),
        (" UNIQUE i ON T (a", "expected ASC, DESC, ',' or ')', found the end of the line", 29),
        (" UNIQUE", "expected the name of an index, found the end of the line", 19),
        (" COLLATION NOCASE ON T (a)", "expected BINARY or FOLDED, found 'NOCASE'", 23),
        (" COLLATION BINARY ON T (a b)", "expected ',' or ')', found 'b'", 38),
        (" INDEX i ON T (a) // why", "expected the end of the line, found '/'", 30),
        (" INDEX i ON T (a); b", "expected the end of the line, found 'b'", 31),
        (" INDEX i ON T (\"a)", "expected a '\"' that closes this one before the line ends", 27),
    ])
    func `what is wrong in a directive is reported in its own place`(
        rest: String, message: String, column: Int
    ) {
        #expect(
            throws: SchemaSyntaxError(
                place: SchemaPlace(line: 2, column: column), message: message)
        ) { try parse("// stratus:\(rest)\nCREATE ROLE r;") }
    }
}
