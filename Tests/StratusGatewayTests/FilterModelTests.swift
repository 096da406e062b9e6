import FoundationEssentials
import Stratus
import StratusGateway
import Support
import Testing

/// Filters of Web Services find what a model says, with indexes and without, sorted and in pages.
struct FilterModelTests {
    /// How many queries: STRATUS_FILTER_QUERIES.
    private static let count =
        ProcessInfo.processInfo.environment["STRATUS_FILTER_QUERIES"].flatMap { Int($0) } ?? 2000
    private static let seed =
        ProcessInfo.processInfo.environment["STRATUS_SEED"].flatMap { UInt64($0) } ?? 1
    private static let texts = ["", "a", "A", "ab", "Ab", "AB", "abc", "b", "oslo", "Oslo"]

    private struct Item {
        var name: String
        var text: String?
        var n: Int?
        var tags: [String]?
    }

    /// A filter, and whether it holds of a record; nil where it says nothing of it.
    private struct Filter {
        var json: String
        var holds: (Item) -> Bool?
    }

    private static func items(_ random: inout SeededGenerator) -> [Item] {
        (0..<80).map { number in
            Item(
                name: "r\(number)",
                text: random.oneIn(5) ? nil : texts[random.below(texts.count)],
                n: random.oneIn(5) ? nil : random.below(12) - 6,
                tags: random.oneIn(5)
                    ? nil : (0...random.below(3)).map { _ in texts[random.below(texts.count)] })
        }
    }

    private static func store(
        _ items: [Item], indexed: Bool, _ random: inout SeededGenerator
    ) async throws -> TestGateway {
        let gateway = try await TestGateway()
        let database = gateway.container.privateDatabase(for: "alice")
        let zone = RecordZone.ID(zoneName: "notes")
        let records = items.map { item in
            var record = Record(
                recordType: "Note", recordID: Record.ID(recordName: item.name, zoneID: zone))
            record["text"] = item.text.map { .string($0) }
            record["n"] = item.n.map { .int64(Int64($0)) }
            record["tags"] = item.tags.map { .list($0.map { .string($0) }) }
            return record
        }
        let result = try await database.modifyRecords(saving: records)
        if let failure = result.partialFailure { throw failure }
        guard indexed else { return gateway }
        for field in ["text", "n", "tags"] where !random.oneIn(4) {
            try await gateway.container.addIndex(on: field, of: "Note", .queryable)
        }
        for field in ["text", "n"] where !random.oneIn(4) {
            try await gateway.container.addIndex(on: field, of: "Note", .sortable)
        }
        return gateway
    }

    private static func quoted(_ texts: [String]) -> String {
        "[" + texts.map { "\"\($0)\"" }.joined(separator: ",") + "]"
    }

    private static func filter(_ random: inout SeededGenerator) -> Filter {
        switch random.below(3) {
        case 0: numberFilter(&random)
        case 1: textFilter(&random)
        default: listFilter(&random)
        }
    }

    private static func make(
        _ comparator: String, _ field: String, _ value: String, _ holds: @escaping (Item) -> Bool?
    ) -> Filter {
        Filter(
            json: #"{"comparator":"\#(comparator)","fieldName":"\#(field)","#
                + #""fieldValue":{"value":\#(value)}}"#,
            holds: holds)
    }

    private static func numberFilter(_ random: inout SeededGenerator) -> Filter {
        let value = random.below(14) - 7
        let tests: [(String, (Int, Int) -> Bool)] = [
            ("EQUALS", { $0 == $1 }), ("NOT_EQUALS", { $0 != $1 }), ("LESS_THAN", { $0 < $1 }),
            ("LESS_THAN_OR_EQUALS", { $0 <= $1 }), ("GREATER_THAN", { $0 > $1 }),
            ("GREATER_THAN_OR_EQUALS", { $0 >= $1 }),
        ]
        if random.oneIn(4) {
            let values = [value, random.below(14) - 7]
            let isNegated = random.oneIn(2)
            return make(isNegated ? "NOT_IN" : "IN", "n", "\(values)") { item in
                item.n.map { values.contains($0) != isNegated }
            }
        }
        let (comparator, test) = tests[random.below(tests.count)]
        return make(comparator, "n", "\(value)") { item in item.n.map { test($0, value) } }
    }

