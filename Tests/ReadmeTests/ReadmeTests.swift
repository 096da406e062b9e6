import FoundationEssentials
import Stratus
import Testing

@Suite struct ReadmeTests {
    private static let root = URL(filePath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()

    private static func lines(of path: String) throws -> [String] {
        let text = try String(contentsOf: root.appending(path: path), encoding: .utf8)
        return text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    }

    /// What stands between the braces of the functions that the compiler has accepted.
    private static func compiledExamples() throws -> [[String]] {
        let lines = try lines(of: "Tests/ReadmeTests/Example.swift")
        return lines.split { $0.hasPrefix("func ") }.dropFirst().map { body in
            body.prefix { $0 != "}" }.map { String($0.dropFirst(4)) }
        }
    }

    @Test func `the examples in the README are those that are compiled`() throws {
        var readme = try Self.lines(of: "README.md")[...]
        var shown: [[String]] = []
        while let start = readme.firstIndex(of: "```swift") {
            let end = try #require(readme[start...].firstIndex(of: "```"))
            shown.append(Array(readme[(start + 1)..<end]))
            readme = readme[end...].dropFirst()
        }
        var compiled = try Self.compiledExamples()
        try #require(compiled.count == 10)
        compiled[0] = ["import Stratus", ""] + compiled[0]
        #expect(shown == compiled)
    }

    @Test func `the README opens with the two commands`() throws {
        let readme = try Self.lines(of: "README.md")
        let commands = readme.prefix(20).filter { $0.hasPrefix("    Tools/") }
        #expect(commands.map { $0.split(separator: " ").first } == ["Tools/try", "Tools/test"])
    }

    @Test func `the README says that flagged values are not encrypted yet`() throws {
        let text = try Self.lines(of: "README.md").joined(separator: " ")
        #expect(text.contains("the values are flagged, not yet encrypted"))
    }

    @Test func `the example runs`() async throws {
        try? FileManager.default.removeItem(atPath: "/tmp/notes.stratus")
        defer { try? FileManager.default.removeItem(atPath: "/tmp/notes.stratus") }
        try await example()
        let container = try await Container.openReadOnly(at: "/tmp/notes.stratus")
        let zone = RecordZone.ID(zoneName: "Notes")
        try snapshots(of: container, Record.ID(recordName: "n1", zoneID: zone))
        let writing = try await Container.open(at: "/tmp/notes.stratus")
        let database = writing.privateDatabase(for: "alice")
        try await migrations(of: writing)
        let note = try await database.record(for: Record.ID(recordName: "n1", zoneID: zone))
        try await queries(of: writing, database, zone)
        try await notifications(of: writing, database, note)
        try await rules(of: database, try await database.record(for: note.recordID))
        #expect(try await database.recordCount(inZoneWith: zone) == 0)
        try await assets(of: database, zone, #filePath)
        let photo = Record.ID(recordName: "p1", zoneID: zone)
        let image = try await database.record(for: photo)["image"]?.assetValue
        #expect(try await image?.data(limit: 1 << 20) == Data(contentsOf: URL(filePath: #filePath)))
        let folder = FileManager.default.temporaryDirectory.path + "/" + UUID().uuidString
        try FileManager.default.createDirectory(
            atPath: folder, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try await backups(of: writing, zone, folder)
        try await writing.close()
        let restored = try await Container.openReadOnly(at: folder + "/restored")
        #expect(
            try await restored.privateDatabase(for: "alice").recordCount(inZoneWith: zone) == 1)
    }
}
