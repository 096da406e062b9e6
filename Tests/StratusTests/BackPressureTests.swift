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
            try #require(round < 200)
        }
        while try delay(of: container) < BackPressure.longest {
            try await change(container, round)
            round += 1
            try #require(round < 200)
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

    @Test func `what a compaction has read of goes before the rest is written`() async throws {
        let storage = GatedStorage(holding: .compact)
        let container = try await open(storage)
        try container.maintenance.setCompactsByItself(false)
        let database = container.privateDatabase(for: "alice")
        // About 4 MB, of which each second record is replaced.
        for round in 0..<120 {
            let records = (0..<20).map { place in
                let text = (0..<150).map {
                    String(UInt64(round * 10_000 + place * 200 + $0) &* 0x9e37_79b9_7f4a_7c15)
                }
                return note("r\(round / 2)-\(place)", ["text": .string(text.joined())])
            }
            let result = try await database.modifyRecords(saving: records, savePolicy: .allKeys)
            if let failure = result.partialFailure { throw failure }
        }
        let before = try container.snapshot().privateDatabase(for: "alice").contentHash()
        storage.shut()
        let compaction = Task { try await container.maintenance.compact() }
        func segmentCount() throws -> Int {
            try storage.list().count { $0.hasPrefix("journal-") }
        }
        /// Looks for some ten seconds at most.
        func wait(until isTrue: () async throws -> Bool) async throws {
            var looks = 0
            while try await !isTrue() {
                looks += 1
                try #require(looks < 8_000)
                try await Task.sleep(for: .milliseconds(1))
            }
        }
        try await wait { storage.isWaiting }
        let count = try segmentCount()
        try await wait {
            if storage.isWaiting {
                storage.letOneThrough()
                // It may be the first of the rest that is written now.
                try await Task.sleep(for: .milliseconds(100))
            }
            return try segmentCount() < count
        }
        try await wait { storage.isWaiting }
        #expect(try segmentCount() > count / 2)
        storage.open()
        #expect(try await compaction.value.damage.isEmpty)
        #expect(
            try container.snapshot().privateDatabase(for: "alice").contentHash() == before)
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
            try #require(round < 200)
        }
        try await container.close()
        let reader = try Container(reading: storage)
        #expect(throws: StoreError.self) { try reader.maintenance.setCompactsByItself(true) }
    }
}
