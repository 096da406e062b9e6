import Support
import Testing

/// Whatever a store went through, it holds what a model says.
struct StoreRunTests {
    /// A tenth of the campaign's.
    private static let seeds = Campaign.storeSeeds
    private static let operations = Campaign.storeOperations

    @Test func `rebuilt equals maintained equals a model, with all that happens to a store`()
        async throws
    {
        var tally = StoreRun.Tally()
        var problems: [String] = []
        for seed in Campaign.seed..<Campaign.seed + UInt64(Self.seeds) {
            do {
                var run = try StoreRun(seed: seed)
                try await run.run(Self.operations)
                if run.problems.isEmpty { try await run.checkRebuilt() }
                problems += run.problems.map { "seed \(seed): \($0)" }
                tally = tally + run.tally
            } catch {
                problems.append("seed \(seed): \(error)")
            }
            if problems.count > 20 { break }
        }
        Campaign.report("Record stores beside a model, \(Self.seeds) seeds:\n")
        Campaign.report(tally.report)
        for problem in problems { Issue.record("\(problem)") }
        #expect(tally.tablesWritten > 10 * Self.seeds)
        #expect(tally.tablesMerged > Self.seeds)
        // What the campaign is for.
        if Self.seeds >= 100 { #expect(tally.changes >= 1_000_000) }
    }
}

extension StoreRun.Tally {
    /// In Markdown.
    var report: String {
        Campaign.table(
            ["what", "count"],
            [
                ["records and zones changed", "\(changes)"],
                ["tables written", "\(tablesWritten)"],
                ["tables gone after merges", "\(tablesMerged)"],
                ["openings", "\(openings)"], ["snapshots held", "\(snapshots)"],
                ["whole stores compared", "\(comparisons)"],
            ])
    }
}
