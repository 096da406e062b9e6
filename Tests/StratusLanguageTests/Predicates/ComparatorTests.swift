import StratusLanguage
import Testing

/// The filters of CloudKit Web Services, each as the predicate that means the same.
@Suite struct ComparatorTests {
    private static let record: [String: PredicateValue] = [
        "n": .int64(5), "s": .string("Boat house"), "list": .strings("red", "green"),
        "at": .location(GeographicPoint(latitude: 0, longitude: 0)),
    ]

    @Test(
        arguments: [
            ("EQUALS", "n = 5", "n = 6"),
            ("NOT_EQUALS", "n != 6", "n != 5"),
            ("LESS_THAN", "n < 6", "n < 5"),
            ("LESS_THAN_OR_EQUALS", "n <= 5", "n <= 4"),
            ("GREATER_THAN", "n > 4", "n > 5"),
            ("GREATER_THAN_OR_EQUALS", "n >= 5", "n >= 6"),
            (
                "NEAR", "distanceToLocation:fromLocation:(at, CAST({1, 0}, 'CLLocation')) < 112",
                "distanceToLocation:fromLocation:(at, CAST({1, 0}, 'CLLocation')) < 111"
            ),
            ("CONTAINS_ALL_TOKENS", "s TOKENMATCHES 'house boat'", "s TOKENMATCHES 'house car'"),
            ("CONTAINS_ANY_TOKENS", "ANY s TOKENMATCHES 'car boat'", "ANY s TOKENMATCHES 'car'"),
            (
                "CONTAINS_ALL_TOKENS of all fields", "allTokens TOKENMATCHES 'boat red'",
                "allTokens TOKENMATCHES 'boat blue'"
            ),
            (
                "CONTAINS_ANY_TOKENS of all fields", "self CONTAINS 'blue red'",
                "self CONTAINS 'blue car'"
            ),
            ("IN", "n IN {4, 5}", "n IN {4, 6}"),
            ("NOT_IN", "n NOT IN {4, 6}", "n NOT IN {4, 5}"),
            ("LIST_CONTAINS", "list CONTAINS 'red'", "list CONTAINS 'blue'"),
            ("NOT_LIST_CONTAINS", "NOT list CONTAINS 'blue'", "NOT list CONTAINS 'red'"),
            ("LIST_CONTAINS_ANY", "ANY list IN {'x', 'red'}", "ANY list IN {'x', 'y'}"),
            ("NOT_LIST_CONTAINS_ANY", "NOT ANY list IN {'x', 'y'}", "NOT ANY list IN {'x', 'red'}"),
            (
                "LIST_CONTAINS_ALL", "list CONTAINS 'red' AND list CONTAINS 'green'",
                "list CONTAINS 'red' AND list CONTAINS 'blue'"
            ),
            (
                "NOT_LIST_CONTAINS_ALL", "NOT (list CONTAINS 'red' AND list CONTAINS 'blue')",
                "NOT (list CONTAINS 'red' AND list CONTAINS 'green')"
            ),
            ("BEGINS_WITH", "s BEGINSWITH 'Boat'", "s BEGINSWITH 'boat'"),
            ("NOT_BEGINS_WITH", "NOT s BEGINSWITH 'boat'", "NOT s BEGINSWITH 'Boat'"),
            ("LIST_MEMBER_BEGINS_WITH", "ANY list BEGINSWITH 'gr'", "ANY list BEGINSWITH 'x'"),
            (
                "NOT_LIST_MEMBER_BEGINS_WITH", "NOT ANY list BEGINSWITH 'x'",
                "NOT ANY list BEGINSWITH 'gr'"
            ),
        ])
    func `a comparator of Web Services has a predicate that means the same`(
        comparator: String, holding: String, failing: String
    ) throws {
        #expect(try holds(holding, Self.record, searchable: ["s", "list"]), "\(comparator)")
        #expect(try !holds(failing, Self.record, searchable: ["s", "list"]), "\(comparator)")
        // Neither holds for a record without the fields, but for what asks for any field at all.
        #expect(try !holds(holding, [:]), "\(comparator)")
        #expect(try !holds(failing, [:]), "\(comparator)")
    }
}
