import FoundationEssentials
import Stratus
import Support
import Testing

@Suite struct QueryModelTests {
    /// How many stores of each way to index are asked, 150 queries each, and how many are read in pages
    /// under writes, 20 queries each: STRATUS_QUERY_SEEDS, STRATUS_PAGE_SEEDS.
    private static let seeds = number("STRATUS_QUERY_SEEDS") ?? 8
    private static let pageSeeds = number("STRATUS_PAGE_SEEDS") ?? 4
    private static let firstSeed = number("STRATUS_SEED") ?? 900
    /// So many stores of each way are there at once: each has threads of its own.
    private static let groups = 4

    private static func number(_ name: String) -> Int? {
        ProcessInfo.processInfo.environment[name].flatMap { Int($0) }
    }

    /// When indexes are declared.
    enum Indexes: CaseIterable {
        case never
        case early
        case late
        /// Those on several fields alone.
        case combined
    }

    private static func addIndexes(_ container: Container) async throws {
        for field in QueryGenerator.fields {
            try await container.addIndex(on: field, of: "Note", .queryable)
            if !["tags", "friend", "place"].contains(field) {
                try await container.addIndex(on: field, of: "Note", .sortable)
            }
        }
        for field in ["text", "tags"] {
            try await container.addIndex(on: field, of: "Note", .searchable)
        }
    }

    /// Some 150 records in three zones, of which some were changed or deleted again.
    private static func makeStore(
        _ generator: inout QueryGenerator, _ indexes: Indexes = .never,
        binary: Set<String> = []
    ) async throws -> (database: Database, zones: [RecordZone.ID]) {
        let container = try Container.inMemory()
        let database = container.privateDatabase(for: "alice")
        let zones = [RecordZone.ID.default, notes, RecordZone.ID(zoneName: "third")]
        for zone in zones.dropFirst() { try await database.save(RecordZone(zoneID: zone)) }
        for zone in zones {
            for round in 0..<2 {
                for name in 0..<50 where round == 0 || generator.random.oneIn(3) {
                    let id = Record.ID(recordName: "r\(name)", zoneID: zone)
                    let known = try? await database.record(for: id)
                    if round > 0, generator.random.oneIn(3) {
                        try await database.deleteRecord(withID: id)
                        continue
                    }
                    let type = generator.random.oneIn(6) ? "Other" : "Note"
                    var record = known ?? Record(recordType: type, recordID: id)
                    generator.fill(&record)
                    try await database.save(record)
                }
                if indexes == .early, zone == zones[1], round == 0 {
                    try await addIndexes(container)
                }
            }
        }
        // Before some indexes, and after others.
        for field in binary.sorted() {
            try await container.setCollation(.binary, of: field, ofRecordType: "Note")
        }
        if indexes == .late { try await addIndexes(container) }
        if indexes == .combined {
            for first in QueryGenerator.columns {
                for second in QueryGenerator.columns where second != first {
                    try await container.addIndex(on: [first, second], of: "Note")
                }
            }
            try await container.addIndex(on: ["count", "text", "size"], of: "Note")
        }
        return (database, zones)
    }

    @Test(arguments: 0..<groups, Indexes.allCases)
    func `queries find what a filter in memory finds`(
        group: Int, indexes: Indexes
    ) async throws {
        for seed in stride(from: group, to: Self.seeds, by: Self.groups) {
            try await ask(seed, indexes)
        }
    }

    private func ask(_ seed: Int, _ indexes: Indexes) async throws {
        var generator = QueryGenerator(random: SeededGenerator(seed: UInt64(Self.firstSeed + seed)))
        let binary: Set<String> = seed % 2 == 0 ? [] : ["text", "tags"]
        let (database, zones) = try await Self.makeStore(&generator, indexes, binary: binary)
        var all: [Record] = []
        for zone in zones { all += try await database.allRecords(in: zone, type: "Note") }
        for number in 0..<150 {
            let zone = generator.random.oneIn(4) ? nil : zones[generator.random.below(3)]
            let condition =
                generator.random.oneIn(3)
                ? generator.columnCondition(in: zone ?? notes)
                : generator.condition(depth: 3, in: zone ?? notes)
            let order = generator.sortDescriptors()
            var arguments: [RecordValue?] = []
            let text = condition.text(&arguments)
            let predicate =
                try number % 2 == 0
                ? condition.typed : Query.Predicate(text, arguments: arguments)
            let query = Query(recordType: "Note", predicate: predicate, sortDescriptors: order)
            let expected = all.filter { record in
                (zone == nil || record.recordID.zoneID == zone)
                    && condition.holds(record, binary: binary) == true
            }
            let found = try await database.allRecords(
                matching: query, in: zone,
                resultsLimit: [1, 3, 20, 1000][generator.random.below(4)])
            #expect(
                Set(found.map(\.recordID)) == Set(expected.map(\.recordID)), "seed \(seed): \(text)"
            )
            #expect(found.count == expected.count, "seed \(seed): \(text)")
            let isInOrder = zip(found, found.dropFirst()).allSatisfy {
                order.order($0, $1, binary: binary) <= 0
            }
            #expect(isInOrder, "seed \(seed): \(order)")
            let totals = try await database.totals(of: "count", matching: query, inZoneWith: zone)
            #expect(totals.count == expected.count)
            #expect(totals.valueCount == expected.count { $0["count"] != nil })
        }
    }

    @Test(arguments: 0..<groups, Indexes.allCases)
    func `pages under writes give each record that stays once`(
        group: Int, indexes: Indexes
    ) async throws {
        for seed in stride(from: group, to: Self.pageSeeds, by: Self.groups) {
            try await page(seed, indexes)
        }
    }

    private func page(_ seed: Int, _ indexes: Indexes) async throws {
        var generator = QueryGenerator(
            random: SeededGenerator(seed: UInt64(Self.firstSeed + seed) + 50))
        let (database, zones) = try await Self.makeStore(&generator, indexes)
        for _ in 0..<20 {
            let order = generator.sortDescriptors()
            let query = Query(
                recordType: "Note",
                predicate: try Query.Predicate(
                    generator.random.oneIn(2) ? "count != nil" : "count > -1"),
                sortDescriptors: order)
            let before = try await database.allRecords(matching: query, in: nil)
            #expect(before.count > 20)
            var touched: Set<Record.ID> = []
            var found: [Record] = []
            var cursor: QueryPage.Cursor?
            repeat {
                let page = try await database.records(
                    matching: query, resultsLimit: 5,
                    from: cursor.map { QueryPage.Cursor($0.description) ?? $0 })
                found += page.records
                cursor = page.cursor
                var record = note(
                    "r\(generator.random.below(60))", in: zones[generator.random.below(3)])
                touched.insert(record.recordID)
                if generator.random.oneIn(3) {
                    try await database.deleteRecord(withID: record.recordID)
                } else {
                    generator.fill(&record)
                    _ = try? await database.save(record, savePolicy: .allKeys)
                }
            } while cursor != nil
            let names = found.map(\.recordID).filter { !touched.contains($0) }
            #expect(Set(names).count == names.count, "seed \(seed): \(order)")
            let stayed = before.map(\.recordID).filter { !touched.contains($0) }
            #expect(Set(names) == Set(stayed), "seed \(seed): \(order)")
        }
    }
}
