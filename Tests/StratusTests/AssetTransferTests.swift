import FoundationEssentials
import Stratus
import StratusFiles
import StratusJournal
import Support
import Testing

/// How far assets are on their way is told, and they can be stopped.
@Suite struct AssetTransferTests {
    /// Whether each step is at least as far as the one before.
    private static func rises(_ steps: [TransferProgress]) -> Bool {
        zip(steps, steps.dropFirst()).allSatisfy { $0.completedBytes <= $1.completedBytes }
    }

    @Test func `the progress of an upload is told for each record, rises, and ends at the total`()
        async throws
    {
        let (_, database) = try await makeDatabase()
        let folder = try TemporaryFolder()
        let stored = try await database.save(
            note("stored", ["a": .asset(Asset(data: noise(100_000, seed: 1)))]))
        let file = Asset(file: try folder.file("f", noise(1_000_000, seed: 2)))
        let list: [RecordValue] = [
            .asset(Asset(data: noise(600_000, seed: 3))), .asset(file),
            try #require(stored["a"]), .asset(Asset(data: noise(300_000, seed: 4))),
        ]
        let steps = Notes<(Record.ID, TransferProgress)>()
        let result = try await database.modifyRecords(
            saving: [
                note("list", ["l": .list(list)]), note("file", ["a": .asset(file)]),
                note("none", ["n": 1]),
            ], progress: { id, progress in steps.add((id, progress)) })
        #expect(result.partialFailure == nil)
        #expect(Set(steps.all.map(\.0)) == [noteID("list"), noteID("file")])
        for (name, total) in [("list", 2_000_000), ("file", 1_000_000)] {
            let own = steps.all.filter { $0.0 == noteID(name) }.map(\.1)
            #expect(own.count > 3 && Self.rises(own), "\(name)")
            #expect(own.last == TransferProgress(completedBytes: total, totalBytes: total))
            #expect(own.allSatisfy { $0.totalBytes.map { $0 <= total } ?? true })
        }
    }

    @Test func `the progress of a download rises, and ends at the total`() async throws {
        let (_, database) = try await makeDatabase()
        let folder = try TemporaryFolder()
        let saved = try await database.save(
            note("a", ["a": .asset(Asset(data: noise(1_000_000, seed: 1)))]))
        let steps = Notes<TransferProgress>()
        try await saved.asset("a").write(
            to: "\(folder.path)/out", progress: { steps.add($0) })
        #expect(steps.all.count > 3 && Self.rises(steps.all))
        #expect(Set(steps.all.map(\.totalBytes)) == [1_000_000])
        #expect(steps.all.last?.completedBytes == 1_000_000)
    }

    /// What is in the store, and in its files.
    private struct Contents: Equatable {
        var statistics: AssetStatistics
        var files: [String]
    }

    @inline(never)
    private static func contents(_ store: DiskStore, _ container: Container) async throws
        -> Contents
    {
        let storage = try LocalStorage(at: "store", .reading, on: store.disk.process())
        return Contents(
            statistics: try await container.assetStatistics(),
            files: try storage.list().filter { $0.hasPrefix("chunks-") })
    }

    @Test func `what a save that was cancelled has left is collected, all of it`() async throws {
        var store = DiskStore()
        store.options.segmentLength = 1 << 15
        try await Self.saveAndClose(store)
        var container = try store.open()
        let before = try await Self.contents(store, container)
        #expect(before.statistics.chunkCount > 0 && before.files.count == 1)
        try await Self.cancel(container)
        // Much was written, and the places of some of it were committed ahead of the record.
        let left = try await Self.contents(store, container)
        #expect(left.files.count > 4)
        #expect(left.statistics.chunkCount > before.statistics.chunkCount)
        try await container.close()
        container = try store.open()
        let report = try await container.collectAssets()
        #expect(report.reclaimedChunks > 0 && report.keptSegments.isEmpty)
        let after = try await Self.contents(store, container)
        // The last number is not given again, so that an empty file has it.
        #expect(after.statistics == before.statistics)
        #expect(after.files.count == 2 && after.files.first == before.files.first)
        let database = container.privateDatabase(for: "alice")
        let kept = try await database.record(for: noteID("a")).bytes("a")
        #expect(kept == noise(200_000, seed: 1))
    }

    @inline(never)
    private static func saveAndClose(_ store: DiskStore) async throws {
        let container = try store.open()
        let database = container.privateDatabase(for: "alice")
        try await database.save(RecordZone(zoneID: notes))
        try await database.save(note("a", ["a": .asset(Asset(data: noise(200_000, seed: 1)))]))
        try await container.close()
    }

    /// Begins to save a record, and stops when several megabytes of its asset were read.
    @inline(never)
    private static func cancel(_ container: Container) async throws {
        let database = container.privateDatabase(for: "alice")
        let isFar = OneTime()
        let (stream, continuation) = AsyncStream<Data>.makeStream()
        let saving = Task {
            try await database.save(
                note("b", ["a": .asset(Asset(stream: stream))]),
                progress: { _, progress in
                    if progress.completedBytes >= 14_000_000 { _ = isFar.take() }
                })
        }
        for seed in UInt64(2)..<30 { continuation.yield(noise(500_000, seed: seed)) }
        while !isFar.isOver { await Task.yield() }
        saving.cancel()
        let error = await failure { try await saving.value }
        #expect(error.code == .operationCancelled)
    }
}
