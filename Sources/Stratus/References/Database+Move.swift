internal import StratusEngine
internal import StratusJournal

extension Database {
    /// Moves records into another zone of the database, with all their descendants: one commit, of
    /// which readers see all or nothing. Beyond CloudKit.
    ///
    /// In the old zone's feed they are deleted, in the new one's they are new. They keep fields,
    /// creation date and creator and get new tags. Rules: `Formats/README.md`, "Moving".
    ///
    /// - Parameters:
    ///   - ids: records of one zone.
    ///   - operationID: names the call, in 1 to 255 bytes. The same call under the same name within
    ///     24 hours moves nothing, and gives the records as the first one did.
    /// - Returns: those records as they are now, in the order of `ids`.
    /// - Throws: ``StoreError`` that names the record: `unknownItem` where it is not there,
    ///   `serverRecordChanged` where its name is taken in the other zone, `referenceViolation`
    ///   where its parent, or what a reference with the action deleteSelf links it to, would stay
    ///   behind; `zoneNotFound`; `quotaExceeded`; `invalidArguments` where the records lie in
    ///   several zones, or in that one, or another call had that operationID.
    @discardableResult
    public nonisolated(nonsending) func moveRecords(
        _ ids: [Record.ID], to zoneID: RecordZone.ID, operationID: String? = nil
    ) async throws(StoreError) -> [Record] {
        try await answering { () async throws(EngineError) -> [Record] in
            try await move(ids, to: zoneID, operationID)
        }
    }

    /// The same, also for a long-lived request.
    nonisolated(nonsending) func move(
        _ ids: [Record.ID], to zoneID: RecordZone.ID, _ operationID: String?,
        _ longLived: LongLivedRun? = nil
    ) async throws(EngineError) -> [Record] {
        let user = try writer()
        try current.checkOwner()
        try await checkAccount()
        guard let first = ids.first else { return [] }
        let (source, destination) = (ownZone(first.zoneID), ownZone(zoneID))
        for id in ids where ownZone(id.zoneID) != source {
            throw .refused(StoreError(.invalidArguments, "a move is from one zone").with(id))
        }
        guard source != destination else {
            throw .refused(
                StoreError(.invalidArguments, "the records lie in this zone").with(zoneID))
        }
        for zone in [source, destination] {
            try current.check(zone)
        }
        let limits = container.limits
        try limits?.admit(caller)
        try limits?.check(itemCount: ids.count)
        try limits?.enter(scope, destination)
        defer { limits?.leave(scope, destination) }
        let label = try OperationLabel(operationID, nil, device: nil, longLived: longLived)
        let operation = label?.request(
            moving: ids, to: destination, in: scope, secret: container.reading.identity.secret)
        let batch = MoveBatch(
            scope: scope, caller: user, userName: userName, ids: ids, source: source,
            destination: destination, limits: limits, operation: operation,
            device: device, rules: container.rules)
        let committed = try await container.engine().commit(batch)
        return try await container.read { reading throws(EngineError) in
            try batch.records(of: committed, reading)
        }
    }
}
