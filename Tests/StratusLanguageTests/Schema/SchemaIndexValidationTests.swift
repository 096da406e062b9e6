import StratusLanguage
import Testing

/// Composite and unique indexes, and collations.
struct SchemaIndexValidationTests {
    /// All findings about a directive on line 2, the schema having a type `T` with a field of each
    /// type, `astring` and so on, and a list of each, `sstring` and so on.
    private func findings(_ directives: String) throws -> [String] {
        let fields = Schema.Element.allCases
            .map { "a\($0) \($0.rawValue), s\($0) LIST<\($0.rawValue)>" }
            .joined(separator: ", ")
        let text = """
            DEFINE SCHEMA RECORD TYPE T (\(fields),
            secret ENCRYPTED STRING, b STRING, c INT64, GRANT READ TO "_world");
            // stratus: \(directives)
            """
        return try Schema(parsing: text).validate().map(\.description)
    }

    @Test(arguments: [
        "INDEX i ON T (b, c DESC)", "UNIQUE i ON T (b)",
        "INDEX i ON T (astring, aint64, adouble, anumber, anumberAsInt64, atimestamp, abytes)",
        "INDEX i ON T (___createdBy, ___modTime DESC)", "UNIQUE i ON T (b, ___createdBy)",
        "UNIQUE i ON T (areference, b)", "UNIQUE i ON T (c, abytes)",
        "COLLATION BINARY ON T (b, sstring)", "COLLATION FOLDED ON T (___etag)",
    ])
    func `an index or collation on fields of the right types is valid`(directive: String) throws {
        #expect(try findings(directive) == [])
    }

    @Test(arguments: [
        ("INDEX i ON U (b, c)", 24, "there is no record type 'U'"),
        ("UNIQUE i ON T (b, x)", 31, "record type 'T' has no field 'x'"),
        ("INDEX i ON T (b, c, b)", 33, "column 'b' is there twice"),
        (
            "INDEX i ON T (alocation, b)", 27,
            "field 'alocation' of type LOCATION cannot be a column of an index"
        ),
        (
            "INDEX i ON T (aasset, b)", 27,
            "field 'aasset' of type ASSET cannot be a column of an index"
        ),
        (
            "INDEX i ON T (b, sint64)", 30,
            "field 'sint64' of type LIST<INT64> cannot be a column of an index"
        ),
        (
            "UNIQUE i ON T (secret)", 28,
            "field 'secret' of type ENCRYPTED STRING cannot be a column of an index"
        ),
        (
            "INDEX \"a b\" ON T (b, c)", 19,
            "the name of index 'a b' must be of letters, digits and '_', first a letter"
        ),
        ("INDEX _i ON T (b, c)", 19, "index '_i' has a name that is reserved for the system"),
        ("INDEX i ON T (b)", 19, "index 'i' has 1 columns, 2 to 8 are allowed"),
        (
            "UNIQUE i ON T (b, ___recordID)", 31,
            "field '___recordID' of type REFERENCE cannot be a column of an index"
        ),
        (
            "INDEX i ON T (b, ___etag)", 30,
            "field '___etag' of type STRING cannot be a column of an index"
        ),
        (
            "UNIQUE i ON T (b, ___modTime)", 31,
            "field '___modTime' of type TIMESTAMP is changed by every save, and cannot be a column "
                + "of a unique index"
        ),
        ("COLLATION BINARY ON U (b)", 33, "there is no record type 'U'"),
        ("COLLATION BINARY ON T (x)", 36, "record type 'T' has no field 'x'"),
        ("COLLATION BINARY ON T (c)", 36, "field 'c' of type INT64 has no collation"),
        (
            "COLLATION BINARY ON T (secret)", 36,
            "field 'secret' of type ENCRYPTED STRING has no collation"
        ),
        ("COLLATION BINARY ON T (b, b)", 39, "field 'b' has a collation already"),
    ])
    func `what is wrong in an index or collation is reported in its place`(
        directive: String, column: Int, message: String
    ) throws {
        #expect(try findings(directive) == ["line 3, column \(column): error: \(message)"])
    }

    @Test func `indexes have names of their own`() throws {
        #expect(
            try findings("INDEX i ON T (b, c)\n// stratus: UNIQUE i ON T (c)") == [
                "line 4, column 20: error: index 'i' is there twice"
            ])
    }

    @Test func `a field has one collation`() throws {
        #expect(
            try findings("COLLATION BINARY ON T (b)\n// stratus: COLLATION FOLDED ON T (b)") == [
                "line 4, column 36: error: field 'b' has a collation already"
            ])
    }

    @Test func `an index has 2 to 8 columns, a unique one 1 to 8, a collation a field`() throws {
        let fields = [
            "areference", "atimestamp", "b", "c", "astring", "aint64", "adouble", "abytes",
        ]
        #expect(try findings("INDEX i ON T (\(fields.joined(separator: ", ")))") == [])
        #expect(
            try findings("INDEX i ON T (\(fields.joined(separator: ", ")), anumber)") == [
                "line 3, column 19: error: index 'i' has 9 columns, 2 to 8 are allowed"
            ])
        let document = Schema(
            types: [.init("T", grants: [.init([.read], to: "_world")])],
            indexes: [
                .init("i", on: "T", columns: []), .init("u", isUnique: true, on: "T", columns: []),
            ],
            collations: [.init(.binary, on: "T", fields: [])])
        #expect(
            document.validate().map(\.message) == [
                "index 'i' has 0 columns, 2 to 8 are allowed",
                "index 'u' has 0 columns, 1 to 8 are allowed", "a collation names no field",
            ])
    }
}
