import Stratus
import Testing

/// How a change finds a subscription, as an explanation says it.
@Suite struct SubscriptionExplanationTests {
    struct Example: Sendable, CustomTestStringConvertible {
        let predicate: String
        /// By field and kind; nil: it is tested with every change.
        let conditions: [String]?

        var testDescription: String { predicate }
    }

    static let examples: [Example] = [
        Example(predicate: "name = 'a'", conditions: ["name equality"]),
        Example(predicate: "name IN {'a', 'b'} AND count > 3", conditions: ["name equality"]),
        Example(predicate: "name BEGINSWITH 'a'", conditions: ["name prefix"]),
        Example(predicate: "count BETWEEN {1, 9}", conditions: ["count range"]),
        Example(predicate: "count > 3", conditions: ["count range"]),
        Example(
            predicate: "name = 'a' OR count < 3", conditions: ["count range", "name equality"]),
        Example(predicate: "SELF CONTAINS 'boat'", conditions: ["any word"]),
        Example(
            predicate: "distanceToLocation:fromLocation:(place, {1, 1}) < 1",
            conditions: ["place area"]),
        Example(predicate: "FALSEPREDICATE", conditions: []),
        Example(predicate: "TRUEPREDICATE", conditions: nil),
        Example(predicate: "name != 'a'", conditions: nil),
        Example(predicate: "NOT name = 'a'", conditions: nil),
        Example(predicate: "name = 'a' OR NOT count = 3", conditions: nil),
    ]

    @Test(arguments: examples)
    func `it says by which values a change finds the subscription`(example: Example) async throws {
        let (_, database) = try await makeDatabase()
        let isPlace = example.predicate.contains("place")
        let predicate =
            isPlace
            ? FieldKey<Location>("place").isWithin(
                kilometres: 1, of: Location(latitude: 1, longitude: 1))
            : try Query.Predicate(example.predicate)
        let subscription = querySubscription("s", predicate)
        let found = try #require(try await database.explanation(of: subscription))
        #expect(found.isAlwaysTested == (example.conditions == nil))
        #expect(
            found.conditions.map { "\($0.field ?? "any") \($0.kind.rawValue)" }
                == example.conditions ?? [])
        // What cannot be found by values is told of all the same, and the other way round.
        try await database.save(subscription)
        #expect(try await database.explanation(of: subscription) == found)
    }

    @Test func `of one to a zone or database there is nothing to say`() async throws {
        let (_, database) = try await makeDatabase()
        let zone = Subscription(.zone(notes, recordType: nil), id: "z")
        #expect(try await database.explanation(of: zone) == nil)
        let all = Subscription(.database(recordType: nil), id: "d")
        #expect(try await database.explanation(of: all) == nil)
    }

    @Test func `a predicate that no query can have is refused`() async throws {
        let (_, database) = try await makeDatabase()
        let pattern = String(repeating: "a", count: 2000)
        let one = querySubscription("s", try Query.Predicate("name LIKE '\(pattern)'"))
        let error = await failure { _ = try await database.explanation(of: one) }
        #expect(error.code == .invalidArguments)
    }
}
