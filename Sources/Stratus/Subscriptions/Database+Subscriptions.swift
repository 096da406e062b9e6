internal import StratusEngine

extension Database {
    /// Saves a subscription: a new one, or in place of the one of the same ID. Saving what is there
    /// already changes nothing.
    ///
    /// It tells of what is committed after it. The notifications of a query subscription that it
    /// replaces stay. What changed in a zone and was not read yet is still told where the one that
    /// it replaces watched the same.
    ///
    /// - Returns: the subscription as the store has it.
    /// - Throws: ``StoreError`` with `notAuthenticated` for an anonymous caller, `badDatabase`
    ///   where this database has no subscriptions of that kind, `invalidArguments` where a part of
    ///   it cannot be, `permissionFailure` where the caller may read no record of the type,
    ///   `zoneNotFound` with a ``StoreError/retryAfter``; with the profile ``Profile/cloudKit``
    ///   also `serverRejectedRequest` where another one has the same content.
    @discardableResult
    public nonisolated(nonsending) func save(
        _ subscription: Subscription
    ) async throws(StoreError) -> Subscription {
        let saved = try await modify([.save(subscription, isUpdate: false)])[0].get()
        return saved ?? subscription.normalized
    }

    /// Ends a subscription. That it is not there is no error. The notifications of a query
    /// subscription stay.
    ///
    /// - Throws: ``StoreError`` with `notAuthenticated` for an anonymous caller.
    @discardableResult
    public nonisolated(nonsending) func deleteSubscription(
        withID id: Subscription.ID
    ) async throws(StoreError) -> Subscription.ID {
        _ = try await modify([.delete(id)])[0].get()
        return id
    }

    /// The caller's subscription `id` in this database.
    ///
    /// - Throws: ``StoreError`` with `unknownItem`, `notAuthenticated` for an anonymous caller.
    public nonisolated(nonsending) func subscription(
        for id: Subscription.ID
    ) async throws(StoreError) -> Subscription {
        guard let found = try await subscriptions(for: [id])[id] else {
            throw .noSubscription(id)
        }
        return try found.get()
    }

    /// The caller's subscriptions of these IDs in this database: for each the subscription, or
    /// `unknownItem`.
    ///
    /// - Throws: ``StoreError`` with `notAuthenticated` for an anonymous caller, `limitExceeded`.
    public nonisolated(nonsending) func subscriptions(
        for ids: [Subscription.ID]
    ) async throws(StoreError) -> [Subscription.ID: Result<Subscription, StoreError>] {
        try answering { () throws(EngineError) in
            try container.limits?.check(itemCount: ids.count)
        }
        let scope = scope
        return try await readSubscriptions { reading, user throws(EngineError) in
            var results: [Subscription.ID: Result<Subscription, StoreError>] = [:]
            for id in ids {
                var found: StoredSubscription?
                if let user { found = try reading.subscription(id, of: user, in: scope) }
                if let found {
                    results[id] = .success(try reading.shown(found))
                } else {
                    results[id] = .failure(.noSubscription(id))
                }
            }
            return results
        }
    }

    /// All of the caller's subscriptions in this database, sorted by their IDs.
    ///
    /// - Throws: ``StoreError`` with `notAuthenticated` for an anonymous caller.
    public nonisolated(nonsending) func allSubscriptions() async throws(StoreError)
        -> [Subscription]
    {
        let scope = scope
        return try await readSubscriptions { reading, user throws(EngineError) in
            guard let user else { return [] }
            return try reading.sortedSubscriptions(of: user, in: scope)
        }
    }

    /// Saves and deletes subscriptions: one commit of those that can be.
    ///
    /// - Returns: for each subscription what became of it: as of ``save(_:)`` and
    ///   ``deleteSubscription(withID:)``.
    /// - Throws: ``StoreError`` with `notAuthenticated` for an anonymous caller, `limitExceeded`,
    ///   `invalidArguments` where two different subscriptions to be saved have the same ID, or one
    ///   is to be saved and deleted.
    public nonisolated(nonsending) func modifySubscriptions(
        saving subscriptions: [Subscription], deleting ids: [Subscription.ID] = []
    ) async throws(StoreError) -> ModifySubscriptionsResult {
        let items = SubscriptionItem.all(saving: subscriptions, deleting: ids)
        return ModifySubscriptionsResult(items, try await modify(items))
    }

