import StratusJournal
import Support
import Testing

/// The power goes at every call of random workloads.
struct CrashTests {
    @Test func `after a crash at any call the store holds what was acknowledged and a prefix`() {
        var tally = CrashTally()
        var problems: [String] = []
        var number = Campaign.replay?.run ?? 0
        while tally.points < Campaign.crashPoints, problems.count < 20 {
            // Every run has seeds of its own, so that one can be tried again without the others.
            let seed = Campaign.seed &* 1_000_003 &+ UInt64(number)
            var run = CrashRun(seed: seed)
            run.run()
            tally.runs += 1
            if !run.isLongEnough { tally.shortRuns += 1 }
            problems += run.problems.map { "STRATUS_CRASH_REPLAY=\(number).0: workload: \($0)" }
            for point in run.points.indices where problems.count < 20 {
                if let replay = Campaign.replay, replay.point != point { continue }
                if tally.points >= Campaign.crashPoints { break }
                var trial = CrashTrial(run, number: point, seed: seed)
                trial.perform()
                tally.add(trial.tally)
                if let problem = trial.problem {
                    problems.append("STRATUS_CRASH_REPLAY=\(number).\(point): \(problem)")
                }
            }
            if Campaign.replay != nil { break }
            number += 1
        }
        CampaignReport.add(tally.report)
        for problem in problems {
            Issue.record("STRATUS_SEED=\(Campaign.seed) \(problem)")
        }
        if Campaign.replay == nil { #expect(tally.checkpoints * 10 > tally.points) }
        #expect(tally.shortRuns == 0)
        if Campaign.replay == nil { #expect(tally.recoveryCrashes * 12 > tally.points) }
        // What the campaign is for; a smaller run need not see everything.
        if tally.points >= 100_000 {
            for row in RecoveryRow.allCases {
                #expect(tally.count(row) >= 100, "row \(row.rawValue)")
            }
            for kind in CrashDamage.Kind.allCases {
                #expect(tally.damages[kind, default: 0] >= 100, "\(kind.rawValue)")
            }
            for (call, count) in tally.calls { #expect(count >= 100, "\(call)") }
            #expect(tally.recoveryCrashes * 10 >= tally.points)
        }
    }
}
