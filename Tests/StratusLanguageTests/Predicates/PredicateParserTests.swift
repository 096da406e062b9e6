import StratusLanguage
import Testing

/// The tree of a text that must be a predicate.
func parsed(
    _ text: String, _ values: PredicateValue?..., variables: [String: PredicateValue] = [:]
) throws -> RecordPredicate {
    try PredicateParser.parse(
        text, PredicateArguments(values, variables: variables, now: 1_000))
}

@Suite struct PredicateParserTests {
    @Test(
        arguments: [
            ("a = 1", ["a == 1", "a=1", "(a = 1)", "((a=1))", "1 = a", "\ta\n=\r1 "]),
            ("a != 1", ["a <> 1", "a!=1", "1 <> a"]),
            ("a <= 1", ["a =< 1", "1 >= a", "1 => a"]),
            ("a >= 1", ["a => 1", "1 <= a", "1 =< a"]),
            ("a < 1", ["1 > a"]),
            ("a > 1", ["1 < a"]),
            ("a = 1 AND b = 2", ["a = 1 && b = 2", "a = 1 and b = 2", "(a = 1) aNd (b = 2)"]),
            ("a = 1 OR b = 2", ["a = 1 || b = 2", "a = 1 or b = 2"]),
            ("NOT a = 1", ["!a = 1", "not (a = 1)", "!(a = 1)"]),
            ("a = 1 OR (b = 2 AND c = 3)", ["a = 1 OR b = 2 AND c = 3"]),
            ("(NOT a = 1) AND b = 2", ["NOT a = 1 AND b = 2"]),
            ("a = 1 AND b = 2 AND c = 3", ["(a = 1 AND b = 2) AND c = 3", "a=1 && (b=2 && c=3)"]),
            ("a IN {1, 2}", ["a in {1,2}", "ANY {1, 2} = a", "SOME {1, 2} == a"]),
            ("NOT a IN {1, 2}", ["a NOT IN {1, 2}", "NOT (a IN {1, 2})", "NONE {1, 2} = a"]),
            ("a BETWEEN {1, 2}", ["a between {1, 2}"]),
            ("a CONTAINS 'x'", ["a contains \"x\"", "'x' IN a"]),
            ("ANY a = 'x'", ["SOME a = 'x'", "any a == 'x'"]),
            ("NOT ANY a = 'x'", ["NONE a = 'x'"]),
            ("a BEGINSWITH[cd] 'x'", ["a beginswith[CD] 'x'", "a BEGINSWITH [dc] 'x'"]),
            ("a = NULL", ["a == nil", "a = NIL", "nil = a", "null == a"]),
            ("NOT a = NULL", ["a != nil", "a <> NULL", "nil != a"]),
            ("a = 1", ["a = TRUE", "a = yes", "a = true", "a = 0x1", "a = 0b1", "a = 0o1"]),
            ("a = 0", ["a = FALSE", "a = NO", "a = -0"]),
            ("TRUEPREDICATE", ["truepredicate", "(TRUEPREDICATE)"]),
            ("FALSEPREDICATE", ["falsepredicate"]),
            ("SELF CONTAINS 'x y'", ["self contains 'x y'", "self CONTAINS[cdl] 'x y'"]),
            ("SELF CONTAINS 'x'", ["self contains tokenize:using:('x', 'cdl')"]),
            (
                "allTokens TOKENMATCHES[cdl] 'x'",
                ["allTokens tokenmatches 'x'", "self TOKENMATCHES tokenize:using:('x', 'cdl')"]
            ),
        ])
    func `a form has several spellings`(text: String, spellings: [String]) throws {
        let expected = try parsed(text)
        for spelling in spellings {
            #expect(try parsed(spelling) == expected, "\(spelling)")
        }
    }

    @Test func `forms that mean something else are other trees`() throws {
        let texts = [
            "a = 1", "a = 1.0", "a = '1'", "a != 1", "a < 1", "a <= 1", "a > 1", "a >= 1", "b = 1",
            "a =[c] '1'", "a =[d] '1'", "a =[n] '1'", "ANY a = 1", "ALL a = 1", "a CONTAINS '1'",
            "a LIKE '1'", "a BEGINSWITH '1'", "a ENDSWITH '1'", "a IN {1}", "a BETWEEN {1, 1}",
            "a = NULL", "NOT a = 1", "SELF CONTAINS '1'", "allTokens TOKENMATCHES '1'",
            "a TOKENMATCHES '1'", "ANY a TOKENMATCHES '1'", "TRUEPREDICATE", "FALSEPREDICATE",
            "ANY a CONTAINS '1'", "ANY a IN {1}", "#allTokens TOKENMATCHES '1'",
        ]
        let trees = try texts.map { try parsed($0) }
        #expect(Set(trees).count == texts.count)
    }

