internal import StratusBytes
internal import StratusJournal
internal import Synchronization

/// What a reader derives from entries of the journal and keeps for the next one: an object, of which it
/// takes less to find out what it is than of any value.
package protocol DerivedState: AnyObject, Sendable {}

/// What readers derived from entries of the journal and keep for the next reader, and what they
/// found out of the index once for all states. One cache serves all states of an open store.
package final class StateCache: Sendable {
    private struct Key: Hashable {
        var subject: Hash128?
        var number: UInt32
        var offset: JournalOffset

        /// Every read of a participant asks for one.
        func hash(into hasher: inout Hasher) {
            hasher.combine((subject?.low ?? 0) ^ UInt64(number) << 32 ^ offset.rawValue)
        }
    }

    private let derived = Mutex<[Key: any DerivedState]>([:])
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
    func value(
        of subject: Hash128?, _ number: UInt32, from offset: JournalOffset
    ) -> (any DerivedState)? {
        let key = Key(subject: subject, number: number, offset: offset)
        return derived.withLock { $0[key] }
    }

    func keep(
        _ value: any DerivedState, of subject: Hash128?, _ number: UInt32,
        from offset: JournalOffset
    ) {
        let key = Key(subject: subject, number: number, offset: offset)
        derived.withLock { derived in
            if derived.count >= Self.limit { derived.removeAll() }
            derived[key] = value
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
