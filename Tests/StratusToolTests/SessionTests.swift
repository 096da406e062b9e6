import FoundationEssentials
import StratusTool
import Support
import Synchronization
import Testing

/// The commands of `Tools/session.md` print what stands there.
struct SessionTests {
    private struct Step {
        var command: String
        var output: [String] = []
    }

    /// The files that stand on the page, by the names behind `json`, and the commands.
    private static func page() throws -> (files: [String: String], steps: [Step]) {
        var files: [String: String] = [:]
        var steps: [Step] = []
        var block: [Substring] = []
        let page = try #require(PackageFiles.text("Tools/session.md"))
        for line in page.split(separator: "\n", omittingEmptySubsequences: false) {
            if line.hasPrefix("```") {
                block = line.dropFirst(3).split(separator: " ")
            } else if block.first == "json", block.count == 2 {
                files[String(block[1]), default: ""] += line + "\n"
            } else if block == ["console"], line.hasPrefix("$ stratus") {
                steps.append(Step(command: String(line.dropFirst(9))))
            } else if block == ["console"] {
                steps[steps.count - 1].output.append(String(line))
            }
        }
        return (files, steps)
    }

    /// Without names of 16 and more hexadecimal digits, times, and sizes.
    private static func settled(_ line: some StringProtocol) -> String {
        var line = String(line)
        line.replace(/[0-9a-f]{16,}/, with: "ID")
        line.replace(/[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+Z/, with: "TIME")
        // A slow machine takes minutes.
        line.replace(/took [0-9.]+ [a-z]+( [0-9.]+ [a-z]+)?/, with: "took TIME")
        line.replace(/[0-9]\.[0-9] KiB/, with: "SIZE")
        while line.last == " " { line.removeLast() }
        return line
    }

    /// Nor offsets, since the groups of a journal depend on what time goes by: without all that differs
    /// from one time to the next.
    private static func normal(_ line: String) -> String {
        line.replacing(/[0-9]{3,}/, with: "OFFSET")
    }

    /// What the page's offsets are here, from lines of its output and those that were printed.
    private static func learn(
        _ offsets: inout [String: String], _ page: [String], _ printed: [String]
    ) {
        let here = Dictionary(grouping: printed, by: normal)
        for line in page {
            // A line that differs from another one in its offsets alone does not say which is which.
            guard let lines = here[normal(line)], lines.count == 1 else { continue }
            for (old, new) in zip(line.matches(of: /[0-9]{3,}/), lines[0].matches(of: /[0-9]{3,}/))
            {
                offsets[String(old.output)] = String(new.output)
            }
        }
    }

    /// What a command prints, which may read a file of the page: `exec ./store < FILE`.
    private static func output(
        of command: String, _ files: [String: String], in place: Place
    ) async throws -> String {
        let parts = command.split(separator: " < ").map(String.init)
        guard parts.count == 2 else {
            let line = command.replacing("./", with: "@/")
                .replacing(" notes.jsonl", with: " @/notes.jsonl")
            let run = try await place.run(line)
            return run.results + run.messages
        }
        let input = Mutex(Array(try #require(files[parts[1]]).utf8))
        let capture = Capture()
        let invocation = try ArgumentParser.parse(
            parts[0].replacing("./", with: place.path + "/").split(separator: " ").map(String.init),
            .stratus)
        let output = capture.output()
        let code = try await Exec.run(invocation, output) {
            input.withLock { input in
                defer { input = [] }
                return input
            }
        }
        try output.flush()
        #expect(code == .ok)
        return capture.results + capture.messages
    }

    @Test func `the session prints what its page says`() async throws {
        let place = try Place()
        let (files, steps) = try Self.page()
        #expect(steps.count > 20)
        for (name, text) in files { try place.write(text, name) }
        var offsets: [String: String] = [:]
        for step in steps {
            let command = step.command.replacing(/[0-9]{3,}/) { match in
                offsets[String(match.output)] ?? String(match.output)
            }
            let printed = try await Self.output(of: command, files, in: place)
            let lines = printed.replacing(place.path + "/", with: "./")
                .split(separator: "\n").map { Self.settled($0) }
            let page = step.output.map { Self.settled($0) }
            let (found, expected) = (lines.map(Self.normal), page.map(Self.normal))
            if expected.contains("…") {
                for part in expected where part != "…" {
                    #expect(found.contains(part), "\(step.command)")
                }
            } else {
                #expect(found.sorted() == expected.sorted(), "\(step.command)")
            }
            Self.learn(&offsets, page, lines)
        }
        // What the operator looked up is what was asked for.
        #expect(offsets.count > 10)
    }
}
