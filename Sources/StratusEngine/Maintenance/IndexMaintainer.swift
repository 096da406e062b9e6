package import StratusFiles
internal import StratusIndex
package import StratusJournal
internal import Synchronization

/// Keeps the index of a store that is being written within its memory, and what an opening has to
/// read short: writes checkpoints, and merges their runs. And keeps the journal near what of it is
/// needed: compacts it.
///
/// What is due is decided between commits, by the bytes that were written and never by the clock.
/// The work itself is done by other threads meanwhile, or on the spot where the caller takes the
/// steps, so that the same calls make the same store.
package final class IndexMaintainer: Sendable {
    private struct State {
        /// What the tables hold, whether or not a manifest says so.
        var checkpoint: StoreCheckpoint?
        /// What they will hold once the frozen memtable is written.
        var coming: StoreCheckpoint?
        var writing: RunningJob<IndexJob.Output>?
        var merging: RunningJob<IndexJob.Output>?
        var compacting: RunningJob<JournalCompaction.Outcome>?
        /// Why a piece of it is not listed.
        var listing: EngineError?
        /// No compaction begins by itself before the journal ends here.
        var compactAt = JournalOffset.zero
        /// Of the next compacted segment, together with the generation of the manifest.
        var nextFile = 1
        /// What a compaction found can be forgotten, until that is committed.
        var forgotten = HorizonCommit()
        /// Tells who asked for a compaction what came of it, once that is committed.
        var finished: (@Sendable () -> Void)?
        /// A compaction that was asked for and has not begun, and who is told what came of it.
        var requested: CompactionRequest?
        /// The one that was asked for and runs.
        var served: CompactionRequest?
        /// The fold has written a memtable by itself: the tables hold more than any checkpoint
        /// says, and nothing is kept before there is one that says it.
        var isBehind = false
        /// After a failure: how large the memtable becomes before it is tried again.
        var retrySize = 0
        /// The journal takes no checkpoint any more.
        var hasFailed = false
        /// Who waits for a checkpoint.
        var awaited: [AwaitedCheckpoint] = []
        var isClosing = false
        /// Why the last try came to nothing.
        var failure: EngineError?
    }

    private struct AwaitedCheckpoint {
        /// What it has to hold: everything before.
        let end: JournalOffset
        let done: CheckpointRequest
    }

    private let committer: Committer<StoreParticipant>
    private let published: PublishedState
    private let registry: ProjectionRegistry
    private let storage: any Storage
    private let budget: MemoryBudget
    private let released: ReleasedFiles
    /// Nil: a job runs on the thread that begins it.
    private let threads: IOThreads?
    private let wakeUp: WakeUp
    private let writeBudget = WriteBudget()
    /// Of commits that are ahead of a compaction.
    package let backPressure = BackPressure()
    /// What the running compaction has written and is not listed.
    private let compacted = Handover<JournalCompaction.Piece>()
    /// Whether the journal is compacted when that is due, or only when it is asked for.
    private let compactsByItself = Atomic(true)
    private let due: MaintenanceDue
    /// Where the checkpoint lies that the manifest has. Any thread may read it.
    private let inForce: Mutex<JournalOffset?>
    /// Of the steps: taken by threads that take them and by no others, and held meanwhile.
    private let state: Mutex<State>

    /// A stretch of journal that is read sooner than a checkpoint is written, in bytes.
    private static let shortStretch = 256 << 10
    /// No checkpoint is written for less, but for one that is asked for, in bytes.
    private static let leastStretch = 4 << 20

    package init(
        _ committer: Committer<StoreParticipant>, _ published: PublishedState,
        _ checkpoint: StoreCheckpoint?, _ registry: ProjectionRegistry, in storage: any Storage,
        _ budget: MemoryBudget, _ released: ReleasedFiles, _ due: MaintenanceDue,
        threads: IOThreads?, _ wakeUp: WakeUp
    ) {
        self.committer = committer
        self.published = published
        self.registry = registry
        self.storage = storage
        self.budget = budget
        self.released = released
        self.due = due
        self.threads = threads
        self.wakeUp = wakeUp
        inForce = Mutex(checkpoint?.position.offset)
        let state = State(checkpoint: checkpoint)
        self.state = Mutex(state)
        due.set(limits(of: state))
    }

    /// Does what is due, and waits where the memtables would grow beyond their share.
    package func step() {
        while !takeSteps() { wakeUp.wait() }
    }

    /// Whether a step would do anything.
    package var isDue: Bool { due.isSet || !released.isEmpty }

    /// Gives `body` the state, and finds out afterwards what is due and when something will be.
    private func stepping<Result: Sendable, Failure>(
        _ body: (inout State) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try state.withLock { state throws(Failure) in
            due.clear()
            defer {
                answer(&state)
                due.set(limits(of: state))
                if state.writing?.result != nil || state.merging?.result != nil
                    || state.compacting?.result != nil || state.finished != nil
                    || !state.forgotten.isEmpty || isFull(state)
                    || !state.awaited.isEmpty && state.coming == nil
                    || !compacted.isEmpty
                {
                    due.set()
                }
            }
            return try body(&state)
        }
    }

    private func limits(of state: State) -> MaintenanceDue.Limits {
        if state.hasFailed { return MaintenanceDue.Limits() }
        if state.retrySize > 0 { return MaintenanceDue.Limits(memtableBytes: state.retrySize) }
        if state.isBehind { return MaintenanceDue.Limits(memtableBytes: 0, end: 0) }
        let start = state.checkpoint?.position.offset ?? .zero
        let units = (longestStretch - 1) / JournalOffset.unit + 1
        return MaintenanceDue.Limits(
            memtableBytes: budget.memtable, end: start.rawValue + UInt64(units))
    }

    /// So much journal may lie behind the checkpoint, in bytes. Nothing of that is compacted: of a store that
    /// needs little no more than twice that, but for a stretch of which a checkpoint is worth its cost.
    private var longestStretch: Int {
        let state = published.current
        let needed = committer.withStage { Self.neededBytes(state, $0.writer) }
        return min(budget.limit, max(Self.leastStretch, 2 * needed))
    }

    private func isFull(_ state: State) -> Bool {
        let limits = limits(of: state)
        return committer.freeze { participant, position in
            limits.areReached(
                memtableBytes: participant.fold.state.index.activeBytes, end: position.offset)
        } ?? false
    }

    /// Writes a checkpoint of everything, if reading it again would take longer.
    package func close() {
        // A running merge is stopped, so that closing does not wait for it.
        stepping { state in
            state.isClosing = true
            state.merging?.stop()
            state.compacting?.stop()
        }
        finish(.everything)
        // What is not in the index is still in the journal.
        try? checkpoint(ifLonger: Self.shortStretch)
        finish(.everything)
        finish(.compacting)
        stepping { answer(&$0, otherwise: .closed) }
        releaseGone()
    }

    /// Where an opening would begin to read now; nil: at the beginning of the journal.
    package var checkpoint: JournalOffset? { inForce.withLock { $0 } }

    /// Is told when a checkpoint is in force, or why there is none.
    package typealias CheckpointRequest = @Sendable (Result<Void, EngineError>) -> Void

    /// Begins a checkpoint of everything that was committed, and tells `done` when it is in force. It
    /// lies in a segment of its own where `endingSegment` says so.
    func requestCheckpoint(endingSegment: Bool, _ done: @escaping CheckpointRequest) {
        do throws(EngineError) {
            if endingSegment { try endSegment() }
            guard threads != nil else {
                try writeCheckpoint()
                return done(.success(()))
            }
            try stepping { state throws(EngineError) in
                try begin(trying: &state)
                let end = committer.freeze { _, position in position.offset }
                state.awaited.append(
                    AwaitedCheckpoint(end: end ?? published.current.head, done: done))
                advance(&state)
            }
        } catch {
            done(.failure(error))
        }
    }

    private func endSegment() throws(EngineError) {
        do throws(JournalError) {
            try committer.endSegment()
        } catch {
            throw EngineError(error)
        }
    }

    /// Writes a checkpoint of everything that was committed; it is in force when this returns.
    package func writeCheckpoint() throws(EngineError) {
        try checkpoint(ifLonger: 0)
        // Generations that readers had pinned may go by now, too.
        committer.release(released.take())
    }

    /// As of ``Engine/raise(above:)``.
    func raise(above incarnation: UInt16) throws(EngineError) {
        do throws(JournalError) {
            try committer.raise(above: incarnation)
        } catch {
            throw EngineError(error)
        }
    }

    private func checkpoint(ifLonger least: Int) throws(EngineError) {
        finish(.writing)
        let isDue = try stepping { state throws(EngineError) in
            try begin(trying: &state)
            if let stretch = stretch(since: state.checkpoint), stretch <= least { return false }
            freeze(&state)
            return true
        }
        guard isDue else { return }
        stepping { begin(&$0) }
        finish(.writing)
        if let failure = state.withLock({ $0.failure }) { throw failure }
    }

    /// Merges all runs into one, so that no version is left that no reader needs.
    package func mergeAll() throws(EngineError) {
        finish(.everything)
        try stepping { state throws(EngineError) in
            try begin(trying: &state)
            guard let job = withIndex({ $0.fullMergeJob() }) else { return }
            state.merging = running(job)
        }
        finish(.everything)
        releaseGone()
        if let failure = state.withLock({ $0.failure }) { throw failure }
    }

    private func begin(trying state: inout State) throws(EngineError) {
        if let failure = committer.failure { throw EngineError(failure) }
        // What failed once may succeed now, when it is asked for.
        state.hasFailed = false
        state.retrySize = 0
        state.failure = nil
    }

    private func takeSteps() -> Bool {
        stepping { state in
            advance(&state)
            releaseGone()
            return state.writing == nil || !isFull(state)
        }
    }

    private func advance(_ state: inout State) {
        while installFinished(&state) {}
        if state.coming == nil, isFull(state) || isAwaited(state) { freeze(&state) }
        begin(&state)
        // On the spot everything is done by now.
        while installFinished(&state) { begin(&state) }
    }

    /// Whether a caller waits for a checkpoint that is not in force.
    private func isAwaited(_ state: State) -> Bool {
        let end = inForce.withLock { $0 } ?? .zero
        return state.awaited.contains { $0.end > end }
    }

    /// Tells those who wait for a checkpoint that it is in force, or why it does not come: after
    /// `failure` no other one does.
    private func answer(_ state: inout State, otherwise failure: EngineError? = nil) {
        if state.awaited.isEmpty { return }
        let end = inForce.withLock { $0 } ?? .zero
        let failure = failure ?? (state.coming == nil ? state.failure : nil)
        state.awaited.removeAll { awaited in
            if awaited.end <= end {
                awaited.done(.success(()))
            } else if let failure {
                awaited.done(.failure(failure))
            } else {
                return false
            }
            return true
        }
    }

    private func releaseGone() {
        let gone = released.take()
        if !gone.isEmpty { committer.release(gone) }
    }

    private enum Work { case writing, everything, compacting }

    /// Waits until `work` is done.
    private func finish(_ work: Work) {
        while true {
            let isIdle = stepping { state in
                while installFinished(&state) {}
                switch work {
                case .writing: return state.writing == nil
                case .everything: return state.writing == nil && state.merging == nil
                case .compacting:
                    beginCompaction(&state)
                    return state.compacting == nil && state.requested == nil
                }
            }
            if isIdle { return }
            wakeUp.wait()
        }
    }

    private func begin(_ state: inout State) {
        if state.hasFailed || state.retrySize > 0 { return }
        if state.writing == nil, state.coming != nil,
            let job = withIndex({ $0.checkpointJob() })
        {
            state.writing = running(job)
        }
        if !state.isClosing, state.merging == nil, let job = withIndex({ $0.mergeJob() }) {
            // Where the writer is ahead of the merges, reading needs them more than the disk.
            let isLate = withIndex { $0.hasTooManyRuns } ?? false
            state.merging = running(job, isLate ? nil : writeBudget)
        }
        beginCompaction(&state)
    }

    private func running(
        _ job: IndexJob, _ budget: WriteBudget? = nil
    ) -> RunningJob<IndexJob.Output> {
        RunningJob(on: threads, due, wakeUp, budget) { stop, pace throws(EngineError) in
            do throws(IndexError) {
                return try job.run(stop: stop, pace: pace)
            } catch {
                throw EngineError(error)
            }
        }
    }

    /// How much journal was written since, in bytes; nil where there can be no checkpoint now.
    private func stretch(since checkpoint: StoreCheckpoint?) -> Int? {
        committer.freeze { _, position in
            position.offset.bytes(since: checkpoint?.position.offset ?? .zero)
        }
    }

    private func freeze(_ state: inout State) {
        state.coming = committer.freeze { participant, position in
            participant.fold.withIndex { $0.freeze() }
            return StoreCheckpoint(participant.fold.state, at: position)
        }
        // Not now, where a segment is full and the next one could not be begun.
        guard let coming = state.coming else {
            // Of a store without commits there is nothing to spare an opening.
            if committer.withStage({ $0.writer.manifest.segments.isEmpty }) { return }
            state.failure = .noRoom
            return
        }
        (state.isBehind, state.retrySize) = (false, 0)
        // There may be nothing to write, and still be a place to go on from.
        guard withIndex({ $0.hasFrozen }) == false else { return }
        state.coming = nil
        state.checkpoint = coming
        keep(coming, &state)
    }

    /// Installs what a job has made; returns whether there was one.
    private func installFinished(_ state: inout State) -> Bool {
        if let result = state.writing?.result {
            state.writing = nil
            install(result, &state)
            if let coming = state.coming.take() {
                state.checkpoint = coming
                keep(coming, &state)
            }
            return true
        }
        if let result = state.merging?.result {
            state.merging = nil
            // What was stopped or failed has changed nothing that a manifest would say.
            if install(result, &state), let checkpoint = state.checkpoint {
                keep(checkpoint, &state)
            }
            return true
        }
        // Asked for before the pieces: of one that has ended these are all.
        let result = state.compacting?.result
        let pieces = compacted.take()
        if !pieces.isEmpty {
            list(pieces, &state)
            if result == nil { return true }
        }
        if let result {
            state.compacting = nil
            backPressure.end()
            installCompaction(result, &state)
            return true
        }
        return false
    }

    /// Returns whether the index has other tables now.
    @discardableResult
    private func install(
        _ result: Result<IndexJob.Output?, EngineError>, _ state: inout State
    ) -> Bool {
        switch result {
        case .success(let output?):
            _ = committer.freeze { participant, _ in participant.fold.install(output) }
            state.retrySize = 0
            committer.publish()
            return true
        case .success(nil): return false
        case .failure(let error):
            // Everything is still in memory and in the journal. Where the disk is full the
            // memtable grows by another share before it is tried again.
            state.retrySize = (withIndex { $0.activeBytes } ?? 0) + budget.memtable
            state.failure = error
            state.coming = nil
            return false
        }
    }

    /// Makes a checkpoint the one that openings begin at.
    private func keep(_ checkpoint: StoreCheckpoint, _ state: inout State) {
        if state.hasFailed { return }
        guard let manifest = withIndex({ checkpoint.manifest(of: $0) }) else {
            state.isBehind = true
            return
        }
        do {
            try committer.take(manifest)
            inForce.withLock { $0 = checkpoint.position.offset }
        } catch {
            state.failure = EngineError(error)
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

/// A compaction that was asked for.
package struct CompactionRequest: Sendable {
    package var purpose: Purpose
    /// Is told how many rows of the index were looked at.
    package var progress: @Sendable (Int) -> Void
    /// Is told what came of it.
    package var done: @Sendable (Result<JournalCompaction.Outcome, EngineError>) -> Void

    package enum Purpose: Sendable {
        /// To free what is needed no longer.
        case freeing
        /// The same, but only to say what that would bring.
        case planning
        /// That nothing is left of what is needed no longer.
        case erasing
    }

    package init(
        _ purpose: Purpose, progress: @escaping @Sendable (Int) -> Void,
        done: @escaping @Sendable (Result<JournalCompaction.Outcome, EngineError>) -> Void
    ) {
        self.purpose = purpose
        self.progress = progress
        self.done = done
    }
}

// What of the journal is needed no longer.
extension IndexMaintainer {
    /// Whether it compacts the journal when that is due; one that was begun goes on.
    package func setCompactsByItself(_ isOn: Bool) {
        compactsByItself.store(isOn, ordering: .relaxed)
    }

    /// Begins a compaction of all that is dead before the checkpoint in force.
    package func request(_ request: CompactionRequest) {
        stepping { state in
            while installFinished(&state) {}
            guard state.requested == nil, state.served == nil else {
                return request.done(.failure(.busy("another compaction is under way")))
            }
            state.requested = request
            beginCompaction(&state)
        }
        guard threads == nil else { return }
        finish(.compacting)
        releaseGone()
    }

    /// A compaction comes no sooner after the last one than a sixteenth of the journal. What is counted
    /// as dead may be needed by snapshots.
    private static func nextCompaction(_ writer: borrowing JournalWriter) -> JournalOffset {
        let length = max(leastDead(writer), writer.manifest.lengthInBytes / 16)
        return writer.head.advanced(byBytes: length)
    }

    /// Less is not worth a look.
    private static func leastDead(_ writer: borrowing JournalWriter) -> Int {
        8 * writer.usualSegmentLength
    }

    /// About what of the journal is needed, in bytes; not above 0 where that is not known.
    private static func neededBytes(
        _ state: StoreState, _ writer: borrowing JournalWriter
    ) -> Int {
        state.fold.countsForgotten ? 0 : writer.manifest.lengthInBytes - state.fold.deadBytes
    }

    /// Whether the files take five thirds of what compacted segments of the needed entries alone would,
    /// about, and a sixth of that is dead: segments are not compacted only to compress them.
    private static func isDue(_ dead: Int, _ writer: borrowing JournalWriter) -> Bool {
        let length = writer.manifest.lengthInBytes
        let compacted = writer.manifest.segments.filter(\.isCompacted).lengthInBytes
        // More may be counted than there is.
        let needed = length - compacted - min(dead, length)
        let output = compacted + CompactionPlanner.output(of: needed)
        return dead > max(leastDead(writer), output / 6) && length > output / 3 * 5
    }

    private func beginCompaction(_ state: inout State) {
        if state.compacting != nil { return }
        if state.isClosing {
            state.requested.take()?.done(.failure(.closed))
            return
        }
        let request = state.requested
        let (newest, count) = (published.current, state.nextFile)
        // Rows that the checkpoint has may be gone from tables that hold more than it says.
        if request == nil, newest.head < state.compactAt || state.isBehind { return }
        if request == nil, !compactsByItself.load(ordering: .relaxed) { return }
        let (isDue, needed, checkpoint, limit, number, randomness, next) = committer.withStage {
            stage in
            (
                Self.isDue(newest.fold.deadBytes, stage.writer),
                Self.neededBytes(newest, stage.writer),
                stage.writer.manifest.checkpoint?.position.offset ?? .zero,
                stage.writer.manifest.compactionLimit, stage.writer.fileNumber(count),
                stage.writer.randomness, Self.nextCompaction(stage.writer)
            )
        }
        guard isDue || request != nil else { return }
        (state.served, state.requested) = (state.requested, nil)
        state.compactAt = next
        let job = JournalCompaction(
            published, at: checkpoint, before: limit, registry, in: storage, randomness, budget,
            firstNumber: number,
            request.map { $0.purpose == .erasing ? .erasing : .everything } ?? .worthwhile,
            progress: request?.progress)
        if request?.purpose != .planning { backPressure.begin(needed: needed) }
        state.compacting = RunningJob(on: threads, due, wakeUp, writeBudget) {
            stop, pace throws(EngineError) in
            if request?.purpose == .planning { return try job.plan() }
            return try job.run(stop: stop, pace: pace) { [self] piece in
                compacted.add([piece])
                due.set()
                wakeUp.signal()
            }
        }
    }

    private func installCompaction(
        _ result: Result<JournalCompaction.Outcome?, EngineError>, _ state: inout State
    ) {
        // One that began by itself is not what was asked for meanwhile.
        let request = state.served.take()
        let failure = state.listing.take()
        do throws(EngineError) {
            if let failure { throw failure }
            guard let outcome = try result.get() else { throw .closed }
            if request?.purpose != .planning {
                state.forgotten = HorizonCommit(
                    horizons: outcome.forgotten, participations: outcome.participations)
            }
            if let request { state.finished = { request.done(.success(outcome)) } }
        } catch {
            // Pieces that are listed stay so, and the rest is as it was; it is tried again when more was
            // written.
            request?.done(.failure(error))
        }
    }

    /// The names of files that the store consists of no more, and that are still there.
    package func heldFiles() throws(EngineError) -> [String] {
        releaseGone()
        let manifest = committer.withStage { $0.writer.manifest }
        do throws(StorageError) {
            return try manifest.heldFiles(in: storage)
        } catch {
            throw EngineError(error)
        }
    }

    /// What a compaction found that is to be committed, so that deletions are forgotten; nil:
    /// nothing. `finish` is called then.
    package func takeFound() -> (transaction: (any Transaction)?, finish: (@Sendable () -> Void)?) {
        stepping { state in
            let forgotten = state.forgotten
            state.forgotten = HorizonCommit()
            return (forgotten.isEmpty ? nil : forgotten, state.finished.take())
        }
    }

    /// Where this fails, the segments stay as they are, and the compaction ends.
    private func list(_ pieces: [JournalCompaction.Piece], _ state: inout State) {
        let outputs = pieces.flatMap(\.outputs)
        let listed = outputs + pieces.flatMap(\.cleared)
        let lessDead = pieces.reduce(0) { $0 + $1.lessDead }
        if listed.isEmpty {
            _ = committer.freeze { participant, _ in participant.fold.correctDead(by: -lessDead) }
            return
        }
        state.nextFile += outputs.count
        do throws(JournalError) {
            try committer.list(listed) { participant, gone in
                participant.fold.giveUp(gone)
                participant.fold.correctDead(by: -lessDead)
            }
        } catch {
            state.listing = EngineError(error)
            state.compacting?.stop()
            // No generation names them, unless it is open which one is in force.
            if case .storage = error { outputs.delete(from: storage) }
        }
    }
}
