import Stratus
import Synchronization
import Testing
import StratusEngine

/// Who is woken by which change.
@Suite(.timeLimit(.minutes(20))) struct ChangeWaiterTests {
    private let waiters = ChangeWaiters()

    /// Lets a task wait for a change in what is watched, and returns once it does.
    private func waiting(for watched: ChangeWaiters.Watched...) async -> Task<Bool, Never> {
        let isRegistered = Flag()
        let task = Task { [waiters] in
            await waiters.wait(for: watched) {
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
        waiters.wake(for: [ChangedZone(number: 1, database: 7)])
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
        waiters.wake(for: [ChangedZone(number: 1, database: 7)])
        #expect(await woken.value)
        #expect(waiters.counts.waiters == 1)
        #expect(waiters.counts.watched == 2)
        waiters.wake(for: [ChangedZone(number: 9, database: 8)])
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
        #expect(await waiters.wait(for: [.zone(1)]) { answer } == answer)
    }

    @Test func `what is published between the registration and the look ends the wait once`()
        async
    {
        let isWoken = await waiters.wait(for: [.zone(1)]) {
            waiters.wake(for: [ChangedZone(number: 1, database: 7)])
            return false
        }
        #expect(isWoken)
    }

    @Test func `a wait ends with its task, before it begins and while it lasts`() async {
        let waiting = await waiting(for: .zone(1))
        waiting.cancel()
        #expect(await !waiting.value)
        let early = Task { [waiters] in
            while !Task.isCancelled { await Task.yield() }
            return await waiters.wait(for: [.zone(1)]) { nil }
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
