import FoundationEssentials
import Stratus
import Support
import Testing

/// Notifications beside a model that judges each change by every subscription.
@Suite(.timeLimit(.minutes(240))) struct SubscriptionModelTests {
    /// How many histories are run, and how many steps each: STRATUS_SUBSCRIPTION_SEEDS,
    /// STRATUS_SUBSCRIPTION_STEPS.
    private static let seeds = number("STRATUS_SUBSCRIPTION_SEEDS") ?? 20
    private static let steps = number("STRATUS_SUBSCRIPTION_STEPS") ?? 150

    private static func number(_ name: String) -> Int? {
        ProcessInfo.processInfo.environment[name].flatMap { Int($0) }
    }

    /// So many at the same time, one after the other each.
    private static let groups = min(seeds, 32)

    @Test(arguments: 0..<groups)
    func `users are told what their subscriptions match, each once and in order`(
        group: Int
    ) async throws {
        for seed in stride(from: group, to: Self.seeds, by: Self.groups) {
            try await Self.compare(seed: seed)
        }
    }

    private static func compare(seed: Int) async throws {
        var run = try SubscriptionRun(seed: UInt64(seed) + 8000)
        do {
            try await run.run(steps)
        } catch {
            Issue.record("seed \(seed), step \(run.step): \(error)")
        }
        for problem in run.problems.prefix(3) { Issue.record("seed \(seed), \(problem)") }
        if steps >= 100 { #expect(run.delivered > steps / 4, "seed \(seed)") }
    }
}
