import Stratus
import StratusJournal
import Support
import Testing

/// Whatever owners and participants did, each mirror of a shared database is what is to be seen.
struct SharingRunTests {
    /// The runs of every so-many-th seed, up to the first that goes wrong.
    private static func run(
        from first: Int, every stride: Int, to end: Int, crashes: Bool
    ) async -> (tally: SharingRun.Tally, problems: [String]) {
        var tally = SharingRun.Tally()
        for number in Swift.stride(from: first, to: end, by: stride) {
            let seed = Campaign.seed + UInt64(number)
            var step = 0
            do {
                var run = try SharingRun(seed: seed, crashes: crashes)
                do {
                    try await run.run(SharingCampaign.steps)
                    if run.problems.isEmpty { try await run.checkRebuilt() }
                } catch {
                    step = run.step
                    throw error
                }
                tally = tally + run.tally
                if !run.problems.isEmpty {
                    return (tally, run.problems.prefix(5).map { "seed \(seed), \($0)" })
                }
            } catch {
                return (tally, ["seed \(seed), step \(step): \(error)"])
            }
        }
        return (tally, [])
    }

    private static func runAll(
        _ count: Int, crashes: Bool
    ) async -> (tally: SharingRun.Tally, problems: [String]) {
        // Side by side, since one of them keeps one core busy.
        async let even = Self.run(from: 0, every: 2, to: count, crashes: crashes)
        async let odd = Self.run(from: 1, every: 2, to: count, crashes: crashes)
        let results = await [even, odd]
        return (results[0].tally + results[1].tally, results.flatMap { $0.problems })
    }

    @Test func `mirrors of shared zones are what their users may see, after every round`()
        async throws
    {
        let count = SharingCampaign.seeds
        let (tally, problems) = await Self.runAll(count, crashes: false)
        CampaignReport.add("Shared zones beside a model, \(count) seeds:\n")
        CampaignReport.add(tally.report)
        for problem in problems { Issue.record("\(problem)") }
        // Short runs have not everything.
        guard count >= 10, SharingCampaign.steps >= 100, problems.isEmpty else { return }
        #expect(tally.sharesMade > count && tally.sharesEnded > count / 2)
        #expect(tally.accepted > count && tally.left + tally.removed > count / 2)
        // Participants write once shares are there, so that it depends on the length of a history.
        #expect(tally.nested > 2 * count)
        #expect(tally.written > 2 * count * min(SharingCampaign.steps, 250) / 250)
        #expect(tally.rounds > 10 * count && tally.deletions > 2 * count)
        #expect(tally.refused > 2 * count && tally.moved > 0 && tally.expired > 0)
        #expect(tally.openings > 0 && tally.compactions > count && tally.verifications >= count)
        Self.expectShapes(tally, count)
    }

    // Found by the campaign: of two ends of a part one was known when it was forgotten, and the other came
    // before the next horizon of its user, which alone is kept.
    @Test(arguments: [20_262_310, 20_264_179] as [UInt64])
    func `a part that was forgotten does not come back when its share ends later`(
        seed: UInt64
    ) async throws {
        var run = try SharingRun(seed: seed, crashes: false)
        try await run.run(250)
        try await run.checkRebuilt()
        #expect(run.problems == [])
    }

    @Test func `what was acknowledged of shared zones is there after a power cut`() async throws {
        let count = SharingCampaign.crashSeeds
        let (tally, problems) = await Self.runAll(count, crashes: true)
        CampaignReport.add("Shared zones whose power goes, \(count) seeds:\n")
        CampaignReport.add(tally.report)
        for problem in problems { Issue.record("\(problem)") }
        guard count >= 8, SharingCampaign.steps >= 100, problems.isEmpty else { return }
        #expect(tally.openings > count && tally.rounds > 10 * count)
        Self.expectShapes(tally, count)
    }

    /// In an eighth of the histories one zone is crowded, most of the time, and in a fiftieth a long
    /// tree is shared.
    private static func expectShapes(_ tally: SharingRun.Tally, _ count: Int) {
        let shapes = (0..<count).map { SharingRun.Shape(seed: Campaign.seed + UInt64($0)) }
        let crowded = shapes.count { $0 == .crowded }
        #expect(tally.crowded >= crowded)
        let steps = SharingRun.Shape.crowded.steps(of: SharingCampaign.steps)
        #expect(tally.crowdedSteps >= crowded * steps / 2)
        #expect(tally.crowdedRounds >= 5 * crowded)
        #expect(tally.longTrees >= shapes.count { $0 == .long })
    }
}

extension SharingRun.Tally {
    /// In Markdown.
    var report: String {
        Campaign.table(
            ["what", "count"],
            [
                ["calls of the owner", "\(calls)"], ["calls refused", "\(refused)"],
                ["calls that changed several records", "\(nested)"],
                ["shares made", "\(sharesMade)"], ["shares ended", "\(sharesEnded)"],
                ["acceptances", "\(accepted)"], ["participants who left", "\(left)"],
                ["participants removed", "\(removed)"],
                ["records written by participants", "\(written)"],
                ["records moved to another zone", "\(moved)"],
                ["pages read", "\(pages)"], ["rounds completed", "\(rounds)"],
                ["deletions told", "\(deletions)"], ["tokens expired", "\(expired)"],
                ["looks by name and query", "\(reads)"], ["openings", "\(openings)"],
                ["compactions asked for", "\(compactions)"],
                ["whole stores verified", "\(verifications)"],
                ["histories with \(SharingRun.crowd) and more shares in a zone", "\(crowded)"],
                ["steps that left so many", "\(crowdedSteps)"],
                [
                    "rounds completed there by users with \(SharingRun.manyParts) and more parts",
                    "\(crowdedRounds)",
                ],
                ["shares that grew over more than a commit", "\(longTrees)"],
            ])
    }
}
