import FoundationEssentials
import StratusTool
import Testing

/// `stratus gc` says what goes, and why.
struct CollectTests {
    /// A store with a large file, which was deleted since.
    private func makePlace() async throws -> Place {
        let place = try Place()
        try place.write(Place.text(numbers: 60_000), "tree/large")
        try await place.importTree()
        try FileManager.default.removeItem(atPath: place.path + "/tree/large")
        try await place.importTree()
        return place
    }

    @Test func `gc says of each segment and in sum what goes and why, and does what it had said`()
        async throws
    {
        let place = try await makePlace()
        let dry = try await place.run("gc @/store --dry-run", json: true)
        let text = try await place.run("gc @/store --dry-run")
        let real = try await place.run("gc @/store", json: true)
        #expect(dry.code == .ok && text.code == .ok && real.code == .ok)
        #expect(dry.results.contains(#""dryRun":true"#))
        #expect(
            dry.results.replacing(#""dryRun":true"#, with: #""dryRun":false"#) == real.results)
        let lines = dry.results.split(separator: "\n")
        #expect(lines.count == 2)
        #expect(lines[0].contains(#""file":"chunks-0000000000000001","reason":"replaced""#))
        #expect(lines[1].contains(#""deletedSegments":1,"#))
        let said = text.results.split(separator: "\n")
        #expect(said[0].hasPrefix("chunks-0000000000000001: no record needs what is in it"))
        #expect(said[1].contains("would be taken back") && said[1].contains("1 segment would be"))
        let again = try await place.run("gc @/store", json: true)
        #expect(again.results.contains(#""reclaimedChunks":0,"#))
        #expect(!again.results.contains("segment\""))
    }
}
