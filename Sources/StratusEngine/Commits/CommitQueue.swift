package import StratusFiles
internal import StratusJournal
internal import Synchronization

/// The commits that wait for the committer, bounded: while it is full, a caller waits before it
/// prepares its commit, be it a task or a thread. It also gives the turn to commit, to one thread at a time.
package final class CommitQueue: Sendable {
    /// Which thread may commit, take the maintainer's steps and write idle groups.
    private enum Turn { case free, caller, engine }

    /// What the engine's thread does in its turn.
    package struct Work {
        /// They run between two commits.
        package var exclusiveTasks: [@Sendable () -> Void] = []
        package var commits: [PendingCommit] = []
    }

    /// A caller that waits until there is room, and is told whether it was let in.
    private enum Waiter {
        case task(CheckedContinuation<Bool, Never>)
        case thread(Outcome<Bool>)

        func resume(isAdmitted: Bool) {
            switch self {
            case .task(let continuation): continuation.resume(returning: isAdmitted)
            case .thread(let outcome): outcome.finish(isAdmitted)
            }
        }
    }

    private struct State {
        var pending: [PendingCommit] = []
        var exclusiveTasks: [@Sendable () -> Void] = []
        /// Commits that were let in and are not finished.
        var admitted = 0
        var isClosed = false
        var turn = Turn.free
        /// How many turns of callers have ended since the engine's thread last asked, and whether
        /// it asks again without being woken.
        var entryCount = 0
        var isWatched = false
        var waiters: [UInt64: Waiter] = [:]
        /// The waiters in order of their coming, with gaps where one was cancelled; those before
        /// `next` have been let in.
        var line: [UInt64] = []
        var next = 0
        var waiterCount: UInt64 = 0

        /// Lets a commit in; false where the queue is closed, nil where it is full.
        mutating func admit(limit: Int) -> Bool? {
            if isClosed { return false }
            guard admitted < limit else { return nil }
            admitted += 1
            return true
        }

        /// The number of a caller that may have to wait.
        mutating func nextNumber() -> UInt64 {
            waiterCount += 1
            return waiterCount
        }

        mutating func lineUp(_ waiter: Waiter, _ number: UInt64) {
            waiters[number] = waiter
            line.append(number)
        }
    }

    private let state = Mutex(State())
    private let limit: Int
    package let wakeUp = WakeUp()

    package init(limit: Int) { self.limit = limit }

    /// Waits until there is room. Fails where the container is closed or the task cancelled.
    package nonisolated(nonsending) func admit() async throws(EngineError) {
        let isOpen = state.withLock { $0.admit(limit: limit) }
        let isAdmitted: Bool
        if let isOpen { isAdmitted = isOpen } else { isAdmitted = await wait() }
        guard isAdmitted else {
            if Task.isCancelled {
                throw .cancelled
            }
            throw .closed
        }
    }

    /// The same on the calling thread, which stands in one line with the tasks. Fails where the container
    /// is closed.
    package func admitBlocking() throws(EngineError) {
        let isOpen = state.withLock { $0.admit(limit: limit) }
        if !(isOpen ?? waitBlocking()) { throw .closed }
    }

    private func waitBlocking() -> Bool {
        let outcome = Outcome<Bool>()
        let answer = state.withLock { state in
            let isOpen = state.admit(limit: limit)
            if isOpen == nil { state.lineUp(.thread(outcome), state.nextNumber()) }
            return isOpen
        }
        return answer ?? outcome.wait()
    }

    private nonisolated(nonsending) func wait() async -> Bool {
        let number = state.withLock { $0.nextNumber() }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let answer = state.withLock { state -> Bool? in
                    if Task.isCancelled { return false }
                    let isOpen = state.admit(limit: limit)
                    if isOpen == nil { state.lineUp(.task(continuation), number) }
                    return isOpen
                }
                if let answer { continuation.resume(returning: answer) }
            }
        } onCancel: {
            state.withLock { $0.waiters.removeValue(forKey: number) }?.resume(isAdmitted: false)
        }
    }

    package func submit(_ commit: PendingCommit) {
        let isClosed = state.withLock { state in
            if !state.isClosed { state.pending.append(commit) }
            return state.isClosed
        }
        if isClosed { commit.finish(.closed) } else { wakeUp.signal() }
    }

    /// A commit that was let in is finished; the next that waits is let in.
    package func release() {
        let next = state.withLock { state -> Waiter? in
            // Under lasting overload the line never ends; what has been let in leaves it in batches.
            if state.next >= 1024 {
                state.line.removeFirst(state.next)
                state.next = 0
            }
            while state.next < state.line.count {
                let number = state.line[state.next]
                state.next += 1
                // The place goes over to the waiter.
                if let waiter = state.waiters.removeValue(forKey: number) { return waiter }
            }
            state.line.removeAll(keepingCapacity: true)
            state.next = 0
            state.admitted -= 1
            return nil
        }
        next?.resume(isAdmitted: true)
    }

    /// How many commits wait for the next group.
    package var depth: Int { state.withLock { $0.pending.count } }

    /// Gives the engine's thread the turn, until ``endTurn()``, and all that waits; nil while a
    /// caller has it.
    package func takeWork() -> Work? {
        state.withLock { state in
            if state.turn == .caller { return nil }
            state.turn = .engine
            let work = Work(exclusiveTasks: state.exclusiveTasks, commits: state.pending)
            state.exclusiveTasks = []
            state.pending = []
            return work
        }
    }

    /// The turn of the engine's thread ends. Returns whether more has come meanwhile.
    package func endTurn() -> Bool {
        state.withLock { state in
            state.turn = .free
            return !state.pending.isEmpty || !state.exclusiveTasks.isEmpty
        }
    }

    /// Gives a caller the turn, until ``leave(isDue:)``; returns false where another thread has it or
    /// is waited for, and where the queue is closed.
    package func enter() -> Bool {
        state.withLock { state in
            guard state.turn == .free, !state.isClosed, state.pending.isEmpty,
                state.exclusiveTasks.isEmpty
            else { return false }
            state.turn = .caller
            return true
        }
    }

    /// The caller's turn ends. The engine's thread goes on with what has come meanwhile, and with
    /// maintenance where that is due.
    package func leave(isDue: Bool) {
        let isNews = state.withLock { state in
            state.turn = .free
            state.entryCount += 1
            let isNews =
                !state.isWatched || state.isClosed || !state.pending.isEmpty
                || !state.exclusiveTasks.isEmpty
            state.isWatched = true
            return isNews
        }
        if isNews || isDue { wakeUp.signal() }
    }

    /// Whether a caller's turn has ended since this was last asked. If none has, the end of the
    /// next one wakes the engine's thread.
    package func wasEntered() -> Bool {
        state.withLock { state in
            let wasEntered = state.entryCount > 0
            state.entryCount = 0
            state.isWatched = wasEntered
            return wasEntered
        }
    }

    /// Runs `task` between two commits; returns false, and runs nothing, when the queue is closed.
    package func submit(exclusive task: @escaping @Sendable () -> Void) -> Bool {
        let isOpen = state.withLock { state in
            if !state.isClosed { state.exclusiveTasks.append(task) }
            return !state.isClosed
        }
        if isOpen { wakeUp.signal() }
        return isOpen
    }

    /// Whether nothing more will come.
    package var isEnded: Bool {
        state.withLock { $0.isClosed && $0.turn != .caller && $0.pending.isEmpty }
    }

    /// Lets no more commits in; what was submitted before is still committed.
    package func close() {
        let waiters = state.withLock { state in
            state.isClosed = true
            defer { state.waiters = [:] }
            return Array(state.waiters.values)
        }
        for waiter in waiters { waiter.resume(isAdmitted: false) }
        wakeUp.signal()
    }
}
