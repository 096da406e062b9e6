internal import StratusIndex
internal import StratusJournal
internal import StratusEngine

/// What a store keeps of its past.
///
/// Whatever is replaced or deleted is needed no longer, and compaction removes it some day: unless an
/// open snapshot sees it, a ``Mark`` does, or the policy keeps it. Which of the past can be read
/// depends on these alone, never on when a compaction ran.
public struct History: Hashable, Sendable {
    /// How much of the past is kept.
    public enum Policy: Hashable, Sendable {
        /// None.
        case none
        /// Each state that was the newest within so many seconds before the last commit, or up to a
        /// 256th of them earlier.
        case age(seconds: Int)
        /// Each state within the last so many bytes of journal.
        case bytes(Int)
        /// Every state.
        case everything
    }

    /// How much of the past is kept; none by default.
    public var policy: Policy
    /// From this offset on every state is kept; nil where none is. A policy keeps nothing from before
    /// it was set.
    public var floor: UInt64?
    /// How long deletions of records are remembered; ninety days by default.
    ///
    /// A change feed reports a deletion as long as it is remembered. Once a compaction has made a zone
    /// forget one, a change token of that zone from before it is refused, with `changeTokenExpired` and
    /// the cause `changeToken(.compacted)`: its holder fetches the zone anew. Deletions are also
    /// remembered while history is kept from before them, and while a snapshot from before them is
    /// open.
    public var deletions: Policy
}

extension Container {
    /// What the store keeps of its past.
    public nonisolated(nonsending) func history() async throws(StoreError) -> History {
        try await answer { () async throws(EngineError) -> History in
            try await read { reading throws(EngineError) in
                History(
                    policy: History.Policy(reading.history.policy),
                    floor: reading.history.floor?.rawValue,
                    deletions: History.Policy(reading.deletions.policy))
            }
        }
    }

    /// Says how much of its past the store keeps from now on. It is part of the store, and stays
    /// until it is set again. Where more is kept than before, what is gone does not come back.
    ///
    /// - Throws: ``StoreError`` with `invalidArguments` where an age or a number of bytes is negative
    ///   or above 2^40.
    public nonisolated(nonsending) func setHistoryPolicy(
        _ policy: History.Policy
    ) async throws(StoreError) {
        try await answer { () async throws(EngineError) in
            let policy = try policy.stored
            _ = try await engine().commit(HistoryPolicyRequest(policy: policy))
        }
    }

    /// Says how long deletions are remembered from now on. It is part of the store, and stays until
    /// it is set again.
    ///
    /// - Throws: ``StoreError`` as of ``setHistoryPolicy(_:)``.
    public nonisolated(nonsending) func setDeletionPolicy(
        _ policy: History.Policy
    ) async throws(StoreError) {
        try await answer { () async throws(EngineError) in
            let policy = try policy.stored
            _ = try await engine().commit(DeletionPolicyRequest(policy: policy))
        }
    }
}

extension History.Policy {
    fileprivate static let limit = 1 << 40

    init(_ policy: RetentionPolicy) {
        switch policy {
        case .none: self = .none
        case .age(let microseconds): self = .age(seconds: Int(microseconds / 1_000_000))
        case .bytes(let count): self = .bytes(count)
        case .everything: self = .everything
        }
    }

    /// As the journal keeps it.
    fileprivate var stored: RetentionPolicy {
        get throws(EngineError) {
            switch self {
            case .none: .none
            case .age(let seconds): .age(Int64(try Self.checked(seconds)) * 1_000_000)
            case .bytes(let count): .bytes(try Self.checked(count))
            case .everything: .everything
            }
        }
    }

    private static func checked(_ amount: Int) throws(EngineError) -> Int {
        guard (0...limit).contains(amount) else {
            throw .refused(
                .invalidArguments, "an age or a number of bytes must be from 0 to 2^40")
        }
        return amount
    }
}

/// Only the committer knows where the journal stands, and what is kept now.
struct HistoryPolicyRequest: Transaction {
    let policy: RetentionPolicy
    /// Nothing from before is kept, though the policy says so; nil: all that was.
    private(set) var floor: JournalOffset?

    /// Says again what the policy is, since nothing from before `floor` is there.
    static func keeping(
        _ policy: RetentionPolicy, from floor: JournalOffset
    ) -> HistoryPolicyRequest {
        HistoryPolicyRequest(policy: policy, floor: floor)
    }

    var beginsGroup: Bool { true }

    func draft(
        _ reading: StoreReading, _ context: PreparationContext, sink: PartSink
    ) throws(EngineError) -> Draft? {
        guard let position = context.position else { return nil }
        var draft = Draft(reading)
        if reading.history.policy == policy, floor == nil { return draft }
        let start = floor ?? reading.history.floor ?? position.offset
        let entry = HistoryPolicyEntry(policy: policy, start: start)
        try draft.buffer.add(.historyPolicy) { entry.write(to: &$0) }
        return draft
    }
}

private struct DeletionPolicyRequest: Transaction {
    let policy: RetentionPolicy

    func draft(
        _ reading: StoreReading, _ context: PreparationContext, sink: PartSink
    ) throws(EngineError) -> Draft? {
        var draft = Draft(reading)
        draft.readSet = [KeySpace.deletionPolicy.key()]
        if reading.deletions.policy == policy { return draft }
        let entry = DeletionPolicyEntry(policy: policy)
        try draft.buffer.add(.deletionPolicy) { entry.write(to: &$0) }
        return draft
    }
}
