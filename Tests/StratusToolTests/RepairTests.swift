import FoundationEssentials
import Stratus
import StratusTool
import Testing

/// What is made anew of a damaged store, and what is left alone.
@Suite struct RepairTests {
    private let place: Place

    init() async throws {
        place = try Place()
        try await place.importTree()
        _ = try await place.run("checkpoint @/store")
    }

    private func files() throws -> [String: Data] {
        let folder = place.path + "/store"
        var files: [String: Data] = [:]
        for name in try FileManager.default.contentsOfDirectory(atPath: folder) {
            files[name] = try Data(contentsOf: URL(filePath: folder + "/" + name))
        }
        return files
    }

    /// Changes bytes of the first file whose name begins so.
    private func damage(_ prefix: String, at places: [Int]) throws {
        let (name, data) = try #require(
            files().filter { $0.key.hasPrefix(prefix) }.min { $0.key < $1.key })
        var bytes = data
        for place in places { bytes[place < 0 ? bytes.count + place : place] ^= 1 }
        try bytes.write(to: URL(filePath: place.path + "/store/" + name))
    }

    private func hash() async throws -> String { try await place.run("hash @/store").results }

    @Test func `where nothing is damaged nothing is to be done`() async throws {
        let before = try files()
        let plan = try await place.run("repair @/store")
        #expect(plan.code == .ok && plan.results.hasPrefix("nothing has to be rebuilt: "))
        let applied = try await place.run("repair @/store --apply")
        #expect(applied.code == .ok && applied.results == plan.results)
        #expect(try files() == before)
    }

    @Test func `a manifest of which no copy is whole is made anew, and the damaged one kept`()
        async throws
    {
        let expected = try await hash()
        try damage("manifest-", at: [30, -30])
        let before = try files()
        #expect(try await place.run("records @/store --zone files").code == .damaged)
        let plan = try await place.run("repair @/store")
        #expect(plan.code == .differences, "\(plan)")
        #expect(plan.results.contains("would rebuild: the manifest, of what the segments say"))
        #expect(try files() == before)
        let applied = try await place.run("repair @/store --apply")
        #expect(applied.code == .ok, "\(applied)")
        #expect(try await hash() == expected)
        #expect(try await place.run("verify @/store").code == .ok)
        let kept = try #require(before.first { $0.key.hasPrefix("manifest-") })
        #expect(try files()["broken-" + kept.key] == kept.value)
    }

    @Test func `a damaged table of the index is made anew`() async throws {
        let expected = try await hash()
        try damage("index-", at: [100])
        #expect(try await place.run("repair @/store").code == .differences)
        let applied = try await place.run("repair @/store --apply", json: true)
        #expect(applied.code == .ok && applied.results.contains(#""step":"index","done":true"#))
        #expect(!applied.results.contains(#""step":"manifest""#))
        #expect(try await hash() == expected)
        #expect(try await place.run("verify @/store").code == .ok)
    }

    @Test func `a damaged journal is left alone, and what is whole of it brought out`() async throws
    {
        try damage("journal-", at: [4200])
        let before = try files()
        for line in ["repair @/store", "repair @/store --apply"] {
            let run = try await place.run(line)
            #expect(run.code == .damaged, "\(run)")
            #expect((run.results + run.messages).contains("salvage"), "\(run)")
            #expect(try files() == before)
        }
        let saved = try await place.run("salvage @/store @/saved")
        #expect(saved.code == .partial && saved.results.contains("lost: offsets "), "\(saved)")
        #expect(try files() == before)
        #expect(try await place.run("verify @/saved").code == .ok)
        // Nothing is replaced.
        #expect(try await place.run("salvage @/store @/saved").code == .exists)
    }

    @Test func `what only the end of the journal lacks is said, and what is whole comes out`()
        async throws
    {
        let journal = try #require(files().first { $0.key.hasPrefix("journal-") })
        let end = try #require(journal.value.lastIndex { $0 != 0 })
        try damage("journal-", at: [end])
        let saved = try await place.run("salvage @/store @/saved")
        #expect(saved.code == .partial || saved.code == .ok, "\(saved)")
        #expect(try await place.run("verify @/saved").code == .ok)
    }

    @Test func `change tags stay good in what was salvaged, and tokens are refused`() async throws {
        let zone = RecordZone.ID(zoneName: "files")
        let old = try await Container.openReadOnly(at: place.path + "/store")
        let token = try await old.privateDatabase(for: "local")
            .recordZoneChanges(inZoneWith: zone, since: nil).changeToken
        let record = try await old.privateDatabase(for: "local")
            .records(inZoneWith: zone).records[0]
        try await old.close()
        _ = try await place.run("salvage @/store @/saved")
        let store = try await Container.open(at: place.path + "/saved")
        let database = store.privateDatabase(for: "local")
        await #expect(throws: StoreError.self) {
            try await database.recordZoneChanges(inZoneWith: zone, since: token)
        }
        var changed = record
        changed["note"] = "saved with the old tag"
        #expect(try await database.save(changed)["note"] == "saved with the old tag")
        // A repaired store is the same one: its tokens stay good.
        try damage("manifest-", at: [30, -30])
        _ = try await place.run("repair @/store --apply")
        let repaired = try await Container.openReadOnly(at: place.path + "/store")
        let changes = try await repaired.privateDatabase(for: "local")
            .recordZoneChanges(inZoneWith: zone, since: token)
        #expect(changes.modifications.isEmpty)
        try await repaired.close()
        try await store.close()
    }

    @Test func `a folder without a store is said to be none`() async throws {
        for line in ["repair @/tree", "salvage @/tree @/saved"] {
            #expect(try await place.run(line).code == .noStore)
        }
    }
}
