internal import StratusIndex
internal import StratusJournal
internal import Synchronization

/// The state of the store that readers see, and the points at which they hold on to the past.
final class PublishedState: Sendable {
    private struct Content {
        var state: StoreState
        /// How many snapshots are held at each point.
        var held: [JournalOffset: Int] = [:]
    }

    private let content: Mutex<Content>

    init(_ state: StoreState) { content = Mutex(Content(state: state)) }

    var current: StoreState { content.withLock { $0.state } }

    func publish(_ fold: StoreFold.State, _ view: JournalView, head: JournalOffset) {
        // Released only outside: it may be the last reference to much.
        let old = content.withLock { content in
            let old = content.state
            content.state = StoreState(
                fold: fold, view: view, head: head, identity: old.identity, pin: old.pin)
            return old
        }
        withExtendedLifetime(old) {}
    }

    func publish(_ state: StoreState) { content.withLock { $0.state = state } }

    /// Holds on to the state as it is now.
    func hold() -> JournalOffset {
        content.withLock { content in
            let point = content.state.head
            content.held[point, default: 0] += 1
            return point
        }
    }

    func release(_ point: JournalOffset) {
        content.withLock { content in
            let count = content.held[point] ?? 0
            content.held[point] = count > 1 ? count - 1 : nil
        }
    }

    /// Where somebody may look: at what is held, and at the newest state, which anybody may begin
    /// to hold before the next one is there.
    var points: NeededPoints {
        content.withLock { content in
            // What is seen at a point lies before it.
            let held = content.held.keys.map { $0.rawValue - 1 }
            let head = content.state.head.rawValue
            return NeededPoints(held + (head > 0 ? [head - 1] : []))
        }
    }
}
