internal import StratusFiles
internal import StratusJournal
internal import Synchronization

/// The commits that wait for the committer, bounded: who comes when it is full waits before it
/// prepares anything.
final class CommitQueue: Sendable {
    private struct State {
        var pending: [PendingCommit] = []
        var exclusiveTasks: [@Sendable () -> Void] = []
        /// Commits that were let in and are not finished.
        var admitted = 0
        var isClosed = false
        /// A caller is committing on a thread of its own; nobody else is meanwhile.
        var isEntered = false
        /// The engine's thread is; what was taken is not committed yet.
        var isTaken = false
        /// How often somebody has entered, and whether the engine's thread watches for the last.
        var entryCount = 0
        var isWatched = false
        var waiters: [UInt64: CheckedContinuation<Bool, Never>] = [:]
        /// The waiters in order of their coming, with gaps where one was cancelled; those before
        /// `next` have been let in.
        var line: [UInt64] = []
        var next = 0
        var waiterCount: UInt64 = 0
    }

    private let state = Mutex(State())
    private let limit: Int
    let wakeUp = WakeUp()

    init(limit: Int) { self.limit = limit }

    /// Waits until there is room. Fails where the container is closed or the task cancelled.
    nonisolated(nonsending) func admit() async throws(StoreError) {
        let isOpen = state.withLock { state -> Bool? in
            if state.isClosed { return false }
            guard state.admitted < limit else { return nil }
            state.admitted += 1
            return true
        }
        let isAdmitted: Bool
        if let isOpen { isAdmitted = isOpen } else { isAdmitted = await wait() }
        guard isAdmitted else {
            if Task.isCancelled {
                throw StoreError(.operationCancelled, "cancelled before it was committed")
            }
            throw .closed
        }
    }

    private nonisolated(nonsending) func wait() async -> Bool {
        let number = state.withLock { state in
            state.waiterCount += 1
            return state.waiterCount
        }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let answer = state.withLock { state -> Bool? in
                    if state.isClosed || Task.isCancelled { return false }
                    if state.admitted < limit {
                        state.admitted += 1
                        return true
                    }
                    state.waiters[number] = continuation
                    state.line.append(number)
                    return nil
                }
                if let answer { continuation.resume(returning: answer) }
            }
        } onCancel: {
            state.withLock { $0.waiters.removeValue(forKey: number) }?.resume(returning: false)
        }
    }

    func submit(_ commit: PendingCommit) {
        let isClosed = state.withLock { state in
            if !state.isClosed { state.pending.append(commit) }
            return state.isClosed
        }
        if isClosed { commit.finish(.closed) } else { wakeUp.signal() }
    }

    /// A commit that was let in is finished; the next who waits comes in.
    func release() {
        let next = state.withLock { state -> CheckedContinuation<Bool, Never>? in
            // Under lasting overload the line never ends; what has been let in leaves it in pieces.
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
        next?.resume(returning: true)
    }

    /// Everything that waits for the committer; nothing while somebody has entered. What was taken
    /// before is committed.
    func takeAll() -> [PendingCommit] {
        state.withLock { state in
            state.isTaken = false
            if state.isEntered || state.pending.isEmpty { return [] }
            state.isTaken = true
            let pending = state.pending
            state.pending = []
            return pending
        }
    }

    /// Gives the caller the right to commit on its own thread until it calls ``leave()``; returns
    /// false where others commit or wait to, and where the queue is closed.
    func enter() -> Bool {
        state.withLock { state in
            if state.isClosed || state.isEntered || state.isTaken || !state.pending.isEmpty {
                return false
            }
            state.isEntered = true
            return true
        }
    }

    func leave() {
        let isNews = state.withLock { state in
            state.isEntered = false
            state.entryCount += 1
            let isNews = !state.isWatched || state.isClosed || !state.pending.isEmpty
            state.isWatched = true
            return isNews
        }
        if isNews { wakeUp.signal() }
    }

    /// Whether somebody has entered since this was last asked. Where nobody has, the next one who
    /// does wakes the engine's thread up.
    func wasEntered() -> Bool {
        state.withLock { state in
            let wasEntered = state.entryCount > 0
            state.entryCount = 0
            state.isWatched = wasEntered
            return wasEntered
        }
    }

    /// Runs `task` between two commits; returns false, and runs nothing, when the queue is closed.
    func submit(exclusive task: @escaping @Sendable () -> Void) -> Bool {
        let isOpen = state.withLock { state in
            if !state.isClosed { state.exclusiveTasks.append(task) }
            return !state.isClosed
        }
        if isOpen { wakeUp.signal() }
        return isOpen
    }

    /// The tasks that run between two commits.
    func takeExclusiveTasks() -> [@Sendable () -> Void] {
        state.withLock { state in
            defer { state.exclusiveTasks = [] }
            return state.exclusiveTasks
        }
    }

    /// Whether nothing more will come.
    var isEnded: Bool {
        state.withLock { $0.isClosed && !$0.isEntered && $0.pending.isEmpty }
    }

    /// Lets nobody in any more; what was submitted before is still committed.
    func close() {
        let waiters = state.withLock { state in
            state.isClosed = true
            defer { state.waiters = [:] }
            return Array(state.waiters.values)
        }
        for waiter in waiters { waiter.resume(returning: false) }
        wakeUp.signal()
    }
}
