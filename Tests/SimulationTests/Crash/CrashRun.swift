import StratusFiles
import StratusJournal
import Support

/// A random workload on a simulated disk: what was asked for, what was told, and the disk after
/// every call that changed it.
struct CrashRun {
    /// A commit that was given to a committer.
    struct Submission {
        var number: UInt64
        var leavesEntries: Bool
        /// The calls made before it was given and when the answer came.
        var start: Int
        var end: Int
        var failure: JournalError?
    }

    /// What is known at a moment.
    struct Known {
        /// The commits of the store in order, first those of the last opening.
        var history: [UInt64] = []
        /// So many of them survive everything.
        var durableCount = 0
        /// No later commit may have an entry at or before it.
        var lastOffset: UInt64 = 0
    }

    let seed: UInt64
    let store: TestStore
    private(set) var points: [CrashPoint] = []
    /// The kinds of all calls.
    private(set) var calls: [DiskCall] = []
    private(set) var submissions: [Submission] = []
    /// What was known after so many calls, in order.
    private(set) var moments: [(call: Int, known: Known)] = []
    /// The calls before and after every opening.
    private(set) var openings: [ClosedRange<Int>] = []
    /// The calls made before and when a store was closed.
    private(set) var closings: [ClosedRange<Int>] = []
    /// Whether the last thing that was done to the store was to close it.
    private(set) var isClosed = false
    /// What went wrong in the workload itself.
    private(set) var problems: [String] = []
    private(set) var segmentCount = 0

    private var generator: SeededGenerator
    private var known = Known()
    private var session: TestStore.Session?
    private var follower: TestFollower?
    /// What was frozen for a checkpoint that has not been made yet.
    private var frozen: TestStore.Session.Frozen?
    private(set) var checkpointCount = 0
    /// From the first opening on: a store whose making left garbage behind is refused.
    private let hasGarbage: Bool
    private var nextNumber: UInt64 = 1
    private var disk: SimulatedDisk { store.disk }

    init(seed: UInt64) {
        self.seed = seed
        generator = SeededGenerator(seed: seed)
        hasGarbage = generator.oneIn(4)
        var options = DiskOptions()
        options.garbageInGaps = generator.oneIn(2)
        options.failedSyncEvicts = generator.oneIn(4)
        options.tearsSectors = !generator.oneIn(8)
        let disk = SimulatedDisk(options: options)
        disk.keepsCrashPoints = true
        disk.logsCalls = true
        var store = TestStore(
            on: disk, seed: seed, preamble: [1, 2, 3, 4, 5], maps: seed % 2 == 1)
        let durabilities = [Durability.full, .full, .interval(milliseconds: 1), .none]
        store.durability = durabilities[generator.below(durabilities.count)]
        store.policy.reservation = generator.oneIn(2) ? 16 << 10 : 4 << 20
        store.options.groupLimit = generator.oneIn(2) ? 4 << 10 : 1 << 20
        self.store = store
    }

    /// At least 50 commits in at least 3 segments.
    mutating func run() {
        var steps = 0
        while steps < 1_000, problems.isEmpty, known.history.count < 50 || segmentCount < 3 {
            steps += 1
            step()
        }
        if problems.isEmpty, generator.oneIn(2) { close() }
        points = disk.crashPoints
        calls = disk.log.map(\.call)
    }

    /// The commits of the store in order.
    var history: [UInt64] { known.history }

    /// Whether the workload came to an end before it was too long.
    var isLongEnough: Bool { known.history.count >= 50 && segmentCount >= 3 }

    private mutating func step() {
        guard session != nil else { return open() }
        switch generator.below(100) {
        case ..<58: commit()
        case ..<64: commitBadly()
        case ..<72: checkpoint()
        case ..<82:
            session?.idle()
            note()
        case ..<92: follow()
        case ..<96: close()
        default: kill()
        }
    }
}

// The steps.
extension CrashRun {
    private mutating func open() {
        let start = disk.callCount
        frozen = nil
        isClosed = false
        do {
            let opened = try store.open()
            openings.append(start...disk.callCount)
            disk.options.garbageInAllocations = hasGarbage
            let numbers = opened.recovered.map(\.number)
            // A sync that fails may take what was not durable out of the page cache.
            let least = disk.options.failedSyncEvicts ? known.durableCount : known.history.count
            if let problem = mismatch(numbers, at: start, leastCount: least) {
                problems.append("opening after call \(start): \(problem)")
            }
            if let problem = try store.problem(opened, besideReaders: true) {
                problems.append("opening after call \(start): \(problem)")
            }
            known.history = numbers
            session = opened
            note()
        } catch {
            problems.append("opening after call \(start): \(error)")
        }
    }

    private mutating func commit() {
        let batch = (0..<1 + generator.below(4)).map { _ in nextCommit() }
        guard let session else { return }
        let start = disk.callCount
        let told = session.outcomes.all.count
        session.commit(batch)
        for outcome in session.outcomes.all.dropFirst(told) {
            let commit = outcome.commit
            submissions.append(
                Submission(
                    number: commit.number, leavesEntries: commit.leavesEntries, start: start,
                    end: disk.callCount, failure: outcome.failure))
            if outcome.failure == nil, commit.leavesEntries {
                known.history.append(commit.number)
            }
        }
        note()
        if case .poisoned? = submissions.last?.failure { endPoisoned() }
    }

