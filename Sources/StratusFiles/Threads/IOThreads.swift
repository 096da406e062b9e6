internal import Synchronization

/// A few threads for work that blocks, started as there is work for them.
///
/// When the instance is released, what was submitted is still run, and then the threads end.
package final class IOThreads: Sendable {
    private let workers: Workers

    /// At most `count` threads run at once; none does before there is work. With `isBackground` they
    /// have a lower priority: ``Thread/moveToBackground()``.
    package init(
        count: Int, isBackground: Bool = false, starter: @escaping Thread.Starter = Thread.start
    ) {
        precondition(count > 0)
        workers = Workers(limit: count, isBackground: isBackground, starter)
    }

    deinit { workers.stop() }

    /// Runs `body` on one of the threads; bodies begin in the order in which they were submitted.
    /// The queue is bounded only by its callers. Fails, and runs nothing, where there is no thread
    /// and the system gives none.
    package func submit(_ body: @escaping @Sendable () -> Void) throws(SystemError) {
        try workers.add(body)
    }

    /// What `body` comes to on one of the threads; the failure of ``submit(_:)`` where it never runs.
    package nonisolated(nonsending) func outcome<Value: Sendable>(
        of body: @escaping @Sendable () throws -> Value
    ) async -> Result<Value, any Error> {
        await withCheckedContinuation { continuation in
            do throws(SystemError) {
                try submit { continuation.resume(returning: Result(catching: body)) }
            } catch {
                continuation.resume(returning: .failure(error))
            }
        }
    }
}

/// What the threads share: they must not keep the instance whose release ends them.
private final class Workers: Sendable {
    fileprivate struct State {
        /// What waits, the oldest at `next`.
        var queue: [(@Sendable () -> Void)?] = []
        var next = 0
        /// The threads without work.
        var idle: [WakeUp] = []
        var threadCount = 0
        var isStopped = false
    }

    private let limit: Int
    private let isBackground: Bool
    private let start: Thread.Starter
    private let state = Mutex(State())

    init(limit: Int, isBackground: Bool, _ start: @escaping Thread.Starter) {
        self.limit = limit
        self.isBackground = isBackground
        self.start = start
    }

    func add(_ body: @escaping @Sendable () -> Void) throws(SystemError) {
        let waiting = try state.withLock { state throws(SystemError) -> WakeUp? in
            let idle = state.idle.popLast()
            if idle == nil, state.threadCount < limit {
                do throws(SystemError) {
                    try start { [self] in run() }
                    state.threadCount += 1
                } catch {
                    // Later, but not never, where other threads run.
                    if state.threadCount == 0 { throw error }
                }
            }
            state.queue.append(body)
            return idle
        }
        waiting?.signal()
    }

    func stop() {
        let idle = state.withLock { state in
            state.isStopped = true
            return state.idle
        }
        for wakeUp in idle { wakeUp.signal() }
    }

    private func run() {
        if isBackground { Thread.moveToBackground() }
        let wakeUp = WakeUp()
        while true {
            let (body, isOver) = state.withLock { state in
                let body = state.take()
                if body == nil, !state.isStopped { state.idle.append(wakeUp) }
                return (body, state.isStopped)
            }
            if let body {
                body()
            } else if isOver {
                return
            } else {
                wakeUp.wait()
            }
        }
    }
}

extension Workers.State {
    mutating func take() -> (@Sendable () -> Void)? {
        guard next < queue.count else { return nil }
        let body = queue[next]
        queue[next] = nil
        next += 1
        // Most often all was taken; else the part that was is dropped once it is the greater one.
        if next * 2 >= queue.count {
            queue.removeFirst(next)
            next = 0
        }
        return body
    }
}
