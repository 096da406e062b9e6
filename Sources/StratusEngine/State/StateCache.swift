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

    /// Of what it is known whether the index had any of it when the fold began. The raw value is
    /// the place of the answer's two bits.
    enum Question: UInt8 {
        case identities = 0
        case subscriptions = 2
    }

    private enum Answer {
        static let no: UInt8 = 1
        static let yes: UInt8 = 2
        static let mask: UInt8 = 3
    }

    /// 0: not known yet.
    private let answers = Atomic<UInt8>(0)

    /// What query subscriptions wait for.
    let subscriptionFilters = SubscriptionFilters()

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

    /// Nil: not known yet.
    func answer(to question: Question) -> Bool? {
        switch answers.load(ordering: .relaxed) >> question.rawValue & Answer.mask {
        case 0: nil
        case Answer.no: false
        default: true
        }
    }

    func note(_ isAny: Bool, for question: Question) {
        let answer = isAny ? Answer.yes : Answer.no
        _ = answers.bitwiseOr(answer << question.rawValue, ordering: .relaxed)
    }
}
