import StratusLanguage
import Testing

struct SchemaValidationTests {
    /// All findings about a type `T` with these items, as lines, the items being on line 2.
    private func findings(items: String) throws -> [String] {
        try findings("RECORD TYPE T (GRANT READ TO \"_world\",\n\(items));")
    }

    /// All findings about these statements, on line 1.
    private func findings(_ statements: String) throws -> [String] {
        try Schema(parsing: "DEFINE SCHEMA \(statements)").validate().map(\.description)
    }

    @Test(arguments: [
        ("CREATE ROLE a; CREATE ROLE b; CREATE ROLE a;", 57, "role 'a' is there twice"),
        (
            "RECORD TYPE T (GRANT READ TO \"_world\"); RECORD TYPE T (GRANT READ TO \"_world\");",
            67,
            "record type 'T' is there twice"
        ),
        ("CREATE ROLE \"_world\";", 27, "role '_world' has a name that is reserved for the system"),
        (
            "RECORD TYPE cloudkit.zone (GRANT READ TO \"_world\");", 27,
            "record type 'cloudkit.zone' has a name that is reserved for the system"
        ),
        (
            "RECORD TYPE _T (GRANT READ TO \"_world\");", 27,
            "record type '_T' has a name that is reserved for the system"
        ),
        (
            "RECORD TYPE \"1 T\" (GRANT READ TO \"_world\");", 27,
            "the name of record type '1 T' must be of letters, digits and '_', first a letter"
        ),
        (
            "CREATE ROLE \"é\";", 27,
            "the name of role 'é' must be of letters, digits and '_', first a letter"
        ),
    ])
    func `roles and record types have names of their own that the rules allow`(
        statements: String, column: Int, message: String
    ) throws {
        #expect(try findings(statements) == ["line 1, column \(column): error: \(message)"])
    }

    @Test(arguments: [
        ("a STRING, b STRING, a INT64", 21, "field 'a' is there twice"),
        ("_a STRING", 1, "field '_a' has a name that is reserved for the system"),
        ("\"___parent\" STRING", 1, "field '___parent' has a name that is reserved for the system"),
        (
            "cloudkit.title STRING", 1,
            "field 'cloudkit.title' has a name that is reserved for the system"
        ),
        ("recordID STRING", 1, "field 'recordID' has the name of a property that every record has"),
        ("etag STRING", 1, "field 'etag' has the name of a property that every record has"),
        (
            "\"a-b\" STRING", 1,
            "the name of field 'a-b' must be of letters, digits and '_', first a letter"
        ),
        (
            "\"___createTime\" STRING", 1,
            "system field '___createTime' is of type TIMESTAMP, not STRING"
        ),
        (
            "\"___etag\" LIST<STRING>", 1,
            "system field '___etag' is of type STRING, not LIST<STRING>"
        ),
        ("a ENCRYPTED ASSET", 1, "field 'a' cannot be encrypted: it is ASSET"),
        ("a LIST<ENCRYPTED REFERENCE>", 1, "field 'a' cannot be encrypted: it is REFERENCE"),
        ("a ENCRYPTED NUMBER", 1, "field 'a' cannot be encrypted: it is NUMBER"),
    ])
    func `fields have names of their own and types that the rules allow`(
        items: String, column: Int, message: String
    ) throws {
        #expect(try findings(items: items) == ["line 2, column \(column): error: \(message)"])
    }

    @Test func `a name may have 255 bytes and no more`() throws {
        let name = String(repeating: "n", count: 255)
        let valid = """
            CREATE ROLE \(name); RECORD TYPE \(name) (\(name) STRING, GRANT READ TO \(name));
            // stratus: UNIQUE \(name) ON \(name) (\(name))
            """
        #expect(try findings(valid) == [])
        let messages = try findings(valid.replacing(name, with: name + "n"))
        #expect(messages.count == 4)
        #expect(messages.allSatisfy { $0.hasSuffix("has 256 bytes, at most 255 are allowed") })
    }

    @Test func `system types, their fields and system fields may be listed`() throws {
        let statements = """
            RECORD TYPE Users (roles LIST<INT64>, GRANT READ TO "_world");
            RECORD TYPE "cloudkit.share" ("cloudkit.title" STRING, "cloudkit.new" BYTES,
            "___recordID" REFERENCE QUERYABLE, "___createTime" TIMESTAMP QUERYABLE SORTABLE,
            "___createdBy" REFERENCE, "___etag" STRING, "___modTime" TIMESTAMP,
            "___modifiedBy" REFERENCE, GRANT READ TO "_world");
            """
        #expect(try findings(statements) == [])
    }

