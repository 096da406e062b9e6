import StratusFiles
import Synchronization
import Testing

struct IOThreadsTests {
    /// Counts how many bodies run at once.
    private final class Gauge: Sendable {
        struct Counts {
            var running = 0
            var most = 0
            var done: [Int] = []
        }

        let counts = Mutex(Counts())
        let finished = WakeUp()
        let wanted: Int

        init(wanted: Int) { self.wanted = wanted }

        func run(_ number: Int, microseconds: UInt32 = 0) {
            counts.withLock {
                $0.running += 1
                $0.most = max($0.most, $0.running)
            }
            if microseconds > 0 { Thread.pause(microseconds: microseconds) }
            let isLast = counts.withLock {
                $0.running -= 1
                $0.done.append(number)
                return $0.done.count == wanted
            }
            if isLast { finished.signal() }
        }
    }

    @Test(arguments: [false, true])
    func `threads in the background give way to others`(isBackground: Bool) async throws {
        let own = Thread.nice
        let nice = await IOThreads(count: 1, isBackground: isBackground).outcome { Thread.nice }
        #expect(try nice.get() == min(own + (isBackground ? Thread.backgroundNice : 0), 19))
        #expect(Thread.nice == own)
    }

    @Test func `everything submitted is run, on no more threads than allowed`() throws {
        let threads = IOThreads(count: 3)
        let gauge = Gauge(wanted: 200)
        for number in 0..<200 {
            try threads.submit { gauge.run(number, microseconds: number % 7 == 0 ? 300 : 0) }
        }
        gauge.finished.wait()
        let counts = gauge.counts.withLock { $0 }
        #expect(counts.done.sorted() == Array(0..<200))
        #expect(2...3 ~= counts.most)
    }

    @Test func `one thread keeps the order`() throws {
        let threads = IOThreads(count: 1)
        let gauge = Gauge(wanted: 500)
        for number in 0..<500 { try threads.submit { gauge.run(number) } }
        gauge.finished.wait()
        #expect(gauge.counts.withLock { $0.done } == Array(0..<500))
    }

    @Test func `threads are started as they are needed, and used again`() throws {
        let started = Mutex(0)
        let threads = IOThreads(count: 4) { body throws(SystemError) in
            started.withLock { $0 += 1 }
            try Thread.start(body)
        }
        #expect(started.withLock { $0 } == 0)
        for round in 0..<20 {
            let gauge = Gauge(wanted: 1)
            try threads.submit { gauge.run(round) }
            gauge.finished.wait()
            // The thread says that it is idle a moment after its work is done.
            Thread.pause(microseconds: 300)
        }
        #expect(1...4 ~= started.withLock { $0 })
    }

    @Test func `what was submitted before the release is still run, then the threads end`() throws {
        let ended = WakeUp()
        let gauge = Gauge(wanted: 50)
        var threads: IOThreads? = IOThreads(count: 2) { body throws(SystemError) in
            try Thread.start {
                body()
                ended.signal()
            }
        }
        for number in 0..<50 { try threads?.submit { gauge.run(number, microseconds: 50) } }
        threads = nil
        gauge.finished.wait()
        #expect(gauge.counts.withLock { $0.done.count } == 50)
        #expect(ended.wait(nanoseconds: 10_000_000_000))
    }

    @Test func `without any thread nothing is taken on, with one everything is`() throws {
        let allowed = Mutex(0)
        let threads = IOThreads(count: 3) { body throws(SystemError) in
            let isAllowed = allowed.withLock { allowed in
                allowed -= 1
                return allowed >= 0
            }
            guard isAllowed else { throw SystemError(.tooManyThreads, in: "pthread_create") }
            try Thread.start(body)
        }
        let refused = Mutex(false)
        #expect(throws: SystemError(.tooManyThreads, in: "pthread_create")) {
            try threads.submit { refused.withLock { $0 = true } }
        }
        allowed.withLock { $0 = 1 }
        let gauge = Gauge(wanted: 20)
        for number in 0..<20 { try threads.submit { gauge.run(number, microseconds: 100) } }
        gauge.finished.wait()
        #expect(gauge.counts.withLock { $0.most } == 1)
        #expect(!refused.withLock { $0 })
    }

    @Test func `a probe holds all its threads at once, and none is left when it ends`() throws {
        let counts = Mutex((running: 0, most: 0, started: 0))
        let limit = 5
        let starter: Thread.Starter = { body throws(SystemError) in
            guard counts.withLock({ $0.started }) < limit else {
                throw SystemError(.tooManyThreads, in: "pthread_create")
            }
            counts.withLock { $0 = ($0.running + 1, max($0.most, $0.running + 1), $0.started + 1) }
            try Thread.start {
                body()
                counts.withLock { $0.running -= 1 }
            }
        }
        try Thread.probe(limit, starter)
        #expect(counts.withLock { $0.most } == limit)
        counts.withLock { $0.started = 0 }
        #expect(throws: SystemError(.tooManyThreads, in: "pthread_create")) {
            try Thread.probe(limit + 1, starter)
        }
        #expect(counts.withLock { $0.started } == limit)
        // A body has returned before its thread says so here.
        while counts.withLock({ $0.running }) > 0 { Thread.pause(microseconds: 100) }
    }
}
