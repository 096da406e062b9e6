import StratusLanguage
import Testing

struct SchemaLimitTests {
    private func message(_ text: String) -> String? {
        do throws(SchemaSyntaxError) {
            _ = try Schema(parsing: text)
            return nil
        } catch {
            return error.description
        }
    }

    private func repeated(_ text: String, _ count: Int) -> String {
        String(repeating: text, count: count)
    }

    @Test func `a text has at most 1 MiB`() {
        let text = "DEFINE SCHEMA"
        #expect(message(text + repeated(" ", (1 << 20) - text.utf8.count)) == nil)
        #expect(
            message(text + repeated(" ", (1 << 20) - text.utf8.count + 1))
                == "line 1, column 1: expected at most 1048576 bytes of text, found 1048577")
    }

    @Test(arguments: [
        ("roles", "", "CREATE ROLE r;", ""), ("record types", "", "RECORD TYPE T ();", ""),
        ("fields", "RECORD TYPE T (a STRING", ",a STRING", ");"),
        ("grants", "RECORD TYPE T (GRANT READ TO r", ",GRANT READ TO r", ");"),
        ("indexes", "", "// stratus:INDEX i ON T (a)\n", ""),
        ("columns", "// stratus:INDEX i ON T (a", ",a", ")"),
        ("collations", "", "// stratus:COLLATION BINARY ON T (a)\n", ""),
    ])
    func `no list has more than 10,000 members`(
        members: String, start: String, member: String, end: String
    ) {
        let count = start.isEmpty ? 10_000 : 9_999
        #expect(message("DEFINE SCHEMA \(start)\(repeated(member, count))\(end)") == nil)
        let found = message("DEFINE SCHEMA \(start)\(repeated(member, count + 1))\(end)")
        #expect(found?.contains("expected at most 10000 \(members), found ") == true)
    }

    private static let size = 1 << 20

    /// A text of nearly 1 MiB each.
    private static let large: [String: String] = [
        "symbols": "DEFINE SCHEMA " + String(repeating: "(", count: size - 20),
        "a word": String(repeating: "a", count: size),
        "a name": "DEFINE SCHEMA CREATE ROLE \""
            + String(repeating: "é", count: size / 2 - 20) + "\";",
        "a name beside many": "DEFINE SCHEMA RECORD TYPE T ("
            + String(repeating: "a", count: size / 2) + " STRING"
            + String(repeating: ",b STRING", count: 9_999) + ");",
        "an open quote": "DEFINE SCHEMA \"" + String(repeating: "a", count: size - 20),
        "comments": "DEFINE SCHEMA" + String(repeating: "/**/", count: size / 4 - 10),
        "openings of comments": "DEFINE SCHEMA" + String(repeating: "/*", count: size / 2 - 10),
        "lines": "DEFINE SCHEMA" + String(repeating: "--\n", count: size / 3 - 10),
        "directives": "DEFINE SCHEMA\n" + String(repeating: "// stratus:x\n", count: 80_000),
        "directives in a line": "DEFINE SCHEMA "
            + String(repeating: "// stratus:INDEX i ON T (a)", count: 38_000),
        "fields": "DEFINE SCHEMA "
            + String(repeating: "RECORD TYPE T (a STRING,b STRING);", count: 10_000),
        "byte order marks": String(repeating: "\u{FEFF}", count: size / 3),
        "marks on a letter": "DEFINE SCHEMA CREATE ROLE \"e"
            + String(repeating: "\u{301}", count: size / 2 - 20) + "\";",
    ]

    @Test(arguments: large.keys.sorted())
    func `the time that a text takes is linear in its length`(key: String) throws {
        let text = try #require(Self.large[key])
        // What looks at each byte once takes a hundredth of that, what does not a thousandfold.
        let limit = Duration.seconds(20)
        let time = ContinuousClock().measure {
            guard let document = try? Schema(parsing: text) else { return }
            #expect(document.text.utf8.count < 8 << 20)
            _ = document.validate()
            let changes = Schema.differences(from: Schema(), to: document, in: .production)
            #expect(changes.allSatisfy { "\($0)".utf8.count < 1000 })
        }
        #expect(time < limit)
    }
}
