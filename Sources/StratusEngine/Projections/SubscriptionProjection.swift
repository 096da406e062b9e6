package import StratusBytes
package import StratusIndex
package import StratusJournal

extension EntryKind {
    package static let subscription = EntryKind(rawValue: 54)
    package static let subscriptionRemoval = EntryKind(rawValue: 55)
}

extension KeySpace {
    /// The subscriptions of a user.
    package static var subscriptions: KeySpace { KeySpace(38, "subscriptions", names: .elsewhere) }
    /// Where query subscriptions wait. The first word is the user and, from bit 32 on, the
    /// ``SubscriptionEntry/indexedOptions``, the second the length of the frame as in
    /// ``EntryLocation``.
    package static var subscriptionAnchors: KeySpace {
        KeySpace(39, "subscriptionAnchors", names: .elsewhere)
    }
    /// The query subscriptions of a database.
    package static var subscriptionNumbers: KeySpace {
        KeySpace(40, "subscriptionNumbers", names: .elsewhere)
    }
    /// The last entry that changed the query subscriptions of a database, or those of a type.
    package static var subscriptionChanges: KeySpace {
        KeySpace(41, "subscriptionChanges", names: .elsewhere)
    }
}

extension IndexKey {
    /// Of the subscription whose ID has that hash.
    package static func subscription(
        _ user: UInt32, _ scope: SubscriptionEntry.Scope, _ id: Hash128
    ) -> IndexKey {
        KeySpace.subscriptions.key().appending(user).appending(scope.rawValue).appending(id)
    }
    /// All subscriptions of a user, in all databases.
    package static func subscriptions(_ user: UInt32) -> Range<IndexKey> {
        KeySpace.subscriptions.key().appending(user).asPrefix
    }
    package static func subscriptions(
        _ user: UInt32, _ scope: SubscriptionEntry.Scope
    ) -> Range<IndexKey> {
        KeySpace.subscriptions.key().appending(user).appending(scope.rawValue).asPrefix
    }

    /// Of the anchor of the subscription with that number; `shape` is the hash of its shape.
    package static func subscriptionAnchor(
        _ database: UInt32, shape: UInt64, slot: UInt64, order: UInt64, number: UInt64
    ) -> IndexKey {
        subscriptionAnchor(database, shape: shape, slot: slot).appending(order).appending(number)
    }
    /// All that wait in a slot, those of the least order first.
    package static func subscriptionAnchors(
        _ database: UInt32, shape: UInt64, slot: UInt64
    ) -> Range<IndexKey> {
        subscriptionAnchor(database, shape: shape, slot: slot).asPrefix
    }
    /// Those of them whose order is one of `orders`.
    package static func subscriptionAnchors(
        _ database: UInt32, shape: UInt64, slot: UInt64, orders: ClosedRange<UInt64>
    ) -> Range<IndexKey> {
        let key = subscriptionAnchor(database, shape: shape, slot: slot)
        return key.appending(orders.lowerBound)..<key.appending(orders.upperBound).afterPrefix
    }
    /// The order in a key of an anchor.
    package var anchorOrder: UInt64 { uint64(at: 25) }
    private static func subscriptionAnchor(
        _ database: UInt32, shape: UInt64, slot: UInt64
    ) -> IndexKey {
        KeySpace.subscriptionAnchors.key().appending(database).appending(shape).appending(slot)
    }

    /// Of a query subscription.
    package static func subscriptionNumber(_ database: UInt32, _ number: UInt64) -> IndexKey {
        KeySpace.subscriptionNumbers.key().appending(database).appending(number)
    }
    /// All query subscriptions of a database whose numbers are not below `number`.
    package static func subscriptionNumbers(
        _ database: UInt32, from number: UInt64 = 0
    ) -> Range<IndexKey> {
        let all = KeySpace.subscriptionNumbers.key().appending(database).asPrefix
        return subscriptionNumber(database, number)..<all.upperBound
    }

    /// The last change of any query subscription of a database.
    package static func subscriptionChanges(_ database: UInt32) -> IndexKey {
        KeySpace.subscriptionChanges.key().appending(database)
    }
    /// That of one of a type: ``SubscriptionAnchor/hash(ofType:seed:)``.
    package static func subscriptionChanges(_ database: UInt32, _ type: UInt64) -> IndexKey {
        subscriptionChanges(database).appending(type)
    }
}

/// Subscriptions by user and ID, and query subscriptions by what they wait for.
struct SubscriptionProjection: Projection {
    package static let entries = [
        EntryForm(.subscription, "subscription", retention: .always),
        // What it takes away may still be there, in what is read before.
        EntryForm(.subscriptionRemoval, "subscription removal", retention: .always),
    ]
    package static let keyspaces: [KeySpace] = [
        .subscriptions, .subscriptionAnchors, .subscriptionNumbers, .subscriptionChanges,
    ]

    package mutating func apply(
        _ entry: inout FoldedEntry, _ payload: Span<UInt8>, to state: inout FoldState
    ) throws(FormatError) {
        if entry.header.kind == .subscriptionRemoval {
            try remove(SubscriptionRemovalEntry(payload), entry, &state)
        } else {
            try set(SubscriptionEntry(payload), entry, &state)
        }
        state.hasSubscriptions = true
    }

