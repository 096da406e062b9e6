import FoundationEssentials
import Stratus
import StratusFiles
import StratusJournal
import Testing

/// Long-lived operations that save records with assets: `Formats/README.md`, "Long-lived operations".
@Suite struct LongLivedAssetTests {
    private static let content = Data(
        (0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* $0 >> 7) })

    private static func saving(
        _ records: [Record], _ policy: SavePolicy = .ifServerRecordUnchanged
    ) -> LongLivedRequest {
        .modify(LongLivedRequest.Modification(saving: records, savePolicy: policy))
    }

    private static func bytes(_ record: Record, _ field: String = "file") async throws -> Data? {
        try await record[field]?.assetValue?.data(limit: 1 << 20)
    }

    private static func saved(_ outcome: LongLivedOutcome, _ name: String) throws -> Record? {
        guard case .modify(let result) = outcome else { return nil }
        return try result.saveResults[noteID(name)]?.get()
    }

    @Test func `its assets are stored with it, and stay until it has run`() async throws {
        let (container, database) = try await makeDatabase()
        var record = note("a", ["file": .asset(Asset(data: Self.content))])
        let parts = [Data([1, 2, 3]), Data(), Self.content.prefix(90_000)]
        record["list"] = .list(parts.map { .asset(Asset(data: $0)) })
        record["streamed"] = .asset(
            Asset(
                stream: AsyncStream { continuation in
                    for part in parts { continuation.yield(part) }
                    continuation.finish()
                }))
        let operation = try await database.submit(Self.saving([record]), operationID: "one")
        #expect(try await database.names() == [])
        #expect(try await container.collectAssets().reclaimedChunks == 0)
        let found = try #require(try await container.longLivedOperation("one", for: "alice"))
        let saved = try #require(try Self.saved(try await found.outcome(), "a"))
        #expect(try await Self.bytes(saved) == Self.content)
        #expect(try await Self.bytes(saved, "streamed") == parts.reduce(Data(), +))
        var list: [Data] = []
        for value in saved["list"]?.listValue ?? [] {
            list.append(try #require(try await value.assetValue?.data(limit: 1 << 20)))
        }
        #expect(list == parts.map { Data($0) })
        #expect(await failure { try await operation.outcome() }.code == .unknownItem)
        // From here on the record has them.
        #expect(try await container.collectAssets().reclaimedChunks == 0)
        try await database.deleteRecord(withID: noteID("a"))
        #expect(try await container.collectAssets().reclaimedChunks > 0)
    }

    @Test func `after a restart it goes on with its assets`() async throws {
        var store = DiskStore()
        store.steppedByCaller = true
        let container = try store.open()
        let database = container.privateDatabase(for: "alice")
        try await database.save(RecordZone(zoneID: notes))
        let record = note("a", ["file": .asset(Asset(data: Self.content))])
        try await database.submit(Self.saving([record]), operationID: "one")
        // As the same request again, whose bytes are read once more.
        try await database.submit(Self.saving([record]), operationID: "one")
        let other = note("a", ["file": .asset(Asset(data: Self.content.dropFirst()))])
        #expect(
            await failure {
                try await database.submit(Self.saving([other]), operationID: "one")
            }.code == .invalidArguments)
        try await container.close()
        let reopened = try store.open()
        _ = try await reopened.collectAssets()
        try await reopened.continueLongLivedOperations()
        let saved = try await reopened.privateDatabase(for: "alice").record(for: noteID("a"))
        #expect(try await Self.bytes(saved) == Self.content)
        #expect(try await reopened.longLivedOperation("one", for: "alice")?.state == .finished)
        try await reopened.close()
    }

    @Test func `cancelled it keeps nothing`() async throws {
        let (container, database) = try await makeDatabase()
        let record = note("a", ["file": .asset(Asset(data: Self.content))])
        let operation = try await database.submit(Self.saving([record]), operationID: "one")
        let statistics = try await container.assetStatistics()
        #expect(statistics.chunkCount > 0)
        try await operation.cancel()
        #expect(try await container.collectAssets().reclaimedChunks == statistics.chunkCount)
    }

    @Test(arguments: [SavePolicy.changedKeys, .allKeys])
    func `what was fetched is sent where the record is made anew`(policy: SavePolicy) async throws {
        let (container, database) = try await makeDatabase()
        var record = try await database.save(
            note("a", ["file": .asset(Asset(data: Self.content))]))
        record["title"] = "new"
        let operation = try await database.submit(
            Self.saving([record], policy), operationID: "one")
        try await database.deleteRecord(withID: noteID("a"))
        #expect(try await container.collectAssets().reclaimedChunks == 0)
        let saved = try #require(try Self.saved(try await operation.outcome(), "a"))
        #expect(saved["title"] == "new")
        #expect(try await Self.bytes(saved) == Self.content)
    }

    @Test func `what was fetched and is gone by now does not keep others from being collected`()
        async throws
    {
        // Of small segments, so that a list names the chunks of a long asset.
        var store = DiskStore()
        store.steppedByCaller = true
        store.options.segmentLength = 1 << 14
        let container = try store.open()
        let database = container.privateDatabase(for: "alice")
        try await database.save(RecordZone(zoneID: notes))
        let long = noise(6 << 20, seed: 1)
        var record = try await database.save(note("a", ["file": .asset(Asset(data: long))]))
        try await database.deleteRecord(withID: noteID("a"))
        #expect(try await container.collectAssets().reclaimedChunks > 0)
        record["title"] = "new"
        let operation = try await database.submit(
            Self.saving([record], .allKeys), operationID: "one")
        try await database.save(note("b", ["file": .asset(Asset(data: Self.content))]))
        try await database.deleteRecord(withID: noteID("b"))
        #expect(try await container.collectAssets().reclaimedChunks > 0)
        #expect(
            await failure { try Self.saved(try await operation.outcome(), "a") }.code
                == .assetNotAvailable)
        try await container.close()
    }

    @Test func `an asset that cannot be read is said at once, and nothing is kept`() async throws {
        let (container, database) = try await makeDatabase()
        let record = note("a", ["file": .asset(Asset(file: "/no/such/file"))])
        let error = await failure {
            try await database.submit(Self.saving([record]), operationID: "one")
        }
        #expect(error.code == .assetFileNotFound && error.recordID == noteID("a"))
        #expect(try await container.longLivedOperations(for: "alice").isEmpty)
    }

    /// A receipt serves one record: that of the request, once this is kept, and any other until then.
    @Test func `a receipt is used up by a request that is kept, and by no other`() async throws {
        let (container, database) = try await makeDatabase()
        let content = Self.content
        let (_, receipt) = try await database.store(Asset(data: content))
        let record = note("a", ["file": .asset(Asset(.receipt(receipt)))])
        let mixed = note("mixed", ["list": .list([1, "two"])])
        let refused = await failure {
            try await database.submit(Self.saving([record, mixed]), operationID: "one")
        }
        #expect(refused.code == .invalidArguments)
        #expect(try await container.collectAssets().reclaimedChunks == 0)
        let operation = try await database.submit(Self.saving([record]), operationID: "two")
        #expect(try await container.collectAssets().reclaimedChunks == 0)
        let saved = try #require(try Self.saved(try await operation.outcome(), "a"))
        #expect(try await Self.bytes(saved) == content)
        let other = note("b", ["file": .asset(Asset(.receipt(receipt)))])
        #expect(
            await failure {
                try await database.submit(Self.saving([other]), operationID: "three")
            }.code == .assetNotAvailable)
    }

    @Test func `collection beside submissions takes nothing that a request names`() async throws {
        let (container, database) = try await makeDatabase()
        let contents = (0..<24).map { number in Self.content.map { $0 ^ UInt8(number) } }
        let collection = Task {
            var count = 0
            while !Task.isCancelled { count += try await container.collectAssets().reclaimedChunks }
            return count
        }
        for (number, bytes) in contents.enumerated() {
            let record = note("r\(number)", ["file": .asset(Asset(data: Data(bytes)))])
            try await database.submit(Self.saving([record]), operationID: "o\(number)")
        }
        collection.cancel()
        #expect(try await collection.value == 0)
        for (number, bytes) in contents.enumerated() {
            let operation = try #require(
                try await container.longLivedOperation("o\(number)", for: "alice"))
            let saved = try #require(try Self.saved(try await operation.outcome(), "r\(number)"))
            #expect(try await Self.bytes(saved) == Data(bytes))
        }
    }
}
