import FoundationEssentials
import Stratus
import StratusEngine
import StratusFiles
import StratusJournal
import Support
import Testing

/// Commits that are ahead of a compaction, and compactions that do not begin by themselves.
@Suite(.timeLimit(.minutes(20))) struct BackPressureTests {
    private static let names = (0..<20).map { "r\($0)" }

    private func open(_ storage: any Storage) async throws -> Container {
        var options = JournalOptions()
        options.segmentLength = 16 << 10
        let container = try Container(
            writing: storage, creating: true, durability: .full, options: options,
            steppedByCaller: false, memoryLimit: 1 << 20)
        try await container.privateDatabase(for: "alice").save(RecordZone(zoneID: notes))
        return container
    }

    /// Gives all records another content, about 40 KB in one commit.
    private func change(_ container: Container, _ round: Int) async throws {
        let text = RecordValue.string(String(repeating: "\(round % 10)", count: 2_000))
        let result = try await container.privateDatabase(for: "alice").modifyRecords(
            saving: Self.names.map { note($0, ["text": text]) }, savePolicy: .allKeys)
        if let failure = result.partialFailure { throw failure }
    }

    private func delay(of container: Container) throws -> Int {
        let engine = try container.engine()
        return engine.maintainer.backPressure.delay(in: engine.published.current.fold)
    }

    @Test(arguments: [
        (0, 100, 0), (100, 100, 0), (101, 100, 200), (150, 100, 10_000), (200, 100, 20_000),
        (1_000, 100, 20_000), (1, 0, 0), (Int.max, 1, 20_000),
    ])
    func `a commit waits in proportion to what is more than twice what is needed`(
        dead: Int, needed: Int, microseconds: Int
    ) {
        #expect(BackPressure.delay(dead: dead, needed: needed) == microseconds)
    }

    @Test func `commits wait while a compaction runs that they are ahead of, and no longer`()
        async throws
    {
        let storage = GatedStorage(holding: .compact)
        let container = try await open(storage)
        storage.shut()
        var round = 0
        while !storage.isWaiting {
            try await change(container, round)
            round += 1
            try #require(round < 1_000)
        }
        while try delay(of: container) < BackPressure.longest {
            try await change(container, round)
            round += 1
            try #require(round < 1_000)
        }
        // They are durable all the same.
        try await change(container, round)
        storage.open()
        while try delay(of: container) > 0 {
            try await Task.sleep(for: .milliseconds(1))
        }
        try await container.close()
        #expect(try StoreVerification(storage).findings.isEmpty)
    }

    @Test func `no compaction begins by itself where it is not to, but on demand`() async throws {
        let storage = MemoryStorage()
        let container = try await open(storage)
        func hasCompacted() throws -> Bool {
            try storage.list().contains { $0.hasPrefix("compacted-") }
        }
        try container.maintenance.setCompactsByItself(false)
        for round in 0..<60 { try await change(container, round) }
        #expect(try !hasCompacted())
        try await container.maintenance.compact()
        #expect(try hasCompacted())
        try container.maintenance.setCompactsByItself(true)
        var round = 0
        let made = try storage.list().filter { $0.hasPrefix("compacted-") }
        while try storage.list().filter({ $0.hasPrefix("compacted-") }) == made {
            try await change(container, round)
            round += 1
            try #require(round < 1_000)
        }
        try await container.close()
        let reader = try Container(reading: storage)
        #expect(throws: StoreError.self) { try reader.maintenance.setCompactsByItself(true) }
    }
}
