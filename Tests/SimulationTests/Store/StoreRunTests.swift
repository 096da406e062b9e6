import Support
import Testing

/// Whatever a store went through, it holds what a model says.
struct StoreRunTests {
    private static let seeds = Campaign.storeSeeds
    private static let steps = Campaign.storeSteps

    /// The runs of every so-many-th seed, up to the first that goes wrong.
    private static func run(
        from first: Int, every step: Int
    ) async -> (tally: StoreRun.Tally, problems: [String]) {
        var tally = StoreRun.Tally()
        var problems: [String] = []
        for number in stride(from: first, to: seeds, by: step) where problems.isEmpty {
            let seed = Campaign.seed + UInt64(number)
            do {
                var run = try StoreRun(seed: seed)
                try await run.run(steps)
                if run.problems.isEmpty { try await run.checkRebuilt() }
                problems += run.problems.map { "seed \(seed): \($0)" }
                tally = tally + run.tally
            } catch {
                problems.append("seed \(seed): \(error)")
            }
        }
        return (tally, problems)
    }

    @Test func `rebuilt equals maintained equals a model, with all that happens to a store`()
        async throws
    {
        // Side by side, since one of them keeps one core busy.
        async let even = Self.run(from: 0, every: 2)
        async let odd = Self.run(from: 1, every: 2)
        let results = await [even, odd]
        let tally = results[0].tally + results[1].tally
        let problems = results.flatMap(\.problems)
        CampaignReport.add("Record stores beside a model, \(Self.seeds) seeds:\n")
        CampaignReport.add(tally.report)
        for problem in problems { Issue.record("\(problem)") }
        #expect(tally.cascaded > Self.seeds)
        #expect(tally.refusals > Self.seeds)
        #expect(tally.tablesWritten > 10 * Self.seeds)
        #expect(tally.tablesMerged > Self.seeds)
        #expect(tally.segmentsCompacted > 2 * Self.seeds)
        // Of a few runs not each has everything.
        if Self.seeds >= 10 {
            #expect(tally.forgotten > Self.seeds / 4)
            #expect(tally.indexesAdded > Self.seeds)
            #expect(tally.restores > Self.seeds / 4)
            #expect(tally.pastStates > 10 * Self.seeds && tally.pastRefusals > Self.seeds)
        }
        // What the campaign is for.
        if Self.seeds >= 100 { #expect(tally.changes >= 1_000_000) }
        if Self.seeds >= 200 { #expect(tally.compactions >= 5_000) }
    }
}

extension StoreRun.Tally {
    /// In Markdown.
    var report: String {
        Campaign.table(
            ["what", "count"],
            [
                ["records and zones changed", "\(changes)"],
                ["records that went along", "\(cascaded)"], ["deletions refused", "\(refusals)"],
                ["tables written", "\(tablesWritten)"],
                ["tables gone after merges", "\(tablesMerged)"],
                ["openings", "\(openings)"], ["snapshots held", "\(snapshots)"],
                ["whole stores compared", "\(comparisons)"],
                ["whole stores verified", "\(verifications)"],
                ["compactions asked for", "\(compactions)"],
                ["segments that they rewrote", "\(segmentsCompacted)"],
                ["history policies set", "\(policies)"], ["marks", "\(marks)"],
                ["past states compared", "\(pastStates)"],
                ["past states refused", "\(pastRefusals)"],
                ["archives", "\(archives)"], ["archives refused as bases", "\(basesRefused)"],
                ["restores", "\(restores)"],
                ["indexes added", "\(indexesAdded)"], ["indexes removed", "\(indexesRemoved)"],
                ["tokens refused since deletions are forgotten", "\(forgotten)"],
            ])
    }
}
