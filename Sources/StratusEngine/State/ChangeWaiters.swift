internal import Synchronization

/// The live feeds that wait for a change, by what they watch: a publication looks at those that it
/// concerns and at no others.
package final class ChangeWaiters: Sendable {
    package enum Watched: Hashable, Sendable {
        case zone(UInt32)
        case database(UInt32)
        case everything
    }

    private typealias Waiter = CheckedContinuation<Bool, Never>

    private struct State {
        var waiters: [Watched: [UInt64: Waiter]] = [:]
        var count: UInt64 = 0

        mutating func take(_ watched: Watched, into woken: inout [Waiter]) {
            if let taken = waiters.removeValue(forKey: watched) { woken += taken.values }
        }

        mutating func take(_ number: UInt64, of watched: Watched) -> Waiter? {
            let waiter = waiters[watched]?.removeValue(forKey: number)
            if waiters[watched]?.isEmpty == true { waiters[watched] = nil }
            return waiter
        }
    }

    private let state = Mutex(State())

    package init() {}

    /// Waits for a change in what is watched. `answer` is asked once after the registration, and
    /// ends the wait where it is not nil. False also where the task is cancelled.
    package nonisolated(nonsending) func wait(
        for watched: Watched, unless answer: () -> Bool?
    ) async -> Bool {
        let number = state.withLock { state in
            state.count += 1
            return state.count
        }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                state.withLock { $0.waiters[watched, default: [:]][number] = continuation }
                let early = Task.isCancelled ? false : answer()
                guard let early else { return }
                // Nil where a publication, or the cancellation, has come first.
                state.withLock { $0.take(number, of: watched) }?.resume(returning: early)
            }
        } onCancel: {
            state.withLock { $0.take(number, of: watched) }?.resume(returning: false)
        }
    }

    /// Wakes those who wait for a change in one of `zones`.
    package func wake(for zones: [ChangedZone]) {
        if zones.isEmpty { return }
        let woken = state.withLock { state -> [Waiter] in
            if state.waiters.isEmpty { return [] }
            var woken: [Waiter] = []
            for zone in zones {
                state.take(.zone(zone.number), into: &woken)
                state.take(.database(zone.database), into: &woken)
            }
            state.take(.everything, into: &woken)
            return woken
        }
        for waiter in woken { waiter.resume(returning: true) }
    }

    package func wakeAll(returning answer: Bool) {
        let woken = state.withLock { state in
            defer { state.waiters = [:] }
            return state.waiters.values.flatMap(\.values)
        }
        for waiter in woken { waiter.resume(returning: answer) }
    }
}
