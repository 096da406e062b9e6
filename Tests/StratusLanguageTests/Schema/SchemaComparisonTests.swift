import StratusLanguage
import Testing

struct SchemaComparisonTests {
    private func changes(
        _ old: String, _ new: String, in environment: Schema.Environment
    ) throws -> [String] {
        let old = try Schema(parsing: "DEFINE SCHEMA \(old)")
        let new = try Schema(parsing: "DEFINE SCHEMA \(new)")
        return Schema.differences(from: old, to: new, in: environment).map(\.description)
    }

    private static let environments = [Schema.Environment.development, .production]

    /// What is allowed in both environments.
    @Test(arguments: [
        ("", "CREATE ROLE r;", ["add role 'r'"]),
        ("", "RECORD TYPE T (a STRING QUERYABLE, GRANT READ TO r);", ["add record type 'T'"]),
        (
            "RECORD TYPE T ();", "RECORD TYPE T (a LIST<STRING>);",
            ["add field 'T.a' of type LIST<STRING>"]
        ),
        (
            "RECORD TYPE T ();", "RECORD TYPE T (a ENCRYPTED STRING, b STRING SORTABLE QUERYABLE);",
            [
                "add field 'T.a' of type ENCRYPTED STRING", "add field 'T.b' of type STRING",
                "make field 'T.b' QUERYABLE, SORTABLE",
            ]
        ),
        (
            "RECORD TYPE T (a STRING QUERYABLE SORTABLE);",
            "RECORD TYPE T (a STRING SORTABLE SEARCHABLE);",
            ["make field 'T.a' no longer QUERYABLE", "make field 'T.a' SEARCHABLE"]
        ),
        (
            "RECORD TYPE T (GRANT READ TO a, GRANT WRITE TO b, GRANT CREATE TO a);",
            "RECORD TYPE T (GRANT READ, WRITE TO a);",
            [
                "revoke CREATE on record type 'T' from role 'a'",
                "grant WRITE on record type 'T' to role 'a'",
                "revoke WRITE on record type 'T' from role 'b'",
            ]
        ),
        (
            "RECORD TYPE T (a NUMBER, b LIST<NUMBER>);",
            "RECORD TYPE T (a NUMBER PREFERRED AS INT64, b LIST<NUMBER PREFERRED AS DOUBLE>);",
            [
                "change field 'T.a' from NUMBER to NUMBER PREFERRED AS INT64",
                "change field 'T.b' from LIST<NUMBER> to LIST<NUMBER PREFERRED AS DOUBLE>",
            ]
        ),
        (
            "RECORD TYPE T (a STRING, b STRING);\n// stratus: INDEX i ON T (a)\n",
            "RECORD TYPE T (a STRING, b STRING);\n// stratus: UNIQUE i ON T (a, b DESC)\n",
            [
                "remove index 'i' on record type 'T' (a)",
                "add unique index 'i' on record type 'T' (a, b DESC)",
            ]
        ),
        (
            "RECORD TYPE T (a STRING, b STRING);\n// stratus: COLLATION BINARY ON T (a)\n",
            "RECORD TYPE T (a STRING, b STRING);\n// stratus: COLLATION BINARY ON T (b)\n",
            [
                "change the collation of field 'T.a' from BINARY to FOLDED",
                "change the collation of field 'T.b' from FOLDED to BINARY",
            ]
        ),
    ])
    func `what only adds, and what concerns indexes and grants, is safe in both environments`(
        old: String, new: String, expected: [String]
    ) throws {
        for environment in Self.environments {
            #expect(try changes(old, new, in: environment) == expected)
        }
    }

