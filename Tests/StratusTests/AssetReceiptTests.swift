import FoundationEssentials
import Stratus
import StratusFiles
import StratusJournal
import Support
import Testing

/// Assets that are in the store before a record has them.
@Suite struct AssetReceiptTests {
    @inline(never)
    private static func begin() async throws -> (Container, Database) {
        var options = JournalOptions()
        options.segmentLength = 1 << 16
        let container = try Container(
            writing: MemoryStorage(), creating: true, durability: .full, options: options,
            steppedByCaller: true)
        let database = container.privateDatabase(for: "alice")
        try await database.save(RecordZone(zoneID: notes))
        return (container, database)
    }

    private static func given(_ database: Database, _ seed: UInt64) async throws -> String {
        try await database.store(Asset(data: noise(5000, seed: seed))).receipt
    }

    /// Saves records with what receipts stand for, by the names of the records.
    @inline(never)
    private static func save(
        _ receipts: [(name: String, receipt: String)], _ database: Database,
        in zone: RecordZone.ID = notes, operationID: String? = nil
    ) async throws -> [Result<Record?, StoreError>] {
        let items = receipts.map { name, receipt in
            RecordItem.save(
                note(name, ["a": .asset(Asset(.receipt(receipt)))], in: zone), SaveRule(.allKeys))
        }
        return try await database.modifyRecords(
            items, atomically: false, operationID: operationID)
    }

    @Test func `a receipt keeps its asset and no more, until a record was saved with it`()
        async throws
    {
        let (container, database) = try await Self.begin()
        let receipt = try await Self.given(database, 1)
        for seed in UInt64(2)..<20 {
            try await database.saveAll(
                [note("b", ["a": .asset(Asset(data: noise(60_000, seed: seed)))])],
                savePolicy: .allKeys)
        }
        // What was written since goes, beside it and behind it.
        let report = try await container.collectAssets()
        #expect(report.deletedSegments.count > 2 && report.keptSegments.isEmpty)
        let saved = try await Self.save([("a", receipt)], database)[0].get()
        #expect(try await saved?.bytes("a") == noise(5000, seed: 1))
        // Now it is the record's.
        try await database.deleteRecord(withID: noteID("a"))
        let after = try await container.collectAssets()
        #expect(after.reclaimedChunks == 1)
        let again = try await Self.save([("c", receipt)], database)[0]
        #expect(again.code == .assetNotAvailable)
    }

    @Test func `a receipt serves one record, and the call that used it can be repeated`()
        async throws
    {
        let (container, database) = try await Self.begin()
        let receipt = try await Self.given(database, 1)
        var tags: [String?] = []
        for _ in 0..<2 {
            let saved = try await Self.save([("a", receipt)], database, operationID: "one")
            tags.append(try saved[0].get()?.recordChangeTag)
        }
        #expect(tags[0] != nil && tags[0] == tags[1])
        let again = try await Self.save([("a", receipt)], database)[0].get()
        #expect(try await again?.bytes("a") == noise(5000, seed: 1))
        // Another record fails alone, also where its name is the same in another zone.
        let good = try await Self.given(database, 2)
        let results = try await Self.save([("b", receipt), ("c", good)], database)
        #expect(results[0].code == .assetNotAvailable && results[1].code == nil)
        let other = try await Self.save([("a", receipt)], database, in: .default)
        #expect(other[0].code == .assetNotAvailable)
        #expect(await failure { try await database.record(for: noteID("b")) }.code == .unknownItem)
        // A record of the same ID in the database of another user does not have it either.
        let bob = container.privateDatabase(for: "bob")
        try await bob.save(RecordZone(zoneID: notes))
        let stolen = try await Self.save([("a", receipt)], bob)
        #expect(stolen[0].code == .assetNotAvailable)
    }

