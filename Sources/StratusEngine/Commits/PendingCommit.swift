internal import StratusFiles
package import StratusJournal
internal import Synchronization

/// A commit that the committer has not finished, and the caller that waits for it.
package final class PendingCommit: Sendable {
    /// The last word: where the commit lies, or why there is nothing.
    package typealias Outcome = Result<Placed, EngineError>

    package struct Placed: Sendable {
        /// What the committer prepared, or nil where it took what the caller had.
        package var draft: Draft?
        /// Where the commit, or the last part of a long one, begins; nil: nothing was written.
        package var start: JournalOffset?
        /// Whether others committed since the caller prepared it.
        package var wasOvertaken: Bool
    }

    private enum Phase {
        case waiting
        case taken
        case staged(Placed)
        case refused(EngineError)
        case done
    }

    private enum Listener {
        case task(CheckedContinuation<Outcome, Never>)
        case thread(WakeUp)
    }

    private struct State {
        var phase = Phase.waiting
        var listener: Listener?
        /// Kept where it is known before there is a listener.
        var outcome: Outcome?
    }

    package let transaction: any Transaction
    /// What the caller's own task prepared, where that was possible.
    package let draft: Draft?
    private let state = Mutex(State())

    package init(_ transaction: any Transaction, _ draft: Draft?) {
        self.transaction = transaction
        self.draft = draft
    }

    /// Waits for the outcome; called once. `submit` gives the commit to the committer.
    package nonisolated(nonsending) func outcome(_ submit: () -> Void) async -> Outcome {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let early = state.withLock { state in
                    if state.outcome == nil { state.listener = .task(continuation) }
                    return state.outcome
                }
                if let early { return continuation.resume(returning: early) }
                submit()
            }
        } onCancel: {
            cancel()
        }
    }

    /// The same for a thread that waits itself. There may be nothing to wait for.
    package func outcomeBlocking(_ submit: () -> Void) -> Outcome {
        submit()
        var wakeUp: WakeUp?
        while true {
            let outcome = state.withLock { state in
                if state.outcome == nil, wakeUp == nil {
                    let new = WakeUp()
                    state.listener = .thread(new)
                    wakeUp = new
                }
                return state.outcome
            }
            if let outcome { return outcome }
            wakeUp?.wait()
        }
    }

    /// The committer begins with it, or begins again. False where it was cancelled before.
    package func take() -> Bool {
        state.withLock { state in
            switch state.phase {
            case .waiting, .taken:
                state.phase = .taken
                return true
            case .staged, .refused, .done: return false
            }
        }
    }

    /// `draft` is the committer's own, or nil where it took the caller's.
    package func staged(_ draft: Draft?, at start: JournalOffset?, wasOvertaken: Bool) {
        let placed = Placed(draft: draft, start: start, wasOvertaken: wasOvertaken)
        state.withLock { $0.phase = .staged(placed) }
    }

    package func refused(_ error: EngineError) { state.withLock { $0.phase = .refused(error) } }

    /// Nothing has been written yet, and nothing will be. Once the committer has begun, the commit
    /// goes its way, so that what the caller is told is always what is true.
    private func cancel() {
        let isCancelled = state.withLock { state in
            guard case .waiting = state.phase else { return false }
            state.phase = .done
            return true
        }
        if isCancelled {
            tell(.failure(.cancelled))
        }
    }

    /// The journal's last word: nil, or why it could not keep the commit.
    package func finish(_ failure: JournalError?) {
        let phase = state.withLock { state in
            defer { state.phase = .done }
            return state.phase
        }
        switch phase {
        case .done: return
        // Also what wrote nothing may have been decided by what others had staged before it in
        // the group that failed.
        case .refused where failure != nil, .staged where failure != nil, .waiting, .taken:
            tell(.failure(.committing(failure ?? .closed)))
        case .refused(let error): tell(.failure(error))
        case .staged(let placed): tell(.success(placed))
        }
    }

    private func tell(_ outcome: Outcome) {
        let listener = state.withLock { state in
            if case .task = state.listener {} else { state.outcome = outcome }
            return state.listener.take()
        }
        switch listener {
        case .task(let continuation): continuation.resume(returning: outcome)
        case .thread(let wakeUp): wakeUp.signal()
        case nil: break
        }
    }
}
