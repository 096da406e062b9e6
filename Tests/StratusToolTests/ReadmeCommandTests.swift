import FoundationEssentials
import StratusTool
import Support
import Testing

struct ReadmeCommandTests {
    /// The lines of the README in blocks of shell that `stratus` runs, without their comments.
    private static func commands() throws -> [String] {
        let readme = try #require(PackageFiles.text("README.md"))
        var commands: [String] = []
        var isShell = false
        for line in readme.split(separator: "\n") {
            if line.hasPrefix("```") { isShell = line == "```sh" }
            guard isShell, line.hasPrefix("stratus "), !line.contains("<<") else { continue }
            commands.append(String(line.dropFirst(8).prefix { $0 != "#" }))
        }
        return commands
    }

    @Test func `the commands in the README do their work, one after the other`() async throws {
        let place = try Place()
        let commands = try Self.commands()
        #expect(commands.count == 20)
        for command in commands {
            let line = command.replacing("./", with: "@/")
                .replacing("Formats", with: PackageFiles.root + "/Formats")
            let result = try await place.run(line)
            #expect(result.code == .ok && !result.results.isEmpty, "\(line): \(result.messages)")
        }
        let made = try FileManager.default.subpathsOfDirectory(atPath: place.path + "/again")
        #expect(made.count == PackageFiles.paths(below: "Formats").count)
        let stats = try await place.run("stats @/store --assets", json: true)
        #expect(!stats.results.contains(#""assets":0,"#))
    }

    @Test func `the README has a line for each command, and no other`() throws {
        let readme = try #require(PackageFiles.text("README.md"))
        var named: Set<String> = []
        for line in readme.split(separator: "\n") where line.hasPrefix("    stratus ") {
            // Two spaces or a value end what names commands: `stratus info | zones   what …`.
            let words = line.dropFirst(12).split(separator: " ", omittingEmptySubsequences: false)
            let names = words.prefix {
                !$0.isEmpty && $0.allSatisfy { $0.isLowercase || "|-".contains($0) }
            }
            named.formUnion(names.filter { $0 != "|" }.map(String.init))
        }
        let about: Set = ["help", "completion", "version"]
        #expect(named.union(about) == Set(CommandTable.stratus.commands.map(\.name)))
    }
}
