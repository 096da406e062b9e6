import StratusFiles
import StratusJournal
import Support
import Testing

/// Groups are formed, written, taken back and made known.
struct CommitterTests {
    private let store = TestStore(preamble: [1, 2, 3])
    private var disk: SimulatedDisk { store.disk }

    private func commits(_ numbers: ClosedRange<UInt64>, length: Int = 100) -> [ModelCommit] {
        numbers.map { ModelCommit($0, [length]) }
    }

    private func reopened() throws -> [UInt64] {
        disk.killProcesses()
        return try store.open().recovered.map(\.number)
    }

    private func count(_ call: DiskCall, _ body: () throws -> Void) rethrows -> Int {
        disk.logsCalls = true
        let before = disk.log.count
        try body()
        return disk.log.dropFirst(before).count { $0.call == call }
    }

    @Test func `a batch is one group, written and synced once`() throws {
        let session = try store.write([commits(1...1)])
        let writes = count(.write) { session.commit(commits(2...50)) }
        #expect(writes == 1)
        #expect(count(.synchronizeData) { session.commit(commits(51...99)) } == 1)
        #expect(session.outcomes.acknowledged == Array(1...99))
        #expect(try reopened() == Array(1...99))
    }

    @Test func `a group is written once it is as long as it may be`() throws {
        var small = store
        small.options.groupLimit = 1 << 10
        let session = try small.open()
        let writes = count(.write) {
            session.commit((1...10).map { ModelCommit($0, [900]) })
        }
        #expect(writes >= 10)
        #expect(session.outcomes.acknowledged == Array(1...10))
    }

    @Test(arguments: [SystemError.Code.noSpace, .inputOutput])
    func `a group that cannot be written fails its commits and no others`(
        code: SystemError.Code
    ) throws {
        var small = store
        small.options.groupLimit = 1 << 10
        let session = try small.write([commits(1...1)])
        let writes = disk.callCount + 1
        disk.faults = [DiskFault(.fail(code), at: writes + 1)]
        // Two of 300 bytes fill a group; the second group fails.
        session.commit(commits(2...7, length: 300))
        disk.faults = []
        let failed = session.outcomes.all.filter { $0.failure != nil }.map(\.commit.number)
        #expect(failed == [4, 5])
        for outcome in session.outcomes.all where outcome.failure != nil {
            guard case .storage? = outcome.failure else {
                Issue.record("\(outcome)")
                continue
            }
        }
        session.commit(commits(8...8))
        #expect(session.outcomes.published.map(\.number) == [1, 2, 3, 6, 7, 8])
        #expect(try reopened() == [1, 2, 3, 6, 7, 8])
    }

    /// Only the first bytes of the failed group were overwritten: its later frames lay behind the
    /// shorter group that came next, and the next opening took them for a damaged one.
    @Test(arguments: 1...2)
    func `nothing of a group that failed is found behind a shorter one`(call: Int) throws {
        // A short write keeps about as many bytes as there were calls.
        let session = try store.write((1...200).map { commits($0...$0) })
        // First the zeros ahead of the group are written, then the group.
        let next = disk.callCount + call
        disk.faults = [
            DiskFault(.short, at: next), DiskFault(.fail(.inputOutput), at: next + 1),
        ]
        session.commit(commits(201...260))
        disk.faults = []
        let told = session.outcomes.acknowledged
        session.commit(commits(261...261))
        session.kill()
        let again = try store.open()
        #expect(again.report.row == .cleanTail)
        #expect(again.recovered.map(\.number).starts(with: told))
        #expect(session.outcomes.all.contains { $0.failure != nil })
    }

