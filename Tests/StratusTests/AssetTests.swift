import FoundationEssentials
import Stratus
import StratusFiles
import Support
import Synchronization
import Testing

@Suite struct AssetTests {
    @Test(arguments: [0, 1, 70_000, 3_000_000])
    func `what is saved of a file, of data and of a stream is read again`(count: Int) async throws {
        let (_, database) = try await makeDatabase()
        let folder = try TemporaryFolder()
        let data = noise(count, seed: 1)
        let buffers = stride(from: 0, to: count, by: 100_000).map {
            data[$0..<min(count, $0 + 100_000)]
        }
        try await database.saveAll([
            note("a", ["file": .asset(Asset(file: try folder.file("f", data)))]),
            note("b", ["data": .asset(Asset(data: data))]),
            note("c", ["stream": .asset(Asset(stream: DataStream(buffers: buffers)))]),
        ])
        var sums: Set<String> = []
        for (name, key) in [("a", "file"), ("b", "data"), ("c", "stream")] {
            let record = try await database.record(for: noteID(name))
            #expect(try record.asset(key).size == count)
            #expect(try await record.bytes(key) == data)
            sums.insert(try #require(record.asset(key).fileChecksum))
        }
        #expect(sums.count == 1)
    }

    @Test func `a part, chunks and a file have the bytes of the asset`() async throws {
        let (_, database) = try await makeDatabase()
        let folder = try TemporaryFolder()
        let data = noise(1_000_000, seed: 2)
        let saved = try await database.save(note("a", ["a": .asset(Asset(data: data))]))
        let asset = try saved.asset("a")
        for range in [0..<0, 0..<1, 65_000..<300_001, 999_999..<1_000_000, 0..<1_000_000] {
            #expect(try await asset.data(in: range) == data[range])
        }
        for range in [-1..<1, 0..<1_000_001] {
            #expect(await failure { try await asset.data(in: range) }.code == .invalidArguments)
        }
        #expect(await failure { try await asset.data(limit: 999_999) }.code == .limitExceeded)
        var joined = Data()
        for try await chunk in try asset.chunks(in: 5..<700_000) { joined += chunk }
        #expect(joined == data[5..<700_000])
        try await asset.write(to: "\(folder.path)/out")
        #expect(contents(of: "\(folder.path)/out") == data)
        // What is there is never written over, and nothing else is left.
        let error = await failure { try await asset.write(to: "\(folder.path)/out") }
        #expect(error.code == .invalidArguments && folder.names == ["out"])
    }

    @Test(arguments: [0, 1])
    func `of what memory holds nothing is waited for, and what it does not hold is read as well`(
        missesOneIn: Int
    ) async throws {
        let store = DiskStore()
        let container = try store.open()
        let database = container.privateDatabase(for: "alice")
        try await database.save(RecordZone(zoneID: notes))
        let data = noise(150_000, seed: 4)
        let asset = try await database.save(note("a", ["a": .asset(Asset(data: data))])).asset("a")
        // The segment is open then.
        #expect(try await asset.data(in: 0..<1) == data[..<1])
        store.disk.options.missesOneIn = missesOneIn
        store.disk.logsCalls = true
        #expect(try await asset.data(limit: data.count) == data)
        var joined = Data()
        for try await chunk in try asset.chunks() { joined += chunk }
        #expect(joined == data)
        let reads = store.disk.log.filter { $0.name.hasPrefix("chunks-") && $0.call == .read }
        #expect(reads.isEmpty == (missesOneIn == 0))
        try await container.close()
    }

    @Test func `lists of assets keep their order, and other fields stay what they are`()
        async throws
    {
        let (_, database) = try await makeDatabase()
        let all = (0..<4).map { noise(50_000 * $0, seed: 3) }
        var saved = try await database.save(
            note("a", ["list": .list(all.map { .asset(Asset(data: $0)) }), "n": 1]))
        saved["n"] = 2
        saved = try await database.save(saved)
        let list = try #require(saved["list"]?.listValue)
        for (value, data) in zip(list, all) {
            #expect(try await value.assetValue?.data(limit: 1 << 20) == data)
        }
        saved["list"] = .list(list.reversed())
        saved = try await database.save(saved)
        let first = try #require(saved["list"]?.listValue?.first?.assetValue)
        #expect(try await first.data(limit: 1 << 20) == all[3])
    }

    @Test func `an asset whose file is not there or no file fails its record alone`() async throws {
        let (_, database) = try await makeDatabase()
        let folder = try TemporaryFolder()
        for path in ["\(folder.path)/none", folder.path, "/dev/null"] {
            let result = try await database.modifyRecords(
                saving: [
                    note("bad", ["a": .asset(Asset(file: path))], in: .default),
                    note("good", ["a": .asset(Asset(data: Data([1])))], in: .default),
                ], savePolicy: .allKeys)
            let zone = RecordZone.ID.default
            #expect(result.saveResults[noteID("bad", in: zone)]?.code == .assetFileNotFound)
            #expect(result.saveResults[noteID("good", in: zone)]?.code == nil)
        }
        let atomic = try await database.modifyRecords(saving: [
            note("bad", ["a": .asset(Asset(file: "/none"))]), note("good"),
        ])
        #expect(atomic.saveResults[noteID("bad")]?.code == .assetFileNotFound)
        #expect(atomic.saveResults[noteID("good")]?.code == .batchRequestFailed)
    }

    @Test func `a file that replaced the listed one is not saved in its place`() async throws {
        let (_, database) = try await makeDatabase()
        let folder = try TemporaryFolder()
        let path = try folder.file("f", noise(20_000, seed: 9))
        let inner = try FileTree(folder.path).folder([])
        let place = inner.place(of: try inner.entry(Array("f".utf8)))
        let saved = try await database.save(note("a", ["a": .asset(Asset(file: place))]))
        #expect(try await saved.bytes("a") == contents(of: path))
        #expect(try await saved.asset("a").hasBytes(ofFile: place))
        #expect(Asset(file: place) == Asset(file: place) && Asset(file: place) != Asset(file: path))
        // The same bytes in another file.
        let other = try folder.file("g", noise(20_000, seed: 9))
        try FileManager.default.removeItem(atPath: path)
        try FileManager.default.moveItem(atPath: other, toPath: path)
        #expect(try await !saved.asset("a").hasBytes(ofFile: place))
        let exchanged = await failure {
            try await database.save(note("b", ["a": .asset(Asset(file: place))]))
        }
        #expect(exchanged.code == .assetFileModified)
        try FileManager.default.moveItem(atPath: path, toPath: other)
        try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: other)
        let linked = await failure {
            try await database.save(note("c", ["a": .asset(Asset(file: place))]))
        }
        #expect(linked.code == .assetFileNotFound)
        // The path of a caller may be a link.
        try await database.save(note("d", ["a": .asset(Asset(file: path))]))
    }

