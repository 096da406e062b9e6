import FoundationEssentials
import StratusTool
import Testing

/// Trees with files that are too large for a record.
@Suite struct AssetToolTests {
    private func makePlace() throws -> Place {
        let place = try Place()
        let text = Place.text(numbers: 60_000)
        try place.write(text, "tree/large")
        try place.write(text, "tree/sub/same")
        let manager = FileManager.default
        try manager.setAttributes(
            [.posixPermissions: 0o640, .modificationDate: Date(timeIntervalSince1970: 1_000_000)],
            ofItemAtPath: place.path + "/tree/large")
        try manager.setAttributes(
            [.posixPermissions: 0o750, .modificationDate: Date(timeIntervalSince1970: 2_000_000)],
            ofItemAtPath: place.path + "/tree/sub")
        return place
    }

    private func attributes(_ path: String) throws -> [String] {
        let found = try FileManager.default.attributesOfItem(atPath: path)
        let date = (found[.modificationDate] as? Date)?.timeIntervalSince1970 ?? 0
        return ["\(found[.posixPermissions] as? Int ?? 0)", "\(date)"]
    }

    @Test func `what was imported is exported byte for byte, with modes and dates`() async throws {
        let place = try makePlace()
        try await place.importTree()
        let export = try await place.run("export @/store @/again --zone files", json: true)
        #expect(export.code == .ok, "\(export.results) \(export.messages)")
        let manager = FileManager.default
        let names = try manager.subpathsOfDirectory(atPath: place.path + "/tree").sorted()
        #expect(
            try manager.subpathsOfDirectory(atPath: place.path + "/again").sorted() == names)
        for name in names {
            let (old, new) = (place.path + "/tree/" + name, place.path + "/again/" + name)
            #expect(manager.contents(atPath: old) == manager.contents(atPath: new), "\(name)")
            #expect(try attributes(old) == attributes(new), "\(name)")
        }
        #expect(
            try manager.destinationOfSymbolicLink(atPath: place.path + "/again/link") == "a.txt")
        // It must not exist.
        #expect(try await place.run("export @/store @/again --zone files").code != .ok)
    }

    @Test func `stats show what is stored once, and a collection what an edit has left`()
        async throws
    {
        let place = try makePlace()
        try await place.importTree()
        let stats = try await place.run("stats @/store --assets", json: true)
        #expect(stats.results.contains(#""assets":2,"#))
        #expect(stats.results.contains(#""deduplication":2"#))
        let ratio = try #require(stats.results.firstMatch(of: /"compression":([0-9.]+)/)?.1)
        #expect(try #require(Double(ratio)) > 1.2)
        #expect(try await place.run("stats @/store --assets").results.hasPrefix("logical "))
        try FileManager.default.removeItem(atPath: place.path + "/tree/large")
        try FileManager.default.removeItem(atPath: place.path + "/tree/sub/same")
        try await place.importTree()
        let dry = try await place.run("gc @/store --dry-run", json: true)
        #expect(dry.code == .ok && !dry.results.contains(#""reclaimedChunks":0,"#))
        let real = try await place.run("gc @/store", json: true)
        #expect(real.results.contains(#""file":"chunks-0000000000000001""#))
        let again = try await place.run("gc @/store", json: true)
        #expect(again.results.contains(#""reclaimedChunks":0,"#))
        #expect(try await place.run("verify @/store").code == .ok)
    }

    /// The name of a record of the tree that has an asset, and what the asset holds.
    private func anAsset(_ place: Place) async throws -> (name: String, bytes: Data) {
        try await place.importTree()
        let records = try await place.run("records @/store --zone files", json: true)
        let lines = records.results.split(separator: "\n").filter { $0.contains("ASSETID") }
        let line = try #require(lines.first)
        let name = try #require(line.firstMatch(of: /"recordName":"([0-9a-f]+)"/)?.1)
        let whole = try #require(FileManager.default.contents(atPath: place.path + "/tree/large"))
        return (String(name), whole)
    }

    @Test func `an asset, or a part of it, is written to a file`() async throws {
        let place = try makePlace()
        let (name, whole) = try await anAsset(place)
        let all = try await place.run("asset @/store \(name) asset @/whole --zone files")
        #expect(all.code == .ok, "\(all.messages)")
        #expect(FileManager.default.contents(atPath: place.path + "/whole") == whole)
        let part = try await place.run(
            "asset @/store \(name) asset @/part --zone files --offset 70000 --length 100")
        #expect(part.code == .ok)
        #expect(
            FileManager.default.contents(atPath: place.path + "/part") == whole[70_000..<70_100])
        // What is there stays, and nothing is left beside it.
        let again = try await place.run("asset @/store \(name) asset @/part --zone files")
        #expect(again.code == .exists && again.messages.contains("cannot make the file: open: "))
        #expect(FileManager.default.contents(atPath: place.path + "/part")?.count == 100)
        let names = try FileManager.default.contentsOfDirectory(atPath: place.path)
        #expect(names.sorted() == ["part", "store", "tree", "whole"])
    }

    @Test func `an asset is not written into the directory of a store`() async throws {
        let place = try makePlace()
        let (name, whole) = try await anAsset(place)
        let (manager, store) = (FileManager.default, place.path + "/store")
        try manager.createSymbolicLink(
            atPath: place.path + "/link", withDestinationPath: "store")
        let names = try manager.contentsOfDirectory(atPath: store).sorted()
        let last = try #require(names.last { $0.hasPrefix("manifest-") })
        let next = String(last.dropLast()) + "f"
        for path in ["store/\(next)", "link/\(next)", "tree/sub/../../store/\(next)"] {
            let result = try await place.run(
                "asset @/store \(name) asset @/\(path) --zone files")
            #expect(result.code == .permission, "\(result.messages)")
            #expect(result.messages.contains("into the directory of a store"))
        }
        #expect(try manager.contentsOfDirectory(atPath: store).sorted() == names)
        #expect(
            try await place.run("asset @/store \(name) asset @/tree/out --zone files").code == .ok)
        #expect(manager.contents(atPath: place.path + "/tree/out") == whole)
    }

    @Test(arguments: ["", " -", " -o -"])
    func `an asset, or a part of it, is written to standard output`(output: String) async throws {
        let place = try makePlace()
        let (name, whole) = try await anAsset(place)
        let line = "asset @/store \(name) asset\(output) --zone files"
        let all = try await place.run(line)
        #expect(all.code == .ok && all.messages.isEmpty && Data(all.results.utf8) == whole)
        let part = try await place.run(line + " --offset 70000 --length 100000")
        #expect(Data(part.results.utf8) == whole[70_000..<170_000])
        let none = try await place.run(line + " --offset 9999999")
        #expect(none.code == .ok && none.results.isEmpty)
        // With --json a result is an object.
        let json = try await place.run(line, json: true)
        #expect(json.code == .usage && json.results.isEmpty)
    }

    @Test func `a terminal is given an asset only where that is asked for`() async throws {
        let place = try makePlace()
        let (name, _) = try await anAsset(place)
        for (end, code) in [("", ExitCode.usage), (" -", .ok), (" -o -", .ok)] {
            let capture = Capture()
            let line = "asset \(place.path)/store \(name) asset\(end) --zone files --length 9"
            let output = capture.output { $0.resultsAreOnTerminal = true }
            #expect(await Tool.stratus.perform(try parse(line), output) == code)
            #expect(capture.results.utf8.count == (code == .ok ? 9 : 0))
        }
    }

    @Test func `a reader of an asset that has gone is a quiet end`() async throws {
        let place = try makePlace()
        let (name, _) = try await anAsset(place)
        let capture = Capture()
        capture.closeReader()
        let line = "asset \(place.path)/store \(name) asset --zone files"
        let code = await Tool.stratus.perform(try parse(line), capture.output())
        #expect(code == .brokenPipe && capture.messages.isEmpty)
        #expect(capture.writes.count == 1)
    }

    @Test func `an asset with a damaged chunk is not written`() async throws {
        let place = try makePlace()
        let (name, _) = try await anAsset(place)
        let file = URL(filePath: place.path + "/store/chunks-0000000000000001")
        var bytes = try Data(contentsOf: file)
        bytes[64 + 80 + 100] ^= 1
        try bytes.write(to: file)
        let damaged = try await place.run("asset @/store \(name) asset @/out --zone files")
        #expect(damaged.code == .damaged)
        #expect(damaged.messages.contains("chunk.checksum"))
        let names = try FileManager.default.contentsOfDirectory(atPath: place.path)
        #expect(names.sorted() == ["store", "tree"])
        let piped = try await place.run("asset @/store \(name) asset --zone files")
        #expect(piped.code == .damaged && piped.results.isEmpty)
    }
}
