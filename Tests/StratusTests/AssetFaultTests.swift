import FoundationEssentials
import Stratus
import StratusFiles
import Support
import Testing

/// Assets that go between a store and callers' files, all on one disk that fails.
@Suite struct AssetFaultTests {
    private static let effects: [DiskFault.Effect] = [
        .fail(.inputOutput), .fail(.noSpace), .fail(.interrupted), .short,
    ]
    /// More than is read at once.
    private static let long = noise(600_000, seed: 7)
    private static let short = noise(20_000, seed: 8)

    /// A store that was closed, with an asset in the record `stored`, and beside it the file `in`.
    private static func makeStore(_ content: Data) async throws -> DiskStore {
        var store = DiskStore()
        store.steppedByCaller = true
        let container = try store.open()
        let database = container.privateDatabase(for: "alice")
        try await database.save(RecordZone(zoneID: notes))
        try await database.saveAll([note("stored", ["a": .asset(Asset(data: content))])])
        try await container.close()
        store.disk.replaceContents("in", Array(noise(content.count, seed: 9)))
        store.disk.killProcesses()
        return store
    }

    private static func copy(_ store: DiskStore) -> DiskStore {
        var copy = DiskStore(SimulatedDisk(copying: store.disk))
        copy.steppedByCaller = true
        return copy
    }

    private static func upload(to container: Container) async throws {
        try await container.privateDatabase(for: "alice").save(
            note("new", ["a": .asset(Asset(file: "in"))]))
    }

    /// That the store is whole, and holds the assets of these records and nothing else.
    private static func expectWhole(
        _ store: DiskStore, _ expected: [String: [UInt8]], _ comment: Comment
    ) async throws {
        let container = try store.open(creating: false)
        let database = container.privateDatabase(for: "alice")
        for (name, bytes) in expected {
            let found = try await database.record(for: noteID(name)).bytes("a")
            // Compared before: what differs in so many bytes takes long to be described.
            let isSame = Array(found) == bytes
            #expect(isSame, comment)
        }
        try await container.collectAssets()
        let statistics = try await container.assetStatistics()
        #expect(statistics.assetCount == expected.count, comment)
        try await container.close()
        let storage = try LocalStorage(at: "store", .reading, on: store.disk.process())
        #expect(try StoreVerification(storage).findings.isEmpty, comment)
    }

