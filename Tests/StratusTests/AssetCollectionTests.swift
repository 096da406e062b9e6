import FoundationEssentials
import Stratus
import StratusFiles
import StratusJournal
import Support
import Testing

@Suite struct AssetCollectionTests {
    private static func makeStore() -> DiskStore {
        var store = DiskStore()
        store.options.segmentLength = 1 << 16
        store.steppedByCaller = true
        return store
    }

    @inline(never)
    private static func begin(_ store: DiskStore) async throws -> (Container, Database) {
        let container = try store.open()
        let database = container.privateDatabase(for: "alice")
        for zone in [notes, RecordZone.ID(zoneName: "other")] {
            try await database.save(RecordZone(zoneID: zone))
        }
        return (container, database)
    }

    private static func asset(_ seed: UInt64) -> RecordValue {
        .asset(Asset(data: noise(5000, seed: seed)))
    }

    // Inlined, these crash the compiler as it optimises.

    /// Removes assets from records in four ways. Two of the assets stay referenced elsewhere.
    @inline(never)
    private static func change(_ container: Container, _ database: Database) async throws {
        let other = RecordZone.ID(zoneName: "other")
        try await database.saveAll([
            note("replaced", ["a": asset(1)]), note("removed", ["a": asset(2)]),
            note("deleted", ["a": asset(3)]),
            // The same bytes once more, where they stay.
            note("kept", ["a": asset(1), "b": asset(4)]),
        ])
        try await database.saveAll([note("gone", ["a": asset(4)], in: other)])
        let unused = try await container.collectAssets()
        #expect(unused.reclaimedChunks == 0)
        var removed = try await database.record(for: noteID("removed"))
        removed["a"] = nil
        try await database.saveAll(
            [note("replaced", ["a": asset(5)]), removed], savePolicy: .changedKeys)
        try await database.deleteRecord(withID: noteID("deleted"))
        try await database.deleteRecordZone(withID: other)
    }

    @Test func `what was replaced, removed, deleted or in a deleted zone is collected, no more`()
        async throws
    {
        let (container, database) = try await Self.begin(Self.makeStore())
        try await Self.change(container, database)
        let dry = try await container.collectAssets(dryRun: true)
        #expect(dry.reclaimedChunks == 2 && dry.reclaimedBytes == 2 * (5000 + 80))
        let before = try await container.assetStatistics()
        let real = try await container.collectAssets()
        let after = try await container.assetStatistics()
        #expect(real.reclaimedChunks == 2 && before.chunkCount == 5 && after.chunkCount == 3)
        let kept = try await database.record(for: noteID("kept"))
        let first = try await kept.bytes("a")
        let second = try await kept.bytes("b")
        #expect(first == noise(5000, seed: 1) && second == noise(5000, seed: 4))
    }

    @Test func `what was collected is there when it is stored again`() async throws {
        let (container, database) = try await Self.begin(Self.makeStore())
        try await Self.change(container, database)
        try await container.collectAssets()
        let again = try await database.save(note("again", ["a": Self.asset(2)]))
        let bytes = try await again.bytes("a")
        #expect(bytes == noise(5000, seed: 2))
    }

    @Test func `what a snapshot or a reading sees stays until it is released`() async throws {
        let (container, database) = try await Self.begin(Self.makeStore())
        var record = try await database.save(note("a", ["a": Self.asset(1)]))
        let snapshot = container.snapshot()
        let before = snapshot.privateDatabase(for: "alice")
        record["a"] = Self.asset(2)
        record = try await database.save(record)
        record["a"] = Self.asset(3)
        record = try await database.save(record)
        // No snapshot sees the second version.
        let lost1 = try await container.collectAssets().reclaimedChunks
        #expect(lost1 == 1)
        let old = try await before.record(for: noteID("a")).bytes("a")
        #expect(old == noise(5000, seed: 1))
        record = try await Self.removeWhileReading(record, database, container)
        #expect(record["a"] == nil)
        let lost2 = try await container.collectAssets().reclaimedChunks
        #expect(lost2 == 1)
        withExtendedLifetime(snapshot) {}
    }

    @inline(never)
    private static func removeWhileReading(
        _ record: Record, _ database: Database, _ container: Container
    ) async throws -> Record {
        var record = record
        var reading = try record.asset("a").chunks().makeAsyncIterator()
        record["a"] = nil
        record = try await database.save(record)
        let report = try await container.collectAssets()
        let chunk = try await reading.next()
        #expect(report.reclaimedChunks == 0 && chunk == noise(5000, seed: 3))
        return record
    }

    @Test func `what a mark or the history sees stays, and can be read there`() async throws {
        let (container, database) = try await Self.begin(Self.makeStore())
        let marks = try await Self.replace(1...3, container, database)
        let later = container.snapshot().offset
        let kept = try await container.collectAssets()
        #expect(kept.reclaimedChunks == 1)
        let versions = try await database.history(of: noteID("a")).versions
        var seeds: [UInt64] = []
        for version in versions {
            let bytes = try await version.record?.bytes("a")
            seeds.append(try #require((1...8).first { bytes == noise(5000, seed: $0) }))
        }
        #expect(seeds == [6, 5, 4, 3, 1])
        let past = try await container.snapshot(at: .mark(marks[0]))
        let old = try await past.privateDatabase(for: "alice").record(for: noteID("a")).bytes("a")
        #expect(old == noise(5000, seed: 1))
        try await container.setHistoryPolicy(.none)
        for mark in marks { try await container.removeMark(mark) }
        // One is still read.
        let first = try await container.collectAssets().reclaimedChunks
        #expect(first == 3)
        #expect(
            try await past.privateDatabase(for: "alice").record(for: noteID("a")).bytes("a") == old)
        withExtendedLifetime(past) {}
        #expect(later > 0)
    }

