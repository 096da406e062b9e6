package import StratusIndex
package import StratusJournal
internal import Synchronization

/// The state of the store that readers see, and the points at which they hold on to the past.
package final class PublishedState: Sendable {
    /// A point that is held.
    private struct Held {
        /// How often.
        var count = 0
        /// Where another process writes, which keeps for a state what that has pinned and knows
        /// nothing of points: the state itself.
        var state: StoreState?
    }

    private struct Content {
        var state: StoreState
        var held: [JournalOffset: Held] = [:]
        var isEnded = false

        /// Where readers may read: at the states that are held, at the newest, which a reader may
        /// begin to hold before the next one is published, and in the history that is kept.
        var points: NeededPoints {
            // What is seen at a point lies before it.
            let head = state.head.rawValue
            var points = head > 0 ? [head - 1] : []
            for point in held.keys { points.append(point.previous.rawValue) }
            return NeededPoints(points).keeping(state.fold.history.points)
        }

        mutating func hold(_ point: JournalOffset) -> (point: JournalOffset, state: StoreState?) {
            var entry = held[point] ?? Held()
            entry.count += 1
            if entry.state == nil, state.pin != nil { entry.state = state }
            held[point] = entry
            return (point, entry.state)
        }
    }

    /// Every read takes this lock.
    private let content: Mutex<Content>
    private let waiters: ChangeWaiters

    package init(_ state: StoreState) {
        content = Mutex(Content(state: state))
        waiters = ChangeWaiters(since: state.head)
    }

    package var current: StoreState { content.withLock { $0.state } }

    /// Shows readers the fold; ``announce(_:)`` follows once the committer's lock is free.
    package func publish(
        _ fold: FoldState, _ view: JournalView, of identity: StoreIdentity, head: JournalOffset
    ) {
        let old = current
        show(
            StoreState(
                fold: fold, view: view, head: head, identity: identity, assets: old.assets,
                cache: old.cache, pin: old.pin, selection: old.selection))
    }

    /// A state of which it is not known what is new in it.
    package func publish(_ state: StoreState) {
        show(state)
        waiters.wakeAll(returning: true, at: state.head)
    }

    /// One thread at a time does.
    private func show(_ state: StoreState) {
        let old = content.withLock { content in
            let old = content.state
            content.state = state
            return old
        }
        // Released only outside: it may be the last reference to much.
        withExtendedLifetime(old) {}
    }

    /// Wakes those who wait for a change of one of `subjects`, which the newest state has.
    package func announce(_ subjects: [ChangeSubject]) {
        waiters.wake(for: subjects, at: current.head)
    }

    /// Of those who wait for changes.
    package var waiting: ChangeWaiters.Counts { waiters.counts }

    /// Whether nothing will be published any more.
    package var isEnded: Bool { content.withLock { $0.isEnded } }

    /// Nothing will be published any more.
    package func end() {
        content.withLock { $0.isEnded = true }
        waiters.wakeAll(returning: false)
    }

    /// Waits until one of the things that are watched has changed since the journal ended at `head`,
    /// or may have. False where nothing will change any more, or the task was cancelled.
    package nonisolated(nonsending) func change(
        of watched: [ChangeSubject], since head: JournalOffset
    ) async -> Bool {
        // Asked once the waiter is registered: an end that comes later finds it.
        await waiters.wait(for: watched, since: head) { [self] in isEnded ? false : nil }
    }

    /// Holds on to the state as it is now. Where another process writes, the state itself is given
    /// along with its point.
    package func hold() -> (point: JournalOffset, state: StoreState?) {
        content.withLock { $0.hold($0.state.head) }
    }

    /// Holds on to an earlier state as ``hold()`` does to the newest; nil where what it needs may
    /// be gone.
    package func hold(_ state: PastState) -> (point: JournalOffset, state: StoreState?)? {
        content.withLock { content in
            let isNewest = state.end >= content.state.head
            let point = isNewest ? state.point : content.points.first(in: state)
            return point.map { content.hold($0) }
        }
    }

    package func release(_ point: JournalOffset) {
        // Released only outside: it may be the last reference to much.
        let last = content.withLock { content -> StoreState? in
            content.held[point]?.count -= 1
            guard content.held[point]?.count == 0 else { return nil }
            return content.held.removeValue(forKey: point)?.state
        }
        withExtendedLifetime(last) {}
    }

    /// The newest state and, where another process writes, those that are held beside it, the
    /// newest first.
    package var readable: [StoreState] {
        content.withLock { content in
            let held = content.held.values.compactMap(\.state).filter { $0 !== content.state }
            return [content.state] + held.sorted { $0.head > $1.head }
        }
    }

    /// Where readers may read.
    package var points: NeededPoints { content.withLock { $0.points } }
}
