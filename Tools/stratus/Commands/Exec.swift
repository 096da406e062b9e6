import FoundationEssentials
import Stratus
import StratusFiles
package import StratusGateway
import StratusJournal
import Synchronization

/// Answers requests in JSON, one a line.
package enum Exec {
    private static let chunkLength = 256 << 10

    static func run(_ invocation: Invocation, _ output: Output) async throws -> ExitCode {
        Terminal.catchStopSignals()
        return try await run(invocation, output) { try Terminal.read(upTo: chunkLength) }
    }

    /// Reads with `read`: some bytes, none at the end, nil where the process is to stop.
    package static func run(
        _ invocation: Invocation, _ output: Output, read: @escaping RequestServer.Read
    ) async throws -> ExitCode {
        let jobs = try jobs(invocation)
        let randomness = invocation.number("seed").map { Randomness.seeded(with: $0) }
        let clock = try invocation.value("now").map(Self.clock) ?? Clock.system
        let listens = invocation.has("listen")
        if listens, invocation.has("read-only") {
            throw ToolError.usage(
                "contradiction", "with --read-only there is nothing to listen for")
        }
        let container = try await open(
            invocation, clock, randomness: randomness, isAlone: jobs == nil && !listens)
        let grants = Set([.maintenance, .userRecordNames] + files(invocation))
        let gateway = Gateway(
            container: container, grants: grants,
            now: { Date(timeIntervalSince1970: Double(clock.now()) / 1_000_000) },
            makeIdentifier: { randomness.map { UUID(randomness: $0) } ?? UUID() })
        let server = RequestServer(
            gateway: gateway, refreshes: invocation.has("read-only"), read: read
        ) { line, sends in
            try output.verbatim(line: line)
            if sends { try output.flush() }
        }
        do {
            let listener = listens ? try container.listener() : nil
            try await withThrowingTaskGroup(of: Void.self) { group in
                if let listener { group.addTask { try await gateway.serve(listener) } }
                if let jobs {
                    try await server.serve(jobs: jobs)
                } else {
                    try await server.serve()
                }
                group.cancelAll()
                try await group.waitForAll()
            }
        } catch {
            // What was answered is durable; the error that ended it is the one to tell.
            try? await container.close()
            throw error
        }
        try await container.close()
        return Terminal.requestedStop.map { .signal($0) } ?? .ok
    }

    /// The files that requests may name.
    private static func files(_ invocation: Invocation) -> [Gateway.Grant] {
        // A path that is not absolute means what it means to a shell.
        let here = FileManager.default.currentDirectoryPath
        switch invocation.value("files") {
        case nil: return [.files(under: "/"), .files(under: here)]
        case "none": return []
        case let folder?:
            return [.files(under: folder.hasPrefix("/") ? folder : "\(here)/\(folder)")]
        }
    }

    private static func jobs(_ invocation: Invocation) throws -> Int? {
        guard let number = invocation.number("jobs") else { return nil }
        guard (1...4096).contains(number) else {
            throw ToolError.usage("bad-value", "--jobs takes 1 to 4096, not \(number)")
        }
        return Int(number)
    }

    private static func open(
        _ invocation: Invocation, _ clock: Clock, randomness: Randomness?, isAlone: Bool
    ) async throws -> Container {
        let path = invocation.argument("STORE")
        let profile = profile(invocation)
        if invocation.has("read-only") {
            guard !invocation.has("create") else {
                throw ToolError.usage("contradiction", "--read-only makes no store")
            }
            return try await invocation.openStore(at: path, profile: profile)
        }
        var options = JournalOptions()
        if let randomness { options.randomness = randomness }
        options.clock = clock
        options.refusesPossibleLoss = invocation.has("strict")
        let durability = invocation.durability
        // With an interval the engine needs its own thread, which syncs when the interval ends.
        let isStepped = isAlone && durability != .interval(milliseconds: 1000)
        do {
            let creating = invocation.has("create")
            let storage = try LocalStorage(at: path, .writing(creating: creating))
            let container = try Container(
                writing: storage, creating: creating, durability: durability, profile: profile,
                environment: invocation.value("environment").flatMap(
                    Container.Environment.init(rawValue:)),
                options: options, steppedByCaller: isStepped, threadCount: Container.threadCount)
            invocation.openings.note(container, at: path, forWriting: true)
            return container
        } catch {
            throw StoreError(translating: error)
        }
    }

    private static func profile(_ invocation: Invocation) -> Profile {
        var profile: Profile = invocation.value("profile") == "cloudKit" ? .cloudKit : .unlimited
        let queries = invocation.value("queries")
        if let predicates = queries.flatMap(Profile.Predicates.init(rawValue:)) {
            profile.predicates = predicates
        }
        return profile
    }

    private static func clock(standingAt text: String) throws -> Clock {
        guard let date = Date(typed: text) else {
            throw ToolError.usage("bad-value", "--now takes a time like 2026-01-31T12:00:00Z")
        }
        let microseconds = Int64((date.timeIntervalSince1970 * 1_000_000).rounded())
        return Clock { microseconds }
    }
}

extension Randomness {
    /// Numbers that a seed determines (SplitMix64).
    fileprivate static func seeded(with seed: UInt64) -> Randomness {
        let state = Mutex(seed)
        return Randomness {
            state.withLock { state in
                state &+= 0x9e37_79b9_7f4a_7c15
                var mixed = state
                mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
                mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
                return mixed ^ (mixed >> 31)
            }
        }
    }
}

extension UUID {
    /// A random UUID, of version 4.
    fileprivate init(randomness: Randomness) {
        let (high, low) = (randomness.next(), randomness.next())
        var bytes = (0..<8).map { UInt8(truncatingIfNeeded: high >> (56 - 8 * $0)) }
        bytes += (0..<8).map { UInt8(truncatingIfNeeded: low >> (56 - 8 * $0)) }
        bytes[6] = bytes[6] & 0x0F | 0x40
        bytes[8] = bytes[8] & 0x3F | 0x80
        self.init(
            uuid: (
                bytes[0], bytes[1], bytes[2], bytes[3], bytes[4], bytes[5], bytes[6], bytes[7],
                bytes[8], bytes[9], bytes[10], bytes[11], bytes[12], bytes[13], bytes[14], bytes[15]
            ))
    }
}
