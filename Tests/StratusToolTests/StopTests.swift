import FoundationEssentials
import Stratus
import StratusTool
import Support
import Testing

/// How the tool ends before its time, and what it leaves behind.
@Suite struct StopTests {
    private static let request =
        #"{"id":1,"as":"a","call":"zones/modify","body":{"operations":["#
        + #"{"operationType":"create","zone":{"zoneID":{"zoneName":"n"}}}]}}"#

    @Test(arguments: [1, 2, 15] as [Int32])
    func `a signal ends a service in order, with 128 and its number`(signal: Int32) async throws {
        let place = try Place()
        let process = try ToolProcess(["exec", place.path + "/store", "--create"])
        process.write(Self.request)
        #expect(process.readLine().contains(#""status":200,"#))
        process.send(signal)
        #expect(process.wait() == 128 + signal)
        let info = try await place.run("info @/store", json: true)
        #expect(info.results.contains(#""closedCleanly":true"#), "\(info)")
    }

    @Test func `a file that --output names is there once the command has ended`() async throws {
        let place = try Place()
        try await place.importTree()
        let path = place.path + "/list"
        var surroundings = Surroundings()
        surroundings.columns = 80
        func run(_ words: String...) async -> ExitCode {
            await Tool.stratus.run(words + ["-q", "-o", path], surroundings)
        }
        #expect(await run("records", place.path + "/store", "--zone", "files") == .ok)
        let lines = try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n")
        #expect(lines.count == 4)
        // Where the command fails, what was there stays as it was.
        #expect(await run("records", place.path + "/store", "--zone", "none") == .notFound)
        #expect(await run("records", place.path + "/none", "--zone", "files") == .noStore)
        let again = try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n")
        #expect(again == lines)
        #expect(await run("zones", place.path + "/store") == .ok)
        let zones = try String(contentsOfFile: path, encoding: .utf8)
        #expect(zones.hasSuffix("4  files  local\n"))
        let names = try FileManager.default.contentsOfDirectory(atPath: place.path)
        #expect(names.sorted() == ["list", "store", "tree"])
    }

    @Test func `nothing is written into the directory of a store, whatever its path`() async throws
    {
        let place = try Place()
        try await place.importTree()
        let files = FileManager.default
        let store = place.path + "/store"
        let names = try files.contentsOfDirectory(atPath: store).sorted()
        let manifest = try #require(names.last { $0.hasPrefix("manifest-") })
        let bytes = files.contents(atPath: "\(store)/\(manifest)")
        try files.createSymbolicLink(
            atPath: place.path + "/link", withDestinationPath: "store/" + manifest)
        for path in [
            "store/" + manifest, "store/new", "store/new/", "tree/../store/\(manifest)", "link",
        ] {
            let words = ["records", store, "--zone", "files", "-q", "-o", place.path + "/" + path]
            #expect(await Tool.stratus.run(words, Surroundings()) == .permission, "\(path)")
            let tree = try await place.run("export @/store @/\(path) --zone files")
            #expect(tree.code == .permission, "\(path): \(tree)")
        }
        #expect(try files.contentsOfDirectory(atPath: store).sorted() == names)
        #expect(files.contents(atPath: "\(store)/\(manifest)") == bytes)
    }

    @Test(arguments: [1, 9] as [Int32])
    func `what a service answered into a file is there while it waits, and after it is killed`(
        signal: Int32
    ) async throws {
        let place = try Place()
        let path = place.path + "/answers"
        let process = try ToolProcess(["exec", place.path + "/store", "--create", "-o", path])
        #expect(!FileManager.default.fileExists(atPath: path))
        process.write(Self.request)
        // At most a minute, on a machine that is busy.
        for _ in 0..<6_000 where !FileManager.default.fileExists(atPath: path) {
            try await Task.sleep(for: .milliseconds(10))
        }
        #expect(try String(contentsOfFile: path, encoding: .utf8).hasSuffix("}\n"))
        process.send(signal)
        #expect(process.wait() == 128 + signal)
        let names = try FileManager.default.contentsOfDirectory(atPath: place.path)
        #expect(names.sorted() == ["answers", "store", "tree"])
    }
}
