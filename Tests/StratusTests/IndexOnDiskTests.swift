import FoundationEssentials
import Stratus
import StratusBytes
import StratusFiles
import StratusJournal
import Support
import Testing

/// What a container does for its index, and says of it.
@Suite struct IndexOnDiskTests {
    private static let text = RecordValue.string(String(repeating: "t", count: 60))

    /// Alice's database with so many records, saved in groups of a thousand.
    private func fill(_ container: Container, _ count: Int) async throws -> Database {
        let database = container.privateDatabase(for: "alice")
        try await database.save(RecordZone(zoneID: notes))
        for start in stride(from: 0, to: count, by: 1000) {
            try await database.saveAll(
                (start..<min(start + 1000, count)).map { note("r\($0)", ["text": Self.text]) })
        }
        return database
    }

    private func hash(_ container: Container) async throws -> ContentHash {
        try await container.privateDatabase(for: "alice").contentHash(includingSystem: true)
    }

    private func tables(_ store: DiskStore) -> [String] {
        store.disk.paths.filter { $0.contains("index-") }.sorted()
    }

    private func findings(_ store: DiskStore) throws -> [StoreError.Place] {
        try StoreVerification(LocalStorage(at: "store", .reading, on: store.disk.process()))
            .findings.map(\.place)
    }

    @Test(arguments: [false, true])
    func `after a clean close of a large store an opening replays nothing`(
        steppedByCaller: Bool
    ) async throws {
        var store = DiskStore()
        store.steppedByCaller = steppedByCaller
        let container = try store.open()
        let database = try await fill(container, 5000)
        let before = try await hash(container)
        try await container.close()
        let again = try store.open(creating: false)
        #expect(again.recoveryReport.replayedCommits == 0)
        #expect(again.recoveryReport.checkpoint != nil)
        #expect(again.recoveryReport.discardedCheckpoint == nil)
        #expect(try await hash(again) == before)
        #expect(try await again.privateDatabase(for: "alice").allRecords().count == 5000)
        withExtendedLifetime(database) {}
    }

    @Test(arguments: [false, true])
    func `after a checkpoint the next opening has only to read what came later`(
        steppedByCaller: Bool
    ) async throws {
        var store = DiskStore()
        store.steppedByCaller = steppedByCaller
        let container = try store.open()
        let database = try await fill(container, 50)
        #expect(try await container.indexStatistics().checkpoint == nil)
        try await container.checkpoint()
        let statistics = try await container.indexStatistics()
        #expect(statistics.checkpoint == container.information.head)
        #expect(statistics.journalBytesSinceCheckpoint == 0)
        #expect(statistics.memtableEntries == 0)
        #expect(statistics.tables == 1)
        // There is nothing to do, and it is no failure.
        try await container.checkpoint()
        try await database.save(note("later"))
        #expect(try await container.indexStatistics().journalBytesSinceCheckpoint > 0)
        store.disk.killProcesses()
        let again = try store.open(creating: false)
        #expect(again.recoveryReport.replayedCommits == 1)
        #expect(again.recoveryReport.checkpoint == statistics.checkpoint)
        #expect(try await again.privateDatabase(for: "alice").allRecords().count == 51)
    }

    @Test func `a checkpoint of a store without commits has nothing to do`() async throws {
        let store = DiskStore()
        for _ in 0..<2 {
            let container = try store.open()
            try await container.checkpoint()
            #expect(try await container.indexStatistics().checkpoint == nil)
            try await container.close()
        }
        let container = try store.open()
        _ = try await fill(container, 1)
        try await container.checkpoint()
        #expect(try await container.indexStatistics().checkpoint != nil)
        try await container.close()
    }

