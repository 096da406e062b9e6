import StratusLanguage
import Testing

@Suite struct PredicateErrorTests {
    @Test(
        arguments: [
            ("", 0, "expected a value"),
            ("a", 1, "expected an operator"),
            ("a =", 3, "expected a value"),
            ("a = 1 b = 2", 6, "expected AND, OR or the end"),
            ("a = 1 AND", 9, "expected a value"),
            ("(a = 1", 6, "expected ')'"),
            ("a = 1)", 5, "expected AND, OR or the end"),
            ("a = b", 0, "two fields cannot be compared"),
            ("1 = 2", 0, "expected a field on one side"),
            ("a.b = 1", 1, "paths with '.' are not supported"),
            ("a = 'x", 4, "not closed"),
            ("a = '\\q'", 5, "unknown escape"),
            ("a = '\\ud800'", 5, "hexadecimal digits of a Unicode scalar"),
            ("a = '\\u12", 5, "expected 4 hexadecimal digits"),
            ("a = '\\u+123'", 5, "hexadecimal digits of a Unicode scalar"),
            ("a = 12x", 4, "not a number"),
            ("a = 1e999", 4, "not a number"),
            ("a = 9223372036854775808", 4, "not an integer of 64 bits"),
            ("a = 0x", 4, "not an integer of 64 bits"),
            ("a = -", 4, "expected a number after '-'"),
            ("a = ?", 4, "unexpected character '?'"),
            ("a = ü", 4, "unexpected character 'ü'"),
            ("a = 1 & b = 2", 6, "unexpected character '&'"),
            ("a =[x] 1", 3, "unknown option 'x'"),
            ("a =[c 1", 3, "expected options"),
            ("a MATCHES '.*'", 2, "regular expressions are not supported"),
            ("a BEGINSWITH 1", 0, "BEGINSWITH needs a string"),
            ("'x' BEGINSWITH a", 0, "expected a field on one side"),
            ("a IN 'x'", 0, "IN needs a list"),
            ("a BETWEEN {1}", 0, "BETWEEN needs a list of two"),
            ("a CONTAINS {1}", 0, "CONTAINS needs one value"),
            ("a IN {{1}}", 6, "expected a value"),
            ("a IN {1, nil}", 9, "expected a value"),
            ("a IN {1", 7, "expected ',' or '}'"),
            ("a < nil", 0, "nil is compared with a field by = or != only"),
            ("ANY a = nil", 0, "nil is compared"),
            ("self = 'x'", 0, "self and allTokens are searched"),
            ("in = 1", 0, "a field of that name is written #in"),
            ("a = %q", 4, "unknown placeholder"),
            ("a = %@", 4, "argument 1 is missing"),
            ("a = $x", 4, "the variable $x has no value"),
            ("a = $", 5, "expected a variable's name"),
            ("___etag = 1", 0, "not the name of a field"),
            ("_a = 1", 0, "not the name of a field"),
            ("a = CAST(1, 'NSNumber')", 4, "not the parts of a value of NSNumber"),
            ("a = CAST('0F', 'NSData')", 4, "not the parts of a value of NSData"),
            ("a = CAST({1}, 'CLLocation')", 4, "not the parts of a value of CLLocation"),
            ("a = CAST(CAST(1, 'NSDate'), 'NSDate')", 9, "expected a string or a number"),
            (
                "distanceToLocation:fromLocation:(a, b) < 1", 33,
                "expected a field and a location"
            ),
            (
                "distanceToLocation:fromLocation:(a, CAST({1, 2}, 'CLLocation')) < 'x'", 0,
                "a distance is compared with a number only"
            ),
            ("a TOKENMATCHES 1", 0, "TOKENMATCHES needs a field and a string"),
            ("a = 1 AND now = 2", 14, "expected '(' behind now"),
        ])
    func `a text that is no predicate is refused with place and reason`(
        text: String, offset: Int, reason: String
    ) throws {
        let error = #expect(throws: PredicateTextError.self) { try parsed(text) }
        #expect(error?.place.offset == offset)
        #expect(error?.message.contains(reason) == true, "\(error?.message ?? "")")
    }

