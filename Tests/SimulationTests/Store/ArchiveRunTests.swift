import Support
import Testing

/// Whatever a store went through, its archives hold it.
struct ArchiveRunTests {
    private static let stores = Campaign.archiveStores

    private static func run(
        from first: Int, every step: Int
    ) async -> (tally: ArchiveRun.Tally, problems: [String]) {
        var tally = ArchiveRun.Tally()
        var problems: [String] = []
        for number in stride(from: first, to: stores, by: step) where problems.count < 5 {
            let seed = Campaign.seed &+ UInt64(number)
            do {
                var run = ArchiveRun(seed: seed)
                try await run.run()
                problems += run.problems.map { "seed \(seed): \($0)" }
                tally.add(run.tally)
            } catch {
                problems.append("seed \(seed): \(error)")
            }
        }
        return (tally, problems)
    }

    @Test func `what is made of an archive is what there was, and its tokens are good`() async {
        async let even = Self.run(from: 0, every: 2)
        async let odd = Self.run(from: 1, every: 2)
        let results = await [even, odd]
        var tally = results[0].tally
        tally.add(results[1].tally)
        CampaignReport.add("Stores and their archives:\n")
        CampaignReport.add(tally.report)
        for problem in results.flatMap(\.problems) { Issue.record("\(problem)") }
        #expect(tally.stores == Self.stores)
        #expect(tally.increments > Self.stores / 2)
        #expect(tally.zones > Self.stores && tally.overwrites > Self.stores)
        #expect(tally.states > Self.stores)
        if Self.stores >= 500 { #expect(tally.histories >= 20) }
        #expect(tally.goodTokens > 2 * Self.stores && tally.refusedTokens > 2 * Self.stores)
    }
}
