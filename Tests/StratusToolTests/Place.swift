import FoundationEssentials
import StratusTool
import Testing

/// A folder of its own for a test, gone with it.
final class Place {
    let path: String

    init() throws {
        path = FileManager.default.temporaryDirectory.path + "/stratus-" + UUID().uuidString
        try FileManager.default.createDirectory(
            atPath: path + "/tree/sub", withIntermediateDirectories: true)
        try write("one", "tree/a.txt")
        try write("two", "tree/sub/b.txt")
        try FileManager.default.createSymbolicLink(
            atPath: path + "/tree/link", withDestinationPath: "a.txt")
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    func write(_ text: String, _ name: String) throws {
        try Data(text.utf8).write(to: URL(filePath: path + "/" + name))
    }

    /// Text of so many numbers, which can be compressed and repeats nothing long.
    static func text(numbers count: Int, after prefix: String = "") -> String {
        (0..<count).map { "\(prefix)\($0 * $0 % 9973) " }.joined()
    }

    /// Runs a command; `@` stands for the folder.
    ///
    /// - Parameter localTime: that of a terminal on which the results are shown; nil: on none.
    func run(
        _ line: String, json: Bool = false, onTerminalIn localTime: LocalTime? = nil
    ) async throws -> (
        code: ExitCode, results: String, messages: String
    ) {
        let capture = Capture()
        let words = line.replacing("@", with: path).split(separator: " ").map(String.init)
        var invocation = try ArgumentParser.parse(words, .stratus)
        invocation.localTime = localTime ?? .utc
        let code = await Tool.stratus.perform(
            invocation,
            capture.output {
                $0.isJSON = json
                $0.resultsAreOnTerminal = localTime != nil
                $0.localTime = localTime ?? .utc
            })
        if let path = invocation.outputPath, code == .ok {
            try Data(capture.bytes).write(to: URL(filePath: path))
        }
        return (code, capture.results, capture.messages)
    }

    func importTree() async throws {
        #expect(try await run("import @/tree @/store --zone files").code == .ok)
    }
}