    /// A commit while the disk is full or fails.
    private mutating func commitBadly() {
        let call = disk.callCount + 1 + generator.below(6)
        switch generator.below(4) {
        case 0: disk.options.capacity = 0
        case 1: disk.faults = [DiskFault(.fail(.noSpace), at: call)]
        case 2: disk.faults = [DiskFault(.fail(.inputOutput), at: call)]
        default: disk.faults = [DiskFault(.fail(.noSpace), at: 1, of: .allocate, lasting: true)]
        }
        commit()
        disk.options.capacity = nil
        disk.faults = []
    }

    /// A poisoned store goes on only after it was closed, by the same or another process.
    private mutating func endPoisoned() {
        disk.options.capacity = nil
        disk.faults = []
        if generator.oneIn(2) { return kill() }
        do {
            try session?.committer.close()
            problems.append("a poisoned store was closed without a word")
        } catch JournalError.poisoned {
            session = nil
        } catch {
            problems.append("closing a poisoned store: \(error)")
        }
    }

    /// Freezes the fold, or makes a checkpoint of what was frozen some commits ago, now and then
    /// while the disk fails.
    private mutating func checkpoint() {
        guard let session else { return }
        guard let frozen else {
            self.frozen = session.frozen()
            return
        }
        self.frozen = nil
        if generator.oneIn(4) {
            let code = generator.oneIn(2) ? SystemError.Code.noSpace : .inputOutput
            disk.faults = [DiskFault(.fail(code), at: disk.callCount + 1 + generator.below(12))]
        }
        do {
            try session.take(frozen)
            checkpointCount += 1
        } catch JournalError.poisoned {
            return endPoisoned()
        } catch {
            if disk.faults.isEmpty { problems.append("a checkpoint: \(error)") }
        }
        disk.faults = []
        note()
    }

    private mutating func close() {
        let start = disk.callCount
        do {
            try session?.committer.close()
            known.durableCount = known.history.count
            moments.append((disk.callCount, known))
            closings.append(start...disk.callCount)
            isClosed = true
        } catch {
            problems.append("closing after call \(disk.callCount): \(error)")
        }
        session = nil
    }

    private mutating func kill() {
        session?.kill()
        session = nil
    }

    private mutating func follow() {
        do {
            if follower == nil { follower = try TestFollower(store) }
            try follower?.follow()
            let seen = follower?.commits.map(\.number) ?? []
            if !known.history.prefix(known.durableCount).starts(with: seen) {
                problems.append("a follower saw \(seen), of \(known)")
            }
        } catch {
            problems.append("following after call \(disk.callCount): \(error)")
        }
        if generator.oneIn(4) { follower = nil }
    }

    private mutating func nextCommit() -> ModelCommit {
        let number = nextNumber
        nextNumber += 1
        let count = 1 + generator.below(4)
        let lengths = (0..<count).map { _ in
            ModelCommit.prefixLength + generator.below(generator.oneIn(4) ? 6_000 : 1_500)
        }
        let long = (0..<8 + generator.below(40)).map { _ in 1_000 + generator.below(2_000) }
        return switch generator.below(40) {
        case 0: ModelCommit(number, long, .long(entriesPerPart: 1 + generator.below(4)))
        case 1: ModelCommit(number, long, .abandoned(afterParts: 1 + generator.below(40)))
        case 2: ModelCommit(number, lengths, .refused)
        default: ModelCommit(number, lengths)
        }
    }

    /// Notes what is known now.
    private mutating func note() {
        guard let session else { return }
        let (durable, segments) = session.committer.withStage {
            ($0.writer.durableThrough, $0.writer.manifest.segments.count)
        }
        segmentCount = max(segmentCount, segments)
        let published = session.outcomes.published
        if published.map(\.number) != known.history {
            problems.append("published \(published.map(\.number)), of \(known)")
        }
        known.durableCount = published.count { ($0.offsets.last ?? 0) < durable.rawValue }
        known.lastOffset = max(known.lastOffset, published.last?.offsets.last ?? 0)
        moments.append((disk.callCount, known))
    }
}

extension CrashRun {
    /// What was known when `call` calls had been made.
    func known(at call: Int) -> Known { moments.last { $0.call <= call }?.known ?? Known() }

    /// Whether the store was being closed.
    func isClosing(at call: Int) -> Bool { closings.contains { $0.contains(call) } }

    /// The commits that may be there at a moment though they were not acknowledged, in order.
    func inFlight(at call: Int) -> [Submission] {
        let opening = openings.last { $0.upperBound <= call }?.upperBound ?? 0
        return submissions.filter { submission in
            guard submission.leavesEntries, submission.start <= call, submission.end > opening
            else { return false }
            if submission.end > call { return true }
            if case .poisoned? = submission.failure { return true }
            return false
        }
    }

    /// Why `numbers` cannot be what a store holds that stopped at `call`, or nil.
    ///
    /// - Parameter leastCount: So many commits must be there.
    func mismatch(_ numbers: [UInt64], at call: Int, leastCount: Int? = nil) -> String? {
        let known = known(at: call)
        let least = leastCount ?? known.history.count
        guard numbers.count >= min(least, known.history.count) else {
            return "\(numbers.count) commits of \(least) that were durable"
        }
        let count = min(numbers.count, known.history.count)
        guard numbers[..<count] == known.history[..<count] else {
            return "other commits than were acknowledged: \(numbers), not \(known.history)"
        }
        var rest = numbers[count...]
        for submission in inFlight(at: call) {
            guard let next = rest.first else { break }
            if submission.number == next {
                rest.removeFirst()
            } else if submission.failure == nil {
                return "commit \(next) without \(submission.number) before it"
            }
        }
        return rest.isEmpty ? nil : "commits that were never in flight: \(Array(rest))"
    }
}