    private static let refusedOptions: [(Schema.Option, [String])] = [
        (.queryable, ["ASSET", "LIST<ASSET>", "ENCRYPTED STRING", "LIST<ENCRYPTED INT64>"]),
        (
            .searchable,
            [
                "ASSET", "BYTES", "DOUBLE", "INT64", "LOCATION", "NUMBER", "REFERENCE", "TIMESTAMP",
                "LIST<INT64>", "LIST<REFERENCE>", "ENCRYPTED STRING", "LIST<ENCRYPTED STRING>",
            ]
        ),
        (.sortable, ["ASSET", "LIST<ASSET>", "ENCRYPTED STRING", "ENCRYPTED LOCATION"]),
    ]

    @Test(arguments: refusedOptions)
    func `an option is refused on types that have no such index`(
        option: Schema.Option, types: [String]
    ) throws {
        for type in types {
            #expect(
                try findings(items: "a \(type) \(option.rawValue)") == [
                    "line 2, column 1: error: field 'a' of type \(type) "
                        + "cannot be \(option.rawValue)"
                ])
        }
    }

    @Test(arguments: ["BYTES", "REFERENCE", "LIST<STRING>", "LIST<INT64>", "LIST<LOCATION>"])
    func `SORTABLE is a warning on types that exports have it on without effect`(
        type: String
    ) throws {
        #expect(
            try findings(items: "a \(type) SORTABLE") == [
                "line 2, column 1: warning: SORTABLE has no effect on field 'a' of type \(type)"
            ])
    }

    @Test(arguments: [
        "STRING QUERYABLE SEARCHABLE SORTABLE", "INT64 QUERYABLE SORTABLE",
        "DOUBLE QUERYABLE SORTABLE", "TIMESTAMP QUERYABLE SORTABLE", "NUMBER QUERYABLE SORTABLE",
        "NUMBER PREFERRED AS INT64 QUERYABLE SORTABLE", "LOCATION QUERYABLE SORTABLE",
        "REFERENCE QUERYABLE", "BYTES QUERYABLE", "LIST<STRING> QUERYABLE SEARCHABLE",
        "LIST<REFERENCE> QUERYABLE", "LIST<LOCATION> QUERYABLE", "ENCRYPTED STRING",
        "LIST<ENCRYPTED TIMESTAMP>", "ASSET", "LIST<ASSET>",
    ])
    func `an option is allowed on types that have such an index`(type: String) throws {
        #expect(try findings(items: "a \(type)") == [])
    }

    @Test func `a grant is to a role of the system or of the schema`() throws {
        #expect(
            try findings(
                "RECORD TYPE T (GRANT READ TO later, GRANT READ TO \"_all\"); CREATE ROLE later;")
                == [
                    "line 1, column 65: error: role '_all' is not defined: CREATE ROLE _all does"
                ])
    }

    @Test func `what has no effect in grants is a warning`() throws {
        #expect(
            try findings("RECORD TYPE T (a STRING);") == [
                "line 1, column 27: warning: record type 'T' has no GRANT: "
                    + "the public database does not serve it"
            ])
        #expect(
            try findings("RECORD TYPE T (GRANT READ, CREATE TO \"_creator\");") == [
                "line 1, column 52: warning: CREATE has no effect on role '_creator': "
                    + "a new record has no creator yet"
            ])
    }

    @Test func `all findings are given, in the order of their places`() throws {
        let text = """
            DEFINE SCHEMA // stratus: UNIQUE u ON T (x)
            RECORD TYPE T (a ASSET SORTABLE, a STRING, GRANT READ TO r);
            CREATE ROLE _r;
            """
        let findings = try Schema(parsing: text).validate()
        #expect(
            findings.map { $0.place?.description } == [
                "line 1, column 42", "line 2, column 16", "line 2, column 34", "line 2, column 58",
                "line 3, column 13",
            ])
    }

    @Test func `a document that was not read from a text is checked too`() {
        let document = Schema(types: [
            .init(
                "a\"b", fields: [.init("\u{1B}[2J", .init(.string))], grants: [.init([], to: "r")])
        ])
        #expect(
            document.validate().map(\.description) == [
                "error: the name of record type 'a\"b' must be of letters, digits and '_', "
                    + "first a letter",
                "error: the name of field '\\u{1B}[2J' must be of letters, digits and '_', "
                    + "first a letter",
                "error: a grant to role 'r' grants nothing",
                "error: role 'r' is not defined: CREATE ROLE r does",
            ])
    }
}
