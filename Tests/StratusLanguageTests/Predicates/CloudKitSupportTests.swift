import StratusLanguage
import Testing

@Suite struct CloudKitSupportTests {
    @Test(
        arguments: [
            "a = 1", "a != 1", "a < 1", "a <= 1", "a > 1", "a >= 1", "a BETWEEN {1, 2}",
            "TRUEPREDICATE", "FALSEPREDICATE", "a = 1 AND b = 2 AND c = 3", "NOT a = 1",
            "a BEGINSWITH 'x'", "NOT a BEGINSWITH 'x'", "a IN {1, 2}", "a NOT IN {1}",
            "ANY {1, 2} = a", "list CONTAINS 'x'", "NOT list CONTAINS 'x'", "ANY list = 'x'",
            "'x' IN list", "ANY list BEGINSWITH 'x'", "ANY list IN {'x'}", "NONE list = 'x'",
            "self CONTAINS 'x'", "allTokens TOKENMATCHES[cdl] 'x'", "a < now()",
            "distanceToLocation:fromLocation:(a, CAST({1, 2}, 'CLLocation')) < 10",
            "a = CAST('x', 'CKReference')", "a = CAST('00', 'NSData')", "recordID = 'x'",
            "___share = CAST('x', 'CKReference')", "(a = 1 AND b = 2) AND NOT c = 3",
        ])
    func `what the service supports passes`(text: String) throws {
        #expect(try parsed(text).firstUnsupportedByCloudKit() == nil)
    }

    @Test(
        arguments: [
            ("a = 1 OR b = 2", "OR", 0..<14),
            ("x = 1 AND (a = 1 OR b = 2)", "OR", 11..<25),
            ("NOT (a = 1 AND b = 2)", "NOT of a compound predicate", 0..<21),
            ("NOT self CONTAINS 'x'", "NOT of a token search", 0..<21),
            ("NOT a BETWEEN {1, 2}", "NOT of BETWEEN", 0..<20),
            ("x = 1 AND a ENDSWITH 'x'", "ENDSWITH", 10..<24),
            ("a LIKE 'x'", "LIKE", 0..<10),
            ("ALL a = 1", "ALL", 0..<9),
            ("a = nil", "a comparison with nil", 0..<7),
            ("a != nil", "a comparison with nil", 0..<8),
            ("ANY a CONTAINS 'x'", "CONTAINS on a string", 0..<18),
            ("title CONTAINS 'x'", "CONTAINS on a string", 0..<18),
            ("___parent = 'x'", "a comparison of ___parent", 0..<15),
            ("a < CAST('00', 'NSData')", "< with bytes", 0..<24),
            ("a = {1}", "a comparison of whole lists", 0..<7),
            ("a = CAST({1, 2}, 'CLLocation')", "a location compared other", 0..<30),
            ("a IN {CAST({}, 'CKAsset')}", "a comparison of assets", 0..<26),
            (
                "distanceToLocation:fromLocation:(a, CAST({1, 2}, 'CLLocation')) > 1",
                "> with a distance", 0..<67
            ),
            (
                "NOT distanceToLocation:fromLocation:(a, CAST({1, 2}, 'CLLocation')) < 1",
                "NOT of a distance", 0..<71
            ),
        ])
    func `the first form that it does not support is told with its place`(
        text: String, form: String, place: Range<Int>
    ) throws {
        let types = ["title": FieldType(.string), "list": FieldType(.string, isList: true)]
        let found = try parsed(text).firstUnsupportedByCloudKit { types[$0] }
        #expect(found?.message.hasPrefix(form) == true, "\(String(describing: found))")
        #expect(found?.message.hasSuffix("is not supported by CloudKit") == true)
        #expect(found?.place == place)
    }

    @Test(
        arguments: [
            ("a = 1 AND title = 1", ["STRING and cannot be queried using filter value type INT64"]),
            ("count = 'x' OR NOT boss = 'x'", ["INT64 and cannot", "REFERENCE and cannot"]),
            ("count = 1.5", []), ("count BEGINSWITH 'x'", ["INT64 and cannot"]),
            ("list = 'x'", ["STRING_LIST, which this comparison does not take"]),
            ("ANY title = 'x'", ["STRING, which this comparison does not take"]),
            ("count CONTAINS 1", ["INT64, which this comparison does not take"]),
            ("list CONTAINS 'x'", []), ("title CONTAINS 'x'", []), ("ANY list LIKE 'x'", []),
            ("list = {'x'}", []), ("title TOKENMATCHES 'x'", []), ("title = nil", []),
            (
                "count TOKENMATCHES 'x'",
                ["INT64 and cannot be queried using filter value type STRING"]
            ),
            (
                "distanceToLocation:fromLocation:(title, CAST({1, 2}, 'CLLocation')) < 1",
                ["STRING and cannot be queried using filter value type LOCATION"]
            ),
        ])
    func `constants that never fit their field are told`(text: String, errors: [String]) throws {
        let types = [
            "title": FieldType(.string), "count": FieldType(.int64), "boss": FieldType(.reference),
            "list": FieldType(.string, isList: true),
        ]
        let found = try parsed(text).typeErrors { types[$0] }
        #expect(found.count == errors.count)
        for (found, expected) in zip(found, errors) {
            #expect(found.message.contains(expected), "\(found.message)")
            #expect(found.place != nil)
        }
    }

    @Test func `a predicate built too deep is refused by all that would recurse`() throws {
        var tree = try parsed("a = 1")
        for _ in 1..<64 { tree = .not(tree) }
        _ = try PredicateEvaluator(tree)
        for _ in 0..<1_000 { tree = .not(tree) }
        #expect(throws: UnsupportedPredicate.self) { try PredicateEvaluator(tree) }
        #expect(tree.firstUnsupportedByCloudKit()?.message == "nested deeper than 64 levels")
        #expect(tree.typeErrors { _ in nil }.count == 1)
        #expect(tree.description.hasSuffix("…"))
    }

    @Test func `a pattern of LIKE has at most 1,024 characters`() throws {
        let limit = String(repeating: "x?", count: 512)
        #expect(
            try holds(
                "f LIKE %@", ["f": .string(String(repeating: "x", count: 1_024))], .string(limit)))
        #expect(throws: UnsupportedPredicate.self) {
            try holds("f LIKE %@", [:], .string(limit + "?"))
        }
    }
}