    /// The same in the order of the items: what became of each.
    package nonisolated(nonsending) func modify(
        _ items: [SubscriptionItem]
    ) async throws(StoreError) -> [Result<Subscription?, StoreError>] {
        try await outcomes(of: items) { () async throws(EngineError) in
            try await subscriptionChange(items)
        }
    }

    /// The commit of a call. Fails where the call as a whole is refused.
    nonisolated(nonsending) func subscriptionChange(
        _ items: [SubscriptionItem]
    ) async throws(EngineError) -> SubscriptionChange {
        let user = try await admittedWriter(itemCount: items.count)
        return try SubscriptionChange(
            items, of: user, named: userName, in: scope, as: principal, container.limits?.profile)
    }

    /// Asks the newest state for what is the caller's alone, in any database.
    private nonisolated(nonsending) func readSubscriptions<Answer: Sendable>(
        _ body: @escaping @Sendable (StoreReading, UInt32?) throws(EngineError) -> Answer
    ) async throws(StoreError) -> Answer {
        try await answering { () async throws(EngineError) -> Answer in
            let user = try writer()
            try container.limits?.admit(user)
            let (principal, scope) = (principal, scope)
            return try await container.read { reading throws(EngineError) -> Answer in
                try reading.checkAccount(of: principal, in: scope)
                return try body(reading, try reading.user(user))
            }
        }
    }
}

extension DatabaseSnapshot {
    /// All of the caller's subscriptions in this database, sorted by their IDs: as of
    /// ``Database/allSubscriptions()``.
    package func allSubscriptions() throws(StoreError) -> [Subscription] {
        try answer { view throws(EngineError) in
            let reading = try view.reading
            guard let user = view.user else { throw .refused(.noUser) }
            try reading.checkAccount(of: view.principal, in: view.scope)
            guard let number = try reading.user(user) else { return [] }
            return try reading.sortedSubscriptions(of: number, in: view.scope)
        }
    }
}

extension StoreReading {
    /// The subscriptions of a user in a database, sorted by their IDs.
    fileprivate func sortedSubscriptions(
        of user: UInt32, in scope: DatabaseScope
    ) throws(EngineError) -> [Subscription] {
        var found: [Subscription] = []
        for stored in try subscriptions(of: user, in: scope) { found.append(try shown(stored)) }
        return found.sorted { $0.subscriptionID < $1.subscriptionID }
    }
}

extension SubscriptionItem {
    static func all(
        saving subscriptions: [Subscription], deleting ids: [Subscription.ID]
    ) -> [SubscriptionItem] {
        subscriptions.map { .save($0, isUpdate: false) } + ids.map { .delete($0) }
    }

    /// The zone stands in it where that is why.
    func placed(_ error: StoreError) -> StoreError {
        guard case .save(let subscription, _) = self, let zone = subscription.zoneID,
            error.code == .zoneNotFound || error.code == .userDeletedZone
        else { return error }
        return error.with(zone)
    }

    func outcome(_ error: StoreError?) -> Result<Subscription?, StoreError> {
        if let error { return .failure(error) }
        return switch self {
        case .save(let subscription, _): .success(subscription.normalized)
        case .delete: .success(nil)
        }
    }
}

extension Subscription {
    /// With its zone under the name that the store gives it.
    var normalized: Subscription {
        var subscription = self
        switch kind {
        case .query(let predicate, let recordType, let zoneID, let options):
            subscription.kind = .query(
                predicate, recordType: recordType,
                zoneID: zoneID.map { RecordZone.ID(zoneName: $0.zoneName) }, options: options)
        case .zone(let zoneID, let recordType):
            subscription.kind = .zone(
                RecordZone.ID(zoneName: zoneID.zoneName), recordType: recordType)
        case .database: break
        }
        return subscription
    }
}

extension StoreError {
    static func noSubscription(_ id: Subscription.ID) -> StoreError {
        StoreError(.unknownItem, "there is no subscription '\(id)'")
    }
}