    @Test func `commits and checkpoints at once all get their answer`() async throws {
        let store = DiskStore()
        let container = try store.open()
        let database = try await fill(container, 1)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<50 {
                group.addTask { try await database.save(note("n\(number)")) }
                group.addTask { try await container.checkpoint() }
            }
            try await group.waitForAll()
        }
        #expect(try await database.allRecords().count == 51)
        try await container.close()
        #expect(try findings(store).isEmpty)
    }

    @Test(arguments: [false, true])
    func `who may not write a checkpoint is told why`(steppedByCaller: Bool) async throws {
        var store = DiskStore()
        store.steppedByCaller = steppedByCaller
        let container = try store.open()
        _ = try await fill(container, 5)
        let reader = try store.openReadOnly()
        #expect(await failure { try await reader.checkpoint() }.code == .permissionFailure)
        try await container.close()
        #expect(await failure { try await container.checkpoint() }.cause == .closed)
    }

    // The first write is the table, the second the manifest.
    @Test(arguments: [1, 2])
    func `a checkpoint for which there is no space says so, and the store goes on`(
        write: Int
    ) async throws {
        let store = DiskStore()
        let container = try store.open()
        let database = try await fill(container, 50)
        store.disk.resetCalls()
        store.disk.faults = [DiskFault(.fail(.noSpace), at: write, of: .write, lasting: true)]
        #expect(await failure { try await container.checkpoint() }.code == .quotaExceeded)
        #expect(try await container.indexStatistics().checkpoint == nil)
        store.disk.faults = []
        try await database.save(note("later"))
        try await container.checkpoint()
        // A group without entries may follow.
        #expect(try await container.indexStatistics().journalBytesSinceCheckpoint <= 72)
        store.disk.killProcesses()
        let again = try store.open(creating: false)
        #expect(again.recoveryReport.replayedCommits == 0)
        #expect(try await again.privateDatabase(for: "alice").allRecords().count == 51)
    }

    @Test func `statistics name what is there`() async throws {
        let store = DiskStore()
        let container = try store.open()
        let database = try await fill(container, 2000)
        try await container.checkpoint()
        try await database.save(note("r0", ["new": 1]), savePolicy: .changedKeys)
        try await container.checkpoint()
        let statistics = try await container.indexStatistics()
        #expect(
            statistics.keyspaces.map(\.name) == [
                "records", "feed", "types", "zones", "zoneNumbers", "databaseFeed", "activity",
                "users", "userNumbers", "usage",
            ])
        #expect(statistics.keyspaces.first { $0.name == "records" }?.entries == 2001)
        #expect(statistics.runs.map(\.level) == [0, 1])
        #expect(statistics.runs[0].entries < 10)
        #expect(
            statistics.runs.reduce(0) { $0 + $1.entries }
                == statistics.keyspaces.reduce(0) { $0 + $1.entries })
        #expect(
            tables(store).reduce(0) { $0 + store.disk.contents($1).count } == statistics.bytes)
        // A reader beside the writer says the same of what lies on disk.
        let read = try await store.openReadOnly().indexStatistics()
        #expect(read.keyspaces == statistics.keyspaces)
        #expect(read.checkpoint == statistics.checkpoint)
    }

    @Test func `caches and memtables keep within the memory limit`() async throws {
        var store = DiskStore()
        store.memoryLimit = 1 << 20
        let container = try store.open()
        let database = try await fill(container, 12_000)
        for _ in 0..<2 {
            let names = (0..<12_000).map { noteID("r\($0)") }
            #expect(try await database.records(for: names).count == 12_000)
            let statistics = try await container.indexStatistics()
            #expect(statistics.cacheBytes > 0)
            #expect(statistics.cacheBytes <= statistics.cacheLimit)
            #expect(statistics.cacheLimit + statistics.memtableBytes <= store.memoryLimit)
            #expect(statistics.bytes > 100_000)
        }
        let statistics = try await container.indexStatistics()
        #expect(try #require(statistics.cacheHitRate) > 0)
    }

    // The files of such an opening once went with those that a crash had left.
    @Test func `an opening that needs more than its memory keeps what it wrote of the index`()
        async throws
    {
        var store = DiskStore()
        let container = try store.open()
        _ = try await fill(container, 6000)
        let before = try await hash(container)
        #expect(try await container.indexStatistics().checkpoint == nil)
        store.disk.killProcesses()
        store.memoryLimit = 1 << 20
        let again = try store.open(creating: false)
        #expect(again.recoveryReport.checkpoint == nil)
        #expect(try await again.indexStatistics().tables > 0)
        try await again.close()
        #expect(try findings(store).isEmpty)
        let third = try store.open(creating: false)
        #expect(third.recoveryReport.replayedCommits == 0)
        #expect(try await hash(third) == before)
    }

    // The opening once failed, since the name was taken.
    @Test func `a table that a crash left is not in the way of an opening`() async throws {
        var store = DiskStore()
        let container = try store.open()
        let database = try await fill(container, 10)
        try await container.checkpoint()
        let left = try #require(tables(store).last)
        let number = try #require(Int(left.suffix(16), radix: 16))
        _ = try await database.saveAll(
            (0..<6000).map { note("more\($0)", ["text": Self.text]) })
        let before = try await hash(container)
        store.disk.killProcesses()
        for later in number + 1..<number + 9 {
            let digits = String(later, radix: 16)
            let name = String(repeating: "0", count: 16 - digits.count) + digits
            store.disk.duplicate(left, to: "store/index-" + name)
        }
        store.memoryLimit = 1 << 20
        let again = try store.open(creating: false)
        #expect(again.recoveryReport.checkpoint != nil)
        #expect(try await hash(again) == before)
        try await again.close()
        #expect(try findings(store).isEmpty)
        #expect(try await hash(store.open(creating: false)) == before)
    }

    @Test func `a zone whose entry has no whole header is damage with a place`() async throws {
        let store = DiskStore()
        let database = try store.open().privateDatabase(for: "alice")
        let name = "a zone to be damaged"
        try await database.save(RecordZone(zoneID: RecordZone.ID(zoneName: name)))
        let path = try #require(store.disk.paths.first { $0.contains("journal-") })
        let bytes = store.disk.contents(path)
        let place = try #require(
            bytes.indices.first { bytes[$0...].starts(with: Array(name.utf8)) })
        // The last 48 bytes before the payload, in which little stands before the name.
        store.disk.flip(path, at: place - 40)
        let error = await failure { try await database.allRecordZones() }
        #expect(error.place?.kind == "frame.header checksum")
        #expect(error.place.map { path.hasSuffix($0.file) } == true)
    }

    /// A closed store of which all lies before its checkpoint, and its hash.
    private func checkpointed() async throws -> (store: DiskStore, hash: ContentHash) {
        let store = DiskStore()
        let container = try store.open()
        _ = try await fill(container, 100)
        try await container.checkpoint()
        let hash = try await hash(container)
        try await container.close()
        return (store, hash)
    }

    @Test func `a checkpoint of another version is thrown away`() async throws {
        let (store, before) = try await checkpointed()
        try store.editManifest { manifest in
            var checkpoint = try #require(manifest.checkpoint)
            #expect(checkpoint.state[0] == 1)
            checkpoint.state[0] = 2
            manifest.set(checkpoint)
        }
        let again = try store.open(creating: false)
        #expect(again.recoveryReport.discardedCheckpoint?.kind == "checkpoint.refused")
        #expect(again.recoveryReport.checkpoint == nil)
        #expect(try await hash(again) == before)
    }

    @Test func `a checkpoint of no use is named, and costs only time`() async throws {
        let (store, before) = try await checkpointed()
        let manifest = try #require(store.disk.paths.last { $0.contains("manifest-") })
        let bytes = store.disk.contents(manifest)
        let name = String(manifest.split(separator: "/").last ?? "")
        store.disk.flip(manifest, at: try Manifest(bytes, file: name).checkpointPlace + 16)
        #expect(try findings(store).map(\.kind) == ["checkpoint.checksum"])
        let again = try store.open(creating: false)
        #expect(again.recoveryReport.checkpoint == nil)
        let place = try #require(again.recoveryReport.discardedCheckpoint)
        #expect(place.kind == "checkpoint.checksum")
        #expect(manifest.hasSuffix(place.file))
        #expect(again.recoveryReport.replayedCommits == 2)
        #expect(try await hash(again) == before)
    }

    @Test func `whatever byte of a table is changed, a verification finds it`() async throws {
        let store = DiskStore()
        let container = try store.open()
        _ = try await fill(container, 300)
        try await container.close()
        let first = try store.open(creating: false)
        try await first.checkpoint()
        try await first.close()
        let table = try #require(tables(store).first)
        let length = store.disk.contents(table).count
        var generator = SeededGenerator(seed: 11)
        for _ in 0..<50 {
            let byte = Int.random(in: 0..<length, using: &generator)
            store.disk.flip(table, at: byte)
            let found = try findings(store)
            #expect(found.count == 1)
            #expect(found.allSatisfy { table.hasSuffix($0.file) && $0.byte <= byte })
            #expect(found.allSatisfy { StoreVerification.canBeMadeAnew($0) })
            store.disk.flip(table, at: byte)
        }
        store.disk.setLength(table, length - 1)
        #expect(try findings(store).map(\.kind) == ["file.length"])
        store.disk.delete(table)
        #expect(try findings(store).map(\.kind) == ["file.missing"])
    }
}