    @Test(arguments: [
        (DiskFault.Effect.fail(.inputOutput), "in (pread: input/output error)"),
        (.overtaken, "in"),
    ])
    func `an upload whose file fails or changes in the middle stores nothing and names the path`(
        effect: DiskFault.Effect, text: String
    ) async throws {
        let store = try await Self.makeStore(Self.long)
        let container = try store.open()
        let before = try await container.assetStatistics()
        store.disk.faults = [DiskFault(effect, at: 2, of: .read, on: "in")]
        let error = await failure { try await Self.upload(to: container) }
        #expect(
            error.code == (effect == .overtaken ? .assetFileModified : .assetFileNotFound))
        #expect(error.cause == .inputOutput(text))
        store.disk.faults = []
        let database = container.privateDatabase(for: "alice")
        #expect(
            await failure { try await database.record(for: noteID("new")) }.code == .unknownItem)
        #expect(try await container.assetStatistics() == before)
        try await container.close()
        try await Self.expectWhole(store, ["stored": Array(Self.long)], "")
    }

    @Test(arguments: UInt64(0)..<10)
    func `uploads and downloads that are interrupted and cut short move every byte`(
        seed: UInt64
    ) async throws {
        let store = try await Self.makeStore(Self.long)
        store.disk.misbehave(seed: seed, oneIn: 2)
        let container = try store.open()
        try await Self.upload(to: container)
        let saved = try await container.privateDatabase(for: "alice").record(for: noteID("new"))
        try await saved.asset("a").write(to: "out")
        let isSame = store.disk.contents("out") == store.disk.contents("in")
        #expect(isSame)
        try await container.close()
    }

    @Test func `on a full disk a download fails and leaves no file`() async throws {
        let store = try await Self.makeStore(Self.long)
        let container = try store.open()
        let saved = try await container.privateDatabase(for: "alice").record(for: noteID("stored"))
        let before = store.disk.paths
        store.disk.options.capacity = store.disk.blockBytes + 100_000
        let error = await failure { try await saved.asset("a").write(to: "out") }
        #expect(error.cause == .inputOutput("out (pwrite: no space left)"))
        #expect(store.disk.paths == before)
        store.disk.options.capacity = nil
        try await saved.asset("a").write(to: "out")
        let isSame = store.disk.contents("out") == Array(Self.long)
        #expect(isSame)
    }

    @Test(arguments: effects, [true, false])
    func `an upload of which any call fails is stored or refused, and nothing else is lost`(
        effect: DiskFault.Effect, crashing: Bool
    ) async throws {
        let base = try await Self.makeStore(Self.short)
        let bytes = (old: Array(Self.short), new: base.disk.contents("in"))
        let count = try await Self.callCount(base, Self.upload)
        for number in 1...count {
            let store = Self.copy(base)
            let container = try store.open()
            store.disk.resetCalls()
            store.disk.faults = [DiskFault(effect, at: number)]
            var isSaved = false
            do {
                try await Self.upload(to: container)
                isSaved = true
            } catch {
                #expect(error is StoreError && Self.mayFail(effect), "call \(number): \(error)")
            }
            store.disk.faults = []
            if crashing {
                store.disk.crash(seed: UInt64(number))
            } else {
                store.disk.killProcesses()
            }
            // What was refused may be there all the same: a sync failed, and the bytes were not lost.
            if !isSaved { isSaved = try await Self.hasNew(store) }
            var expected = ["stored": bytes.old]
            if isSaved { expected["new"] = bytes.new }
            try await Self.expectWhole(store, expected, "call \(number)")
        }
    }

    @Test(arguments: effects)
    func `a download of which any call fails is there whole and durable or not at all`(
        effect: DiskFault.Effect
    ) async throws {
        let base = try await Self.makeStore(Self.short)
        let count = try await Self.callCount(base, Self.download)
        let paths = base.disk.paths
        for number in 1...count {
            let store = Self.copy(base)
            let container = try store.open()
            store.disk.resetCalls()
            store.disk.faults = [DiskFault(effect, at: number)]
            do {
                try await Self.download(from: container)
                store.disk.crash(seed: UInt64(number))
                let isSame = store.disk.contents("out") == Array(Self.short)
                #expect(isSame, "call \(number)")
            } catch {
                #expect(error is StoreError && Self.mayFail(effect), "call \(number): \(error)")
                let own = store.disk.paths.filter { !$0.hasPrefix("store/") }
                #expect(own == paths.filter { !$0.hasPrefix("store/") }, "call \(number)")
                store.disk.crash(seed: UInt64(number))
            }
            try await Self.expectWhole(store, ["stored": Array(Self.short)], "call \(number)")
        }
    }

    private static func download(from container: Container) async throws {
        let database = container.privateDatabase(for: "alice")
        try await database.record(for: noteID("stored")).asset("a").write(to: "out")
    }

    private static func hasNew(_ store: DiskStore) async throws -> Bool {
        let container = try store.open(creating: false)
        let database = container.privateDatabase(for: "alice")
        let isThere = (try? await database.record(for: noteID("new"))) != nil
        try await container.close()
        return isThere
    }

    /// How many calls `body` makes.
    private static func callCount(
        _ base: DiskStore, _ body: (Container) async throws -> Void
    ) async throws -> Int {
        let store = copy(base)
        let container = try store.open()
        store.disk.resetCalls()
        try await body(container)
        let count = store.disk.callCount
        #expect(count > 8)
        return count
    }

    /// Whether a call that goes wrong in that way may end the work.
    private static func mayFail(_ effect: DiskFault.Effect) -> Bool {
        effect == .fail(.inputOutput) || effect == .fail(.noSpace)
    }
}
