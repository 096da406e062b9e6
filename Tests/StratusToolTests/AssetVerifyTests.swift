import FoundationEssentials
import StratusTool
import Testing

/// What `verify` says of a store with assets.
@Suite struct AssetVerifyTests {
    /// A store with a file that is too large for a record.
    private func makePlace() async throws -> Place {
        let place = try Place()
        try place.write(Place.text(numbers: 40_000), "tree/large")
        try await place.importTree()
        return place
    }

    /// Changes a byte of the first file whose name begins so.
    private func flip(_ prefix: String, _ byte: Int, in place: Place) throws {
        let folder = place.path + "/store"
        let name = try #require(
            try FileManager.default.contentsOfDirectory(atPath: folder).sorted()
                .first { $0.hasPrefix(prefix) })
        let path = URL(filePath: "\(folder)/\(name)")
        var bytes = try Data(contentsOf: path)
        bytes[byte] ^= 1
        try bytes.write(to: path)
    }

    @Test func `a damaged chunk is named with the record and the field that need it`() async throws
    {
        let place = try await makePlace()
        let whole = try await place.run("verify @/store")
        #expect(whole.code == .ok && whole.results.contains("chunks of assets"))
        try flip("chunks-", 200, in: place)
        let damaged = try await place.run("verify @/store")
        #expect(damaged.code == .differences)
        #expect(
            damaged.results.hasPrefix(
                "chunks-0000000000000001, byte 64: chunk.checksum; record "))
        let hint =
            "'stratus restore ARCHIVE NEW' makes the store anew, 'stratus salvage STORE NEW' one of "
            + "what is whole"
        #expect(
            damaged.results.contains(" of zone files, field asset; \(hint)\n1 finding in "))
        let json = try await place.run("verify @/store", json: true)
        #expect(
            json.results.contains(
                #""zone":"files","field":"asset","hint":"\#(hint)","severity":"damage"}"#))
    }

    @Test func `where the journal is damaged the chunks are read all the same`() async throws {
        let place = try await makePlace()
        _ = try await place.run("checkpoint @/store")
        let log = try await place.run("log @/store").results.split(separator: "\n")
        let record = try #require(log.first { $0.contains("  File") })
        let byte = try #require(record.split(separator: "  ")[1].split(separator: ":").last)
        try flip("journal-", try #require(Int(byte)) + 60, in: place)
        try flip("chunks-", 200, in: place)
        let run = try await place.run("verify @/store", json: true)
        #expect(run.code == .differences)
        #expect(run.results.contains(#""id":"frame.payload checksum""#), "\(run)")
        #expect(run.results.contains(#""id":"chunk.checksum""#), "\(run)")
        #expect(run.results.contains(#""findings":2,"#), "\(run)")
    }

    @Test func `a record whose asset is damaged is left out of a dump that skips damage`()
        async throws
    {
        let place = try await makePlace()
        try flip("chunks-", 200, in: place)
        let line = "dump @/store --asset-files @/assets"
        #expect(try await place.run(line).code == .damaged)
        let skipping = try await place.run(line + " --skip-damaged")
        #expect(skipping.code == .partial, "\(skipping)")
        #expect(skipping.messages.contains("skipped: "))
        // The zone and the four other records.
        #expect(skipping.results.split(separator: "\n").count == 5)
        #expect(!skipping.results.contains(#""asset""#))
    }

    @Test func `where the index is damaged the assets are read without it`() async throws {
        let place = try await makePlace()
        _ = try await place.run("checkpoint @/store")
        try flip("index-", 40, in: place)
        let damaged = try await place.run("verify @/store")
        #expect(damaged.code == .differences)
        #expect(
            damaged.results.contains(
                "index.checksum; 'stratus reindex STORE' heals it\n1 finding in ")
        )
        #expect(damaged.results.contains("chunks of assets"))
    }
}
