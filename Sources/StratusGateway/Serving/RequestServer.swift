internal import StratusFiles

/// Reads requests, one a line, and writes their answers.
package struct RequestServer: Sendable {
    /// Gives some bytes, none at their end, nil where the process is to stop. May block.
    package typealias Read = @Sendable () throws -> [UInt8]?
    /// Takes the line of an answer, without its end, and may keep it until it is to send all it has.
    package typealias Write = @Sendable (_ line: [UInt8], _ sends: Bool) async throws -> Void

    /// Longer lines are no requests.
    private static let lineLimit = 64 << 20

    let gateway: Gateway
    /// Whether another process writes.
    let refreshes: Bool
    private let read: Read
    private let write: Write
    private let threads = IOThreads(count: 1)

    package init(
        gateway: Gateway, refreshes: Bool, read: @escaping Read, write: @escaping Write
    ) {
        self.gateway = gateway
        self.refreshes = refreshes
        self.read = read
        self.write = write
    }

    /// One request after the other.
    package nonisolated(nonsending) func serve() async throws {
        var input = Input(self)
        while let line = try await input.next() {
            // Who waits for an answer gets it at once, a pipeline many together.
            try await answer(line, sends: input.isDrained)
        }
    }

    /// Up to `jobs` requests at once, whose lines together are no longer than the longest may be.
    package nonisolated(nonsending) func serve(jobs: Int) async throws {
        try await withThrowingTaskGroup(of: Int.self) { group in
            var input = Input(self)
            var running = 0
            var length = 0
            while let line = try await input.next() {
                while running >= jobs
                    || (running > 0 && length + line.length > Self.lineLimit)
                {
                    length -= try await group.next() ?? 0
                    running -= 1
                }
                running += 1
                length += line.length
                group.addTask {
                    try await answer(line, sends: true)
                    return line.length
                }
            }
            try await group.waitForAll()
        }
    }

    private nonisolated(nonsending) func answer(
        _ line: LineReader.Line, sends: Bool
    ) async throws {
        let response =
            switch line {
            case .line(let bytes, let number):
                await gateway.respond(toLine: bytes, number: number)
            case .tooLong(let number):
                gateway.refusal(
                    ofLine: number, "the line is longer than \(Self.lineLimit >> 20) MiB")
            }
        // Before the answer is written: what is acknowledged is what a reader beside sees. Written
        // for each request, not when input runs dry, so that the store does not depend on timing.
        gateway.announceDurable()
        try await write(response.bytes, sends)
    }

    /// The lines that are read.
    private struct Input {
        let server: RequestServer
        var lines = LineReader(limit: RequestServer.lineLimit)
        var hasEnded = false
        /// Whether the next line must be waited for.
        private(set) var isDrained = true
        private var ahead: LineReader.Line?

        init(_ server: RequestServer) { self.server = server }

        nonisolated(nonsending) mutating func next() async throws -> LineReader.Line? {
            while true {
                if let line = ahead.take() ?? lines.next() {
                    ahead = lines.next()
                    isDrained = ahead == nil
                    return line
                }
                if hasEnded { return nil }
                let bytes = try await server.threads.outcome(of: server.read).get()
                if let bytes, !bytes.isEmpty {
                    lines.append(bytes)
                    if server.refreshes { try await server.gateway.refresh() }
                } else {
                    hasEnded = true
                    // A line that a stop cut off is none.
                    if bytes != nil { ahead = lines.last() }
                }
            }
        }
    }
}

extension LineReader.Line {
    fileprivate var length: Int {
        switch self {
        case .line(let bytes, _): bytes.count
        case .tooLong: 0
        }
    }
}