    @Test func `of two records in one call that name a receipt the first has it`() async throws {
        let (_, database) = try await Self.begin()
        let receipt = try await Self.given(database, 1)
        let results = try await Self.save([("a", receipt), ("b", receipt)], database)
        #expect(results[0].code == nil && results[1].code == .assetNotAvailable)
        // In one record it may stand in several places.
        let other = try await Self.given(database, 2)
        let twice = RecordValue.list(
            [.asset(Asset(.receipt(other))), .asset(Asset(.receipt(other)))])
        let saved = try await database.modifyRecords(
            [.save(note("c", ["list": twice]), SaveRule(.allKeys))], atomically: false)
        #expect(saved[0].code == nil)
        let again = try await Self.save([("d", other)], database)
        #expect(again[0].code == .assetNotAvailable)
    }

    @Test func `a save that failed leaves its receipt to another record`() async throws {
        let (_, database) = try await Self.begin()
        try await database.save(note("taken"))
        let receipt = try await Self.given(database, 1)
        let insert = RecordItem.save(
            note("taken", ["a": .asset(Asset(.receipt(receipt)))]),
            SaveRule(.ifServerRecordUnchanged))
        let failed = try await database.modifyRecords([insert], atomically: false)
        #expect(failed[0].code == .serverRecordChanged)
        let missing = RecordZone.ID(zoneName: "missing")
        let nowhere = try await Self.save([("a", receipt)], database, in: missing)
        #expect(nowhere[0].code == .zoneNotFound)
        // A call that fails as a whole.
        let second = try await Self.given(database, 2)
        let used = try await Self.save([("x", second)], database, operationID: "one")
        #expect(used[0].code == nil)
        let refused = await failure {
            try await Self.save([("a", receipt)], database, operationID: "one")
        }
        #expect(refused.code == .invalidArguments)
        let saved = try await Self.save([("b", receipt)], database)
        #expect(saved[0].code == nil)
    }

    @Test func `of many records that are saved at once with one receipt one has it`() async throws {
        let container = try Container.inMemory()
        let database = container.privateDatabase(for: "alice")
        try await database.save(RecordZone(zoneID: notes))
        let receipt = try await Self.given(database, 1)
        let saved = try await withThrowingTaskGroup(of: Bool.self) { group in
            for number in 0..<20 {
                group.addTask {
                    try await Self.save([("r\(number)", receipt)], database)[0].code == nil
                }
            }
            return try await group.reduce(0) { $0 + ($1 ? 1 : 0) }
        }
        #expect(saved == 1)
        #expect(try await database.recordCount(inZoneWith: notes) == 1)
    }

    @Test func `a receipt that stands for nothing fails its record alone`() async throws {
        let (container, database) = try await Self.begin()
        let receipt = try await Self.given(database, 1)
        let bob = container.privateDatabase(for: "bob")
        let open = container.publicDatabase(as: "alice")
        for (database, name) in [(bob, receipt), (open, receipt), (database, "none")] {
            let good = try await Self.given(database, 2)
            let results = try await Self.save(
                [("bad", name), ("good", good)], database, in: .default)
            #expect(results[0].code == .assetNotAvailable && results[1].code == nil)
        }
        // A record that was not saved uses up nothing.
        let unnamed = try await Self.save([("_not a name", receipt)], database)
        let lost = try await container.collectAssets().reclaimedChunks
        #expect(unnamed[0].code == .invalidArguments && lost == 0)
        let saved = try await Self.save([("a", receipt)], database)
        #expect(saved[0].code == nil)
    }

    @Test func `a thousand receipts of others take nothing from a caller, and own ones do`()
        async throws
    {
        let (container, database) = try await Self.begin()
        let first = try await Self.given(database, 1)
        let second = try await Self.given(database, 2)
        let bob = container.privateDatabase(for: "bob")
        for seed in 0..<1001 { _ = try await bob.store(Asset(data: noise(8, seed: UInt64(seed)))) }
        #expect(try await Self.save([("a", first)], database)[0].code == nil)
        for seed in 0..<1000 {
            _ = try await database.store(Asset(data: noise(8, seed: UInt64(seed))))
        }
        #expect(try await Self.save([("b", second)], database)[0].code == .assetNotAvailable)
        // What the receipt stood for goes with it.
        let lost = try await container.collectAssets().reclaimedChunks
        #expect(lost == 2)
    }
}
