internal import StratusFiles
internal import StratusJournal
internal import Synchronization

/// Who takes the steps of the engine.
enum EngineDriver: Sendable {
    /// A thread of the engine's own.
    case thread
    /// Whoever commits, one commit a group: the same calls then make the same store, byte for byte.
    case caller
}

/// The writing side of an open store: the committer, its queue and its thread.
final class Engine: Sendable {
    let published: PublishedState
    let payloadLimit: Int
    let partLimit: Int
    let clock: Clock
    private let threads: IOThreads
    private let assets: AssetStore
    private let committer: Committer<StoreParticipant>
    private let queue: CommitQueue
    let maintainer: IndexMaintainer
    private let driver: EngineDriver
    private let whenClosed = Mutex<ClosingState>(.open)

    private enum ClosingState {
        case open
        case closing([CheckedContinuation<Result<Void, StoreError>, Never>])
        case closed(Result<Void, StoreError>)
    }

    /// The most commits that are on their way at once.
    static let queueLimit = 4096

    init(
        _ opened: consuming Journal.Opened<StoreFold>, _ foundation: StoreFoundation,
        _ checkpoint: StoreCheckpoint?, durability: Durability, driver: EngineDriver
    ) throws(StoreError) {
        threads = foundation.threads
        let writer = opened.writer
        let identity = StoreIdentity(writer.manifest)
        let published = PublishedState(
            StoreState(
                fold: opened.fold.state, view: writer.view, head: writer.head,
                identity: identity, assets: foundation.assets))
        self.published = published
        payloadLimit = writer.payloadLimit
        partLimit = writer.groupLimit
        clock = writer.clock
        // Where a commit alone is longer than two memtables, nobody else can help.
        let fold = opened.fold.observed(spillLimit: foundation.budget.memtable * 2) {
            published.points
        }
        assets = foundation.assets
        let participant = StoreParticipant(
            fold: fold, identity: identity, published: published, assets: assets)
        committer = Committer(writer, participant: participant, durability: durability)
        queue = CommitQueue(limit: Self.queueLimit)
        self.driver = driver
        maintainer = IndexMaintainer(
            committer, checkpoint, foundation.budget, foundation.released,
            threads: driver == .thread ? IOThreads(count: 2) : nil, queue.wakeUp)
        guard driver == .thread else { return }
        do {
            try Thread.start { [self] in run() }
        } catch {
            throw StoreError(error)
        }
    }

    /// Prepares and commits `request`, and returns what became of each item and the record it is.
    nonisolated(nonsending) func commit(
        _ request: any CommitRequest
    ) async throws(StoreError) -> Committed {
        try await queue.admit()
        defer { queue.release() }
        let role = PreparingRole(
            position: nil, now: clock.now(), payloadLimit: payloadLimit,
            partLimit: partLimit)
        let reading = StoreReading(published.current, .resident)
        let preparation: Preparation
        do throws(StoreError) {
            preparation = try request.prepare(reading, role)
        } catch {
            guard error.wouldBlock else { throw error }
            preparation = try await threads.run { try request.prepare(reading.waiting, role) }
        }
        if !preparation.needsCommitter, preparation.buffer.isEmpty {
            return Committed(preparation: preparation, start: nil)
        }
        let commit = PendingCommit(request, preparation.needsCommitter ? nil : preparation)
        let outcome = await commit.outcome {
            switch driver {
            case .thread: queue.submit(commit)
            case .caller: commitAlone(commit)
            }
        }
        let placed = try outcome.get()
        return Committed(
            preparation: placed.preparation ?? preparation, start: placed.start)
    }

