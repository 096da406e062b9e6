import Stratus
import StratusFiles
import StratusJournal
import Support
import Testing

/// What does not grow with what a store holds.
@Suite struct BoundedTests {
    private func container() throws -> Container {
        try Container(
            writing: MemoryStorage(), creating: true, durability: .none,
            options: JournalOptions(), steppedByCaller: true, memoryLimit: 1 << 20)
    }

    @Test func `deleting a zone writes as much whatever is in it`() async throws {
        let container = try container()
        let database = container.privateDatabase(for: "alice")
        var written: [UInt64] = []
        var entries: [Int] = []
        for (name, count) in [("a", 10), ("b", 3_000)] {
            let zone = RecordZone.ID(zoneName: name)
            try await database.save(RecordZone(zoneID: zone))
            try await database.saveAll((0..<count).map { note("r\($0)", in: zone) })
            try await container.checkpoint()
            let before = container.information.head
            try await database.deleteRecordZone(withID: zone)
            written.append(container.information.head - before)
            entries.append(try await container.indexStatistics().memtableEntries)
            #expect(await failure { try await database.allRecords(in: zone) }.code == .zoneNotFound)
        }
        #expect(written[0] == written[1])
        #expect(entries[0] == entries[1])
        #expect(entries[0] < 10)
    }

    @Test func `many zones, users and tokens stay within the memory limit`() async throws {
        let container = try container()
        var tokens: [(database: Database, zone: RecordZone.ID, token: ChangeToken)] = []
        for number in 0..<6_000 {
            let database = container.privateDatabase(for: "user\(number % 2_000)")
            let zone = RecordZone.ID(zoneName: "z\(number / 2_000)")
            try await database.save(RecordZone(zoneID: zone))
            try await database.save(note("r", in: zone))
            if number % 500 == 0 {
                let changes = try await database.recordZoneChanges(inZoneWith: zone)
                tokens.append((database, zone, changes.changeToken))
            }
            if number % 25 == 0 {
                let statistics = try await container.indexStatistics()
                #expect(statistics.cacheLimit + statistics.memtableBytes <= 1 << 20)
            }
        }
        let statistics = try await container.indexStatistics()
        #expect(statistics.tables > 0)
        #expect(statistics.cacheLimit + statistics.memtableBytes <= 1 << 20)
        #expect(statistics.cacheBytes <= statistics.cacheLimit)
        for (database, zone, token) in tokens {
            try await database.save(note("later", in: zone))
            let changes = try await database.recordZoneChanges(inZoneWith: zone, since: token)
            #expect(changes.modifiedNames == ["later"])
            #expect(try await database.allRecordZones().count == 4)
        }
        try await container.close()
    }
}
