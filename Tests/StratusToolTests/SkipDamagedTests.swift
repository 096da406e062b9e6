import FoundationEssentials
import StratusTool
import Testing

/// What the tool says of a store in which single records are damaged.
@Suite struct SkipDamagedTests {
    /// Damages the records of these types; returns the offsets of their entries.
    private func damage(_ types: [String], in place: Place) async throws -> [String] {
        try await place.importTree()
        #expect(try await place.run("checkpoint @/store").code == .ok)
        var offsets: [String] = []
        for line in try await place.run("log @/store").results.split(separator: "\n") {
            let words = line.split(separator: " ").map(String.init)
            guard words[2] == "record" || types.contains(words[2]),
                let type = types.first(where: { words.contains($0) }),
                !offsets.contains(where: { $0.hasPrefix(type) })
            else { continue }
            let path = place.path + "/store/" + words[1].split(separator: ":")[0]
            let byte = try #require(Int(words[1].split(separator: ":")[1]))
            var bytes = try Data(contentsOf: URL(filePath: path))
            bytes[byte + 52] ^= 1
            try bytes.write(to: URL(filePath: path))
            offsets.append("\(type) \(words[0])")
        }
        #expect(offsets.count == types.count)
        return offsets.map { String($0.split(separator: " ")[1]) }
    }

    @Test func `records without a skip ends at damage, with it names each and lists the others`()
        async throws
    {
        let place = try Place()
        let offsets = try await damage(["Link"], in: place)
        let plain = try await place.run("records @/store --zone files")
        #expect(plain.code == .damaged)
        let skipping = try await place.run("records @/store --zone files --skip-damaged")
        #expect(skipping.code == .partial)
        #expect(skipping.results.split(separator: "\n").count == 3)
        #expect(skipping.messages.contains("frame.payload checksum"))
        #expect(skipping.messages.contains("offset \(offsets[0])"))
    }

    @Test func `query without a skip ends at damage, with it names each and lists the others`()
        async throws
    {
        let place = try Place()
        let offsets = try await damage(["File"], in: place)
        #expect(try await place.run("query @/store File").code == .damaged)
        #expect(try await place.run("query @/store File name!='x' --count").code == .damaged)
        // To count all of a type no record is read.
        let all = try await place.run("query @/store File --count")
        #expect(all.code == .ok && all.results == "2\n")
        let skipping = try await place.run("query @/store File --sort name --skip-damaged")
        #expect(skipping.code == .partial)
        #expect(skipping.results.split(separator: "\n").count == 1)
        #expect(skipping.messages.contains("offset \(offsets[0])"))
    }

    @Test func `changes without a skip fails at damage, with it says that changes are missing`()
        async throws
    {
        let place = try Place()
        let offsets = try await damage(["Link"], in: place)
        let plain = try await place.run("changes @/store --zone files")
        #expect(plain.code == .damaged)
        #expect(plain.results == "")
        let skipping = try await place.run("changes @/store --zone files --skip-damaged")
        #expect(skipping.code == .partial)
        #expect(skipping.results.split(separator: "\n").count == 4)
        #expect(skipping.results.contains("(incomplete: damaged changes were skipped)"))
        #expect(skipping.messages.contains("offset \(offsets[0])"))
        let json = try await place.run(
            "changes @/store --zone files --skip-damaged", json: true)
        #expect(json.results.contains(#""incomplete":true"#))
    }

    @Test func `log goes on behind damage only where it is told to`() async throws {
        let place = try Place()
        let offsets = try await damage(["Link"], in: place)
        let plain = try await place.run("log @/store")
        #expect(plain.code == .damaged)
        let skipping = try await place.run("log @/store --skip-damaged")
        #expect(skipping.code == .partial)
        #expect(skipping.results.count > plain.results.count)
        #expect(skipping.results.hasPrefix(plain.results))
        #expect(!skipping.results.contains("Link  "))
        #expect(skipping.messages.contains("offset \(offsets[0])"))
        let reversed = try await place.run("log @/store --skip-damaged --reverse")
        #expect(reversed.code == .partial && reversed.messages == skipping.messages)
        let lines = skipping.results.split(separator: "\n")
        #expect(reversed.results.split(separator: "\n") == lines.reversed())
        // Without, it ends there, from the other side.
        let ended = try await place.run("log @/store --reverse")
        #expect(ended.code == .damaged)
        let damaged = try #require(UInt64(offsets[0]))
        let behind = lines.filter {
            $0.split(separator: " ").first.flatMap { UInt64($0) } ?? 0 > damaged
        }
        #expect(behind.count > 1)
        #expect(ended.results.split(separator: "\n") == behind.reversed())
    }

    @Test func `zones without a skip ends at damage, with it names each and lists the others`()
        async throws
    {
        let place = try Place()
        let offsets = try await damage(["zone", "Link"], in: place)
        #expect(try await place.run("zones @/store").code == .damaged)
        let skipping = try await place.run("zones @/store --skip-damaged")
        #expect(skipping.code == .partial)
        #expect(!skipping.results.contains("files"))
        #expect(skipping.messages.contains("offset \(offsets[0])"))
        // What only counts zones needs no names.
        #expect(try await place.run("info @/store").code == .ok)
        #expect(try await place.run("users @/store").code == .ok)
        let hash = try await place.run("hash @/store")
        #expect(hash.code == .damaged)
    }

    @Test func `hash fails and names every damaged place`() async throws {
        let place = try Place()
        let offsets = try await damage(["Link", "Folder"], in: place)
        let hash = try await place.run("hash @/store --zone files")
        #expect(hash.code == .damaged)
        #expect(hash.results == "")
        for offset in offsets { #expect(hash.messages.contains("offset \(offset)")) }
    }

    @Test func `export writes what can be read only where it is told to`() async throws {
        let place = try Place()
        let offsets = try await damage(["Link"], in: place)
        #expect(try await place.run("export @/store @/first --zone files").code == .damaged)
        let skipping = try await place.run("export @/store @/again --zone files --skip-damaged")
        #expect(skipping.code == .differences)
        #expect(skipping.messages.contains("offset \(offsets[0])"))
        #expect(try String(contentsOfFile: place.path + "/again/a.txt", encoding: .utf8) == "one")
        #expect(
            try String(contentsOfFile: place.path + "/again/sub/b.txt", encoding: .utf8) == "two")
        #expect(!FileManager.default.fileExists(atPath: place.path + "/again/link"))
    }

    @Test func `follow never skips`() async throws {
        let place = try Place()
        _ = try await damage(["Link"], in: place)
        let result = try await place.run("follow @/store --into @/copy --once")
        #expect(result.code == .damaged)
    }
}
