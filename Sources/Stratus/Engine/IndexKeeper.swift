internal import StratusFiles
internal import StratusIndex
internal import StratusJournal
internal import Synchronization

/// Keeps the index of a store that is being written within its memory, and what an opening has to
/// read short: writes checkpoints, and merges their runs.
///
/// What is due is decided between commits, by the bytes that were written and never by the clock.
/// The work itself is done by other threads meanwhile, or on the spot where the caller takes the
/// steps, so that the same calls make the same store.
final class IndexKeeper: Sendable {
    private struct State {
        /// What the tables hold.
        var checkpoint: StoreCheckpoint?
        /// What they will hold once the frozen memtable is written.
        var coming: StoreCheckpoint?
        var writing: RunningJob?
        var merging: RunningJob?
        /// The journal cannot be asked to keep a checkpoint any more.
        var hasFailed = false
    }

    private let committer: Committer<StoreParticipant>
    private let budget: MemoryBudget
    private let released: ReleasedFiles
    /// Nil: whoever asks does the work.
    private let threads: IOThreads?
    private let wakeUp: WakeUp
    private let state: Mutex<State>

    /// A stretch of journal that is read sooner than a checkpoint is written, in bytes.
    private static let shortStretch = 256 << 10

    init(
        _ committer: Committer<StoreParticipant>, _ checkpoint: StoreCheckpoint?,
        _ budget: MemoryBudget, _ released: ReleasedFiles, threads: IOThreads?, _ wakeUp: WakeUp
    ) {
        self.committer = committer
        self.budget = budget
        self.released = released
        self.threads = threads
        self.wakeUp = wakeUp
        state = Mutex(State(checkpoint: checkpoint))
    }

    /// Does what is due, and waits where the memtables would grow beyond their share.
    func step() {
        while !takeSteps() { wakeUp.wait() }
    }

    /// Whether a step would do anything, at little cost.
    var isDue: Bool {
        state.withLock { state in
            state.writing?.result != nil || state.merging?.result != nil || isFull(&state)
        } || !released.isEmpty
    }

    /// Writes a checkpoint of everything, if reading it again would take longer.
    func close() {
        _ = checkpoint(ifLonger: Self.shortStretch)
    }

    /// Writes a checkpoint of everything now; returns whether it is in force.
    func checkpoint(ifLonger least: Int = 0) -> Bool {
        finish()
        let isDue = state.withLock { state in
            guard stretch(since: state.checkpoint) > least else { return false }
            freeze(&state)
            return state.coming != nil
        }
        guard isDue else { return true }
        begin()
        finish()
        return state.withLock { !$0.hasFailed && $0.coming == nil }
    }

    /// Merges all runs into one.
    func mergeAll() {
        finish()
        state.withLock { state in
            guard let job = withIndex({ $0.fullMergeJob() }) else { return }
            state.merging = RunningJob(job, on: threads, wakeUp)
        }
        finish()
    }

    private func takeSteps() -> Bool {
        state.withLock { state in
            while installFinished(&state) {}
            if isFull(&state), state.coming == nil { freeze(&state) }
            begin(&state)
            // On the spot everything is done by now.
            while installFinished(&state) { begin(&state) }
            let gone = released.take()
            if !gone.isEmpty { committer.release(gone) }
            return state.writing == nil || !isFull(&state)
        }
    }

    /// Waits until nothing runs any more.
    private func finish() {
        while true {
            let isIdle = state.withLock { state in
                while installFinished(&state) {}
                return state.writing == nil && state.merging == nil
            }
            if isIdle { return }
            wakeUp.wait()
        }
    }

    private func begin() { state.withLock { begin(&$0) } }

    private func begin(_ state: inout State) {
        if state.hasFailed { return }
        if state.writing == nil, state.coming != nil,
            let job = withIndex({ $0.checkpointJob() })
        {
            state.writing = RunningJob(job, on: threads, wakeUp)
        }
        if state.merging == nil, let job = withIndex({ $0.mergeJob() }) {
            state.merging = RunningJob(job, on: threads, wakeUp)
        }
    }

