import StratusLanguage
import Testing

struct SchemaErrorTests {
    private static let limit = Schema.textLimit

    private func error(_ text: String) -> SchemaSyntaxError? {
        error(Array(text.utf8))
    }

    private func error(_ utf8: [UInt8]) -> SchemaSyntaxError? {
        do throws(SchemaSyntaxError) {
            _ = try Schema(parsing: utf8)
            return nil
        } catch {
            return error
        }
    }

    @Test(arguments: [
        ("", 1, 1, "expected DEFINE, found the end of the text"),
        ("CREATE ROLE r;", 1, 1, "expected DEFINE, found 'CREATE'"),
        ("DEFINE\n  TABLE", 2, 3, "expected SCHEMA, found 'TABLE'"),
        ("DEFINE \"SCHEMA\"", 1, 8, "expected SCHEMA, found \"SCHEMA\""),
        ("DEFINE SCHEMA DROP", 1, 15, "expected CREATE ROLE or RECORD TYPE, found 'DROP'"),
        ("DEFINE SCHEMA;", 1, 14, "expected CREATE ROLE or RECORD TYPE, found ';'"),
        ("DEFINE SCHEMA CREATE USER", 1, 22, "expected ROLE, found 'USER'"),
        ("DEFINE SCHEMA CREATE ROLE r", 1, 28, "expected ';', found the end of the text"),
        ("DEFINE SCHEMA CREATE ROLE 1", 1, 27, "expected the name of a role, found '1'"),
        ("DEFINE SCHEMA CREATE ROLE \"\";", 1, 27, "expected the name of a role, found \"\""),
        ("DEFINE SCHEMA RECORD T", 1, 22, "expected TYPE, found 'T'"),
        ("DEFINE SCHEMA RECORD TYPE (", 1, 27, "expected the name of a record type, found '('"),
        ("DEFINE SCHEMA RECORD TYPE T;", 1, 28, "expected '(', found ';'"),
        ("DEFINE SCHEMA RECORD TYPE T ()", 1, 31, "expected ';', found the end of the text"),
        ("DEFINE SCHEMA CREATE ROLE é;", 1, 27, "expected the name of a role, found 'é'"),
    ])
    func `an error says what was expected, what was found, and where`(
        text: String, line: Int, column: Int, message: String
    ) {
        let expected = SchemaSyntaxError(
            place: SchemaPlace(line: line, column: column), message: message)
        #expect(error(text) == expected)
        #expect(expected.description == "line \(line), column \(column): \(message)")
    }

    @Test(arguments: [
        ("a STRING,", 10, "expected the name of a field, found ')'"),
        ("a", 2, "expected a type, found ')'"),
        ("a TEXT", 3, "expected a type, found 'TEXT'"),
        ("a \"STRING\"", 3, "expected a type, found \"STRING\""),
        ("a LIST STRING", 8, "expected '<', found 'STRING'"),
        ("a LIST<LIST<STRING>>", 8, "expected a type, found 'LIST'"),
        ("a LIST<STRING", 14, "expected '>', found ')'"),
        ("a ENCRYPTED LIST<STRING>", 13, "expected a type, found 'LIST'"),
        ("a NUMBER PREFERRED INT64", 20, "expected AS, found 'INT64'"),
        ("a NUMBER PREFERRED AS STRING", 23, "expected DOUBLE or INT64, found 'STRING'"),
        (
            "a STRING UNIQUE", 10,
            "expected QUERYABLE, SEARCHABLE, SORTABLE, ',' or ')', found 'UNIQUE'"
        ),
        ("GRANT TO a", 7, "expected READ, CREATE or WRITE, found 'TO'"),
        ("GRANT READ WRITE TO a", 12, "expected TO, found 'WRITE'"),
        ("GRANT READ TO a b", 17, "expected ',' or ')', found 'b'"),
        ("grant STRING", 7, "expected READ, CREATE or WRITE, found 'STRING'"),
        (
            "sortable STRING", 1,
            "expected the name of a field, a reserved word only in double quotes, found 'sortable'"
        ),
    ])
    func `an error in a record type is in the place of the token`(
        items: String, column: Int, message: String
    ) {
        let found = error("DEFINE SCHEMA\nRECORD TYPE T (\n\(items));")
        #expect(
            found
                == SchemaSyntaxError(place: SchemaPlace(line: 3, column: column), message: message))
    }

    @Test func `quotes and comments that nothing closes are reported where they begin`() {
        #expect(
            error("DEFINE SCHEMA\n CREATE ROLE \"a\n\";")
                == SchemaSyntaxError(
                    place: SchemaPlace(line: 2, column: 14),
                    message: "expected a '\"' that closes this one before the line ends"))
        #expect(
            error("DEFINE SCHEMA\n\n /* a * /")
                == SchemaSyntaxError(
                    place: SchemaPlace(line: 3, column: 2),
                    message: "expected a '*/' that closes this comment before the text ends"))
        #expect(error("DEFINE SCHEMA /*/")?.place == SchemaPlace(line: 1, column: 15))
    }

    @Test(arguments: ["\n", "\r", "\r\n"])
    func `lines are counted by all three line breaks`(lineBreak: String) {
        let text = ["DEFINE", "SCHEMA // one", "", "\"ü\" /* two", "*/ !"]
            .joined(separator: lineBreak)
        #expect(error(text)?.place == SchemaPlace(line: 4, column: 1))
        #expect(
            error(text.replacing("\"ü\"", with: ""))?.place == SchemaPlace(line: 5, column: 4))
    }

    @Test func `columns are counted in Unicode scalars`() {
        #expect(
            error("DEFINE SCHEMA /* ü 🚀 e\u{301} */\t!")?.place == SchemaPlace(line: 1, column: 28))
    }

    @Test func `what is not UTF-8 is reported in its place`() {
        let found = error(Array("DEFINE SCHEMA\n// ü".utf8) + [0xC3, 0x28])
        #expect(
            found
                == SchemaSyntaxError(
                    place: SchemaPlace(line: 2, column: 5),
                    message: "expected UTF-8, found a byte that is none"))
        #expect(error([0xFF])?.place == SchemaPlace(line: 1, column: 1))
        #expect(error(Array("DEFINE SCHEMA \u{0}".utf8))?.message.contains("'\\0'") == true)
    }

    @Test func `the first error in the text is reported, directives come last`() {
        let text = "DEFINE SCHEMA // stratus: FOO\nDROP /*"
        #expect(error(text)?.place == SchemaPlace(line: 2, column: 1))
    }

    @Test func `a message shows no more than the beginning of a long name`() {
        let long = String(repeating: "x", count: 1000)
        #expect(error(long)?.message == "expected DEFINE, found '\(long.prefix(64))…'")
    }
}
