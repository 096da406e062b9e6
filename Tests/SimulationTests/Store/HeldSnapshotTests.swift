import Stratus
import StratusFiles
import StratusJournal
import Support
import Testing

/// What a snapshot needs is kept while it is held, and no longer.
struct HeldSnapshotTests {
    private let store = SmallStore(seed: Campaign.seed)
    private static let zone = RecordZone.ID(zoneName: "notes")

    /// Changes every record; so long are they that a checkpoint is due.
    private func change(_ container: Container, _ round: Int) async throws {
        let text = RecordValue.string(String(repeating: "x", count: 4_000))
        for part in 0..<10 {
            let records = (0..<30).map { place in
                var record = Record(
                    recordType: "Note",
                    recordID: Record.ID(
                        recordName: "r\(part * 30 + place)", zoneID: Self.zone))
                record["round"] = .int64(Int64(round))
                record["text"] = text
                return record
            }
            let result = try await container.privateDatabase(for: "alice").modifyRecords(
                saving: records, savePolicy: .allKeys)
            if let failure = result.partialFailure { throw failure }
        }
    }

    private var indexLength: Int {
        store.indexFiles.reduce(0) { $0 + store.disk.contents(store.path($1)).count }
    }

    @Test func `old versions stay for snapshots through merges and go after them`() async throws {
        let container = try store.open()
        try await container.privateDatabase(for: "alice").save(RecordZone(zoneID: Self.zone))
        var held: [(snapshot: Snapshot, hash: ContentHash)] = []
        for round in 0..<12 {
            try await change(container, round)
            let snapshot = container.snapshot()
            let database = snapshot.privateDatabase(for: "alice")
            held.append((snapshot, try database.contentHash(includingSystem: true)))
        }
        let lengthHeld = indexLength
        for (round, (snapshot, hash)) in held.enumerated() {
            let database = snapshot.privateDatabase(for: "alice")
            #expect(try database.contentHash(includingSystem: true) == hash)
            let pages = try database.pages(of: Self.zone)
            #expect(pages.count == 300)
            #expect(pages.allSatisfy { $0["round"] == .int64(Int64(round)) })
            #expect(try database.feed(of: Self.zone).count == 300)
        }
        #expect(Set(held.map(\.hash)).count == held.count)
        held = []
        for round in 12..<20 { try await change(container, round) }
        #expect(indexLength * 2 < lengthHeld, "\(indexLength) of \(lengthHeld)")
        try await container.close()
    }

    /// A record for each number, and what it says at each point.
    private static func update(
        _ database: Database, _ values: inout [Int64], _ generator: inout SeededGenerator
    ) async throws {
        let records = (0..<200).map { part in
            // Two parts never name the same record.
            let place = part + 200 * generator.below(values.count / 200)
            values[place] += 1
            var record = Record(
                recordType: "Note", recordID: Record.ID(recordName: "r\(place)", zoneID: zone))
            record["value"] = .int64(values[place])
            return record
        }
        let result = try await database.modifyRecords(saving: records, savePolicy: .allKeys)
        if let failure = result.partialFailure { throw failure }
    }

    @Test func `snapshots held while many updates, checkpoints and merges go by answer as before`()
        async throws
    {
        let storage = MemoryStorage()
        let container = try Container(
            writing: storage, creating: true, durability: .none, options: JournalOptions(),
            steppedByCaller: false, memoryLimit: 1 << 20)
        let database = container.privateDatabase(for: "alice")
        try await database.save(RecordZone(zoneID: Self.zone))
        var generator = SeededGenerator(seed: Campaign.seed)
        var values = [Int64](repeating: 0, count: 1_000)
        var held: [(snapshot: Snapshot, values: [Int64])] = []
        let rounds = Campaign.updates / 200
        for round in 0..<rounds {
            try await Self.update(database, &values, &generator)
            if round % (rounds / 20) == 0 { held.append((container.snapshot(), values)) }
        }
        for (snapshot, values) in held {
            let past = snapshot.privateDatabase(for: "alice")
            let records = try past.pages(of: Self.zone)
            #expect(records.count == values.count { $0 > 0 })
            let isRight = records.allSatisfy { record in
                let place = Int(record.recordID.recordName.dropFirst()) ?? 0
                return record["value"] == .int64(values[place])
            }
            #expect(isRight)
            #expect(try past.feed(of: Self.zone).count == records.count)
        }
        let statistics = try await container.indexStatistics()
        let limit = statistics.cacheLimit + statistics.memtableBytes
        #expect(limit <= 1 << 20 && statistics.cacheBytes <= statistics.cacheLimit)
        // On a slow machine merges come behind the updates.
        var names = try storage.list().filter { $0.hasPrefix("index-") }
        for _ in 0..<3_000 where names.count >= 20 {
            try await Task.sleep(for: .milliseconds(20))
            try await database.save(Record(recordType: "Note"))
            names = try storage.list().filter { $0.hasPrefix("index-") }
        }
        let tables = names.compactMap { UInt64($0.dropFirst(6), radix: 16) }.max() ?? 0
        #expect(tables > 4 && names.count < 20)
        CampaignReport.add(
            "\(held.count) snapshots held during \(rounds * 200) updates: \(tables) tables, of"
                + " which \(names.count) are left; memory within its limit.\n")
        held = []
        try await container.close()
    }
}