    private func set(
        _ subscription: SubscriptionEntry, _ entry: borrowing FoldedEntry,
        _ state: inout FoldState
    ) throws(FormatError) {
        let user = subscription.user
        guard state.numbers.hasUser(user) else { throw .value("user number") }
        if let former = subscription.former {
            try end(former, of: user, subscription.scope, entry, &state)
        }
        let location = entry.location()
        let id = entry.hash(subscription.id)
        state.index.set(.subscription(user, subscription.scope, id), location)
        guard subscription.kind == .query, let database = subscription.database else { return }
        let options = UInt64(subscription.indexedOptions.rawValue)
        let value = IndexValue(
            stamp: entry.stamp, first: options << 32 | UInt64(user), second: location.second)
        for anchor in subscription.anchors {
            let key = Self.key(
                of: anchor, database, type: subscription.recordType, number: entry.stamp,
                seed: entry.secret)
            state.index.set(key, value, isFresh: true)
        }
        state.index.set(.subscriptionNumber(database, entry.stamp), location, isFresh: true)
        noteChange(in: database, of: subscription.recordType, entry, &state)
    }

    private func remove(
        _ removal: SubscriptionRemovalEntry, _ entry: borrowing FoldedEntry,
        _ state: inout FoldState
    ) throws(FormatError) {
        guard state.numbers.hasUser(removal.user) else { throw .value("user number") }
        let id = entry.hash(removal.id)
        state.index.remove(.subscription(removal.user, removal.scope, id), at: entry.stamp)
        try end(removal.former, of: removal.user, removal.scope, entry, &state)
    }

    /// Takes away what a subscription waits for that is replaced or ends.
    private func end(
        _ former: SubscriptionEntry.Replaced, of user: UInt32, _ scope: SubscriptionEntry.Scope,
        _ entry: borrowing FoldedEntry, _ state: inout FoldState
    ) throws(FormatError) {
        guard former.number < entry.stamp else { throw .value("number") }
        guard !former.recordType.isEmpty, let database = scope.database(of: user) else { return }
        for anchor in former.anchors {
            let key = Self.key(
                of: anchor, database, type: former.recordType, number: former.number,
                seed: entry.secret)
            state.index.remove(key, at: entry.stamp)
        }
        state.index.remove(.subscriptionNumber(database, former.number), at: entry.stamp)
        noteChange(in: database, of: former.recordType, entry, &state)
    }

    private func noteChange(
        in database: UInt32, of type: String, _ entry: borrowing FoldedEntry,
        _ state: inout FoldState
    ) {
        let change = IndexValue(stamp: entry.stamp)
        let hash = SubscriptionAnchor.hash(ofType: type, seed: entry.secret)
        state.index.set(.subscriptionChanges(database), change)
        state.index.set(.subscriptionChanges(database, hash), change)
    }

    private static func key(
        of anchor: SubscriptionAnchor, _ database: UInt32, type: String, number: UInt64,
        seed: UInt64
    ) -> IndexKey {
        .subscriptionAnchor(
            database, shape: anchor.shape.hash(type: type, seed: seed), slot: anchor.slot,
            order: anchor.order, number: number)
    }

    package static func validate(
        _ payload: Span<UInt8>, of entry: JournalEntry, _ numbers: inout NumberCheck
    ) throws(FormatError) {
        let former: SubscriptionEntry.Replaced?
        if entry.kind == .subscriptionRemoval {
            let removal = try SubscriptionRemovalEntry(payload)
            numbers.useUser(removal.user)
            former = removal.former
        } else {
            let subscription = try SubscriptionEntry(payload)
            numbers.useUser(subscription.user)
            former = subscription.former
        }
        if let former, former.number >= entry.offset.rawValue { throw .value("number") }
    }

    package static func describe(
        _ payload: Span<UInt8>, _ kind: EntryKind, _ schema: Schema
    ) throws(FormatError) -> EntryDescription {
        if kind == .subscriptionRemoval {
            let removal = try SubscriptionRemovalEntry(payload)
            return EntryDescription(
                detail: "\(removal.id) of user \(removal.user), \(removal.scope)")
        }
        let subscription = try SubscriptionEntry(payload)
        var detail =
            "\(subscription.id) of user \(subscription.user), \(subscription.scope) "
            + "\(subscription.kind)"
        if subscription.kind == .query { detail += ", \(waiting(subscription))" }
        return EntryDescription(
            recordType: subscription.recordType.isEmpty ? nil : subscription.recordType,
            detail: detail)
    }

    /// In words for people: what brings a changed record to a query subscription.
    private static func waiting(_ subscription: SubscriptionEntry) -> String {
        let shapes = subscription.anchors.map(\.shape)
        if shapes.isEmpty { return "which no record satisfies" }
        if shapes.contains(where: { $0.kind == .always }) { return "tested with every change" }
        let found = Set(shapes.map { "\($0.kind) of \($0.field.isEmpty ? "any field" : $0.field)" })
        return "found by \(found.sorted().joined(separator: ", "))"
    }
}
