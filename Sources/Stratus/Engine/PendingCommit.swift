internal import StratusJournal
internal import Synchronization

/// A commit on its way through the committer, and the caller who waits for it.
final class PendingCommit: Sendable {
    /// The last word: what was prepared and where it lies, or why there is nothing.
    typealias Outcome = Result<Committed, StoreError>

    struct Committed: Sendable {
        var preparation: Preparation
        /// Where the commit, or the last piece of a long one, begins; nil: nothing was written.
        var start: JournalOffset?
    }

    private enum State {
        case waiting(Preparation?)
        case taken(Preparation?)
        case staged(Committed)
        case refused(StoreError)
        case done
    }

    private enum Listener {
        case none
        /// Cancelled before anybody listened.
        case tooEarly(Outcome)
        case waiting(@Sendable (Outcome) -> Void)
    }

    let request: any CommitRequest
    private let state: Mutex<State>
    private let listener = Mutex(Listener.none)

    /// `preparation` is what the caller's own task prepared, where that was possible.
    init(_ request: any CommitRequest, _ preparation: Preparation?) {
        self.request = request
        state = Mutex(.waiting(preparation))
    }

    /// Sets who is told; once.
    func whenDone(_ body: @escaping @Sendable (Outcome) -> Void) {
        let outcome: Outcome? = listener.withLock { listener in
            if case .tooEarly(let outcome) = listener { return outcome }
            listener = .waiting(body)
            return nil
        }
        if let outcome { body(outcome) }
    }

    /// The committer begins with it, or begins again. False where it was cancelled before.
    func take() -> (isWanted: Bool, preparation: Preparation?) {
        state.withLock { state in
            switch state {
            case .waiting(let preparation), .taken(let preparation):
                state = .taken(preparation)
                return (true, preparation)
            case .staged, .refused, .done: return (false, nil)
            }
        }
    }

    func staged(_ preparation: Preparation, at start: JournalOffset?) {
        let committed = Committed(preparation: preparation, start: start)
        state.withLock { $0 = .staged(committed) }
    }

    func refused(_ error: StoreError) { state.withLock { $0 = .refused(error) } }

    /// Nothing has been written yet, and nothing will be. Once the committer has begun, the commit
    /// goes its way, so that what the caller is told is always what is true.
    func cancel() {
        let isCancelled = state.withLock { state in
            guard case .waiting = state else { return false }
            state = .done
            return true
        }
        if isCancelled {
            tell(.failure(StoreError(.operationCancelled, "cancelled before it was committed")))
        }
    }

    /// The journal's last word: nil, or why it could not keep the commit.
    func finish(_ failure: JournalError?) {
        let outcome: Outcome? = state.withLock { state in
            defer { state = .done }
            switch state {
            case .done: return nil
            // Also what wrote nothing may have been decided by what others had staged before it in
            // the group that failed.
            case .refused where failure != nil, .staged where failure != nil:
                return .failure(StoreError(committing: failure ?? .closed))
            case .refused(let error): return .failure(error)
            case .staged(let committed): return .success(committed)
            case .waiting, .taken:
                return .failure(StoreError(committing: failure ?? .closed))
            }
        }
        if let outcome { tell(outcome) }
    }

    private func tell(_ outcome: Outcome) {
        let body: (@Sendable (Outcome) -> Void)? = listener.withLock { listener in
            if case .waiting(let body) = listener { return body }
            listener = .tooEarly(outcome)
            return nil
        }
        body?(outcome)
    }
}

extension StoreError {
    /// Why a commit failed. After a failed sync nobody knows whether it is on the medium.
    init(committing error: JournalError) {
        self.init(error)
        if case .poisoned = error {
            code = .serverResponseLost
            reason =
                "a sync failed: whether the change is kept shows when the store is opened again"
        }
    }
}
