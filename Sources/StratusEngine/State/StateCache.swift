internal import StratusJournal
internal import Synchronization

/// What readers derived from entries of the journal and keep for the next reader, and what they
/// found out of the index once for all states. One cache serves all states of an open store.
package final class StateCache: Sendable {
    private struct Derived {
        var offset: JournalOffset
        var value: any Sendable
    }

    /// The last ones, the latest at the end: readers of the past derive from earlier entries.
    private let derived = Mutex<[Derived]>([])
    private static let limit = 4

    /// What ``hadIdentities`` is, by these numbers.
    private enum Answer {
        static let unknown: UInt8 = 0
        static let no: UInt8 = 1
        static let yes: UInt8 = 2
    }

    private let identities = Atomic<UInt8>(Answer.unknown)

    package init() {}

    /// What was derived from the entry at `offset`; nil: it is to be derived.
    func value<Value: Sendable>(_ type: Value.Type, from offset: JournalOffset) -> Value? {
        derived.withLock { derived in
            for known in derived.reversed() where known.offset == offset {
                if let value = known.value as? Value { return value }
            }
            return nil
        }
    }

    func keep<Value: Sendable>(_ value: Value, from offset: JournalOffset) {
        derived.withLock { derived in
            derived.removeAll { $0.offset == offset && $0.value is Value }
            if derived.count == Self.limit { derived.removeFirst() }
            derived.append(Derived(offset: offset, value: value))
        }
    }

    /// Whether there were identities when the fold began; nil: not known yet.
    var hadIdentities: Bool? {
        switch identities.load(ordering: .relaxed) {
        case Answer.no: false
        case Answer.yes: true
        default: nil
        }
    }

    func noteIdentities(_ isAny: Bool) {
        identities.store(isAny ? Answer.yes : Answer.no, ordering: .relaxed)
    }
}
