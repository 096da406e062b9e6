internal import StratusBytes
internal import StratusEngine
internal import StratusFiles
internal import StratusIndex
internal import StratusJournal
internal import Synchronization

/// What the commits of a long-lived request know of it.
struct LongLivedRun: Sendable {
    let name: RequestName
    /// Where the entry of the request lies.
    let request: JournalOffset
    /// Whether it was run before: then what was recorded is given, and nothing is done.
    var isReplay = false
    /// Of a replay: the failures of which no receipt says anything.
    var failures: [RequestStateEntry.Failure] = []

    /// Fails where the request was cancelled, or has ended otherwise.
    func checkIsKept(_ reading: StoreReading) throws(EngineError) {
        guard try reading.value(.request(name))?.stamp == request.rawValue else {
            throw .refused(.requestCancelled)
        }
    }
}

/// The long-lived requests of a container that are being run, each once at a time, and the states
/// that reads look at.
final class LongLivedRuns: Sendable {
    typealias Outcome = Result<LongLivedAnswer, StoreError>

    private struct Content {
        var running: [RequestName: Task<Outcome, Never>] = [:]
        /// In the order of their coming.
        var held: [(name: RequestName, state: HeldState, until: Int64)] = []
        var isClosed = false
    }

    /// So many states are held at once.
    private static let heldLimit = 256

    private let content = Mutex(Content())

    /// What `body` comes to or, where the request is being run already, what that does. Nil where
    /// the container was closed. The run goes on where the caller is cancelled.
    nonisolated(nonsending) func outcome(
        of name: RequestName, _ priority: TaskPriority,
        _ body: @escaping @Sendable () async -> Outcome
    ) async -> Outcome? {
        let task = content.withLock { content -> Task<Outcome, Never>? in
            if content.isClosed { return nil }
            if let running = content.running[name] { return running }
            let task = Task<Outcome, Never>.detached(priority: priority) { [self] in
                let outcome = await body()
                end(name)
                return outcome
            }
            content.running[name] = task
            return task
        }
        return await task?.value
    }

    private func end(_ name: RequestName) {
        content.withLock { content in content.running[name] = nil }
    }

    var isClosed: Bool { content.withLock { content in content.isClosed } }

    /// Ends what is run of a request that was cancelled, and lets its state go.
    func cancel(_ name: RequestName) {
        content.withLock { content in content.running[name] }?.cancel()
        release(name)
    }

    /// Lets no more begin, and waits until what is run has ended.
    nonisolated(nonsending) func close() async {
        let (tasks, held) = content.withLock { content in
            let before = content
            content.isClosed = true
            content.held = []
            return (Array(before.running.values), before.held.map { $0.state })
        }
        for task in tasks { task.cancel() }
        for task in tasks { _ = await task.value }
        // Released only outside the lock.
        withExtendedLifetime(held) {}
    }

    /// Holds on to the state that a request reads, until a time in microseconds since 1970. Of many
    /// the oldest are given up.
    func hold(_ state: HeldState, for name: RequestName, until: Int64, now: Int64) {
        let old = content.withLock { content in
            let before = content.held.map { $0.state }
            content.held.removeAll { $0.name == name || $0.until < now }
            if content.held.count >= Self.heldLimit { content.held.removeFirst() }
            if !content.isClosed { content.held.append((name, state, until)) }
            return before
        }
        withExtendedLifetime(old) {}
    }

    func heldState(of name: RequestName) -> HeldState? {
        content.withLock { content in content.held.first { $0.name == name }?.state }
    }

    func release(_ name: RequestName) {
        let old = content.withLock { content in
            let before = content.held.map { $0.state }
            content.held.removeAll { $0.name == name }
            return before
        }
        withExtendedLifetime(old) {}
    }
}

/// A state of the store that is kept while this is. Unlike ``Snapshot`` it does not keep the
/// container.
final class HeldState: Sendable {
    private let published: PublishedState
    let point: JournalOffset
    /// Where another process writes, the state itself.
    private let fixed: StoreState?

    /// The newest one.
    init(_ published: PublishedState) {
        self.published = published
        (point, fixed) = published.hold()
    }

    /// An earlier one; nil where what it needs may be gone.
    init?(_ published: PublishedState, _ state: PastState) {
        guard let held = published.hold(state) else { return nil }
        self.published = published
        (point, fixed) = held
    }

    deinit { published.release(point) }

    /// For a thread that may wait for the disk.
    var reading: StoreReading { StoreReading(fixed ?? published.current, .blocking, at: point) }
}

extension StoreError {
    static let requestCancelled = StoreError(
        .operationCancelled, "the long-lived operation was cancelled")
    static let noRequest = StoreError(
        .unknownItem, "there is no such long-lived operation: it was delivered, or is forgotten")
    /// Stands for a zone without a receipt, and is never seen by callers.
    static let notRecorded = StoreError(.unknownItem, "the zone has no receipt of the operation")

    /// Why items of a request failed.
    init(_ failure: RequestStateEntry.Failure) {
        self.init(StoreError.Code(rawValue: failure.code), failure.reason)
    }

    /// Whether a request that failed so has come to an end; otherwise it is tried again.
    var isOutcome: Bool {
        switch cause {
        case .damaged, .newerFormat, .locked, .poisoned, .fencedOut, .inputOutput, .tooManyFiles,
            .tooManyThreads, .notPermitted, .closed:
            return false
        case .changeToken, .validator, .trigger, .triggerEffect, .triggerDepth, nil: break
        }
        switch code {
        case .internalError, .networkUnavailable, .networkFailure, .serviceUnavailable,
            .requestRateLimited, .operationCancelled, .zoneBusy, .serverResponseLost,
            .accountTemporarilyUnavailable:
            return false
        default: return true
        }
    }
}
