import StratusTool
import Synchronization

/// Catches what an ``Output`` writes.
final class Capture: Sendable {
    private struct Caught {
        var writes: [String] = []
        var bytes: [UInt8] = []
        var messages = ""
        var hasReader = true
    }

    private let caught = Mutex(Caught())

    /// What was written to the results, a string for each write.
    var writes: [String] { caught.withLock { $0.writes } }
    var results: String { writes.joined() }
    /// The same where it is no text.
    var bytes: [UInt8] { caught.withLock { $0.bytes } }
    var messages: String { caught.withLock { $0.messages } }

    func output(_ change: (inout Output.Settings) -> Void = { _ in }) -> Output {
        var settings = Output.Settings()
        change(&settings)
        return Output(settings) { [self] bytes, channel in
            caught.withLock { caught in
                let text = String(decoding: bytes, as: UTF8.self)
                switch channel {
                case .results:
                    caught.writes.append(text)
                    caught.bytes += bytes
                case .messages: caught.messages += text
                }
                return channel == .messages || caught.hasReader
            }
        }
    }

    func closeReader() {
        caught.withLock { $0.hasReader = false }
    }
}

func parse(_ line: String) throws -> Invocation {
    try ArgumentParser.parse(line.split(separator: " ").map(String.init), .stratus)
}
