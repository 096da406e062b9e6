import FoundationEssentials
import StratusTool
import Testing

/// What is the same for all commands about a store.
@Suite struct FormTests {
    private static let lines = [
        "info @/store", "users @/store", "zones @/store", "records @/store --zone files",
        "show @/store NAME --zone files", "log @/store", "changes @/store --zone files",
        "verify @/store", "hash @/store",
        "stats @/store", "checkpoint @/store", "reindex @/store",
        "import @/tree @/store --zone files", "export @/store @/again --zone files",
        "tree @/store --as local", "what-can @/store local",
        "stats @/store --assets", "gc @/store", "follow @/store --into @/copy --once",
    ]

    /// Of `a.txt`: what its path hashes to.
    private static let name = "18b7cb099a9ea3f50ba899b5ba81e0d3"

    @Test(arguments: lines)
    func `a command says its results as text and as one object a line`(line: String) async throws {
        let place = try Place()
        try await place.importTree()
        let line = line.replacing("NAME", with: Self.name)
        let text = try await place.run(line)
        #expect(text.code == .ok)
        #expect(!text.results.isEmpty && !text.results.hasPrefix("{"))
        try? FileManager.default.removeItem(atPath: place.path + "/again")
        let json = try await place.run(line, json: true)
        #expect(json.code == .ok)
        let objects = json.results.split(separator: "\n")
        #expect(!objects.isEmpty)
        #expect(objects.allSatisfy { $0.hasPrefix("{\"type\":") && $0.hasSuffix("}") })
    }

    @Test(arguments: ["records @/store --zone files", "hash @/store"])
    func `a command asks as the local user of the private database unless told otherwise`(
        line: String
    ) async throws {
        let place = try Place()
        try await place.importTree()
        let usual = try await place.run(line)
        let said = try await place.run(line + " --database private --as local")
        #expect(usual.code == .ok && said.code == .ok)
        #expect(said.results == usual.results)
        let other = try await place.run(line + " --as somebody")
        #expect(other.results != usual.results)
        let everybody = try await place.run(line + " --database public")
        #expect(everybody.results != usual.results)
    }

    @Test func `contents up to 16 KiB are kept in the record, longer ones are assets`() async throws
    {
        let place = try Place()
        try place.write(String(repeating: "a", count: 16 << 10), "tree/small")
        try place.write(String(repeating: "a", count: (16 << 10) + 1), "tree/large")
        try await place.importTree()
        let records = try await place.run("records @/store --zone files", json: true)
        let lines = records.results.split(separator: "\n")
        let small = try #require(lines.first { $0.contains(#""name":{"value":"small""#) })
        let large = try #require(lines.first { $0.contains(#""name":{"value":"large""#) })
        #expect(small.contains(#""contents":"#) && small.contains(#""sha256":"#))
        #expect(!large.contains(#""contents":"#) && large.contains(#""fileChecksum":"#))
        #expect(small.contains(#""mode":"#) && small.contains(#""modifiedNanoseconds":"#))
        let inner = try #require(lines.first { $0.contains(#""name":{"value":"b.txt""#) })
        #expect(inner.contains(#""parent":"#))
    }
}
