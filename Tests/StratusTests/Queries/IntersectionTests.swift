import Stratus
import Support
import Testing

/// Predicates of which indexes serve several parts.
@Suite struct IntersectionTests {
    /// What is known of a record.
    private struct Known {
        var number: Int
        var side: Int
        var state: String
        var tags: [String]

        func record(_ name: String) -> Record {
            var record = note(name)
            record["number"] = .int64(Int64(number))
            record["side"] = .int64(Int64(side))
            record["state"] = .string(state)
            record["tags"] = .list(tags.map { .string($0) })
            record["title"] = .string("a title of " + tags.joined(separator: " and "))
            return record
        }
    }

    private static func known(_ number: Int, _ random: inout SeededGenerator) -> Known {
        var tags: Set<String> = []
        for _ in 0..<3 { tags.insert("tag\(random.below(12))") }
        return Known(
            number: number, side: random.below(2), state: "State\(random.below(4))",
            tags: tags.sorted())
    }

    private static func addIndexes(_ container: Container) async throws {
        for field in ["side", "state", "tags"] {
            try await container.addIndex(on: field, of: "Note", .queryable)
        }
        try await container.addIndex(on: "number", of: "Note", .sortable)
        try await container.addIndex(on: "title", of: "Note", .searchable)
    }

    /// A part of a predicate, and whether it holds.
    private static func part(
        _ random: inout SeededGenerator
    ) -> (text: String, holds: (Known) -> Bool) {
        let (side, state, tag) = (random.below(2), random.below(4), "tag\(random.below(12))")
        return switch random.below(5) {
        case 0: ("side = \(side)", { $0.side == side })
        case 1: ("state = 'STATE\(state)'", { $0.state == "State\(state)" })
        case 2: ("tags CONTAINS '\(tag)'", { $0.tags.contains(tag) })
        case 3: ("title TOKENMATCHES '\(tag)'", { $0.tags.contains(tag) })
        default: ("number >= \(side * 400)", { $0.number >= side * 400 })
        }
    }

    @Test(arguments: 0..<4)
    func `what several indexes have in common is what a filter finds`(seed: Int) async throws {
        var random = SeededGenerator(seed: UInt64(seed) + 970)
        let (container, database) = try await makeDatabase()
        if seed % 2 == 1 {
            try await database.save(Self.known(0, &random).record("r0"))
            try await Self.addIndexes(container)
        }
        var all: [String: Known] = [:]
        for number in 0..<1000 { all["r\(number)"] = Self.known(number, &random) }
        try await database.saveAll(all.map { $1.record($0) }, savePolicy: .allKeys)
        if seed % 2 == 0 { try await Self.addIndexes(container) }
        for number in 0..<200 where random.oneIn(2) {
            let name = "r\(number)"
            if random.oneIn(2) {
                all[name] = nil
                try await database.deleteRecord(withID: noteID(name))
            } else {
                let new = Self.known(number, &random)
                all[name] = new
                try await database.save(new.record(name), savePolicy: .allKeys)
            }
        }
        var intersections = 0
        for _ in 0..<150 {
            let parts = (0..<2 + random.below(3)).map { _ in Self.part(&random) }
            let text = parts.map(\.text).joined(separator: " AND ")
            let isSorted = random.oneIn(2)
            let ascending = random.oneIn(2)
            let query = try noteQuery(
                text, sort: isSorted ? (key: "number", ascending: ascending) : nil)
            intersections += try await database.explanation(of: query).intersected.count
            let found = try await database.allRecords(
                matching: query, in: nil, resultsLimit: [1, 30, 1000][random.below(3)])
            let expected = all.filter { known in parts.allSatisfy { $0.holds(known.value) } }
            let names = found.map(\.recordID.recordName)
            #expect(names.sorted() == expected.keys.sorted(), "seed \(seed): \(text)")
            if isSorted {
                let numbers = expected.values.map(\.number).sorted()
                let inOrder = ascending ? numbers : numbers.reversed()
                #expect(names == inOrder.map { "r\($0)" }, "seed \(seed): \(text)")
            }
            let totals = try await database.totals(of: "number", matching: query)
            #expect(totals.count == expected.count, "seed \(seed): \(text)")
        }
        #expect(intersections > 100)
    }

    @Test func `it is told which indexes are read, and none of values that are not equal`()
        async throws
    {
        let (container, database) = try await makeDatabase()
        var random = SeededGenerator(seed: 980)
        try await database.saveAll((0..<100).map { Self.known($0, &random).record("r\($0)") })
        try await Self.addIndexes(container)
        func fields(_ text: String) async throws -> [[String]] {
            let explanation = try await database.explanation(of: noteQuery(text))
            return [explanation.index?.fields ?? []] + explanation.intersected.map(\.fields)
        }
        #expect(try await Set(fields("side = 1 AND state = 'state1'")) == [["side"], ["state"]])
        #expect(
            try await fields("number < 3 AND side = 1 AND state = 'state1'").sorted {
                $0[0] < $1[0]
            } == [["number"], ["side"], ["state"]])
        #expect(try await fields("number = 3 AND number < 9") == [["number"]])
        #expect(try await fields("side = 1") == [["side"]])
        #expect(try await fields("side = 1 OR state = 'state1'") == [[]])
        #expect(try await fields("state = 'state1' AND side != 1") == [["state"]])
        let several = try await fields("side = 1 AND state IN {'state1', 'state2'}")
        #expect(several == [["side"]] || several == [["state"], ["side"]])
    }

    @Test
    func
        `of many rows those in the store's order are walked through, and none of what all agree in`()
        async throws
    {
        let (container, database) = try await makeDatabase()
        var random = SeededGenerator(seed: 981)
        try await database.saveAll((0..<1400).map { Self.known($0, &random).record("r\($0)") })
        try await container.addIndex(on: ["side", "number"], of: "Note")
        try await Self.addIndexes(container)
        func fields(_ text: String, sort: String? = nil) async throws -> [[String]] {
            let query = try noteQuery(text, sort: sort.map { ($0, true) })
            let explanation = try await database.explanation(of: query)
            return [explanation.index?.fields ?? []] + explanation.intersected.map(\.fields)
        }
        #expect(try await fields("side = 1") == [["side"]])
        #expect(try await fields("side = 1", sort: "number") == [["side", "number"]])
        #expect(try await fields("side = 1 AND number < 7") == [["side", "number"]])
    }
}
