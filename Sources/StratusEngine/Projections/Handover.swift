internal import Synchronization

/// What any thread leaves for the one that takes it.
package final class Handover<Item: Sendable>: Sendable {
    private let items = Mutex<[Item]>([])

    package init() {}

    package func add(_ new: [Item]) {
        if !new.isEmpty { items.withLock { $0 += new } }
    }

    package var isEmpty: Bool { items.withLock { $0.isEmpty } }

    /// All of them, in the order in which they came.
    package func take() -> [Item] {
        items.withLock { items in
            defer { items = [] }
            return items
        }
    }
}
