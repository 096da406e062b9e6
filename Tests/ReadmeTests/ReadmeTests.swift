import FoundationEssentials
import Testing

@Suite struct ReadmeTests {
    private static let root = URL(filePath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()

    private static func lines(of path: String) throws -> [String] {
        let text = try String(contentsOf: root.appending(path: path), encoding: .utf8)
        return text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    }

    /// What stands between the braces of `example()`, which the compiler has accepted.
    private static func compiledExample() throws -> [String] {
        let lines = try lines(of: "Tests/ReadmeTests/Example.swift")
        guard let start = lines.firstIndex(where: { $0.hasPrefix("func example()") }),
            let end = lines.lastIndex(of: "}")
        else { return [] }
        return lines[(start + 1)..<end].map { String($0.dropFirst(4)) }
    }

    @Test func `the example in the README is the one that is compiled`() throws {
        let readme = try Self.lines(of: "README.md")
        let start = try #require(readme.firstIndex(of: "```swift"))
        let end = try #require(readme[start...].firstIndex(of: "```"))
        let shown = Array(readme[(start + 1)..<end])
        #expect(shown == ["import Stratus", ""] + (try Self.compiledExample()))
    }

    @Test func `the README opens with the two commands`() throws {
        let readme = try Self.lines(of: "README.md")
        let commands = readme.prefix(20).filter { $0.hasPrefix("    Tools/") }
        #expect(commands.map { $0.split(separator: " ").first } == ["Tools/try", "Tools/test"])
    }

    @Test func `the example runs`() async throws {
        try? FileManager.default.removeItem(atPath: "/tmp/notes.stratus")
        defer { try? FileManager.default.removeItem(atPath: "/tmp/notes.stratus") }
        try await example()
        #expect(FileManager.default.fileExists(atPath: "/tmp/notes.stratus"))
    }
}
