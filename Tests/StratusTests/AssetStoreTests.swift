import FoundationEssentials
import Stratus
import StratusFiles
import StratusJournal
import Support
import Testing

/// Assets in stores that are opened again, read by others, and looked at from the past.
@Suite struct AssetStoreTests {
    static let profile = Profile.unlimited

    private static func makeStore() -> DiskStore {
        var store = DiskStore()
        store.options.segmentLength = 1 << 16
        return store
    }

    private static func begin(_ store: DiskStore) async throws -> (Container, Database) {
        let container = try store.open()
        let database = container.privateDatabase(for: "alice")
        try await database.save(RecordZone(zoneID: notes))
        return (container, database)
    }

    @Test func `assets are there when the store is opened again, with and without its index`()
        async throws
    {
        let store = Self.makeStore()
        let (container, database) = try await Self.begin(store)
        // More than one segment, and more chunks than one entry of so small a journal holds.
        let data = noise(40_000_000, seed: 1)
        try await database.save(note("a", ["a": .asset(Asset(data: data))]))
        let hash = try await database.contentHash()
        try await container.close()
        for deletes in [false, true] {
            if deletes { try store.deleteIndex() }
            let again = try store.open()
            let found = again.privateDatabase(for: "alice")
            #expect(try await found.record(for: noteID("a")).bytes("a") == data)
            #expect(try await found.contentHash() == hash)
            try await again.close()
        }
        let reader = try store.openReadOnly()
        let read = try await reader.privateDatabase(for: "alice").record(for: noteID("a"))
        #expect(try await read.bytes("a") == data)
    }

    @Test func `who reads along sees assets as they come`() async throws {
        let store = Self.makeStore()
        let (container, database) = try await Self.begin(store)
        let reader = try store.openReadOnly()
        try await database.save(note("a", ["a": .asset(Asset(data: noise(90_000, seed: 2)))]))
        try await container.close()
        try await reader.refresh()
        let read = try await reader.privateDatabase(for: "alice").record(for: noteID("a"))
        #expect(try await read.bytes("a") == noise(90_000, seed: 2))
    }

    @Test func `a snapshot has the asset that a save replaced`() async throws {
        let (container, database) = try await makeDatabase()
        var record = try await database.save(
            note("a", ["a": .asset(Asset(data: noise(90_000, seed: 3)))]))
        let snapshot = container.snapshot()
        record["a"] = .asset(Asset(data: noise(90_000, seed: 4)))
        try await database.save(record)
        let before = try snapshot.privateDatabase(for: "alice").record(for: noteID("a"))
        #expect(try await before.bytes("a") == noise(90_000, seed: 3))
    }

    @Test func `two stores whose domains differ have one hash of what they hold`() async throws {
        var hashes: Set<ContentHash> = []
        for user in ["alice", "bob"] {
            for deduplication in [Container.Deduplication.perUser, .wholeStore] {
                let container = try Container.inMemory(deduplication: deduplication)
                let database = container.privateDatabase(for: user)
                try await database.save(RecordZone(zoneID: notes))
                let list = RecordValue.list([.asset(Asset(data: noise(70_000, seed: 5)))])
                try await database.save(
                    note("a", ["a": .asset(Asset(data: noise(90_000, seed: 5))), "l": list]))
                hashes.insert(try await database.contentHash())
            }
        }
        #expect(hashes.count == 1)
    }

    @Test func `without the asset among the desired keys no chunk is touched`() async throws {
        let store = Self.makeStore()
        let (container, database) = try await Self.begin(store)
        try await database.save(
            note("a", ["a": .asset(Asset(data: noise(90_000, seed: 6))), "n": 1]))
        try await container.close()
        let storage = try LocalStorage(
            at: "store", .writing(creating: false), on: store.disk.process())
        for name in try storage.list() where name.hasPrefix("chunks-") {
            _ = try storage.delete(name)
        }
        storage.close()
        let again = try store.open()
        let found = again.privateDatabase(for: "alice")
        #expect(try await found.record(for: noteID("a"), desiredKeys: ["n"])["n"] == 1)
        let changes = try await FollowedChanges(of: found)
        #expect(changes.modifiedNames == ["a"])
        let whole = try await found.record(for: noteID("a"))
        let error = await failure { try await whole.bytes("a") }
        #expect(error.cause == .damaged && error.item == .record(noteID("a")))
        #expect(error.place?.kind == "chunk segment.missing")
    }
}
