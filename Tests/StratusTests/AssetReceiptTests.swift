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
        let operations = receipts.map { name, receipt in
            RecordOperation.save(
                note(name, ["a": .asset(Asset(.receipt(receipt)))], in: zone), SaveRule(.allKeys))
        }
        return try await database.modifyRecords(
            operations, atomically: false, operationID: operationID)
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
        #expect(after.lostChunks == 1)
        let again = try await Self.save([("c", receipt)], database)[0]
        #expect(again.code == .assetNotAvailable)
    }

    @Test func `a call with receipts can be repeated, and a receipt be named again`() async throws {
        let (container, database) = try await Self.begin()
        let receipt = try await Self.given(database, 1)
        var tags: [String?] = []
        for _ in 0..<2 {
            let saved = try await Self.save([("a", receipt)], database, operationID: "one")
            tags.append(try saved[0].get()?.recordChangeTag)
        }
        #expect(tags[0] != nil && tags[0] == tags[1])
        let other = try await Self.save([("b", receipt)], database)[0].get()
        #expect(try await other?.bytes("a") == noise(5000, seed: 1))
        // By the same caller.
        let bob = container.privateDatabase(for: "bob")
        let stolen = try await Self.save([("a", receipt)], bob, in: .default)
        #expect(stolen[0].code == .assetNotAvailable)
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
        let lost = try await container.collectAssets().lostChunks
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
        let lost = try await container.collectAssets().lostChunks
        #expect(lost == 2)
    }
}
