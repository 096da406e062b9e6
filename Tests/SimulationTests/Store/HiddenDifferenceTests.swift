import Stratus
import Support
import Testing

/// What a participant cannot see changes no answer: neither records, nor errors, pages or counts.
struct HiddenDifferenceTests {
    private static func run(
        from first: Int
    ) async -> (answers: Int, hiddenCalls: Int, problems: [String]) {
        var (answers, hiddenCalls) = (0, 0)
        for number in stride(from: first, to: SharingCampaign.pairs, by: 2) {
            let seed = Campaign.seed + UInt64(number)
            do {
                var run = try HiddenDifferenceRun(seed: seed)
                try await run.run(40)
                answers += run.answers
                hiddenCalls += run.hiddenCalls
                if let problem = run.problems.first {
                    return (answers, hiddenCalls, ["seed \(seed), \(problem)"])
                }
            } catch {
                return (answers, hiddenCalls, ["seed \(seed): \(error)"])
            }
        }
        return (answers, hiddenCalls, [])
    }

    @Test func `histories that differ in what is hidden give a participant equal answers`()
        async throws
    {
        async let even = Self.run(from: 0)
        async let odd = Self.run(from: 1)
        let results = await [even, odd]
        let answers = results.reduce(0) { $0 + $1.answers }
        let calls = results.reduce(0) { $0 + $1.hiddenCalls }
        CampaignReport.add("Pairs of histories that differ in what is hidden:\n")
        CampaignReport.add(
            Campaign.table(
                ["what", "count"],
                [
                    ["pairs", "\(SharingCampaign.pairs)"], ["answers compared", "\(answers)"],
                    ["calls for what is hidden", "\(calls)"],
                ]))
        for problem in results.flatMap({ $0.problems }) { Issue.record("\(problem)") }
        #expect(answers > 100 * SharingCampaign.pairs && calls > 10 * SharingCampaign.pairs)
    }
}
