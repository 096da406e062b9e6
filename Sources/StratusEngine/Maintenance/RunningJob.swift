internal import StratusFiles
internal import StratusIndex
internal import Synchronization

/// A job that was begun on another thread or, where there is none, done on the spot.
final class RunningJob<Output: Sendable>: Sendable {
    private let outcome = Mutex<Result<Output?, EngineError>?>(nil)
    private let isStopped = Atomic(false)

    /// What came of it, once it has ended: nil where it was stopped.
    var result: Result<Output?, EngineError>? { outcome.withLock { $0 } }

    /// `body` asks now and then whether to stop, and says how many bytes it writes. `budget` is what
    /// it may write by on another thread; nil: as fast as it can.
    init(
        on threads: IOThreads?, _ due: MaintenanceDue, _ wakeUp: WakeUp,
        _ budget: WriteBudget? = nil,
        _ body:
            @escaping @Sendable (
                _ stop: @escaping () -> Bool, _ pace: @escaping (_ bytes: Int) -> Void
            ) throws(EngineError) -> Output?
    ) {
        let budget = threads == nil ? nil : budget
        let work: @Sendable () -> Void = { [self] in
            let result = Result { () throws(EngineError) in
                try body({ self.isStopped.load(ordering: .relaxed) }) { bytes in
                    guard let budget, bytes > 0 else { return }
                    let wait = budget.spend(bytes, at: Clock.monotonicNanoseconds)
                    if wait > 0 { Thread.pause(microseconds: UInt32(wait / 1_000)) }
                }
            }
            outcome.withLock { $0 = result }
            due.set()
            wakeUp.signal()
        }
        // Where the system gives no thread it is done here.
        if let threads, (try? threads.submit(work)) != nil {} else { work() }
    }

    /// Ends it early: nothing comes of it.
    func stop() { isStopped.store(true, ordering: .relaxed) }
}
