package import StratusJournal
internal import Synchronization

/// The live feeds that wait for a change, by what they watch: a publication looks at those that it
/// concerns and at no others. What was announced while a feed read is looked through once it waits.
package final class ChangeWaiters: Sendable {
    /// What became known with a state.
    private struct Announcement {
        /// Where the journal ends in the state.
        var head: JournalOffset
        var subjects: Set<ChangeSubject>
    }

    private static let recentLimit = 64
    /// So many subjects of an announcement are remembered.
    private static let subjectLimit = 256

    private typealias Waiter = CheckedContinuation<Bool, Never>

    private struct Registration {
        var waiter: Waiter
        var watched: [ChangeSubject]
    }

    private struct State {
        /// By number.
        var registrations: [UInt64: Registration] = [:]
        /// The numbers of those that watch something; what none watches is not listed.
        var numbers: [ChangeSubject: Set<UInt64>] = [:]
        var count: UInt64 = 0
        var woken = 0
        /// The last announcements, in their order.
        var recent: [Announcement] = []
        /// Of states up to it, the announcements that followed are not all among these.
        var start: JournalOffset

        init(start: JournalOffset) { self.start = start }

        mutating func note(_ announcement: Announcement) {
            if announcement.subjects.count > ChangeWaiters.subjectLimit {
                recent.removeAll()
                start = announcement.head
                return
            }
            if recent.count == ChangeWaiters.recentLimit { start = recent.removeFirst().head }
            recent.append(announcement)
        }

        /// Whether something of what is watched was announced since a state, or may have been.
        func hasChanged(_ watched: [ChangeSubject], since head: JournalOffset) -> Bool {
            if head < start { return true }
            return recent.contains { announcement in
                announcement.head > head
                    && watched.contains {
                        $0 == .everything || announcement.subjects.contains($0)
                    }
            }
        }

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

        mutating func take(_ watched: ChangeSubject, into woken: inout [Waiter]) {
            guard let taken = numbers.removeValue(forKey: watched) else { return }
            for number in taken {
                if let waiter = take(number) { woken.append(waiter) }
            }
        }
    }

    private let state: Mutex<State>

    /// - Parameter head: where the journal ends in the first state.
    package init(since head: JournalOffset) { state = Mutex(State(start: head)) }

    /// Waits until one of the things that are watched has changed since the journal ended at `head`,
    /// or may have. `answer` is asked once after the registration, and ends the wait where it is not
    /// nil. False also where the task is cancelled.
    package nonisolated(nonsending) func wait(
        for watched: [ChangeSubject], since head: JournalOffset, unless answer: () -> Bool?
    ) async -> Bool {
        let number = state.withLock { state in
            state.count += 1
            return state.count
        }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let registration = Registration(waiter: continuation, watched: watched)
                let isRegistered = state.withLock { state in
                    if state.hasChanged(watched, since: head) { return false }
                    state.add(number, registration)
                    return true
                }
                if !isRegistered { return continuation.resume(returning: true) }
                let early = Task.isCancelled ? false : answer()
                guard let early else { return }
                // Nil where a publication, or the cancellation, has come first.
                state.withLock { $0.take(number) }?.resume(returning: early)
            }
        } onCancel: {
            state.withLock { $0.take(number) }?.resume(returning: false)
        }
    }

    package struct Counts: Sendable, Equatable {
        /// How many waits have not ended, and how many things they watch together.
        package var waiters = 0
        package var watched = 0
        /// How many waits ended with a change of something that they watched.
        package var woken = 0
    }

    package var counts: Counts {
        state.withLock {
            Counts(waiters: $0.registrations.count, watched: $0.numbers.count, woken: $0.woken)
        }
    }

    /// Wakes those who wait for a change of one of `subjects`, which a state has that ends at `head`.
    package func wake(for subjects: [ChangeSubject], at head: JournalOffset) {
        if subjects.isEmpty { return }
        let subjects = Set(subjects)
        let woken = state.withLock { state -> [Waiter] in
            state.note(Announcement(head: head, subjects: subjects))
            if state.registrations.isEmpty { return [] }
            var woken: [Waiter] = []
            for subject in subjects { state.take(subject, into: &woken) }
            state.take(.everything, into: &woken)
            state.woken += woken.count
            return woken
        }
        for waiter in woken { waiter.resume(returning: true) }
    }

    /// Wakes all.
    ///
    /// - Parameter head: of a state of which it is not known what is new in it; nil: there is none.
    package func wakeAll(returning answer: Bool, at head: JournalOffset? = nil) {
        let woken = state.withLock { state in
            defer {
                state.registrations = [:]
                state.numbers = [:]
            }
            if let head {
                state.recent.removeAll()
                state.start = head
            }
            return state.registrations.values.map(\.waiter)
        }
        for waiter in woken { waiter.resume(returning: answer) }
    }
}
