import StratusFiles
import Synchronization
import Testing

struct OrderedWorkTests {
    @Test(arguments: [0, 1, 3])
    func `work is taken in the order in which it was given`(threadCount: Int) {
        var work = OrderedWork<Int>(on: threadCount > 0 ? IOThreads(count: threadCount) : nil)
        var taken: [Int] = []
        for number in 0..<200 {
            work.add { _ in
                if number % 7 == 0 { Thread.pause(microseconds: 300) }
                return number
            }
            if work.count == 12 { work.takeFirst(.blocking).map { taken.append($0) } }
        }
        while !work.isEmpty { work.takeFirst(.blocking).map { taken.append($0) } }
        #expect(taken == Array(0..<200))
    }

    @Test func `a thread that waits for another runs work that no thread has begun`() {
        var work = OrderedWork<Bool>(on: IOThreads(count: 1))
        let (isBegun, isOver) = (WakeUp(), WakeUp())
        work.add { _ in true }
        // The only thread waits for what is given last.
        work.add { _ in
            isBegun.signal()
            return isOver.wait(nanoseconds: 10_000_000_000)
        }
        isBegun.wait()
        work.add { _ in
            isOver.signal()
            return true
        }
        for _ in 0..<3 { #expect(work.takeFirst(.blocking) == true) }
    }

    @Test func `what would have to wait is left to who may`() {
        var work = OrderedWork<Int>(on: nil)
        let modes = Mutex<[ReadMode]>([])
        for number in 0..<2 {
            work.add { mode in
                modes.withLock { $0.append(mode) }
                return mode == .blocking || number == 1 ? number : nil
            }
        }
        #expect(work.takeFirst(.resident) == nil)
        #expect(work.count == 2)
        #expect(work.takeFirst(.blocking) == 0)
        #expect(work.takeFirst(.resident) == 1)
        #expect(modes.withLock { $0 } == [.resident, .blocking, .resident])
    }

    private final class Token: Sendable {}

    @Test func `of work that is done or given up nothing is kept`() {
        var work = OrderedWork<Int>(on: nil)
        weak var done: Token?
        weak var left: Token?
        do {
            let tokens = (Token(), Token())
            (done, left) = tokens
            work.add { [token = tokens.0] _ in ObjectIdentifier(token).hashValue }
            work.add { [token = tokens.1] _ in ObjectIdentifier(token).hashValue }
        }
        #expect(done != nil && left != nil)
        let copy = work
        #expect(work.takeFirst(.blocking) != nil)
        #expect(done == nil && left != nil)
        work.giveUp()
        #expect(left == nil && copy.count == 2)
    }

    @Test func `nothing of what was given up is done when that returns, nor later`() {
        let threads = IOThreads(count: 1)
        var work = OrderedWork<Int>(on: threads)
        let isBegun = WakeUp()
        let done = Mutex<[Int]>([])
        for number in 0..<4 {
            work.add { _ in
                isBegun.signal()
                Thread.pause(microseconds: 2000)
                done.withLock { $0.append(number) }
                return number
            }
        }
        isBegun.wait()
        work.giveUp()
        let before = done.withLock { $0 }
        // The thread has come to the end of what waits for it.
        let last = WakeUp()
        try? threads.submit { last.signal() }
        last.wait()
        #expect(before.first == 1 && before.count < 4)
        #expect(done.withLock { $0 } == before)
    }
}
