internal import StratusEngine
internal import StratusFiles

extension Database {
    /// The records that a query finds, a page at a time, as they all are at one moment.
    ///
    /// - Parameters:
    ///   - zoneID: where to look; nil: in all zones of a private database, in the default zone of the
    ///     public one.
    ///   - desiredKeys: as of ``record(for:desiredKeys:)``.
    ///   - resultsLimit: the most records in the page; the store may stop earlier.
    ///   - cursor: where the page begins: the cursor of the one before.
    ///   - skippingDamaged: passes over records that cannot be read, and says in
    ///     ``QueryPage/skipped`` which. Without it one that is damaged ends the call.
    /// - Throws: ``StoreError`` with `invalidArguments` where the query cannot be answered, or the
    ///   cursor is another query's, `unknownItem` for a type that a store of production does not
    ///   have, `zoneNotFound`, and with the cause ``StoreError/Cause/damaged``.
    public nonisolated(nonsending) func records(
        matching query: Query, inZoneWith zoneID: RecordZone.ID? = nil,
        desiredKeys: [String]? = nil, resultsLimit: Int? = nil,
        from cursor: QueryPage.Cursor? = nil,
        skippingDamaged: Bool = false
    ) async throws(StoreError) -> QueryPage {
        let profile = container.limits?.profile
        var (run, view) = try await finish { view throws(EngineError) in
            try QueryRun(
                query, in: zoneID, of: view, profile, desiredKeys: desiredKeys,
                resultsLimit: resultsLimit, from: cursor, skippingDamaged: skippingDamaged)
        }
        return try answering { () throws(EngineError) in try run.finish(view) }
    }

    /// How many records a query finds and, of one field, the sum, the least and the greatest value.
    /// Beyond CloudKit.
    ///
    /// - Parameter field: one of the records' own fields; nil: they are counted only.
    /// - Throws: as ``records(matching:inZoneWith:desiredKeys:resultsLimit:from:skippingDamaged:)``.
    public nonisolated(nonsending) func totals(
        of field: String? = nil, matching query: Query, inZoneWith zoneID: RecordZone.ID? = nil
    ) async throws(StoreError) -> QueryTotals {
        let profile = container.limits?.profile
        return try await finish { view throws(EngineError) in
            try QuerySum(query, of: field, in: zoneID, of: view, profile)
        }.work.totals
    }

    private nonisolated(nonsending) func finish<Work: QueryWork>(
        _ begin: @escaping @Sendable (DatabaseView) throws(EngineError) -> Work
    ) async throws(StoreError) -> (work: Work, view: DatabaseView) {
        let snapshot = container.snapshot()
        do throws(EngineError) {
            try container.limits?.admit(caller)
            return try await finish(on: snapshot, begin)
        } catch {
            throw StoreError(error)
        }
    }

    /// Does all of a work on one state of the store: the first step on the caller's own thread, the
    /// others on one that may wait for the disk.
    nonisolated(nonsending) func finish<Work: QueryWork>(
        on snapshot: Snapshot,
        _ begin: @escaping @Sendable (DatabaseView) throws(EngineError) -> Work
    ) async throws(EngineError) -> (work: Work, view: DatabaseView) {
        var progress = try await container.trying { mode throws(EngineError) in
            let view = view(of: snapshot, mode)
            return try QueryProgress(begin(view)).after(QueryStep.short, of: view)
        }
        while !progress.isDone {
            if Task.isCancelled {
                throw .refused(.operationCancelled, "the query was cancelled")
            }
            let last = progress
            progress = try await container.threads.run { () throws(EngineError) in
                try last.after(QueryStep.long, of: view(of: snapshot, .blocking))
            }
        }
        return (progress.work, view(of: snapshot, .blocking))
    }

    func view(of snapshot: Snapshot, _ mode: ReadMode) -> DatabaseView {
        DatabaseView(snapshot.reading(mode), scope, principal, device)
    }
}

extension DatabaseSnapshot {
    /// The records that a query finds, a page at a time: as of ``Database``.
    public func records(
        matching query: Query, inZoneWith zoneID: RecordZone.ID? = nil,
        desiredKeys: [String]? = nil, resultsLimit: Int? = nil,
        from cursor: QueryPage.Cursor? = nil,
        skippingDamaged: Bool = false
    ) throws(StoreError) -> QueryPage {
        try answer { view throws(EngineError) in
            var run = try QueryRun(
                query, in: zoneID, of: view, snapshot.profile, desiredKeys: desiredKeys,
                resultsLimit: resultsLimit, from: cursor, skippingDamaged: skippingDamaged)
            while try run.step(QueryStep.long, of: view) {}
            return try run.finish(view)
        }
    }

    /// How many records a query finds, and more of one field: as of ``Database``.
    public func totals(
        of field: String? = nil, matching query: Query, inZoneWith zoneID: RecordZone.ID? = nil
    ) throws(StoreError) -> QueryTotals {
        try answer { view throws(EngineError) in
            var sum = try QuerySum(query, of: field, in: zoneID, of: view, snapshot.profile)
            while try sum.step(QueryStep.long, of: view) {}
            return sum.totals
        }
    }
}