    @Test func `a file that changes while it is read is not saved`() async throws {
        let (_, database) = try await makeDatabase()
        let folder = try TemporaryFolder()
        for change in 0..<3 {
            let path = try folder.file("f", noise(2_000_000, seed: 4))
            let isDone = OneTime()
            let error = await failure {
                try await database.save(
                    note("a", ["a": .asset(Asset(file: path))]),
                    progress: { _, progress in
                        guard progress.completedBytes >= 1_000_000, isDone.take() else { return }
                        switch change {
                        case 0: try? noise(1_500_000, seed: 5).write(to: URL(filePath: path))
                        case 1: try? noise(2_500_000, seed: 6).write(to: URL(filePath: path))
                        default: try? FileManager.default.removeItem(atPath: path)
                        }
                    })
            }
            #expect(error.code == .assetFileModified)
        }
        #expect(await failure { try await database.record(for: noteID("a")) }.code == .unknownItem)
    }

    @Test func `a stream that fails, and one that came before, save nothing`() async throws {
        let (_, database) = try await makeDatabase()
        let own = StoreError(.networkFailure, "gone")
        let broken = Asset(stream: DataStream(buffers: [Data([1, 2])], failure: own))
        let record = note("a", ["a": .asset(broken)])
        #expect(await failure { try await database.save(record) }.code == .networkFailure)
        // What follows in the same call is not mixed with it.
        let result = try await database.modifyRecords(
            saving: [
                note("a", ["a": .asset(broken)], in: .default),
                note("b", ["a": .asset(Asset(data: Data([3])))], in: .default),
            ])
        let saved = try #require(try result.saveResults[noteID("b", in: .default)]?.get())
        #expect(try await saved.bytes("a") == Data([3]))
    }

    @Test func `an asset of one record may be that of another, in another zone and store too`()
        async throws
    {
        let (container, database) = try await makeDatabase()
        let data = noise(300_000, seed: 7)
        let saved = try await database.save(note("a", ["a": .asset(Asset(data: data))]))
        let copy = try await database.save(note("b", ["a": saved["a"]].compactMapValues { $0 }))
        #expect(try await copy.bytes("a") == data)
        let open = container.publicDatabase(as: "alice")
        let other = try await open.save(
            note("c", ["a": .asset(try saved.asset("a"))], in: .default))
        #expect(try await other.bytes("a") == data)
        let (_, elsewhere) = try await makeDatabase()
        let far = try await elsewhere.save(note("d", ["a": .asset(try saved.asset("a"))]))
        #expect(try await far.bytes("a") == data)
        #expect(try far.asset("a") == saved.asset("a"))
    }

