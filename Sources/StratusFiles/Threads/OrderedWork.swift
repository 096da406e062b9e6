internal import Synchronization

/// Jobs that several threads run at once, and whose results one thread takes in the order
/// in which the jobs were added. A value: used by one thread at a time.
package struct OrderedWork<Value: Sendable>: Sendable {
    /// Does the work; in the mode `resident` nil says that it would have to wait.
    package typealias Body = @Sendable (ReadMode) -> Value?

    private var works: [SharedWork<Value>] = []
    private let threads: IOThreads?

    /// Without threads a job is run when it is taken.
    package init(on threads: IOThreads?) { self.threads = threads }

    /// How many jobs were added and not taken.
    package var count: Int { works.count }
    package var isEmpty: Bool { works.isEmpty }

    /// Adds a job.
    package mutating func add(_ body: @escaping Body) {
        let work = SharedWork(body)
        works.append(work)
        // The thread that takes the first job runs it: little work needs no second thread. A
        // job that cannot be submitted is run when it is taken. The pool's queue references work
        // weakly, so that it keeps nothing that was taken or given up.
        if works.count > 1 {
            try? threads?.submit { [weak work] in _ = work?.run(.blocking) }
        }
    }

    /// The result of the first job; there must be one. While another thread runs that job, this
    /// thread runs later ones that no thread has begun, which saves a wake-up. In the mode
    /// `resident` nil says that this thread would have to wait.
    package mutating func takeFirst(_ mode: ReadMode) -> Value? {
        for work in works {
            if works[0].value != nil || !work.run(mode) { break }
        }
        guard let value = mode == .blocking ? works[0].wait() : works[0].value else { return nil }
        works.removeFirst()
        return value
    }

    /// No job is running when this returns, and none will run.
    package mutating func giveUp() {
        for work in works { work.giveUp() }
        works = []
    }
}

/// A job, run by the first thread that reaches it.
private final class SharedWork<Value: Sendable>: Sendable {
    /// Released, with all that it captures, before the result can be seen or `giveUp` returns.
    private let body: Mutex<OrderedWork<Value>.Body?>
    private let isTaken = Atomic(false)
    private let outcome = Outcome<Value>()

    init(_ body: @escaping OrderedWork<Value>.Body) { self.body = Mutex(body) }

    /// Runs the work, unless a thread has begun it; false where it would have to wait and must not.
    func run(_ mode: ReadMode) -> Bool {
        if isTaken.exchange(true, ordering: .relaxed) { return true }
        guard let value = attempt(mode) else {
            isTaken.store(false, ordering: .relaxed)
            return false
        }
        forget()
        outcome.finish(value)
        return true
    }

    private func attempt(_ mode: ReadMode) -> Value? { body.withLock { $0 }?(mode) }

    private func forget() { body.withLock { $0 = nil } }

    /// Waits until the work is done, where it was begun; else it is never done.
    func giveUp() {
        if isTaken.exchange(true, ordering: .relaxed) { _ = outcome.wait() } else { forget() }
    }

    /// What came of it; nil before it is done.
    var value: Value? { outcome.value }

    /// Waits for the result of work that a thread has begun; called by one thread.
    func wait() -> Value { outcome.wait() }
}