    @Test(
        arguments: [
            ("___recordID", "recordID"), ("___createTime", "creationDate"),
            ("___modTime", "modificationDate"), ("___createdBy", "creatorUserRecordID"),
            ("___modifiedBy", "lastModifiedUserRecordID"), ("___parent", "___parent"),
            ("___share", "___share"), ("parent", "parent"),
        ])
    func `system fields have two names, and the tree keeps the schema's`(
        name: String, other: String
    ) throws {
        for spelling in [name, other] {
            guard case .comparison(let comparison) = try parsed("\(spelling) = 1").form else {
                Issue.record("\(spelling)")
                continue
            }
            #expect(comparison.field == name)
        }
    }

    @Test(
        arguments: [
            ("'it\\'s'", "it's"), ("\"it's\"", "it's"), ("'say \"x\"'", "say \"x\""),
            ("'a\\\\b'", "a\\b"), ("'\\n\\r\\t'", "\n\r\t"), ("'\\u00e9\\U0001F600'", "é😀"),
            ("''", ""), ("'%@ $x %K'", "%@ $x %K"), ("'100%%'", "100%%"), ("%%", "%"),
            ("'東京'", "東京"),
        ])
    func `quoted text stands for itself, but for escapes`(literal: String, text: String) throws {
        #expect(try parsed("a = \(literal)") == parsed("a = %@", .string(text)))
    }

    @Test(
        arguments: [
            ("1", .int64(1)), ("-1", .int64(-1)), ("0x1F", .int64(31)), ("1.5", .double(1.5)),
            ("-.5", .double(-0.5)), (".5", .double(0.5)), ("1e3", .double(1000)),
            ("1E-3", .double(0.001)), ("2e+2", .double(200)),
            ("9223372036854775807", .int64(.max)), ("-9223372036854775808", .int64(.min)),
            ("now()", .date(1_000)), ("NOW ( )", .date(1_000)), ("CAST(5, 'NSDate')", .date(5)),
            ("CAST('00ff', 'NSData')", .bytes([0, 255])),
            ("CAST('inf', 'double')", .double(.infinity)),
            (
                "CAST({1.5, -2}, 'CLLocation')",
                .location(GeographicPoint(latitude: 1.5, longitude: -2))
            ),
            ("CAST('r', 'CKReference')", .reference(ReferenceTarget(recordName: "r"))),
            (
                "CAST({'r', 'z', 'o'}, 'CKReference')",
                .reference(ReferenceTarget(recordName: "r", zone: "z", owner: "o"))
            ),
        ] as [(String, PredicateValue)])
    func `every kind of constant can be written`(literal: String, value: PredicateValue) throws {
        #expect(try parsed("a = \(literal)") == parsed("a = %@", value))
    }

    @Test func `arguments fill placeholders in order`() throws {
        #expect(
            try parsed(
                "%K = %@ AND %K > %d AND b <= %ld AND c = %f AND d IN {%i, %lu} AND e = %@",
                .string("a"), .string("x"), .string("recordID"), .int64(1), .int64(2), .double(0.5),
                .int64(3), .int64(4), nil)
                == parsed(
                    "a = 'x' AND ___recordID > 1 AND b <= 2 AND c = 0.5 AND d IN {3, 4} AND e = nil"
                ))
        #expect(try parsed("a = %.2f", .int64(1)) == parsed("a = 1.0"))
        #expect(try parsed("a IN %@", .list([.int64(1)])) == parsed("a IN {1}"))
        #expect(
            try parsed("a BETWEEN %@", .list([.int64(1), .int64(2)])) == parsed("a BETWEEN {1, 2}"))
    }

    @Test func `variables are bound by name`() throws {
        #expect(
            try parsed(
                "a = $x AND b IN $list AND c = $x",
                variables: ["x": .string("v"), "list": .list([.int64(1)])])
                == parsed("a = 'v' AND b IN {1} AND c = 'v'"))
    }

    @Test func `distance takes field and location in either order`() throws {
        let center = PredicateValue.location(GeographicPoint(latitude: 1, longitude: 2))
        let expected = RecordPredicate.distance(
            DistanceComparison(
                field: "f", from: GeographicPoint(latitude: 1, longitude: 2), .less, kilometres: 10)
        )
        for text in [
            "distanceToLocation:fromLocation:(f, %@) < 10",
            "distanceToLocation:fromLocation:(%@, f) < 10.0",
            "10 > DISTANCETOLOCATION:FROMLOCATION:(f,%@)",
        ] {
            #expect(try parsed(text, center) == expected)
        }
    }

    @Test func `a field named like a keyword is written with a number sign`() throws {
        #expect(try parsed("#in = 1") == parsed("%K = 1", .string("in")))
        #expect(try parsed("#in = 1").description == "#in = 1")
        #expect(try parsed("#title = 1") == parsed("title = 1"))
    }

    @Test func `each node knows its place in the text`() throws {
        let text = "é = 1"
        #expect(throws: PredicateTextError.self) { try parsed(text) }
        let tree = try parsed("a = 'é' AND (b = 2 OR NOT c = 3)")
        guard case .and(let parts) = tree.form, case .or(let inner) = parts[1].form else {
            Issue.record("\(tree)")
            return
        }
        #expect(tree.place == 0..<33)
        #expect(parts[0].place == 0..<8)
        #expect(parts[1].place == 14..<32)
        #expect(inner[1].place == 23..<32)
    }
}
