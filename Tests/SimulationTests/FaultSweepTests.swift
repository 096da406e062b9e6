import StratusFiles
import StratusJournal
import Support
import Testing

/// Every call of a workload goes wrong, once or for ever.
struct FaultSweepTests {
    static let effects: [DiskFault.Effect] = [
        .fail(.inputOutput), .fail(.noSpace), .fail(.interrupted), .short,
    ]

    /// What became of a workload.
    private struct Result {
        var acknowledged: [UInt64] = []
        var poisoned: [UInt64] = []
        /// Acknowledged after a sync had failed.
        var isLate = false
        var problem: String?
    }

    /// Some commits, a long one among them, over three segments and two openings.
    private static func work(_ store: TestStore) -> Result {
        var result = Result()
        for part in 0..<2 {
            let first = UInt64(1 + part * 20)
            let short = (first..<first + 12).map { [ModelCommit($0, [100, 2_500])] }
            let long = ModelCommit(
                first + 12, [Int](repeating: 3_000, count: 20), .long(entriesPerPart: 3))
            let last = [ModelCommit(first + 13, [40]), ModelCommit(first + 14, [5_000])]
            do {
                let session = try store.open()
                for batch in short + [[long], last] {
                    session.commit(batch)
                    session.idle()
                }
                note(session, in: &result)
                try session.committer.close()
            } catch is JournalError {
            } catch is StorageError {
            } catch {
                result.problem = "an error of another type: \(error)"
            }
        }
        return result
    }

    private static func note(_ session: TestStore.Session, in result: inout Result) {
        var isPoisoned = false
        for outcome in session.outcomes.all {
            switch outcome.failure {
            case nil:
                result.acknowledged.append(outcome.commit.number)
                if isPoisoned { result.isLate = true }
            case .poisoned?:
                isPoisoned = true
                result.poisoned.append(outcome.commit.number)
            case .storage?: break
            case let failure?: result.problem = "\(failure)"
            }
        }
    }

    private static func check(
        _ fault: DiskFault, crashing: Bool
    ) -> (problem: String?, calls: Int) {
        let store = TestStore(preamble: [9])
        do {
            // A folder whose own name could not be synced is beyond what a store can mend.
            try store.makeDirectory()
        } catch {
            return ("\(error)", 0)
        }
        store.disk.faults = [fault]
        let result = work(store)
        let calls = store.disk.callCount
        store.disk.faults = []
        if crashing {
            store.disk.crash(seed: UInt64(fault.number))
        } else {
            store.disk.killProcesses()
        }
        if let problem = result.problem { return (problem, calls) }
        if result.isLate { return ("acknowledged after a failed sync", calls) }
        do {
            // Whatever is there now is there for good.
            let again = try store.open()
            let problem = objection(to: again.recovered.map(\.number), result)
            if problem != nil { return (problem, calls) }
            store.disk.crash(seed: UInt64(fault.number))
            let last = try store.open()
            return (last.recovered == again.recovered ? nil : "a later crash took more", calls)
        } catch {
            return ("reopening: \(error)", calls)
        }
    }

    private static func objection(to numbers: [UInt64], _ result: Result) -> String? {
        let missing = result.acknowledged.filter { !numbers.contains($0) }
        guard missing.isEmpty else { return "lost \(missing)" }
        let known = Set(result.acknowledged + result.poisoned)
        let strangers = numbers.filter { !known.contains($0) }
        guard strangers.isEmpty else { return "\(strangers) had failed and are there" }
        return numbers == numbers.sorted() ? nil : "out of order: \(numbers)"
    }

    @Test(arguments: effects, [false, true])
    func `a call that fails loses nothing, and no answer is false`(
        effect: DiskFault.Effect, lasting: Bool
    ) {
        // A signal at every call would interrupt for ever.
        if lasting, effect == .fail(.interrupted) { return }
        var problems: [String] = []
        var number = 1
        var calls = 1
        while number <= calls {
            for crashing in [false, true] {
                let fault = DiskFault(effect, at: number, lasting: lasting)
                let (problem, count) = Self.check(fault, crashing: crashing)
                // A fault may shorten the work: the longest one tells how many calls there are.
                calls = max(calls, lasting ? calls : count)
                if number == 1 { calls = max(calls, Self.callCount) }
                if let problem { problems.append("call \(number): \(problem)") }
            }
            number += 1
        }
        CampaignReport.add("Call faults, \(effect)\(lasting ? " for ever" : ""): \(calls) calls.\n")
        #expect(calls > 200)
        #expect(problems.prefix(20) == [])
    }

    /// Of the workload when nothing fails.
    private static let callCount: Int = {
        let store = TestStore(preamble: [9])
        _ = work(store)
        return store.disk.callCount
    }()

    @Test(arguments: [DiskCall.synchronizeData, .synchronize])
    func `after a failed sync nothing is acknowledged until the store is opened again`(
        call: DiskCall
    ) {
        var failures = 0
        for number in 1...60 {
            let store = TestStore()
            store.disk.faults = [DiskFault(.fail(.inputOutput), at: number, of: call)]
            let result = Self.work(store)
            #expect(!result.isLate)
            if !result.poisoned.isEmpty { failures += 1 }
        }
        #expect(failures > 0)
    }
}
