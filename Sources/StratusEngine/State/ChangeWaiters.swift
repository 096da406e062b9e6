internal import Synchronization

/// The live feeds that wait for a change, by what they watch: a publication looks at those that it
/// concerns and at no others.
package final class ChangeWaiters: Sendable {
    package enum Watched: Hashable, Sendable {
        case zone(UInt32)
        case database(UInt32)
        case everything

        /// The devices of all users: that one is registered or removed.
        package static let devices = Self.zone(ChangedZone.devices)
    }

    private typealias Waiter = CheckedContinuation<Bool, Never>

    private struct Registration {
        var waiter: Waiter
        var watched: [Watched]
    }

    private struct State {
        /// By number.
        var registrations: [UInt64: Registration] = [:]
        /// The numbers of those that watch something; what none watches is not listed.
        var numbers: [Watched: Set<UInt64>] = [:]
        var count: UInt64 = 0

        mutating func add(_ number: UInt64, _ registration: Registration) {
            registrations[number] = registration
            for watched in registration.watched { numbers[watched, default: []].insert(number) }
        }

        /// Nil where it was taken before, or not added yet.
        mutating func take(_ number: UInt64) -> Waiter? {
            guard let registration = registrations.removeValue(forKey: number) else { return nil }
            for watched in registration.watched {
                numbers[watched]?.remove(number)
                if numbers[watched]?.isEmpty == true { numbers[watched] = nil }
            }
            return registration.waiter
        }

        mutating func take(_ watched: Watched, into woken: inout [Waiter]) {
            guard let taken = numbers.removeValue(forKey: watched) else { return }
            for number in taken {
                if let waiter = take(number) { woken.append(waiter) }
            }
        }
    }

    private let state = Mutex(State())

    package init() {}

    /// Waits for a change in one of the things that are watched. `answer` is asked once after the
    /// registration, and ends the wait where it is not nil. False also where the task is cancelled.
    package nonisolated(nonsending) func wait(
        for watched: [Watched], unless answer: () -> Bool?
    ) async -> Bool {
        let number = state.withLock { state in
            state.count += 1
            return state.count
        }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let registration = Registration(waiter: continuation, watched: watched)
                state.withLock { $0.add(number, registration) }
                let early = Task.isCancelled ? false : answer()
                guard let early else { return }
                // Nil where a publication, or the cancellation, has come first.
                state.withLock { $0.take(number) }?.resume(returning: early)
            }
        } onCancel: {
            state.withLock { $0.take(number) }?.resume(returning: false)
        }
    }

    /// How many waits have not ended, and how many things they watch together.
    package var counts: (waiters: Int, watched: Int) {
        state.withLock { (waiters: $0.registrations.count, watched: $0.numbers.count) }
    }

    /// Wakes those who wait for a change in one of `zones`.
    package func wake(for zones: [ChangedZone]) {
        if zones.isEmpty { return }
        let woken = state.withLock { state -> [Waiter] in
            if state.registrations.isEmpty { return [] }
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
            defer {
                state.registrations = [:]
                state.numbers = [:]
            }
            return state.registrations.values.map(\.waiter)
        }
        for waiter in woken { waiter.resume(returning: answer) }
    }
}