    /// The same on the calling thread, which waits: for the disk, and where others commit, for
    /// them. Where nobody does, it commits by itself and no other thread is woken.
    func commitBlocking(_ request: any CommitRequest) throws(StoreError) -> Committed {
        let role = PreparingRole(
            position: nil, now: clock.now(), payloadLimit: payloadLimit,
            partLimit: partLimit)
        let preparation = try request.prepare(StoreReading(published.current, .blocking), role)
        if !preparation.needsCommitter, preparation.buffer.isEmpty {
            return Committed(preparation: preparation, start: nil)
        }
        let commit = PendingCommit(request, preparation.needsCommitter ? nil : preparation)
        let outcome = commit.outcomeBlocking {
            if driver == .caller {
                commitAlone(commit)
            } else if !maintainer.isDue, queue.enter() {
                committer.commit([commit])
                queue.leave()
            } else {
                // What is due to be kept may hold commits up, which is the thread's own matter.
                queue.submit(commit)
            }
        }
        let placed = try outcome.get()
        return Committed(
            preparation: placed.preparation ?? preparation, start: placed.start)
    }

    /// Where the caller takes the steps: tells readers in other processes up to where the journal
    /// is durable. The engine's thread does so by itself, 2 ms after the last commit.
    func announceDurable() {
        if driver == .caller { _ = committer.idle(now: Clock.monotonicNanoseconds) }
    }

    private func commitAlone(_ commit: PendingCommit) {
        committer.commit([commit])
        if maintainer.isDue { maintainer.step() }
    }

    /// Commits what is on its way, states where the journal ends, and gives up the store. Called
    /// again, it says the same.
    nonisolated(nonsending) func close() async throws(StoreError) {
        queue.close()
        if driver == .caller { finishClosing() }
        let result = await withCheckedContinuation { continuation in
            let known = whenClosed.withLock { state -> Result<Void, StoreError>? in
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
    nonisolated(nonsending) func runExclusively(
        _ body: @escaping @Sendable (IndexMaintainer) throws(StoreError) -> Void
    ) async throws(StoreError) {
        if driver == .caller { return try body(maintainer) }
        let result: Result<Void, StoreError> = await withCheckedContinuation { continuation in
            let isTaken = queue.submit(exclusive: { [maintainer] in
                continuation.resume(
                    returning: Result { () throws(StoreError) in try body(maintainer) })
            })
            if !isTaken { continuation.resume(returning: .failure(.closed)) }
        }
        try result.get()
    }

    /// The same on the calling thread, which waits.
    func runExclusivelyAndWait<Value: Sendable>(
        _ body: @escaping @Sendable (IndexMaintainer) throws(StoreError) -> Value
    ) throws(StoreError) -> Value {
        if driver == .caller { return try body(maintainer) }
        let outcome = Outcome<Result<Value, StoreError>>()
        let isTaken = queue.submit(exclusive: { [maintainer] in
            outcome.finish(Result { () throws(StoreError) in try body(maintainer) })
        })
        guard isTaken else { throw .closed }
        return try outcome.wait().get()
    }

    /// Closes the journal where ``close()`` was not called.
    func abandon() { queue.close() }

    private func run() {
        var timeout: UInt64?
        while true {
            for task in queue.takeExclusiveTasks() { task() }
            let commits = queue.takeAll()
            if !commits.isEmpty {
                committer.commit(commits)
                if maintainer.isDue { maintainer.step() }
                assets.collectIfDue(self)
                timeout = Committer<StoreParticipant>.idleNanoseconds
                continue
            }
            if queue.isEnded { break }
            if queue.wakeUp.wait(nanoseconds: timeout) {
                if maintainer.isDue { maintainer.step() }
                timeout = Committer<StoreParticipant>.idleNanoseconds
            } else if queue.wasEntered() {
                assets.collectIfDue(self)
                timeout = Committer<StoreParticipant>.idleNanoseconds
            } else {
                timeout = committer.idle(now: Clock.monotonicNanoseconds)
            }
        }
        finishClosing()
    }

    private func finishClosing() {
        for commit in queue.takeAll() { commit.finish(.closed) }
        for task in queue.takeExclusiveTasks() { task() }
        // Nobody writes to a store that is another's.
        assets.close()
        maintainer.close()
        var result: Result<Void, StoreError> = .success(())
        do {
            try committer.close()
        } catch {
            result = .failure(StoreError(error))
        }
        let waiting = whenClosed.withLock { state in
            defer { if case .closed = state {} else { state = .closed(result) } }
            if case .closing(let waiting) = state { return waiting }
            return []
        }
        for continuation in waiting { continuation.resume(returning: result) }
    }
}
