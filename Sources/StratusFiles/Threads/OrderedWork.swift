internal import Synchronization

/// Work that several threads do at once, and one thread takes in the order in which it was given.
/// A value: used by one thread at a time.
package struct OrderedWork<Value: Sendable>: Sendable {
    /// Does the work; in the mode `resident` nil says that it would have to wait.
    package typealias Body = @Sendable (ReadMode) -> Value?

    private var works: [SharedWork<Value>] = []
    private let threads: IOThreads?

    /// On no threads it is done as it is taken.
    package init(on threads: IOThreads?) { self.threads = threads }

    /// How much was given and not taken.
    package var count: Int { works.count }
    package var isEmpty: Bool { works.isEmpty }

    /// Gives a piece of work.
    package mutating func add(_ body: @escaping Body) {
        let work = SharedWork(body)
        works.append(work)
        // The first is for whoever takes it: little work needs no second thread. What the system
        // gives no thread for is done as it is taken, too. What was taken, or given up, is not
        // kept by a queue in which others wait.
        if works.count > 1 {
            try? threads?.submit { [weak work] in _ = work?.run(.blocking) }
        }
    }

    /// What came of the first; there must be one. While another thread is at it, this one does of
    /// those behind it what nobody began: who waits has to be woken. In the mode `resident` nil
    /// says that this thread would have to wait.
    package mutating func takeFirst(_ mode: ReadMode) -> Value? {
        for work in works {
            if works[0].value != nil || !work.run(mode) { break }
        }
        guard let value = mode == .blocking ? works[0].wait() : works[0].value else { return nil }
        works.removeFirst()
        return value
    }

    /// Nothing of it is being done any more when this returns, and nothing will be.
    package mutating func giveUp() {
        for work in works { work.giveUp() }
        works = []
    }
}

/// Work of which whoever comes to it first does it.
private final class SharedWork<Value: Sendable>: Sendable {
    /// Gone with all that it holds before anybody learns that the work is done, or given up.
    private let body: Mutex<OrderedWork<Value>.Body?>
    private let isTaken = Atomic(false)
    private let outcome = Outcome<Value>()

    init(_ body: @escaping OrderedWork<Value>.Body) { self.body = Mutex(body) }

    /// Does the work, unless that was begun; false where it would have to wait and must not.
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

    /// Waits until the work is done, which somebody began; one thread does.
    func wait() -> Value { outcome.wait() }
}
