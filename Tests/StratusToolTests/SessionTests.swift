import FoundationEssentials
import StratusTool
import Support
import Testing

/// The commands of `Tools/session.md` print what stands there.
struct SessionTests {
    private struct Step {
        var command: String
        var output: [String] = []
    }

    private static func page() throws -> (notes: String, steps: [Step]) {
        var notes: [String] = []
        var steps: [Step] = []
        var block = ""
        let page = try #require(PackageFiles.text("Tools/session.md"))
        for line in page.split(separator: "\n", omittingEmptySubsequences: false) {
            if line.hasPrefix("```") {
                block = String(line.dropFirst(3))
            } else if block == "json" {
                notes.append(String(line))
            } else if block == "console", line.hasPrefix("$ stratus") {
                steps.append(Step(command: String(line.dropFirst(9))))
            } else if block == "console" {
                steps[steps.count - 1].output.append(String(line))
            }
        }
        return (notes.joined(separator: "\n") + "\n", steps)
    }

    /// Without what differs from one time to the next: names of 16 and more hexadecimal digits, times,
    /// and offsets and sizes, since the groups of a journal depend on what time goes by.
    private static func normal(_ line: some StringProtocol) -> String {
        var line = String(line)
        line.replace(/[0-9a-f]{16,}/, with: "ID")
        line.replace(/[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+Z/, with: "TIME")
        // A slow machine takes minutes.
        line.replace(/took [0-9.]+ [a-z]+( [0-9.]+ [a-z]+)?/, with: "took TIME")
        line.replace(/[0-9]\.[0-9] KiB/, with: "SIZE")
        line.replace(/[0-9]{3,}/, with: "OFFSET")
        while line.last == " " { line.removeLast() }
        return line
    }

    @Test func `the session prints what its page says`() async throws {
        let place = try Place()
        let (notes, steps) = try Self.page()
        #expect(steps.count > 10)
        try place.write(notes, "notes.jsonl")
        for step in steps {
            let line = step.command.replacing("./", with: "@/")
                .replacing(" notes.jsonl", with: " @/notes.jsonl")
            let run = try await place.run(line)
            let printed = run.results + run.messages
            let lines = printed.replacing(place.path + "/", with: "./")
                .split(separator: "\n").map { Self.normal($0) }
            let expected = step.output.map { Self.normal($0) }
            if expected.contains("…") {
                for part in expected where part != "…" {
                    #expect(lines.contains(part), "\(step.command)")
                }
            } else {
                #expect(lines.sorted() == expected.sorted(), "\(step.command)")
            }
        }
    }
}