    @Test func `a failed sync fails everything from its group on until the store is reopened`()
        throws
    {
        let session = try store.write([commits(1...2)])
        disk.faults = [DiskFault(.fail(.inputOutput), at: disk.callCount + 2)]
        session.commit(commits(3...4))
        disk.faults = []
        session.commit(commits(5...6))
        for number in UInt64(3)...6 {
            guard case .poisoned?? = session.outcomes.failure(of: number) else {
                Issue.record("\(number)")
                continue
            }
        }
        #expect(session.outcomes.published.map(\.number) == [1, 2])
        #expect(throws: JournalError.self) { try session.committer.close() }
        // The lock is free again, and what comes next is durable.
        let again = try store.open()
        #expect(again.recovered.map(\.number).starts(with: [1, 2]))
        again.commit(commits(7...7))
        disk.crash(seed: 4)
        #expect(try store.open().recovered == again.outcomes.published)
    }

    @Test(arguments: [Durability.interval(milliseconds: 1_000_000), .none])
    func `below full durability nothing is acknowledged after a failed sync either`(
        durability: Durability
    ) throws {
        var store = store
        store.durability = durability
        let session = try store.open()
        disk.faults = [DiskFault(.fail(.inputOutput), at: 1, of: .synchronizeData, lasting: true)]
        // The second segment cannot be begun without a sync.
        session.commit((1...60).map { ModelCommit($0, [3_000]) })
        disk.faults = []
        let told = session.outcomes.acknowledged
        #expect(told == [])
        session.commit(commits(90...90))
        guard case .poisoned?? = session.outcomes.failure(of: 90) else {
            Issue.record("acknowledged")
            return
        }
    }

    @Test func `a long commit goes over several segments and is seen whole or not at all`() throws {
        let lengths = [Int](repeating: 5_000, count: 60)
        let session = try store.write([commits(1...1)])
        session.commit([ModelCommit(2, lengths, .long(entriesPerPart: 2))])
        session.commit(commits(3...3))
        #expect(session.committer.withStage { $0.writer.manifest.segments.count } >= 5)
        #expect(session.outcomes.published.map(\.lengths) == [[100], lengths, [100]])
        #expect(try reopened() == [1, 2, 3])
    }

    /// A long commit that failed was taken for the journal's open end at the next opening, though
    /// the store had been closed; the writer then wrote over it.
    @Test(arguments: [1, 3, 30])
    func `a commit that was given up leaves a store that closes, opens and goes on`(
        parts: Int
    ) throws {
        let lengths = [Int](repeating: 4_000, count: 40)
        let session = try store.write([commits(1...1)])
        session.commit([ModelCommit(2, lengths, .abandoned(afterParts: parts))])
        #expect(session.outcomes.published.map(\.number) == [1])
        try session.committer.close()
        for number in UInt64(3)...5 {
            let again = try store.open()
            #expect(again.report.wasClean)
            again.commit(commits(number...number))
            try again.committer.close()
        }
        #expect(try store.open().recovered.map(\.number) == [1, 3, 4, 5])
    }

    @Test func `a long commit that finds no room for a segment fails alone`() throws {
        let lengths = [Int](repeating: 4_000, count: 40)
        let session = try store.write([commits(1...1)])
        disk.options.capacity = 0
        session.commit([ModelCommit(2, lengths, .long(entriesPerPart: 1))])
        disk.options.capacity = nil
        guard case .storage(let error)?? = session.outcomes.failure(of: 2) else {
            Issue.record("acknowledged")
            return
        }
        #expect(error.kind == .noSpace)
        session.commit(commits(3...3))
        #expect(session.outcomes.published.map(\.number) == [1, 3])
        #expect(try reopened() == [1, 3])
    }

    @Test func `a full disk is no poison, in a store that was opened again either`() throws {
        var store = store
        store.policy.reservation = 8 << 10
        let first = try store.write([commits(1...3, length: 3_000)])
        try first.committer.close()
        let session = try store.open()
        disk.options.capacity = 0
        session.commit(commits(4...13, length: 3_000))
        disk.options.capacity = nil
        guard case .storage(let error)?? = session.outcomes.failure(of: 4) else {
            Issue.record("\(String(describing: session.outcomes.failure(of: 4)))")
            return
        }
        #expect(error.kind == .noSpace)
        session.commit(commits(14...14))
        #expect(session.outcomes.published.map(\.number) == [1, 2, 3, 14])
    }
}
