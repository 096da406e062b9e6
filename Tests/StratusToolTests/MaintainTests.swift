import FoundationEssentials
import Stratus
import StratusTool
import Testing

/// The commands about the index, on a store that was made by `import`.
@Suite struct MaintainTests {
    private func makeStore() async throws -> Place {
        let place = try Place()
        try await place.importTree()
        return place
    }

    private func tables(_ place: Place) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: place.path + "/store")
            .filter { $0.hasPrefix("index-") }.sorted()
    }

    @Test func `checkpoint says where it lies and what the index takes`() async throws {
        let place = try await makeStore()
        let none = try await place.run("info @/store")
        #expect(none.results.contains("\ncheckpoint   none: an opening reads all "))
        let first = try await place.run("checkpoint @/store", json: true)
        #expect(first.code == .ok)
        #expect(
            first.results.hasPrefix(#"{"type":"summary","replayedCommits":2,"tables":1,"bytes":"#))
        #expect(first.results.contains(#","checkpoint":""#))
        #expect(try tables(place).count == 1)
        let second = try await place.run("checkpoint @/store")
        #expect(second.results.hasPrefix("checkpoint at offset "))
        let info = try await place.run("info @/store", json: true)
        #expect(info.results.contains(#""checkpoint":""#))
        #expect(info.results.contains(#""journalBytesSinceCheckpoint":"#))
    }

    @Test func `stats has a line for each map and run, and ends with the whole`() async throws {
        let place = try await makeStore()
        let before = try await place.run("stats @/store", json: true)
        #expect(before.results.split(separator: "\n").count == 1)
        #expect(!before.results.contains(#""checkpoint""#))
        _ = try await place.run("checkpoint @/store")
        let json = try await place.run("stats @/store", json: true)
        #expect(json.code == .ok)
        let lines = json.results.split(separator: "\n")
        #expect(
            lines.first?.hasPrefix(#"{"type":"keyspace","name":"records","entries":4,"#) == true)
        #expect(lines.dropLast().last?.hasPrefix(#"{"type":"run","level":0,"tables":1,"#) == true)
        #expect(lines.last?.hasPrefix(#"{"type":"summary","tables":1,"bytes":"#) == true)
        let text = try await place.run("stats @/store")
        #expect(text.results.hasPrefix("records       4 entries, "))
        #expect(text.results.contains("\ncheckpoint    offset "))
    }

    @Test func `stats reads beside a writer, which checkpoint and reindex do not`() async throws {
        let place = try await makeStore()
        let container = try await Container.open(at: place.path + "/store")
        #expect(try await place.run("stats @/store").code == .ok)
        #expect(try await place.run("checkpoint @/store").code == .locked)
        #expect(try await place.run("reindex @/store").code == .locked)
        try await container.close()
    }

    @Test(arguments: ["stats", "checkpoint", "reindex"])
    func `where there is no store none is made`(command: String) async throws {
        let place = try Place()
        #expect(try await place.run("\(command) @/none").code == .noStore)
        #expect(!FileManager.default.fileExists(atPath: place.path + "/none"))
    }

    @Test func `verify names damage of the index, and reindex heals it`() async throws {
        let place = try await makeStore()
        _ = try await place.run("checkpoint @/store")
        let whole = try await place.run("verify @/store", json: true)
        #expect(whole.code == .ok)
        #expect(whole.results.contains(#""tables":1,"#))
        let hash = try await place.run("hash @/store --system").results
        let name = try #require(try tables(place).first)
        let path = URL(filePath: place.path + "/store/" + name)
        var bytes = try Data(contentsOf: path)
        bytes[40] ^= 1
        try bytes.write(to: path)
        let damaged = try await place.run("verify @/store")
        #expect(damaged.code == .differences)
        #expect(
            damaged.results.hasPrefix(
                "\(name), byte 32: index.checksum; 'stratus reindex STORE' heals it\n1 finding in ")
        )
        let json = try await place.run("verify @/store", json: true)
        #expect(json.results.contains(#""hint":"'stratus reindex STORE' heals it""#))
        let reindex = try await place.run("reindex @/store")
        #expect(reindex.code == .ok)
        #expect(reindex.results.hasPrefix("the index was rebuilt from 2 commits in "))
        #expect(try await place.run("verify @/store").code == .ok)
        #expect(try await place.run("hash @/store --system").results == hash)
        #expect(try !tables(place).contains(name))
    }

    @Test func `reindex heals an index that is gone, and a damaged checkpoint`() async throws {
        let place = try await makeStore()
        _ = try await place.run("checkpoint @/store")
        let hash = try await place.run("hash @/store --system").results
        let folder = place.path + "/store/"
        for name in try tables(place) { try FileManager.default.removeItem(atPath: folder + name) }
        let missing = try await place.run("verify @/store", json: true)
        #expect(missing.results.hasPrefix(#"{"type":"finding","id":"file.missing","file":"index-"#))
        let result = try await place.run("reindex @/store --progress json", json: true)
        #expect(result.code == .ok)
        #expect(
            result.messages.contains(#"{"type":"progress","title":"reindexing","unit":"bytes""#))
        #expect(try await place.run("verify @/store").code == .ok)

        // In the checkpoint, which begins behind the list of segments and its checksum.
        try damageManifest(in: folder) { 128 + 80 * Int($0[12]) + 16 }
        let damaged = try await place.run("verify @/store")
        #expect(damaged.code == .differences)
        #expect(damaged.results.contains("checkpoint.checksum; 'stratus reindex STORE' heals it"))
        let info = try await place.run("info @/store", json: true)
        #expect(info.code == .ok)
        #expect(info.messages.contains(#""id":"checkpoint.discarded""#))
        try await expectHealed(place, hash)
    }

    @Test(arguments: [("manifest.checksum", 60), ("manifest.copy", -60)])
    func `a manifest of which one copy is damaged is read all the same, and healed`(
        finding: String, byte: Int
    ) async throws {
        let place = try await makeStore()
        let hash = try await place.run("hash @/store --system").results
        try damageManifest(in: place.path + "/store/") { byte < 0 ? $0.count + byte : byte }
        let damaged = try await place.run("verify @/store")
        #expect(damaged.code == .differences)
        #expect(damaged.results.contains("\(finding); 'stratus reindex STORE' heals it"))
        let info = try await place.run("info @/store", json: true)
        #expect(info.code == .ok)
        #expect(info.messages.contains(#""id":"manifest.copied""#))
        #expect(try await place.run("hash @/store --system").results == hash)
        try await expectHealed(place, hash)
    }

    /// Makes the index anew; then nothing is damaged, and the store has the content that it had.
    private func expectHealed(_ place: Place, _ hash: String) async throws {
        #expect(try await place.run("reindex @/store").code == .ok)
        #expect(try await place.run("verify @/store").code == .ok)
        #expect(try await place.run("hash @/store --system").results == hash)
    }

    /// Changes a bit of the byte that `place` gives for what is in the file.
    private func damageManifest(in folder: String, at place: (Data) -> Int) throws {
        let names = try FileManager.default.contentsOfDirectory(atPath: folder)
        let manifest = try #require(names.first { $0.hasPrefix("manifest-") })
        var bytes = try Data(contentsOf: URL(filePath: folder + manifest))
        bytes[place(bytes)] ^= 1
        try bytes.write(to: URL(filePath: folder + manifest))
    }
}
