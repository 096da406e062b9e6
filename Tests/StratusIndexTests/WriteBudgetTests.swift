import StratusIndex
import Testing

@Suite struct WriteBudgetTests {
    @Test func `who writes faster than the budget is told to wait for the rest`() {
        let budget = WriteBudget(bytesPerSecond: 1_000_000)
        var now: UInt64 = 5_000_000_000
        var written = 0
        let start = now
        for _ in 0..<100 {
            written += 10_000
            // Writing itself takes a fifth of what it may.
            now += 2_000_000
            now += budget.spend(10_000, at: now)
        }
        #expect(written == 1_000_000)
        let passed = now - start
        #expect(passed <= 1_000_000_000)
        #expect(passed >= 1_000_000_000 - WriteBudget.burst)
    }

    @Test func `who writes slower never waits, and saves nothing up`() {
        let budget = WriteBudget(bytesPerSecond: 1_000_000)
        #expect(budget.spend(10_000, at: 1_000_000_000) == 0)
        // A long time later only the burst is there.
        #expect(budget.spend(50_000, at: 9_000_000_000) == 0)
        #expect(budget.spend(10_000, at: 9_000_000_000) == 10_000_000)
    }
}
