internal import StratusEngine

/// How long the notifications of users are kept, and how many. Beyond CloudKit.
public struct NotificationPolicy: Hashable, Sendable {
    /// In seconds. From 1 to 2^40.
    public var lifetime: Int
    /// Of a user, the latest; more only where one commit brought them, as those of zones that a
    /// subscription had to tell when it ended, which count as one. From 1 to 2^20.
    public var count: Int

    /// That of a store of which nothing was said: 30 days, and 10,000 of a user.
    public static let standard = NotificationPolicy(NotificationPolicyEntry.standard)

    /// As ``standard`` where it is not said otherwise.
    public init(lifetime: Int = standard.lifetime, count: Int = standard.count) {
        self.lifetime = lifetime
        self.count = count
    }
}

extension Container {
    /// How long notifications are kept, and how many.
    public nonisolated(nonsending) func notificationPolicy() async throws(StoreError)
        -> NotificationPolicy
    {
        try await answer { () async throws(EngineError) in
            try await read { reading throws(EngineError) in
                NotificationPolicy(try reading.keptNotifications.policy)
            }
        }
    }

    /// Says how long notifications are kept from now on, and how many. It is part of the store, and stays
    /// until it is set again. What is too old goes with the next notification of any user, what is too
    /// much with the next of its own; what is gone does not come back.
    ///
    /// - Throws: ``StoreError`` with `invalidArguments` where a number is out of its range.
    public nonisolated(nonsending) func setNotificationPolicy(
        _ policy: NotificationPolicy
    ) async throws(StoreError) {
        try await answer { () async throws(EngineError) in
            let entry = try policy.entry
            _ = try await engine().commit(NotificationPolicyRequest(entry: entry))
        }
    }
}

extension NotificationPolicy {
    fileprivate init(_ entry: NotificationPolicyEntry) {
        self.init(lifetime: Int(entry.lifetime / 1_000_000), count: entry.count)
    }

    fileprivate var entry: NotificationPolicyEntry {
        get throws(EngineError) {
            guard (1...1 << 40).contains(lifetime) else {
                throw .refused(
                    .invalidArguments,
                    "expected a lifetime of 1 to 2^40 seconds, found \(lifetime)")
            }
            guard (1...NotificationPolicyEntry.countLimit).contains(count) else {
                throw .refused(
                    .invalidArguments, "expected a count from 1 to 2^20, found \(count)")
            }
            return NotificationPolicyEntry(lifetime: Int64(lifetime) * 1_000_000, count: count)
        }
    }
}

private struct NotificationPolicyRequest: Transaction {
    let entry: NotificationPolicyEntry

    func draft(
        _ reading: StoreReading, _ context: PreparationContext, sink: PartSink
    ) throws(EngineError) -> Draft? {
        var draft = Draft(reading)
        draft.readRanges.append(KeySpace.notificationPolicy.range())
        if try reading.keptNotifications.policy == entry { return draft }
        try draft.buffer.add(.notificationPolicy) { entry.write(to: &$0) }
        return draft
    }
}
