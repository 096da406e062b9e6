internal import Glibc
internal import Synchronization

/// A thread of the operating system, for work that blocks: the cooperative pool must not.
package enum Thread {
    /// Runs a body on a new thread: ``start(_:)``, unless there is a reason for another one.
    package typealias Starter =
        @Sendable (_ body: @escaping @Sendable () -> Void) throws(SystemError) -> Void

    /// Blocks the calling thread for about so long.
    package static func pause(microseconds: UInt32) { usleep(microseconds) }

    /// Lowers the priority of the calling thread: where threads compete for a processor, it gets about a
    /// third of the time of another. Where the system refuses, the priority stays.
    package static func moveToBackground() {
        _ = setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, nice + backgroundNice)
    }

    /// What is added to the nice value of a thread in the background: five steps are a third of the weight
    /// that the kernel gives it.
    package static let backgroundNice: Int32 = 5

    /// The nice value of the calling thread.
    package static var nice: Int32 {
        getpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0)
    }

    /// Runs `body` on a new thread; fails where the system gives none.
    package static func start(_ body: @escaping @Sendable () -> Void) throws(SystemError) {
        var thread = pthread_t()
        // Safe: the new thread takes over the reference that is retained for it.
        let work = unsafe Unmanaged.passRetained(Work(body))
        let result = unsafe pthread_create(
            &thread, nil,
            { argument in
                if let argument = unsafe argument {
                    unsafe Unmanaged<Work>.fromOpaque(argument).takeRetainedValue().body()
                }
                return nil
            }, work.toOpaque())
        guard result == 0 else {
            // Safe: no thread took the reference over.
            unsafe work.release()
            guard result == EAGAIN else { throw SystemError(number: result, in: "pthread_create") }
            throw SystemError(.tooManyThreads, in: "pthread_create")
        }
        pthread_detach(thread)
    }

    /// Runs `count` threads at the same time for a moment; fails where the system gives fewer.
    ///
    /// For a process that is nothing without them: the runtime's own pool waits without end for a
    /// thread that it does not get.
    package static func probe(_ count: Int, _ start: Starter = Thread.start) throws(SystemError) {
        var running: [(end: WakeUp, ended: WakeUp)] = []
        defer {
            for thread in running {
                thread.end.signal()
                thread.ended.wait()
            }
        }
        for _ in 0..<count {
            let (end, ended) = (WakeUp(), WakeUp())
            try start {
                end.wait()
                ended.signal()
            }
            running.append((end, ended))
        }
    }
}

private final class Work: Sendable {
    let body: @Sendable () -> Void
    init(_ body: @escaping @Sendable () -> Void) { self.body = body }
}

/// Wakes a thread that waits for work. A signal sent before the wait is not lost.
///
/// Safe: the mutex guards the flag; both C objects live as long as the instance and never move.
@safe
package final class WakeUp: @unchecked Sendable {
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private let condition: UnsafeMutablePointer<pthread_cond_t>
    private var raised = false

    package init() {
        unsafe mutex = .allocate(capacity: 1)
        unsafe condition = .allocate(capacity: 1)
        unsafe pthread_mutex_init(mutex, nil)
        // The monotonic clock, so that setting the time of day neither hastens nor delays a wait.
        var attributes = pthread_condattr_t()
        unsafe pthread_condattr_init(&attributes)
        unsafe pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
        unsafe pthread_cond_init(condition, &attributes)
        unsafe pthread_condattr_destroy(&attributes)
    }

    deinit {
        unsafe pthread_cond_destroy(condition)
        unsafe pthread_mutex_destroy(mutex)
        unsafe condition.deallocate()
        unsafe mutex.deallocate()
    }

    package func signal() {
        unsafe pthread_mutex_lock(mutex)
        let first = !raised
        raised = true
        unsafe pthread_mutex_unlock(mutex)
        if first { unsafe pthread_cond_signal(condition) }
    }

    /// Waits for a signal, or for `nanoseconds` where given; returns whether a signal came.
    @discardableResult package func wait(nanoseconds: UInt64? = nil) -> Bool {
        var deadline = timespec()
        if let nanoseconds {
            let end = Clock.monotonicNanoseconds + nanoseconds
            deadline.tv_sec = Int(end / 1_000_000_000)
            deadline.tv_nsec = Int(end % 1_000_000_000)
        }
        unsafe pthread_mutex_lock(mutex)
        defer {
            raised = false
            unsafe pthread_mutex_unlock(mutex)
        }
        while !raised {
            if nanoseconds == nil {
                unsafe pthread_cond_wait(condition, mutex)
            } else if unsafe pthread_cond_timedwait(condition, mutex, &deadline) == ETIMEDOUT {
                return raised
            }
        }
        return true
    }
}

/// What a thread waits for that another one does.
package final class Outcome<Value: Sendable>: Sendable {
    private let content = Mutex<Value?>(nil)
    private let wakeUp = WakeUp()

    package init() {}

    /// Is called once.
    package func finish(_ value: Value) {
        content.withLock { $0 = value }
        wakeUp.signal()
    }

    /// Nil before it is finished.
    package var value: Value? { content.withLock { $0 } }

    /// Waits until it is finished; one thread does.
    package func wait() -> Value {
        while true {
            if let value { return value }
            wakeUp.wait()
        }
    }
}