    private func isFull(_ state: inout State) -> Bool {
        if state.hasFailed { return false }
        let bytes = withIndex { $0.activeBytes } ?? 0
        return bytes >= budget.memtable || stretch(since: state.checkpoint) >= budget.limit
    }

    /// How much journal was written since, in bytes.
    private func stretch(since checkpoint: StoreCheckpoint?) -> Int {
        committer.freeze { _, position in
            position.offset.bytes(since: checkpoint?.position.offset ?? .zero)
        } ?? 0
    }

    private func freeze(_ state: inout State) {
        state.coming = committer.freeze { participant, position in
            participant.fold.withIndex { $0.freeze() }
            return StoreCheckpoint(participant.fold.state, at: position)
        }
        // There may be nothing to write, and still be a place to go on from.
        guard let coming = state.coming, withIndex({ $0.hasFrozen }) == false else { return }
        state.coming = nil
        keep(coming, &state)
    }

    /// Installs what a job has made; returns whether there was one.
    private func installFinished(_ state: inout State) -> Bool {
        if let result = state.writing?.result {
            state.writing = nil
            install(result, &state)
            if let coming = state.coming.take() { keep(coming, &state) }
            return true
        }
        if let result = state.merging?.result {
            state.merging = nil
            install(result, &state)
            if let checkpoint = state.checkpoint { keep(checkpoint, &state) }
            return true
        }
        return false
    }

    private func install(_ result: Result<IndexJob.Output?, IndexError>, _ state: inout State) {
        switch result {
        case .success(let output?):
            _ = committer.freeze { participant, _ in participant.fold.install(output) }
        case .success(nil): break
        case .failure:
            // Everything is still in memory and in the journal. A store whose index cannot be
            // written goes on as one whose memtables have no limit.
            state.hasFailed = true
            state.coming = nil
        }
    }

    /// Makes a checkpoint the one that openings begin at.
    private func keep(_ checkpoint: StoreCheckpoint, _ state: inout State) {
        if state.hasFailed { return }
        // What follows the checkpoint is applied to its tables, and once only: those that a long
        // commit or an opening has written meanwhile wait for a checkpoint behind them.
        let end = checkpoint.position.offset.rawValue
        guard withIndex({ $0.leftMemoryThrough < end }) == true,
            let manifest = withIndex({ checkpoint.manifest(of: $0) })
        else { return }
        do {
            try committer.take(manifest)
            state.checkpoint = checkpoint
        } catch {
            // The next one may succeed; the one in force still holds.
            if case .storage = error { return }
            state.hasFailed = true
        }
    }

    private func withIndex<Result: Sendable>(
        _ body: @Sendable (inout OrderedIndex) -> Result
    ) -> Result? {
        committer.freeze { participant, _ in participant.fold.withIndex(body) }
    }

    private func withIndex<Result: Sendable>(
        _ body: @Sendable (inout OrderedIndex) -> Result?
    ) -> Result? {
        committer.freeze { participant, _ in participant.fold.withIndex(body) } ?? nil
    }
}

/// How the memory of a store is divided.
struct MemoryBudget: Sendable {
    /// In bytes.
    var limit: Int

    /// Below this there is no room for the blocks that a merge reads.
    static let least = 1 << 20
    static let usual = 64 << 20

    /// The active memtable, or the one being written: of each there is at most one.
    var memtable: Int { limit / 8 }
    /// Blocks of the index and entries of the journal.
    var cache: Int { limit * 11 / 16 }
}

/// A job of the index on its way.
private final class RunningJob: Sendable {
    private let outcome = Mutex<Result<IndexJob.Output?, IndexError>?>(nil)

    /// What came of it, once it has ended.
    var result: Result<IndexJob.Output?, IndexError>? { outcome.withLock { $0 } }

    init(_ job: IndexJob, on threads: IOThreads?, _ wakeUp: WakeUp) {
        let work: @Sendable () -> Void = { [self] in
            let result = Result { () throws(IndexError) in try job.run() }
            outcome.withLock { $0 = result }
            wakeUp.signal()
        }
        // Where the system gives no thread it is done here.
        if let threads, (try? threads.submit(work)) != nil {} else { work() }
    }
}
