import StratusLanguage
import Testing

/// Whether a record with these fields satisfies the predicate of a text.
func holds(
    _ text: String, _ fields: [String: PredicateValue], searchable: [String] = [],
    equality: TextEquality = .folded, _ values: PredicateValue?...
) throws -> Bool {
    let tree = try PredicateParser.parse(text, PredicateArguments(values, now: 1_000))
    let record = TestRecord(fields: fields, searchableFields: searchable)
    return try PredicateEvaluator(tree, equality: { _ in equality }).matches(record)
}

@Suite struct PredicateEvaluatorTests {
    private let record: [String: PredicateValue] = [
        "title": .string("Straße"), "count": .int64(5), "price": .double(2.5), "made": .date(900),
        "seal": .bytes([1, 2]), "photo": .asset, "colors": .strings("red", "Green"),
        "numbers": .list([.int64(1), .int64(9)]), "empty": .list([]),
        "boss": .reference(ReferenceTarget(recordName: "b", zone: "z")),
        "place": .location(GeographicPoint(latitude: 10, longitude: 20)),
        "___recordID": .reference(ReferenceTarget(recordName: "r")), "___createTime": .date(950),
    ]

    @Test(
        arguments: [
            // Equality of strings is without case, as documented.
            "title = 'straße'", "title = 'STRASSE'", "title == 'Straße'", "title != 'Strasen'",
            "title IN {'x', 'STRASSE'}", "title BETWEEN {'strass', 'strasse'}",
            "title < 'strassf'", "title > 'strass'", "title >= 'STRASSE'", "title <= 'strasse'",
            // Prefixes, suffixes, parts and patterns keep case.
            "title BEGINSWITH 'Stra'", "title BEGINSWITH ''", "title ENDSWITH 'aße'",
            "title CONTAINS 'ra'", "title LIKE 'S*ß?'", "title LIKE '*'", "title LIKE '??????'",
            "title BEGINSWITH[c] 'STRASS'", "title ENDSWITH[c] 'SSE'", "title CONTAINS[c] 'RAS'",
            "title LIKE[c] '*ASSE'", "title =[n] 'Straße'", "title =[d] 'Straßé'",
            // Numbers of both kinds are compared exactly; Booleans are numbers.
            "count = 5", "count = 5.0", "count < 5.5", "price > 2", "price < 3", "count != 4.5",
            "count BETWEEN {5, 6}", "count BETWEEN {4, 5}", "count IN {1, 5.0}", "count > TRUE",
            // Dates.
            "made < now()", "made = CAST(900, 'NSDate')", "___createTime > CAST(900, 'NSDate')",
            "creationDate >= CAST(950, 'NSDate')",
            // Bytes and references are equal or not.
            "seal = CAST('0102', 'NSData')", "seal != CAST('01', 'NSData')",
            "boss = CAST('b', 'CKReference')", "boss = CAST({'b', 'z'}, 'CKReference')",
            "boss != CAST({'b', 'y'}, 'CKReference')", "recordID = CAST('r', 'CKReference')",
            "recordID IN {CAST('x', 'CKReference'), CAST('r', 'CKReference')}",
            "place = CAST({10, 20}, 'CLLocation')", "place != CAST({10, 21}, 'CLLocation')",
            // Three spellings of one membership.
            "colors CONTAINS 'red'", "ANY colors = 'red'", "'red' IN colors",
            "ANY colors = 'GREEN'",
            "SOME colors IN {'blue', 'green'}", "ANY colors BEGINSWITH 'Gr'",
            "NOT ANY colors BEGINSWITH 'gr'", "NOT colors CONTAINS 'blue'", "NONE colors = 'blue'",
            "colors CONTAINS 'red' AND colors CONTAINS 'green'", "ANY colors CONTAINS 'ee'",
            "ALL numbers > 0", "ANY numbers > 8", "ALL empty = 'x'", "NOT ANY empty = 1",
            "NOT empty CONTAINS 'x'", "colors = {'RED', 'green'}", "colors != {'red'}",
            "empty = {}",
            // Compounds.
            "count = 5 AND price = 2.5", "count = 1 OR price = 2.5", "NOT (count = 1 OR price = 1)",
            "NOT (count = 5 AND price = 1)", "TRUEPREDICATE", "NOT FALSEPREDICATE",
            "nothing = NULL", "title != NULL", "photo != nil", "NOT count = nil",
            "title NOT IN {'x'}", "count NOT IN {4, 6}", "NOT count BETWEEN {6, 7}",
        ])
    func `it holds`(text: String) throws {
        #expect(try holds(text, record))
        #expect(try !holds("NOT (\(text))", record))
    }

    @Test(
        arguments: [
            "title = 'stra\u{df}x'", "title != 'strasse'", "title =[n] 'straße'",
            "title BEGINSWITH 'stra'", "title ENDSWITH 'SSE'", "title CONTAINS 'RA'",
            "title LIKE 's*'", "title LIKE '?'", "title LIKE ''", "title LIKE 'Straße?'",
            "title LIKE '\\\\*'", "count = 4", "count < 5", "count > 5.0", "count BETWEEN {6, 4}",
            "count IN {}", "price = 2", "seal = CAST('', 'NSData')",
            "boss = CAST({'b', 'y'}, 'CKReference')", "colors CONTAINS 're'", "ANY colors = 'blue'",
            "ANY empty = 'x'", "ALL colors = 'red'", "colors = {'green', 'red'}", "FALSEPREDICATE",
            "count = 5 AND price = 1", "count = 1 OR price = 1", "nothing != NULL", "title = NULL",
        ])
    func `it does not hold, and its negation does`(text: String) throws {
        #expect(try !holds(text, record))
        #expect(try holds("NOT (\(text))", record))
    }