    @Test func `a conflict gives back the record that was sent, whose asset can be sent again`()
        async throws
    {
        let (_, database) = try await makeDatabase()
        let first = try await database.save(note("a", ["n": 1]))
        var winner = first
        winner["n"] = 2
        try await database.save(winner)
        var loser = first
        loser["a"] = .asset(Asset(data: Data([5, 6])))
        let error = await failure { try await database.save(loser) }
        var merged = try #require(error.serverRecord)
        merged["a"] = try #require(error.clientRecord)["a"]
        #expect(try await database.save(merged).bytes("a") == Data([5, 6]))
    }

    @Test func `assets count for quotas with every byte, and not for the size of records`()
        async throws
    {
        var profile = Profile(bytesPerRequest: 1000, bytesPerRecord: 1000, userQuota: 1_000_000)
        profile.publicQuota = nil
        let container = try Container.inMemory(profile: profile)
        let database = container.privateDatabase(for: "alice")
        try await database.save(RecordZone(zoneID: notes))
        let data = Asset(data: Data(repeating: 1, count: 400_000))
        try await database.save(note("a", ["a": .asset(data)]))
        var saved = try await database.save(note("b", ["a": .asset(data)]))
        let usage = try await database.usage()
        #expect(usage.bytes > 800_000 && usage.bytes < 801_000)
        let error = await failure { try await database.save(note("c", ["a": .asset(data)])) }
        #expect(error.code == .quotaExceeded)
        saved["a"] = nil
        try await database.save(saved)
        try await database.save(note("c", ["a": .asset(data)]))
        try await database.deleteRecord(withID: noteID("a"))
        try await database.deleteRecord(withID: noteID("c"))
        #expect(try await database.usage().bytes < 1000)
    }

    @Test func `the assets of one call count together for a quota`() async throws {
        var profile = Profile.unlimited
        profile.userQuota = 1_000_000
        let container = try Container.inMemory(profile: profile)
        let database = container.privateDatabase(for: "alice")
        let asset = RecordValue.asset(Asset(data: Data(repeating: 1, count: 600_000)))
        let result = try await database.modifyRecords(
            saving: ["a", "b"].map { note($0, ["a": asset], in: .default) }, atomically: false)
        let codes = result.saveResults.values.map(\.code)
        #expect(codes.count { $0 == nil } == 1 && codes.count { $0 == .quotaExceeded } == 1)
    }

    @Test func `on a thread of one's own assets are saved alike`() throws {
        let container = try Container.inMemory()
        let database = container.privateDatabase(for: "alice")
        let saved = try database.saveAndWait(
            note("a", ["a": .asset(Asset(data: Data([1])))], in: .default))
        #expect(saved["a"]?.assetValue?.size == 1)
        #expect(throws: StoreError.self) {
            try database.saveAndWait(
                note("b", ["a": .asset(Asset(stream: DataStream(buffers: [])))], in: .default))
        }
    }

    @Test func `a save that is cancelled while it reads an asset saves nothing`() async throws {
        let (_, database) = try await makeDatabase()
        let folder = try TemporaryFolder()
        let path = try folder.file("f", noise(4_000_000, seed: 8))
        let started = AsyncStream<Void>.makeStream()
        let task = Task {
            try await database.save(
                note("a", ["a": .asset(Asset(stream: Endless(started: started.continuation)))]))
        }
        for await _ in started.stream { break }
        task.cancel()
        let streamed = await failure { try await task.value }
        #expect(streamed.code == .operationCancelled)
        let cancelled = Task {
            while !Task.isCancelled { await Task.yield() }
            return try await database.save(note("a", ["a": .asset(Asset(file: path))]))
        }
        cancelled.cancel()
        let error = await failure { try await cancelled.value }
        #expect(error.code == .operationCancelled)
        #expect(await failure { try await database.record(for: noteID("a")) }.code == .unknownItem)
    }
}

/// True once.
final class OneTime: Sendable {
    private let isTaken = Atomic(false)

    func take() -> Bool { !isTaken.exchange(true, ordering: .relaxed) }

    /// Whether it was taken.
    var isOver: Bool { isTaken.load(ordering: .relaxed) }
}

/// Says that it is read, and goes on until its reader is cancelled.
private struct Endless: AsyncSequence, Sendable {
    typealias Element = Data

    let started: AsyncStream<Void>.Continuation

    func makeAsyncIterator() -> Iterator { Iterator(started: started) }

    struct Iterator: AsyncIteratorProtocol {
        let started: AsyncStream<Void>.Continuation

        mutating func next() async throws -> Data? {
            started.yield()
            try Task.checkCancellation()
            await Task.yield()
            return Data(repeating: 7, count: 1000)
        }
    }
}