    private static func textFilter(_ random: inout SeededGenerator) -> Filter {
        let value = texts[random.below(texts.count)]
        let folded = value.lowercased()
        let tests: [(String, (String) -> Bool)] = [
            ("EQUALS", { $0.lowercased() == folded }),
            ("NOT_EQUALS", { $0.lowercased() != folded }),
            ("LESS_THAN", { $0.lowercased() < folded }),
            ("GREATER_THAN_OR_EQUALS", { $0.lowercased() >= folded }),
            ("BEGINS_WITH", { $0.hasPrefix(value) }),
            ("NOT_BEGINS_WITH", { !$0.hasPrefix(value) }),
        ]
        if random.oneIn(4) {
            let values = [value, texts[random.below(texts.count)]]
            let wanted = values.map { $0.lowercased() }
            let isNegated = random.oneIn(2)
            return make(isNegated ? "NOT_IN" : "IN", "text", quoted(values)) { item in
                item.text.map { wanted.contains($0.lowercased()) != isNegated }
            }
        }
        let (comparator, test) = tests[random.below(tests.count)]
        return make(comparator, "text", "\"\(value)\"") { item in item.text.map(test) }
    }

    private static func listFilter(_ random: inout SeededGenerator) -> Filter {
        let values = (0...random.below(2)).map { _ in texts[random.below(texts.count)] }
        let wanted = Set(values.map { $0.lowercased() })
        func test(_ holds: @escaping (Set<String>) -> Bool) -> (Item) -> Bool? {
            { item in item.tags.map { holds(Set($0.map { $0.lowercased() })) } }
        }
        return switch random.below(6) {
        case 0:
            make("LIST_CONTAINS", "tags", quoted([values[0]]).dropEnds) { item in
                item.tags.map { $0.contains { $0.lowercased() == values[0].lowercased() } }
            }
        case 1:
            make("LIST_CONTAINS_ANY", "tags", quoted(values), test { !$0.isDisjoint(with: wanted) })
        case 2:
            make(
                "NOT_LIST_CONTAINS_ANY", "tags", quoted(values),
                test { $0.isDisjoint(with: wanted) })
        case 3: make("LIST_CONTAINS_ALL", "tags", quoted(values), test { wanted.isSubset(of: $0) })
        case 4:
            make("NOT_LIST_CONTAINS_ALL", "tags", quoted(values), test { !wanted.isSubset(of: $0) })
        default:
            make("LIST_MEMBER_BEGINS_WITH", "tags", "\"\(values[0])\"") { item in
                item.tags.map { $0.contains { $0.hasPrefix(values[0]) } }
            }
        }
    }

    @Test(arguments: [false, true])
    func `filters find what holds of all of them`(indexed: Bool) async throws {
        var random = SeededGenerator(seed: Self.seed &+ (indexed ? 1 : 0))
        var (items, gateway) = ([Item](), nil as TestGateway?)
        for number in 0..<Self.count / 2 {
            if number % 500 == 0 {
                items = Self.items(&random)
                gateway = try await Self.store(items, indexed: indexed, &random)
            }
            let filters = (0...random.below(3)).map { _ in Self.filter(&random) }
            let expected = items.filter { item in filters.allSatisfy { $0.holds(item) == true } }
            let isSorted = random.oneIn(4)
            let query =
                #""recordType":"Note","filterBy":[\#(filters.map(\.json).joined(separator: ","))]"#
                + (isSorted ? #","sortBy":[{"fieldName":"n"}]"# : "")
            let limit = 5 + random.below(100)
            var found: [String] = []
            var marker = ""
            repeat {
                let answer = try await gateway?.call(
                    "records/query",
                    #"{"zoneID":{"zoneName":"notes"},"query":{\#(query)},"#
                        + #""resultsLimit":\#(limit)\#(marker)}"#)
                let records = try #require(answer?.body["records"], "\(query)")
                for place in 0..<records.count {
                    found.append(records[place]["recordName"].text ?? "")
                }
                marker =
                    answer?.body["continuationMarker"].text.map {
                        #","continuationMarker":"\#($0)""#
                    } ?? ""
            } while !marker.isEmpty
            #expect(found.sorted() == expected.map(\.name).sorted(), "\(query)")
            guard isSorted else { continue }
            let numbers = found.map { name in items.first { $0.name == name }?.n ?? Int.min }
            #expect(numbers == numbers.sorted(), "\(query)")
        }
    }
}

extension String {
    /// Without the brackets of a list of one.
    fileprivate var dropEnds: String { String(dropFirst().dropLast()) }
}