    @Test(
        arguments: [
            // A missing field.
            "nothing = 1", "nothing != 1", "nothing < 1", "nothing IN {1}", "nothing IN {}",
            "nothing BETWEEN {1, 2}", "nothing BEGINSWITH 'x'", "nothing CONTAINS 'x'",
            "ANY nothing = 1", "ALL nothing = 1", "nothing LIKE '*'", "nothing TOKENMATCHES 'x'",
            "distanceToLocation:fromLocation:(nothing, CAST({0, 0}, 'CLLocation')) < 1",
            // A value of another kind.
            "title = 1", "title != 1", "count = '5'", "count BEGINSWITH '5'", "count CONTAINS '5'",
            "made > 5", "count < CAST(9, 'NSDate')", "colors = 'red'", "colors < 'red'",
            "title = {'Straße'}", "colors BEGINSWITH 'r'", "ANY title = 'Straße'",
            "ALL count = 5", "ANY colors = 1", "ALL numbers = 'x'", "count TOKENMATCHES '5'",
            "distanceToLocation:fromLocation:(title, CAST({0, 0}, 'CLLocation')) < 1",
            // What has no order, what cannot be compared, and what is no number.
            "seal < CAST('ff', 'NSData')", "boss > CAST('a', 'CKReference')",
            "colors < {'x', 'y'}", "photo = CAST({}, 'CKAsset')", "photo != CAST({}, 'CKAsset')",
            "price = CAST('nan', 'double')", "price != CAST('nan', 'double')",
            "count < CAST('nan', 'double')", "place = CAST({'nan', 0}, 'CLLocation')",
            "distanceToLocation:fromLocation:(place, CAST({91, 0}, 'CLLocation')) < 1",
            "distanceToLocation:fromLocation:(place, CAST({0, 'inf'}, 'CLLocation')) > 1",
        ])
    func `of what is missing or cannot be compared neither a test nor its negation holds`(
        text: String
    ) throws {
        #expect(try !holds(text, record))
        #expect(try !holds("NOT (\(text))", record))
        // The unknown decides a compound only where the other part does not.
        #expect(try holds("(\(text)) OR count = 5", record))
        #expect(try !holds("(\(text)) AND count = 5", record))
        #expect(try !holds("NOT ((\(text)) AND count = 5)", record))
        #expect(try holds("NOT ((\(text)) AND count = 6)", record))
    }

    @Test func `a store that sees case compares strings exactly`() throws {
        for (text, inFolded, inExact) in [
            ("title = 'STRASSE'", true, false), ("title = 'Straße'", true, true),
            ("title =[c] 'STRASSE'", true, true), ("title IN {'straße'}", true, false),
            ("colors CONTAINS 'RED'", true, false), ("title < 'a'", false, true),
        ] {
            #expect(try holds(text, record) == inFolded, "\(text)")
            #expect(try holds(text, record, equality: .exact) == inExact, "\(text)")
        }
    }

    @Test(
        arguments: [
            (9_007_199_254_740_993, 9_007_199_254_740_992.0, ">"),
            (9_007_199_254_740_992, 9_007_199_254_740_992.0, "="),
            (.max, 9_223_372_036_854_775_808.0, "<"), (.min, -9_223_372_036_854_775_808.0, "="),
            (.min, -1e300, ">"), (.max, .infinity, "<"), (.min, -.infinity, ">"), (0, -0.0, "="),
            (-1, -1.5, ">"), (-2, -1.5, "<"), (1, 1.5, "<"), (2, 1.5, ">"),
        ] as [(Int64, Double, String)])
    func `integers and numbers are compared without rounding`(
        integer: Int64, number: Double, sign: String
    ) throws {
        let mirrored = ["<": ">", ">": "<", "=": "="]
        for relation in ["<", "=", ">"] {
            #expect(
                try holds("f \(relation) %@", ["f": .int64(integer)], .double(number))
                    == (relation == sign))
            #expect(
                try holds("f \(relation) %@", ["f": .double(number)], .int64(integer))
                    == (relation == mirrored[sign]))
        }
    }

    @Test func `NaN in a record is compared like a missing value, and is not nil`() throws {
        for text in ["f = 1", "f != 1", "f < 1", "f > 1", "f BETWEEN {0, 1}", "f IN {1}"] {
            #expect(try !holds(text, ["f": .double(.nan)]))
            #expect(try !holds("NOT \(text)", ["f": .double(.nan)]))
        }
        #expect(try holds("f != nil", ["f": .double(.nan)]))
    }

    @Test func `composed and decomposed letters differ, unless diacritics do not count`() throws {
        let fields: [String: PredicateValue] = ["f": .string("e\u{301}")]
        #expect(try !holds("f = '\u{e9}'", fields))
        #expect(try holds("f = 'e\u{301}'", fields))
        #expect(try holds("f =[d] '\u{e9}'", fields))
        #expect(try holds("f = 'E'", fields) == false)
        #expect(try holds("f =[cd] 'E'", fields))
    }
}
