import FoundationEssentials
import Stratus
import StratusFiles
import StratusJournal
import Support
import Synchronization
import Testing

/// What keeps the chunks of assets, and for how long.
@Suite struct AssetLifetimeTests {
    private static let other = RecordZone.ID(zoneName: "other")

    /// A store of small segments, with the zones `notes` and `other` of alice.
    private static func open(
        _ storage: any Storage, segmentLength: Int, durability: Container.Durability = .full,
        stepped: Bool
    ) throws -> Container {
        var options = JournalOptions()
        options.segmentLength = segmentLength
        return try Container(
            writing: storage, creating: true, durability: durability, options: options,
            steppedByCaller: stepped)
    }

    @inline(never)
    private static func begin(
        _ storage: any Storage, stepped: Bool
    ) async throws -> (Container, Database) {
        let container = try open(storage, segmentLength: 1 << 16, stepped: stepped)
        let database = container.privateDatabase(for: "alice")
        for zone in [notes, other] { try await database.save(RecordZone(zoneID: zone)) }
        return (container, database)
    }

    private static func asset(_ count: Int, _ seed: UInt64) -> RecordValue {
        .asset(Asset(data: noise(count, seed: seed)))
    }

    // MARK: Closing

    @Test func `nothing is written once a container is closed, whatever is being uploaded`()
        async throws
    {
        let storage = WatchedStorage()
        let (container, database) = try await Self.begin(storage, stepped: false)
        let (stream, continuation) = AsyncStream<Data>.makeStream()
        let isRead = OneTime()
        let saving = Task {
            try await database.save(
                note("a", ["a": .asset(Asset(stream: stream))]),
                progress: { _, _ in _ = isRead.take() })
        }
        continuation.yield(noise(1_000_000, seed: 1))
        while !isRead.isOver { await Task.yield() }
        try await container.close()
        let writings = Mutex(0)
        storage.hooks.withLock {
            $0.writing = { _, _, _ throws(StorageError) in writings.withLock { $0 += 1 } }
        }
        for seed in UInt64(2)..<6 { continuation.yield(noise(1_000_000, seed: seed)) }
        continuation.finish()
        let error = await failure { try await saving.value }
        #expect(error.code == .operationCancelled && error.cause == .closed)
        let later = await failure {
            try await database.save(note("b", ["a": Self.asset(1_000_000, 7)]))
        }
        #expect(later.code == .operationCancelled && later.cause == .closed)
        #expect(writings.withLock { $0 } == 0)
    }

    // MARK: Readers

    /// What a reading process holds.
    private final class Held {
        var snapshot: Snapshot?
        var chunks: AssetChunks.AsyncIterator?
    }

    /// An asset that a reading process sees, and that is deleted and collected then.
    @inline(never)
    private static func readAndDelete(
        _ store: DiskStore
    ) async throws -> (writer: Container, reader: Container, held: Held) {
        let first = try store.open()
        let database = first.privateDatabase(for: "alice")
        try await database.save(RecordZone(zoneID: notes))
        try await database.save(note("a", ["a": asset(200_000, 1)]))
        try await first.close()
        let writer = try store.open()
        let reader = try store.openReadOnly()
        let held = Held()
        held.snapshot = reader.snapshot()
        held.chunks = try await reader.privateDatabase(for: "alice").record(for: noteID("a"))
            .asset("a").chunks().makeAsyncIterator()
        try await writer.privateDatabase(for: "alice").deleteRecord(withID: noteID("a"))
        let report = try await writer.collectAssets()
        #expect(report.reclaimedChunks > 0 && report.deletedSegments.isEmpty)
        #expect(report.keptSegments.map(\.keeper) == [.reader])
        // What is new first, and then the newest generation.
        for _ in 0..<2 { try await reader.refresh() }
        let chunkCount = try await reader.assetStatistics().chunkCount
        #expect(chunkCount == 0)
        return (writer, reader, held)
    }

    @Test
    func `a snapshot in a reading process has what was collected since, until it is released`()
        async throws
    {
        var store = DiskStore()
        store.options.segmentLength = 1 << 16
        store.steppedByCaller = true
        let (writer, reader, held) = try await Self.readAndDelete(store)
        let old = try held.snapshot?.privateDatabase(for: "alice").record(for: noteID("a"))
        let bytes = try await old?.bytes("a")
        #expect(bytes == noise(200_000, seed: 1))
        held.snapshot = nil
        // So has who began to read before.
        var joined = Data()
        while let chunk = try await held.chunks?.next() { joined += chunk }
        #expect(joined == noise(200_000, seed: 1))
        let kept = try await writer.collectAssets()
        #expect(kept.keptSegments.map(\.keeper) == [.reader])
        held.chunks = nil
        try await Self.expectDeletion(writer)
        withExtendedLifetime(reader) {}
    }

