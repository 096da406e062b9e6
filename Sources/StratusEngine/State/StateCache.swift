internal import StratusBytes
internal import StratusJournal
internal import Synchronization

/// What readers derived from entries of the journal and keep for the next reader, and what they
/// found out of the index once for all states. One cache serves all states of an open store.
package final class StateCache: Sendable {
    private struct Key: Hashable {
        var type: ObjectIdentifier
        var subject: Hash128?
        var number: UInt32
        var offset: JournalOffset
    }

    /// An object, of which it takes less to find out what it is than of any value.
    private protocol AnyKept: AnyObject, Sendable {}
    private final class Kept<Value: Sendable>: AnyKept {
        let value: Value
        init(_ value: Value) { self.value = value }
    }

    private let derived = Mutex<[Key: any AnyKept]>([:])
    /// What is no longer asked for goes with all else once there is so much.
    private static let limit = 1024

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

    /// What was derived of a subject, which has a number too, where the last entry that concerned it
    /// lies at `offset`; nil: it is to be derived.
    func value<Value: Sendable>(
        _ type: Value.Type, of subject: Hash128?, _ number: UInt32, from offset: JournalOffset
    ) -> Value? {
        let key = Key(
            type: ObjectIdentifier(type), subject: subject, number: number, offset: offset)
        return (derived.withLock { $0[key] } as? Kept<Value>)?.value
    }

    func keep<Value: Sendable>(
        _ value: Value, of subject: Hash128?, _ number: UInt32, from offset: JournalOffset
    ) {
        let key = Key(
            type: ObjectIdentifier(Value.self), subject: subject, number: number, offset: offset)
        derived.withLock { derived in
            if derived.count >= Self.limit { derived.removeAll() }
            derived[key] = Kept(value)
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
