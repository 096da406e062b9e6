import FoundationEssentials
import Support
import Testing

/// The container and the model of the record rules, side by side.
@Suite struct ModelTests {
    @Test func `the container answers as the model does`() async throws {
        let counts = try await agree { seed in
            var run = ModelRun(seed: seed, try EngineDriver(ModelStore(seed: seed)))
            run.prepare()
            return run
        }
        report("through the library", counts)
    }

    @Test func `the gateway answers as the model does`() async throws {
        let counts = try await agree { seed in
            var run = ModelRun(seed: seed, try GatewayDriver(ModelStore(seed: seed)))
            run.prepare()
            run.generator.character.isWeb = true
            return run
        }
        report("through the gateway", counts)
    }
}

/// How long the comparison runs: STRATUS_MODEL_SEEDS, STRATUS_MODEL_STEPS, STRATUS_SEED.
private enum Length {
    static let seeds = number("STRATUS_MODEL_SEEDS") ?? 20
    static let steps = number("STRATUS_MODEL_STEPS") ?? 1000
    static let first = number("STRATUS_SEED") ?? 1

    private static func number(_ name: String) -> Int? {
        ProcessInfo.processInfo.environment[name].flatMap { Int($0) }
    }
}

extension ModelRun {
    mutating func prepare() {
        generator.character.keepsSystemFields = true
        generator.character.repeatsCalls = true
        generator.character.movesRecords = true
    }

    /// What is found first, with what is needed to find it again.
    fileprivate mutating func run(_ steps: Int) async throws -> [String] {
        for number in 0..<steps {
            let found = try await step()
            if !found.isEmpty { return ["step \(number)"] + found }
        }
        return try await finish()
    }
}

/// Runs all seeds, two at a time, and adds up what happened.
private func agree<Driver: ModelDriver>(
    _ makeRun: @escaping @Sendable (UInt64) throws -> ModelRun<Driver>
) async throws -> [String: Int] {
    try await withThrowingTaskGroup(of: [String: Int].self) { group in
        var counts: [String: Int] = [:]
        for number in 0..<Length.seeds {
            if number >= 2, let next = try await group.next() {
                counts.merge(next, uniquingKeysWith: +)
            }
            group.addTask {
                let seed = UInt64(Length.first + number)
                var run = try makeRun(seed)
                let found = try await run.run(Length.steps)
                if !found.isEmpty {
                    Issue.record("seed \(seed): \(found.joined(separator: "\n  "))")
                }
                return run.counts
            }
        }
        return try await group.reduce(into: counts) { $0.merge($1, uniquingKeysWith: +) }
    }
}

/// Adds what happened to the report of a campaign.
private func report(_ title: String, _ counts: [String: Int]) {
    let head = "\n| \(title): \(Length.seeds) seeds of \(Length.steps) calls | times |\n|---|---|\n"
    let rows = counts.sorted { $0.key < $1.key }.map { "| \($0.key) | \($0.value) |" }
    CampaignReport.add(head + rows.joined(separator: "\n"))
}