    @Test(arguments: [
        ("CREATE ROLE r;", "", "remove role 'r'"),
        ("RECORD TYPE T (a STRING);", "", "remove record type 'T'"),
        ("RECORD TYPE T (a STRING);", "RECORD TYPE T ();", "remove field 'T.a'"),
        (
            "RECORD TYPE T (a STRING);", "RECORD TYPE T (a INT64);",
            "change field 'T.a' from STRING to INT64"
        ),
        (
            "RECORD TYPE T (a STRING);", "RECORD TYPE T (a LIST<STRING>);",
            "change field 'T.a' from STRING to LIST<STRING>"
        ),
        (
            "RECORD TYPE T (a ENCRYPTED STRING);", "RECORD TYPE T (a STRING);",
            "change field 'T.a' from ENCRYPTED STRING to STRING"
        ),
        (
            "RECORD TYPE T (a ENCRYPTED STRING);", "RECORD TYPE T (a ENCRYPTED INT64);",
            "change field 'T.a' from ENCRYPTED STRING to ENCRYPTED INT64"
        ),
        (
            "RECORD TYPE T (a NUMBER);", "RECORD TYPE T (a INT64);",
            "change field 'T.a' from NUMBER to INT64"
        ),
        (
            "RECORD TYPE T (a NUMBER);", "RECORD TYPE T (a LIST<NUMBER PREFERRED AS INT64>);",
            "change field 'T.a' from NUMBER to LIST<NUMBER PREFERRED AS INT64>"
        ),
    ])
    func `what loses data is told in development and refused in production`(
        old: String, new: String, change: String
    ) throws {
        #expect(
            try changes(old, new, in: .development) == ["\(change): its data would be lost"])
        #expect(
            try changes(old, new, in: .production) == [
                "\(change): refused, a production schema only grows"
            ])
    }

    @Test(arguments: [
        ("STRING", "ENCRYPTED STRING", "only a new field can be encrypted"),
        ("LIST<INT64>", "LIST<ENCRYPTED INT64>", "only a new field can be encrypted"),
        (
            "NUMBER PREFERRED AS INT64", "NUMBER PREFERRED AS DOUBLE",
            "what PREFERRED AS names is fixed"
        ),
        ("NUMBER PREFERRED AS INT64", "NUMBER", "what PREFERRED AS names is fixed"),
        ("NUMBER PREFERRED AS DOUBLE", "INT64", "what PREFERRED AS names is fixed"),
    ])
    func `what is fixed when a field is made is refused in both environments`(
        old: String, new: String, reason: String
    ) throws {
        for environment in Self.environments {
            #expect(
                try changes(
                    "RECORD TYPE T (a \(old));", "RECORD TYPE T (a \(new));", in: environment)
                    == ["change field 'T.a' from \(old) to \(new): refused, \(reason)"])
        }
    }

    @Test func `a number of a preferred kind is of that kind`() throws {
        let old = "RECORD TYPE T (a NUMBER PREFERRED AS INT64, b DOUBLE);"
        let new = "RECORD TYPE T (a INT64, b NUMBER PREFERRED AS DOUBLE);"
        #expect(try changes(old, new, in: .production) == [])
    }

    @Test func `a system field is always there, without options where it is not listed`() throws {
        let bare = "RECORD TYPE T ();"
        let listed = "RECORD TYPE T (\"___recordID\" REFERENCE);"
        let indexed = "RECORD TYPE T (\"___recordID\" REFERENCE QUERYABLE);"
        for environment in Self.environments {
            #expect(try changes(bare, listed, in: environment) == [])
            #expect(try changes(listed, bare, in: environment) == [])
            #expect(
                try changes(bare, indexed, in: environment)
                    == ["make field 'T.___recordID' QUERYABLE"])
            #expect(
                try changes(indexed, bare, in: environment)
                    == ["make field 'T.___recordID' no longer QUERYABLE"])
        }
    }

    @Test func `a system type that is not listed stays as it is`() throws {
        let old = "RECORD TYPE Users (a STRING); RECORD TYPE \"cloudkit.share\" ();"
        #expect(try changes(old, "", in: .production) == [])
        #expect(
            try changes(old, "RECORD TYPE Users ();", in: .development) == [
                "remove field 'Users.a': its data would be lost"
            ])
    }

    @Test func `another order, and other grants of the same rights, change nothing`() throws {
        let old = """
            CREATE ROLE a; CREATE ROLE b; RECORD TYPE T (x STRING, y INT64,
            GRANT READ TO a, GRANT WRITE TO a); RECORD TYPE U (); 
            // stratus: INDEX i ON T (x)
            // stratus: INDEX j ON T (y)
            // stratus: COLLATION FOLDED ON T (x)
            """
        let new = """
            CREATE ROLE b; CREATE ROLE a; RECORD TYPE U (); RECORD TYPE T (y INT64,
            GRANT WRITE, READ TO a, x STRING);
            // stratus: INDEX j ON T (y)
            // stratus: INDEX i ON T (x)
            """
        #expect(try changes(old, new, in: .production) == [])
    }

    @Test func `all changes are given, what is removed before what is added`() throws {
        #expect(
            try changes(
                "CREATE ROLE a; RECORD TYPE A (); RECORD TYPE T (x STRING, y STRING);",
                "CREATE ROLE b; RECORD TYPE B (); RECORD TYPE T (y INT64, z STRING);",
                in: .development) == [
                    "remove role 'a': its data would be lost", "add role 'b'",
                    "remove record type 'A': its data would be lost", "add record type 'B'",
                    "remove field 'T.x': its data would be lost",
                    "change field 'T.y' from STRING to INT64: its data would be lost",
                    "add field 'T.z' of type STRING",
                ])
    }
}