    /// Replaces the asset of a record: at a mark, without one, and then as part of the history.
    @inline(never)
    private static func replace(
        _ seeds: ClosedRange<UInt64>, _ container: Container, _ database: Database
    ) async throws -> [Mark] {
        var marks: [Mark] = []
        for seed in seeds {
            try await database.saveAll([note("a", ["a": asset(seed)])], savePolicy: .allKeys)
            if seed != 2 { marks.append(try await container.mark("\(seed)")) }
        }
        try await container.setHistoryPolicy(.everything)
        for seed in UInt64(4)...6 {
            try await database.saveAll([note("a", ["a": asset(seed)])], savePolicy: .allKeys)
        }
        return marks
    }

    @Test func `what was collected cannot be read, which is said`() async throws {
        let (container, database) = try await Self.begin(Self.makeStore())
        let record = try await database.save(note("a", ["a": Self.asset(1)]))
        try await database.deleteRecord(withID: noteID("a"))
        try await container.collectAssets()
        let error = await failure { try await record.bytes("a") }
        #expect(error.code == .assetNotAvailable && error.item == .record(noteID("a")))
        // Nor can it be saved again.
        let again = await failure {
            try await database.save(note("b", ["a": try #require(record["a"])]))
        }
        #expect(again.code == .assetNotAvailable)
    }

    @Test func `segments in which nothing is named go, and mostly dead ones are copied`()
        async throws
    {
        let store = Self.makeStore()
        var (container, database) = try await Self.begin(store)
        for number in 0..<40 {
            let value = RecordValue.asset(Asset(data: noise(60_000, seed: UInt64(number))))
            try await database.save(note("r\(number)", ["a": value]))
        }
        // An asset whose record was never saved.
        let error = await failure {
            try await database.save(
                note("r0", ["a": .asset(Asset(data: noise(60_000, seed: 99)))]))
        }
        #expect(error.code == .serverRecordChanged)
        for number in 0..<40 where number % 8 != 0 {
            try await database.deleteRecord(withID: noteID("r\(number)"))
        }
        try await container.close()
        (container, database) = (try store.open(), database)
        database = container.privateDatabase(for: "alice")
        let dry = try await container.collectAssets(dryRun: true)
        let report = try await container.collectAssets()
        #expect(report.reclaimedChunks >= 35 && report.copiedChunks > 0)
        #expect(report.deletedSegments.count > 3 && report.keptSegments.isEmpty)
        // It had been said, and why.
        #expect(dry == report)
        #expect(Set(report.segments.map(\.reason)) == [.unnamed, .replaced, .mostlyDead])
        #expect(report.unnamedBytes >= 60_000 && report.freedBytes > 35 * 60_000)
        for number in 0..<40 where number % 8 == 0 {
            let record = try await database.record(for: noteID("r\(number)"))
            #expect(try await record.bytes("a") == noise(60_000, seed: UInt64(number)))
        }
        try await container.close()
        let storage = try LocalStorage(at: "store", .reading, on: store.disk.process())
        #expect(try storage.list().count { $0.hasPrefix("chunks-") } <= 3)
        #expect(try StoreVerification(storage).findings.isEmpty)
    }

    @Test func `what a save that was refused has left goes, and is told apart`() async throws {
        let store = Self.makeStore()
        var (container, database) = try await Self.begin(store)
        try await database.save(note("a", ["a": Self.asset(1)]))
        try await container.close()
        container = try store.open()
        database = container.privateDatabase(for: "alice")
        let refused = await failure { try await database.save(note("a", ["a": Self.asset(2)])) }
        #expect(refused.code == .serverRecordChanged)
        try await container.close()
        container = try store.open()
        let dry = try await container.collectAssets(dryRun: true)
        let report = try await container.collectAssets()
        #expect(dry == report && report.reclaimedChunks == 0)
        let segment = try #require(report.segments.first)
        #expect(segment.reason == .unnamed && segment.file == "chunks-0000000000000002")
        #expect(report.deletedSegments == [segment] && report.unnamedBytes == 5000 + 80)
        // Nothing is left to be done.
        let again = try await container.collectAssets()
        #expect(again.reclaimedChunks == 0 && again.segments == [])
    }

    @Test func `a segment stays while a process reads that saw what was in it`() async throws {
        let store = Self.makeStore()
        let (container, database) = try await Self.begin(store)
        try await database.save(note("a", ["a": Self.asset(1)]))
        try await container.close()
        let again = try store.open()
        let reader = try store.openReadOnly()
        let found = reader.privateDatabase(for: "alice")
        let record = try await found.record(for: noteID("a"))
        try await again.privateDatabase(for: "alice").deleteRecord(withID: noteID("a"))
        let report = try await again.collectAssets()
        #expect(report.reclaimedChunks == 1 && report.deletedSegments.isEmpty)
        #expect(report.keptSegments.count == 1)
        #expect(try await record.bytes("a") == noise(5000, seed: 1))
        withExtendedLifetime(reader) {}
    }
}
