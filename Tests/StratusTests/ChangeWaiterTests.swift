import Stratus
import StratusEngine
import StratusJournal
import Synchronization
import Testing

/// Who is woken by which change.
@Suite(.timeLimit(.minutes(20))) struct ChangeWaiterTests {
    private let waiters = ChangeWaiters(since: Self.start)
    /// Where the journal ends at first.
    private static let start = JournalOffset(rawValue: 1000)
    /// Behind all that is announced here.
    private static let end = JournalOffset(rawValue: 3000)

    private func wake(_ subjects: [ChangeSubject], at head: UInt64 = 2000) {
        waiters.wake(for: subjects, at: JournalOffset(rawValue: head))
    }

    /// Whether one who has seen all up to `head` is told at once that a zone may have changed.
    private func isToldAtOnce(
        of zone: ChangeSubject, since head: UInt64
    ) async -> Bool {
        await waiters.wait(for: [zone], since: JournalOffset(rawValue: head)) { false }
    }

    /// Lets a task wait for a change in what is watched, and returns once it does.
    private func waiting(for watched: ChangeSubject...) async -> Task<Bool, Never> {
        let isRegistered = Flag()
        let task = Task { [waiters] in
            await waiters.wait(for: watched, since: Self.end) {
                isRegistered.set()
                return nil
            }
        }
        while !isRegistered.isSet { await Task.yield() }
        return task
    }

    @Test func `a change wakes those that watch its zone, its database or all, and no others`()
        async
    {
        let concerned = [
            await waiting(for: .zone(1)), await waiting(for: .zone(1)),
            await waiting(for: .database(7)), await waiting(for: .everything),
        ]
        let others = [await waiting(for: .zone(2)), await waiting(for: .database(8))]
        wake([.zone(1), .database(7)])
        for task in concerned { #expect(await task.value) }
        // Had one of them been woken before, it would have been told of a change.
        waiters.wakeAll(returning: false)
        for task in others { #expect(await !task.value) }
    }

    @Test func `a wait for several things ends with the first, and is then registered with none`()
        async
    {
        let woken = await waiting(for: .zone(1), .zone(2), .database(7))
        let other = await waiting(for: .zone(2), .database(8))
        wake([.zone(1), .database(7)])
        #expect(await woken.value)
        #expect(waiters.counts.waiters == 1)
        #expect(waiters.counts.watched == 2)
        wake([.zone(9), .database(8)])
        #expect(await other.value)
        #expect(waiters.counts.waiters == 0)
        #expect(waiters.counts.watched == 0)
        let cancelled = await waiting(for: .zone(3), .everything)
        cancelled.cancel()
        #expect(await !cancelled.value)
        #expect(waiters.counts.waiters == 0)
        #expect(waiters.counts.watched == 0)
    }

    @Test(arguments: [true, false])
    func `what is published before the registration ends the wait at once`(answer: Bool) async {
        #expect(await waiters.wait(for: [.zone(1)], since: Self.start) { answer } == answer)
    }

    @Test func `what is published between the registration and the look ends the wait once`()
        async
    {
        let isWoken = await waiters.wait(for: [.zone(1)], since: Self.start) {
            wake([.zone(1), .database(7)])
            return false
        }
        #expect(isWoken)
    }

    @Test func `what was announced since a state ends the waits that it concerns, and no others`()
        async
    {
        wake([.zone(1), .database(7), .zone(2), .database(7)], at: 1100)
        wake([.zone(3), .database(8)], at: 1200)
        for watched in [ChangeSubject.zone(1), .zone(2), .database(7), .everything] {
            #expect(await isToldAtOnce(of: watched, since: 1000))
        }
        #expect(await isToldAtOnce(of: .zone(3), since: 1100))
        #expect(await !isToldAtOnce(of: .zone(1), since: 1100))
        #expect(await !isToldAtOnce(of: .zone(3), since: 1200))
        #expect(await !isToldAtOnce(of: .database(9), since: 1000))
        #expect(waiters.counts.waiters == 0)
    }

    @Test func `of announcements that are not remembered any more everyone may be concerned`()
        async
    {
        for number in 0..<100 {
            wake([.zone(1), .database(7)], at: 1001 + UInt64(number))
        }
        #expect(await isToldAtOnce(of: .zone(5), since: 1000))
        #expect(await !isToldAtOnce(of: .zone(5), since: 1090))
        // One of very many zones is not remembered, nor a state of which nothing is known.
        wake((0..<1000).map { .zone($0) }, at: 1200)
        #expect(await isToldAtOnce(of: .zone(5000), since: 1100))
        #expect(await !isToldAtOnce(of: .zone(5000), since: 1200))
        waiters.wakeAll(returning: true, at: JournalOffset(rawValue: 1300))
        #expect(await isToldAtOnce(of: .zone(5000), since: 1200))
        #expect(await !isToldAtOnce(of: .zone(5000), since: 1300))
    }

    @Test func `a wait ends with its task, before it begins and while it lasts`() async {
        let waiting = await waiting(for: .zone(1))
        waiting.cancel()
        #expect(await !waiting.value)
        let early = Task { [waiters] in
            while !Task.isCancelled { await Task.yield() }
            return await waiters.wait(for: [.zone(1)], since: Self.start) { nil }
        }
        early.cancel()
        #expect(await !early.value)
    }
}

private final class Flag: Sendable {
    private let flag = Atomic(false)
    var isSet: Bool { flag.load(ordering: .acquiring) }
    func set() { flag.store(true, ordering: .releasing) }
}