    @Test func `a place has line and column, counted in characters of the line`() throws {
        let error = try #require(
            throws: PredicateTextError.self,
            performing: {
                try parsed("a = 'é\n\u{1F600}' AND\n  b = 'ü' ?")
            })
        #expect(error.place.offset == 29)
        #expect(error.place.line == 3)
        #expect(error.place.column == 11)
        #expect(error.description == "line 3, column 11: unexpected character '?'")
    }

    @Test(
        arguments: [
            ("%K = 1", .int64(1), "is not the name of a field"),
            ("%K = 1", .string("a b"), "not the name of a field"),
            ("a = %d", .double(1), "does not fit %d"),
            ("a = %f", .string("x"), "does not fit %f"),
            ("a = %s", .int64(1), "does not fit %s"),
            ("a = %d", nil, "argument 1 is nil"),
            ("a IN {%@}", .list([.int64(1)]), "a list in a list"),
            ("a IN %@", .list([.list([])]), "a list in a list"),
            ("a = 1", .int64(1), "places for 0 arguments, not for 1"),
        ] as [(String, PredicateValue?, String)])
    func `an argument that does not fit its place is refused`(
        text: String, argument: PredicateValue?, reason: String
    ) {
        let error = #expect(throws: PredicateTextError.self) { try parsed(text, argument) }
        #expect(error?.message.contains(reason) == true, "\(error?.message ?? "")")
    }

    @Test func `the time of now must be given`() {
        #expect(throws: PredicateTextError.self) { try PredicateParser.parse("a < now()") }
    }

    @Test func `predicates nest 64 levels deep and no deeper`() throws {
        func nested(_ open: String, _ close: String, _ count: Int) -> String {
            String(repeating: open, count: count) + "a = 1" + String(repeating: close, count: count)
        }
        #expect(try parsed(nested("(", ")", 64)) == parsed("a = 1"))
        #expect(try parsed(nested("NOT ", "", 63)).depth == 64)
        #expect(try parsed(nested("(b = 1 OR c = 1 AND ", ")", 31)).depth == 63)
        for text in [
            nested("(", ")", 65), nested("NOT ", "", 64), nested("!", "", 60_000),
            nested("(", ")", 30_000), nested("(b = 1 OR c = 1 AND ", ")", 32), nested("(", "", 65),
        ] {
            let error = #expect(throws: PredicateTextError.self) { try parsed(text) }
            #expect(error?.message == "nested deeper than 64 levels")
        }
    }

    @Test func `functions do not nest`() {
        let text = String(repeating: "distanceToLocation:fromLocation:(", count: 1_900)
        let error = #expect(throws: PredicateTextError.self) { try parsed(text) }
        #expect(error?.place.offset == 33)
    }

    @Test func `a text has at most 64 KiB`() throws {
        let text = "a = 1" + String(repeating: " ", count: PredicateParser.textLimit - 5)
        #expect(try parsed(text) == parsed("a = 1"))
        #expect(throws: PredicateTextError.self) { try parsed(text + " ") }
    }

    @Test(
        arguments: [
            "a = 1 AND ", "a IN {1, 2, 3} || ", "'x' ", "(", "a = '\\u00e9' or ", "1.5", "!", "{",
            "%",
            "a", "[c", "-", ".", "\n", "a = CAST({1, 2}, 'CLLocation') AND ", "\\", "1e",
        ])
    func `work is in proportion to the text`(pattern: String) throws {
        for size in [1_000, 10_000, 60_000] {
            let text = String(repeating: pattern, count: size / pattern.utf8.count)
            var parser = try PredicateParser(text)
            _ = try? parser.parse()
            #expect(parser.work <= 4 * text.utf8.count + 100)
        }
    }
}
