package import StratusFiles
package import StratusJournal
internal import Synchronization

/// Which thread takes the steps of the engine.
package enum EngineDriver: Sendable {
    /// A thread of the engine's own.
    case thread
    /// The calling one, one commit a group: the same calls then make the same store, byte for byte.
    case caller
}

/// The writing side of an open store: the committer, its queue and its thread.
///
/// # Locks
///
/// The turn (``CommitQueue``) is no lock: a thread that has it commits, takes the maintainer's
/// steps, writes idle groups, or runs an exclusive task, and a commit that comes meanwhile is left
/// in the queue, so that all that comes during one sync shares the next. With the driver `thread`
/// the turn is the engine's thread's, or that of a caller on a thread of its own; with the driver
/// `caller` the calling thread commits at once.
///
/// Locks are taken in this order, and none while one further down is held:
///
/// 1. The state of ``IndexMaintainer``, for a step.
/// 2. The state of `Committer`, for a list of commits, a checkpoint or an idle group.
/// 3. Any of the others, which are held for a few instructions: ``CommitQueue``, ``PendingCommit``,
///    ``PublishedState``, ``ChangeWaiters``, ``ChunkHolds``, ``StateCache``, ``SubscriptionFilters``,
///    ``FileLease``, ``ReleasedFiles``, ``BackPressure``, ``JournalCompaction`` and what it has written,
///    `GradualMerge`, `SegmentFiles`, `BlockCache`, `DescriptorCache`, those of `IOThreads` and of
///    `Limits`. Of these no two at once, but that a released lease adds to the released files.
///
/// Chunks of assets have locks of their own, for which none of these is held: ``AssetStore`` opens
/// its `ChunkStore` under one, which writes under a second and syncs under a third. Threads take
/// them that may wait, of those who save assets, and of the compaction that moves chunks; no reader
/// does, and no save without assets.
///
/// Other files are written, synced and deleted under 1 and 2, never under 3. What prepares a commit, reads
/// or waits takes none but 3; only a thread that has the turn takes 1 and 2, and none waits for
/// them. The manifest is put under 1 and 2, between two groups: a generation names where the journal
/// ends, a new segment is a generation, too, and the fence that each commit checks says that no
/// newer one is there, so that one generation is made at a time and no group meanwhile. The tables
/// that it names were written and synced before, by other threads under no lock.
///
/// Callers and live feeds are resumed when 1 and 2 are free, by the thread that has the turn, in
/// the order of the commits.
package final class Engine: Sendable {
    package let published: PublishedState
    package let payloadLimit: Int
    package let partLimit: Int
    package let clock: Clock
    private let threads: IOThreads
    private let assets: AssetStore
    /// Runs when commits have ended, on the thread that has the turn.
    private let afterCommits: @Sendable (Engine) -> Void
    private let committer: Committer<StoreParticipant>
    private let queue: CommitQueue
    package let maintainer: IndexMaintainer
    private let driver: EngineDriver
    private let whenClosed = Mutex<ClosingState>(.open)

    private enum ClosingState {
        case open
        case closing([CheckedContinuation<Result<Void, EngineError>, Never>])
        case closed(Result<Void, EngineError>)
    }

    /// The most unfinished commits at a time.
    package static let queueLimit = 4096

    package init(
        _ opened: consuming Journal.Opened<StoreFold>, _ foundation: StoreFoundation,
        _ checkpoint: StoreCheckpoint?, durability: Durability, driver: EngineDriver,
        afterCommits: @escaping @Sendable (Engine) -> Void
    ) throws(EngineError) {
        threads = foundation.threads
        self.afterCommits = afterCommits
        let writer = opened.writer
        let published = PublishedState(
            StoreState(
                fold: opened.fold.state, view: writer.view, head: writer.head,
                identity: writer.identity, assets: foundation.assets, cache: StateCache()))
        self.published = published
        payloadLimit = writer.payloadLimit
        partLimit = writer.groupLimit
        clock = writer.clock
        // The maintainer works between commits: within one longer than two memtables the fold has
        // to write the memtable to disk itself.
        let fold = opened.fold.observed(spillLimit: foundation.budget.memtable * 2) {
            published.points
        }
        assets = foundation.assets
        let due = MaintenanceDue()
        let participant = StoreParticipant(fold: fold, published: published, due: due)
        committer = Committer(writer, participant: participant, durability: durability)
        queue = CommitQueue(limit: Self.queueLimit)
        self.driver = driver
        maintainer = IndexMaintainer(
            committer, published, checkpoint, foundation.registry, in: foundation.storage,
            foundation.budget, foundation.released, due,
            threads: driver == .thread ? IOThreads(count: 3, isBackground: true) : nil,
            queue.wakeUp)
        guard driver == .thread else { return }
        do {
            try Thread.start { [self] in run() }
        } catch {
            throw EngineError(error)
        }
    }

    /// Prepares and commits a transaction, and returns what became of each item and the record it is.
    package nonisolated(nonsending) func commit(
        _ transaction: any Transaction
    ) async throws(EngineError) -> Committed {
        try await queue.admit()
        defer { queue.release() }
        let context = context
        let reading = StoreReading(published.current, .resident)
        var preparation = transaction.prepare(reading, context)
        if case .wouldBlock = preparation {
            preparation = try await threads.run { transaction.prepare(reading.waiting, context) }
        }
        let commit = try pending(transaction, preparation)
        if let draft = commit.draft, draft.buffer.isEmpty {
            return Committed(draft: draft, start: nil, wasOvertaken: false)
        }
        let outcome = await commit.outcome {
            switch driver {
            case .thread: queue.submit(commit)
            case .caller: commitAlone(commit)
            }
        }
        return try committed(commit, outcome)
    }

    /// The same on the calling thread, which waits: for the disk, and where another thread commits,
    /// for that one. Where none does, it commits by itself and no other thread is woken.
    package func commitBlocking(
        _ transaction: any Transaction
    ) throws(EngineError) -> Committed {
        try queue.admitBlocking()
        defer { queue.release() }
        let reading = StoreReading(published.current, .blocking)
        let commit = try pending(transaction, transaction.prepare(reading, context))
        if let draft = commit.draft, draft.buffer.isEmpty {
            return Committed(draft: draft, start: nil, wasOvertaken: false)
        }
        let outcome = commit.outcomeBlocking {
            if driver == .caller {
                commitAlone(commit)
            } else if !maintainer.isDue, queue.enter() {
                waitForCompaction()
                take([commit])
                queue.leave(isDue: maintainer.isDue)
            } else {
                // What is due to be kept may hold commits up, which is the thread's own matter.
                queue.submit(commit)
            }
        }
        return try committed(commit, outcome)
    }

    /// Of a transaction that its caller prepares.
    private var context: PreparationContext {
        PreparationContext(
            position: nil, now: clock.now(), payloadLimit: payloadLimit, partLimit: partLimit)
    }

    private func pending(
        _ transaction: any Transaction, _ preparation: Preparation
    ) throws(EngineError) -> PendingCommit {
        switch preparation {
        case .draft(let draft): return PendingCommit(transaction, draft)
        case .needsSerial: return PendingCommit(transaction, nil)
        case .refused(let error): throw error
        case .wouldBlock: preconditionFailure("who waits for the disk gets an answer")
        }
    }

    private func committed(
        _ commit: PendingCommit, _ outcome: PendingCommit.Outcome
    ) throws(EngineError) -> Committed {
        let placed = try outcome.get()
        guard let draft = placed.draft ?? commit.draft else {
            preconditionFailure("the committer prepares what its caller cannot")
        }
        return Committed(
            draft: draft, start: placed.start, wasOvertaken: placed.wasOvertaken)
    }

    /// Where the caller takes the steps: tells readers in other processes up to where the journal
    /// is durable. The engine's thread does so by itself, 2 ms after the last commit.
    package func announceDurable() {
        if driver == .caller { announceDurableNow() }
    }

    /// The same at once, also where the engine's thread takes the steps. Writes to the journal.
    package func announceDurableNow() { _ = committer.idle(now: Clock.monotonicNanoseconds) }

    /// How many commits wait for the next group.
    package var queueDepth: Int { queue.depth }

    private func commitAlone(_ commit: PendingCommit) {
        take([commit])
        if maintainer.isDue { maintain() }
    }

    /// Lets a compaction catch up that commits are ahead of. Where the caller takes the steps there is none
    /// between two commits.
    private func waitForCompaction() {
        let delay = maintainer.backPressure.delay(in: published.current.fold)
        if delay > 0 { Thread.pause(microseconds: UInt32(delay)) }
    }

    /// Takes the maintainer's steps, and commits what it wants to be part of the store.
    private func maintain() {
        maintainer.step()
        commitFound()
    }

    /// Commits what a compaction has found.
    private func commitFound() {
        let found = maintainer.takeFound()
        if let transaction = found.transaction { take([PendingCommit(transaction, nil)]) }
        found.finish?()
    }

    /// Commits, and makes known what came of it.
    private func take(_ commits: [PendingCommit]) {
        let outcome = committer.commit(commits)
        if let changes = outcome.changes {
            published.announce(changes.subjects)
            if changes.freedAssetBytes > 0 { assets.noteFreed(changes.freedAssetBytes) }
        }
        for (place, commit) in commits.enumerated() {
            commit.finish(outcome.failures.isEmpty ? nil : outcome.failures[place])
        }
    }

    /// Commits what was submitted, states where the journal ends, and gives up the store. Called
    /// again, it says the same.
    package nonisolated(nonsending) func close() async throws(EngineError) {
        queue.close()
        if driver == .caller { finishClosing() }
        let result = await withCheckedContinuation { continuation in
            let known = whenClosed.withLock { state -> Result<Void, EngineError>? in
                switch state {
                case .open: state = .closing([continuation])
                case .closing(let others): state = .closing(others + [continuation])
                case .closed(let result): return result
                }
                return nil
            }
            if let known { continuation.resume(returning: known) }
        }
        try result.get()
    }

    /// Runs `body` between commits, where the maintainer may be asked for more than its steps.
    package nonisolated(nonsending) func runExclusively<Value: Sendable>(
        _ body: @escaping @Sendable (IndexMaintainer) throws(EngineError) -> Value
    ) async throws(EngineError) -> Value {
        if driver == .caller { return try body(maintainer) }
        let result: Result<Value, EngineError> = await withCheckedContinuation { continuation in
            let isTaken = queue.submit(exclusive: { [maintainer] in
                continuation.resume(
                    returning: Result { () throws(EngineError) in try body(maintainer) })
            })
            if !isTaken { continuation.resume(returning: .failure(.closed)) }
        }
        return try result.get()
    }

    /// Makes the versions of what is committed from here on greater than those of a store with that
    /// incarnation.
    package nonisolated(nonsending) func raise(
        above incarnation: UInt16
    ) async throws(EngineError) {
        try await runExclusively { maintainer throws(EngineError) in
            try maintainer.raise(above: incarnation)
        }
    }

    /// The same on the calling thread, which waits.
    package func runExclusivelyAndWait<Value: Sendable>(
        _ body: @escaping @Sendable (IndexMaintainer) throws(EngineError) -> Value
    ) throws(EngineError) -> Value {
        if driver == .caller { return try body(maintainer) }
        let outcome = Outcome<Result<Value, EngineError>>()
        let isTaken = queue.submit(exclusive: { [maintainer] in
            outcome.finish(Result { () throws(EngineError) in try body(maintainer) })
        })
        guard isTaken else { throw .closed }
        return try outcome.wait().get()
    }

    /// Writes a checkpoint of everything that was committed; it is in force when this returns. Commits
    /// go on meanwhile. It lies in a segment of its own where `endingSegment` says so.
    package nonisolated(nonsending) func writeCheckpoint(
        endingSegment: Bool = false
    ) async throws(EngineError) {
        let result: Result<Void, EngineError> = await withCheckedContinuation { continuation in
            requestCheckpoint(endingSegment: endingSegment) { continuation.resume(returning: $0) }
        }
        try result.get()
    }

    /// The same on the calling thread, which waits.
    package func writeCheckpointAndWait() throws(EngineError) {
        let outcome = Outcome<Result<Void, EngineError>>()
        requestCheckpoint(endingSegment: false) { outcome.finish($0) }
        try outcome.wait().get()
    }

    private func requestCheckpoint(
        endingSegment: Bool, _ done: @escaping IndexMaintainer.CheckpointRequest
    ) {
        let task = { @Sendable [maintainer] in
            maintainer.requestCheckpoint(endingSegment: endingSegment, done)
        }
        if driver == .caller { return task() }
        if !queue.submit(exclusive: task) { done(.failure(.closed)) }
    }

    /// Compacts all of the journal that is dead, or finds out what that would bring. Commits go on
    /// meanwhile.
    package nonisolated(nonsending) func compact(
        _ purpose: CompactionRequest.Purpose,
        progress: @escaping @Sendable (Int) -> Void = { _ in }
    ) async throws(EngineError) -> JournalCompaction.Outcome {
        var outcome = try await runCompaction(purpose, progress)
        var next = outcome
        // The first run makes it possible to forget deletions, the second forgets them, the third ends
        // of participations with them, and the last drops the entries. What is committed meanwhile is
        // left to later calls.
        for _ in 0..<3 where next.isUnfinished && purpose != .planning {
            next = try await runCompaction(purpose, progress)
            outcome.add(next)
        }
        return outcome
    }

    /// Makes the index anew without what is needed no longer; returns the names of files that the
    /// store consists of no more, and that are still there.
    package nonisolated(nonsending) func erasedIndex() async throws(EngineError) -> [String] {
        try await runExclusively { maintainer throws(EngineError) in
            try maintainer.writeCheckpoint()
            try maintainer.mergeAll()
            return try maintainer.heldFiles()
        }
    }

    private nonisolated(nonsending) func runCompaction(
        _ purpose: CompactionRequest.Purpose, _ progress: @escaping @Sendable (Int) -> Void
    ) async throws(EngineError) -> JournalCompaction.Outcome {
        // Only what lies before a checkpoint is looked at.
        try await writeCheckpoint(endingSegment: purpose == .erasing)
        let result = await withCheckedContinuation {
            (
                continuation: CheckedContinuation<
                    Result<JournalCompaction.Outcome, EngineError>, Never
                >
            )
            in
            let request = CompactionRequest(purpose, progress: progress) {
                continuation.resume(returning: $0)
            }
            if driver == .caller {
                maintainer.request(request)
                return commitFound()
            }
            let isTaken = queue.submit(exclusive: { [maintainer] in maintainer.request(request) })
            if !isTaken { continuation.resume(returning: .failure(.closed)) }
        }
        return try result.get()
    }

    /// Closes the journal where ``close()`` was not called.
    package func abandon() { queue.close() }

    private func run() {
        let idle = Committer<StoreParticipant>.idleNanoseconds
        var timeout: UInt64?
        var isIdle = false
        while true {
            // A caller that has the turn wakes this thread where it leaves anything to do.
            if let work = queue.takeWork() {
                for task in work.exclusiveTasks { task() }
                if !work.commits.isEmpty {
                    waitForCompaction()
                    take(work.commits)
                }
                if maintainer.isDue { maintain() }
                if !work.commits.isEmpty {
                    afterCommits(self)
                    timeout = idle
                } else if isIdle {
                    timeout = committer.idle(now: Clock.monotonicNanoseconds)
                    // Before a wait without end it is asked again: the signal of a caller's turn
                    // that ended since may be spent, and those that follow it give none.
                    if queue.wasEntered() {
                        afterCommits(self)
                        timeout = idle
                    }
                }
                isIdle = false
                if queue.endTurn() { continue }
                if queue.isEnded { break }
            }
            if queue.wakeUp.wait(nanoseconds: timeout) {
                timeout = idle
            } else if queue.wasEntered() {
                afterCommits(self)
                timeout = idle
            } else {
                isIdle = true
            }
        }
        finishClosing()
    }

    private func finishClosing() {
        let rest = queue.takeWork()
        for commit in rest?.commits ?? [] { commit.finish(.closed) }
        for task in rest?.exclusiveTasks ?? [] { task() }
        // Before the journal is closed: then another process may open the store for writing.
        assets.close()
        maintainer.close()
        commitFound()
        var result: Result<Void, EngineError> = .success(())
        do {
            try committer.close()
        } catch {
            result = .failure(EngineError(error))
        }
        let waiting = whenClosed.withLock { state in
            defer { if case .closed = state {} else { state = .closed(result) } }
            if case .closing(let waiting) = state { return waiting }
            return []
        }
        for continuation in waiting { continuation.resume(returning: result) }
    }
}
