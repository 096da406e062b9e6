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
    /// When that was committed, in microseconds since 1970.
    let submitted: Int64
    /// Whether it was run before: then what was recorded is given, and nothing is done.
    var isReplay = false
    /// Of a replay: the failures of which no receipt says anything.
    var failures: [RequestStateEntry.Failure] = []

    /// Fails where the request was cancelled, or has ended otherwise.
    func checkIsKept(_ reading: StoreReading) throws(EngineError) {
        try reading.checkIsKept(name, at: request)
    }
}

extension StoreReading {
    /// Fails where the request that lies there was cancelled, or has ended otherwise.
    func checkIsKept(_ name: RequestName, at request: JournalOffset) throws(EngineError) {
        guard try value(.request(name))?.stamp == request.rawValue else {
            throw .refused(.requestCancelled)
        }
    }
}

/// The long-lived requests of a container that are being run, each once at a time, and the states
/// that reads look at. A request is told by where its entry lies: an operationID that is free again
/// names another one.
final class LongLivedRuns: Sendable {
    typealias Outcome = Result<LongLivedAnswer, StoreError>

    private struct Held {
        let request: JournalOffset
        let state: HeldState
        /// In microseconds since 1970.
        let end: Int64
    }

    private struct Content {
        var running: [JournalOffset: Task<Outcome, Never>] = [:]
        /// In the order of their coming.
        var held: [Held] = []
        var isClosed = false
    }

    /// So many states are held at once.
    private static let heldLimit = 256

    private let content = Mutex(Content())

    /// What `body` comes to or, where the request is being run already, what that does. Nil where
    /// the container was closed. The run goes on where the caller is cancelled.
    nonisolated(nonsending) func outcome(
        of request: JournalOffset, _ priority: TaskPriority,
        _ body: @escaping @Sendable () async -> Outcome
    ) async -> Outcome? {
        let task = content.withLock { content -> Task<Outcome, Never>? in
            if content.isClosed { return nil }
            if let running = content.running[request] { return running }
            let task = Task<Outcome, Never>.detached(priority: priority) { [self] in
                let outcome = await body()
                end(request)
                return outcome
            }
            content.running[request] = task
            return task
        }
        return await task?.value
    }

    private func end(_ request: JournalOffset) {
        content.withLock { content in content.running[request] = nil }
    }

    var isClosed: Bool { content.withLock { content in content.isClosed } }

    /// Ends what is run of a request that was cancelled, and lets its state go.
    func cancel(_ request: JournalOffset) {
        content.withLock { content in content.running[request] }?.cancel()
        release(request)
    }

    /// Lets no more begin, and waits until what is run has ended.
    nonisolated(nonsending) func close() async {
        let tasks = content.withLock { content in
            content.isClosed = true
            return Array(content.running.values)
        }
        for task in tasks { task.cancel() }
        for task in tasks { _ = await task.value }
        giveUp { _ in true }
    }

    /// Holds on to the state that a request reads, until a time in microseconds since 1970. Of many
    /// the oldest is given up.
    func hold(_ state: HeldState, for request: JournalOffset, until end: Int64, now: Int64) {
        giveUp { $0.request == request || $0.end < now }
        let oldest = content.withLock { content -> HeldState? in
            if content.isClosed { return nil }
            content.held.append(Held(request: request, state: state, end: end))
            return content.held.count > Self.heldLimit ? content.held.removeFirst().state : nil
        }
        withExtendedLifetime(oldest) {}
    }

    func heldState(of request: JournalOffset, now: Int64) -> HeldState? {
        content.withLock { content in
            content.held.first { $0.request == request && $0.end >= now }?.state
        }
    }

    func release(_ request: JournalOffset) { giveUp { $0.request == request } }

    /// Lets those go whose time is over.
    func release(before now: Int64) { giveUp { $0.end < now } }

    private func giveUp(_ isOver: (Held) -> Bool) {
        let old = content.withLock { content in
            let old = content.held.filter(isOver)
            if !old.isEmpty { content.held.removeAll(where: isOver) }
            return old
        }
        // Released only outside the lock.
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
        case .changeToken, .validator, .trigger, .triggerEffect, .triggerDepth, .duplicate,
            .duplicateSubscription, nil:
            break
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
