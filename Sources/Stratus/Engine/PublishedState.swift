internal import StratusIndex
internal import StratusJournal
internal import Synchronization

/// A zone in which something changed.
struct ChangedZone: Sendable {
    var number: UInt32
    var database: UInt32
}

/// The state of the store that readers see, the points at which they hold on to the past, and who
/// waits for the next one.
final class PublishedState: Sendable {
    /// In what somebody waits for a change.
    enum Watched: Sendable {
        case zone(UInt32)
        case database(UInt32)
        case everything

        fileprivate func isTouched(by zones: [ChangedZone]) -> Bool {
            switch self {
            case .zone(let number): zones.contains { $0.number == number }
            case .database(let number): zones.contains { $0.database == number }
            case .everything: true
            }
        }
    }

    private struct Waiter {
        var watched: Watched
        var continuation: CheckedContinuation<Bool, Never>
    }

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
        var waiters: [UInt64: Waiter] = [:]
        var waiterCount: UInt64 = 0
        var isEnded = false

        /// Those who wait for a change in one of `zones`; nil: all. They wait no more.
        mutating func takeWaiters(
            for zones: [ChangedZone]?
        ) -> [CheckedContinuation<Bool, Never>] {
            if waiters.isEmpty { return [] }
            let woken = waiters.filter { zones.map($0.value.watched.isTouched) ?? true }
            for number in woken.keys { waiters[number] = nil }
            return woken.values.map(\.continuation)
        }
    }

    private let content: Mutex<Content>

    init(_ state: StoreState) { content = Mutex(Content(state: state)) }

    var current: StoreState { content.withLock { $0.state } }

    /// `zones` are those in which something changed since the last time.
    func publish(
        _ fold: FoldState, _ view: JournalView, head: JournalOffset,
        changed zones: [ChangedZone]
    ) {
        // Released only outside: it may be the last reference to much.
        let (old, woken) = content.withLock { content in
            let old = content.state
            content.state = StoreState(
                fold: fold, view: view, head: head, identity: old.identity, assets: old.assets,
                pin: old.pin)
            return (old, content.takeWaiters(for: zones))
        }
        for waiter in woken { waiter.resume(returning: true) }
        withExtendedLifetime(old) {}
    }

    /// A state of which it is not known what is new in it.
    func publish(_ state: StoreState) {
        let woken = content.withLock { content in
            content.state = state
            return content.takeWaiters(for: nil)
        }
        for waiter in woken { waiter.resume(returning: true) }
    }

    /// Nothing will be published any more.
    func end() {
        let woken = content.withLock { content in
            content.isEnded = true
            return content.takeWaiters(for: nil)
        }
        for waiter in woken { waiter.resume(returning: false) }
    }

    /// Waits until something has changed there since the journal ended at `head`, or may have.
    /// False where nothing will change any more, or the task was cancelled.
    nonisolated(nonsending) func change(
        of watched: Watched, since head: JournalOffset
    ) async -> Bool {
        let number = content.withLock { content in
            content.waiterCount += 1
            return content.waiterCount
        }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let answer = content.withLock { content -> Bool? in
                    if Task.isCancelled { return false }
                    if content.state.head != head { return true }
                    if content.isEnded { return false }
                    content.waiters[number] = Waiter(watched: watched, continuation: continuation)
                    return nil
                }
                if let answer { continuation.resume(returning: answer) }
            }
        } onCancel: {
            let waiter = content.withLock { $0.waiters.removeValue(forKey: number) }
            waiter?.continuation.resume(returning: false)
        }
    }

    /// Holds on to the state as it is now. Where another process writes, the state itself is given
    /// along with its point.
    func hold() -> (point: JournalOffset, state: StoreState?) {
        content.withLock { content in
            let point = content.state.head
            var held = content.held[point] ?? Held()
            held.count += 1
            if held.state == nil, content.state.pin != nil { held.state = content.state }
            content.held[point] = held
            return (point, held.state)
        }
    }

    func release(_ point: JournalOffset) {
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
    var readable: [StoreState] {
        content.withLock { content in
            let held = content.held.values.compactMap(\.state).filter { $0 !== content.state }
            return [content.state] + held.sorted { $0.head > $1.head }
        }
    }

    /// Where somebody may look: at what is held, and at the newest state, which anybody may begin
    /// to hold before the next one is there.
    var points: NeededPoints {
        content.withLock { content in
            // What is seen at a point lies before it.
            let held = content.held.keys.map(\.previous.rawValue)
            let head = content.state.head.rawValue
            return NeededPoints(held + (head > 0 ? [head - 1] : []))
        }
    }
}
