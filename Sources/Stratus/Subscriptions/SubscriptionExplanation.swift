internal import StratusEngine
internal import StratusJournal
internal import StratusLanguage

/// How a change finds a query subscription. Beyond CloudKit.
public struct SubscriptionExplanation: Sendable, Hashable {
    /// What a record has to have, so that the subscription's predicate is tested with it.
    public struct Condition: Sendable, Hashable {
        /// In what a value agrees with the predicate.
        public enum Kind: String, Sendable, Hashable, CaseIterable {
            /// It is equal to a constant, or an element of it is.
            case equality
            /// It is a string with the same beginning.
            case prefix
            /// It is a number or a date within bounds, or beyond one.
            case range
            /// A word of it is the same.
            case word
            /// It is a place in the same part of the earth.
            case area
        }

        /// Of the values that are looked at; nil: all strings of the record.
        public var field: String?
        /// In what such a value agrees.
        public var kind: Kind
    }

    /// One of them is enough, by their fields and kinds. Where there are none, and
    /// ``isAlwaysTested`` is false, no record ever satisfies the predicate.
    public var conditions: [Condition]
    /// Whether the predicate is tested with each change of a record of its type, and of its zone where
    /// it names one: it has no part by which values could find it, as equality, a prefix or a range
    /// could. Each such subscription makes every one of these changes dearer.
    public var isAlwaysTested: Bool
}

extension Database {
    /// How changes would find a query subscription, if it were saved now; nil of a subscription to a
    /// zone or to the database, which changes need not find: it reads the feed.
    ///
    /// - Throws: ``StoreError`` with `invalidArguments` where a query with the predicate is refused.
    public nonisolated(nonsending) func explanation(
        of subscription: Subscription
    ) async throws(StoreError) -> SubscriptionExplanation? {
        let profile = container.limits?.profile
        return try await read { view throws(EngineError) in
            try view.explanation(of: subscription, profile)
        }
    }
}

extension DatabaseSnapshot {
    /// The same of a subscription of this state: as of ``Database/explanation(of:)``.
    package func explanation(
        of subscription: Subscription
    ) throws(StoreError) -> SubscriptionExplanation? {
        try answer { view throws(EngineError) in
            try view.explanation(of: subscription, snapshot.profile)
        }
    }
}

extension DatabaseView {
    fileprivate func explanation(
        of subscription: Subscription, _ profile: Profile?
    ) throws(EngineError) -> SubscriptionExplanation? {
        guard case .query(let predicate, let type, let zone, _) = subscription.kind else {
            return nil
        }
        try check(predicate, ofType: type, in: zone, profile)
        let reading = try reading
        let anchors = predicate.tree.anchors(
            ofType: type, zone: zone?.zoneName, secret: reading.identity.secret, reading.schema)
        return SubscriptionExplanation(anchors.map(\.shape))
    }
}

extension SubscriptionExplanation {
    fileprivate init(_ shapes: [SubscriptionAnchor.Shape]) {
        isAlwaysTested = shapes.contains { $0.kind == .always }
        let found = Set(shapes.compactMap { Condition($0) })
        conditions = found.sorted {
            ($0.field ?? "", $0.kind.rawValue) < ($1.field ?? "", $1.kind.rawValue)
        }
    }
}

extension SubscriptionExplanation.Condition {
    /// Nil of what waits always.
    fileprivate init?(_ shape: SubscriptionAnchor.Shape) {
        switch shape.kind {
        case .always: return nil
        case .equal: kind = .equality
        case .prefix: kind = .prefix
        case .block, .above, .below: kind = .range
        case .word: kind = .word
        case .cell: kind = .area
        }
        field = shape.field.isEmpty ? nil : shape.field
    }
}
