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
        /// None. The default.
        case none
        /// Each state that was the newest within so many seconds before the last commit, or up to a
        /// 256th of them earlier.
        case age(seconds: Int)
        /// Each state within the last so many bytes of journal.
        case bytes(Int)
        /// Every state.
        case everything
    }

    /// How much of the past is kept.
    public var policy: Policy
    /// From this offset on every state is kept; nil where none is. A policy keeps nothing from before
    /// it was set.
    public var floor: UInt64?
}

extension Container {
    /// What the store keeps of its past.
    public nonisolated(nonsending) func history() async throws(StoreError) -> History {
        try await answering { () async throws(EngineError) -> History in
            try await read { reading throws(EngineError) in
                History(
                    policy: History.Policy(reading.history.policy),
                    floor: reading.history.floor?.rawValue)
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
        try await answering { () async throws(EngineError) in
            guard let policy = policy.stored else {
                throw .refused(
                    .invalidArguments, "an age or a number of bytes must be from 0 to 2^40")
            }
            _ = try await engine().commit(PolicyRequest(policy: policy))
        }
    }
}

extension History.Policy {
    fileprivate static let limit = 1 << 40

    init(_ policy: HistoryPolicy) {
        switch policy {
        case .none: self = .none
        case .age(let microseconds): self = .age(seconds: Int(microseconds / 1_000_000))
        case .bytes(let count): self = .bytes(count)
        case .everything: self = .everything
        }
    }

    /// As the journal keeps it; nil where that is too much.
    fileprivate var stored: HistoryPolicy? {
        switch self {
        case .none: HistoryPolicy.none
        case .age(let seconds):
            (0...Self.limit).contains(seconds) ? .age(Int64(seconds) * 1_000_000) : nil
        case .bytes(let count): (0...Self.limit).contains(count) ? .bytes(count) : nil
        case .everything: .everything
        }
    }
}

/// Only the committer knows where the journal stands, and what is kept now.
private struct PolicyRequest: Transaction {
    let policy: HistoryPolicy

    var beginsGroup: Bool { true }

    func draft(
        _ reading: StoreReading, _ context: PreparationContext, sink: PartSink
    ) throws(EngineError) -> Draft? {
        guard let position = context.position else { return nil }
        var draft = Draft(reading)
        if reading.history.policy == policy { return draft }
        let start = reading.history.floor ?? position.offset
        let entry = HistoryPolicyEntry(policy: policy, start: start)
        try draft.buffer.add(.historyPolicy) { entry.write(to: &$0) }
        return draft
    }
}