    @inline(never)
    private static func expectDeletion(_ writer: Container) async throws {
        let report = try await writer.collectAssets()
        #expect(report.deletedSegments.count == 1 && report.keptSegments.isEmpty)
    }

    // MARK: Saves while something is collected

    @Test func `a save that relies on a stored asset waits for a collection, and is not refused`()
        async throws
    {
        let storage = WatchedStorage()
        let (container, database) = try await Self.begin(storage, stepped: true)
        let record = try await database.save(note("a", ["a": Self.asset(5000, 1)]))
        try await database.deleteRecord(withID: noteID("a"))
        let (isCommitting, mayFail, isReading) = (OneTime(), OneTime(), OneTime())
        // The collection waits before it writes what it takes back, and then cannot.
        storage.hooks.withLock {
            $0.writing = { verb, name, _ throws(StorageError) in
                guard verb == .reserve, !name.hasPrefix("chunks-"), isCommitting.take() else {
                    return
                }
                while !mayFail.isOver { Thread.pause(microseconds: 200) }
                throw StorageError(.noSpace, file: name)
            }
        }
        let collecting = Task { await failure { try await container.collectAssets() } }
        while !isCommitting.isOver { await Task.yield() }
        let list: [RecordValue] = [Self.asset(5000, 2), try #require(record["a"])]
        let saving = Task {
            try await database.save(
                note("b", ["l": .list(list)]), progress: { _, _ in _ = isReading.take() })
        }
        while !isReading.isOver { await Task.yield() }
        // So that the save comes to the other asset.
        try await Task.sleep(for: .milliseconds(20))
        _ = mayFail.take()
        #expect(await collecting.value.code == .quotaExceeded)
        let values = try await saving.value["l"]?.listValue ?? []
        let bytes = try await values.last?.assetValue?.data(limit: 5000)
        #expect(values.count == 2 && bytes == noise(5000, seed: 1))
    }

    // MARK: In the background

    @Test func `what is replaced on a thread of one's own goes by itself`() throws {
        let storage = MemoryStorage()
        let container = try Self.open(
            storage, segmentLength: 1 << 16, durability: .none, stepped: false)
        let database = container.privateDatabase(for: "alice")
        var count = 0
        while try storage.list().contains("chunks-0000000000000001") || count == 0, count < 2000 {
            try database.saveAndWait(
                note("a", ["a": Self.asset(60_000, UInt64(count))], in: .default),
                savePolicy: .allKeys)
            count += 1
            if count > 20 { Thread.pause(microseconds: 2000) }
        }
        #expect(count > 4 && count < 2000)
    }

    @Test func `a record that is moved frees nothing, and a zone that is deleted all it had`()
        async throws
    {
        let (container, database) = try await Self.begin(MemoryStorage(), stepped: false)
        try await database.save(note("large", ["a": Self.asset(300_000, 1)]))
        try await database.save(note("small", ["a": Self.asset(5000, 2)]))
        try await database.deleteRecord(withID: noteID("small"))
        try await database.moveRecords([noteID("large")], to: Self.other)
        // The next commit comes behind whatever the move has set off.
        try await database.save(note("b"))
        let dry = try await container.collectAssets(dryRun: true)
        #expect(dry.reclaimedChunks == 1)
        try await database.deleteRecordZone(withID: Self.other)
        var (rest, tries) = (1, 0)
        while rest > 0, tries < 10_000 {
            try await Task.sleep(for: .milliseconds(1))
            rest = try await container.assetStatistics().chunkCount
            tries += 1
        }
        #expect(rest == 0)
    }

    // MARK: Effort

    @Test func `a list of extents is read once, however many records name it`() async throws {
        let storage = WatchedStorage()
        let container = try Self.open(storage, segmentLength: 1 << 14, stepped: true)
        let database = container.privateDatabase(for: "alice")
        let first = try await database.save(
            note("r0", ["a": Self.asset(3_000_000, 1)], in: .default))
        // The files of segments are opened.
        try await container.collectAssets(dryRun: true)
        let reads = Mutex(0)
        storage.hooks.withLock {
            $0.touching = { name in
                if name.hasPrefix("chunks-") { reads.withLock { $0 += 1 } }
            }
        }
        var counts: [Int] = []
        for number in 1..<4 {
            try await container.collectAssets(dryRun: true)
            counts.append(
                reads.withLock { reads in
                    defer { reads = 0 }
                    return reads
                })
            for copy in 0..<8 {
                try await database.save(
                    note("r\(number)-\(copy)", ["a": try #require(first["a"])], in: .default))
            }
            reads.withLock { $0 = 0 }
        }
        #expect(counts[0] > 0 && Set(counts).count == 1)
    }
}
