public import FoundationEssentials

// Saving on a thread of one's own.

extension Database {
    /// Saves one record as ``save(_:savePolicy:operationID:)`` does, and blocks the calling thread
    /// until the record is durable.
    ///
    /// For threads that may block: where nobody else is saving, the calling thread does all the
    /// work, which takes little longer than the disk does. Never for tasks: the threads they share
    /// are as many as there are cores, and a blocked one is lost to all others.
    ///
    /// - Throws: ``StoreError`` as ``save(_:savePolicy:operationID:)``, but for
    ///   `operationCancelled`.
    @available(*, noasync, message: "it blocks the thread; tasks call save")
    @discardableResult
    public func saveAndWait(
        _ record: Record, savePolicy: SavePolicy = .ifServerRecordUnchanged,
        operationID: String? = nil
    ) throws(StoreError) -> Record {
        let items = [RecordOperation.save(record, SaveRule(savePolicy))]
        if container.limits != nil { try admit(items) }
        let call = try uploadAndWait(items)
        let operation = try operation(operationID, nil, call.operations, savePolicy, false)
        let results = try commitAndWait(
            call.operations, in: record.recordID.zoneID, isAtomic: false, operation, call.assets)
        return try call.outcomes(results, of: items)[0].get() ?? record
    }

    /// Saves and deletes records as
    /// ``modifyRecords(saving:deleting:savePolicy:atomically:operationID:clientChangeTokenData:)``
    /// does, and blocks the calling thread until that is durable. Never for tasks:
    /// ``saveAndWait(_:savePolicy:operationID:)`` says why.
    ///
    /// - Returns: for each record what became of it.
    /// - Throws: ``StoreError`` with `notAuthenticated`, `limitExceeded`, or `invalidArguments`
    ///   where a record is named twice or another call had that operationID.
    @available(*, noasync, message: "it blocks the thread; tasks call modifyRecords")
    public func modifyRecordsAndWait(
        saving records: [Record], deleting recordIDs: [Record.ID] = [],
        savePolicy: SavePolicy = .ifServerRecordUnchanged, atomically: Bool = true,
        operationID: String? = nil, clientChangeTokenData: Data? = nil
    ) throws(StoreError) -> ModifyRecordsResult {
        let operations = Self.operations(saving: records, deleting: recordIDs, savePolicy)
        try admit(operations)
        let uploaded = try uploadAndWait(operations)
        let operation = try operation(
            operationID, clientChangeTokenData, uploaded.operations, savePolicy, atomically)
        var call = try CallByZone(uploaded.operations, of: self)
        for zone in call.zones {
            do {
                let results = try commitAndWait(
                    zone.items, in: zone.id, isAtomic: atomically, operation, uploaded.assets)
                call.put(results, of: zone)
            } catch {
                if error == .reusedOperationID { throw error }
                call.fail(zone, error)
            }
        }
        return ModifyRecordsResult(operations, uploaded.outcomes(call.results, of: operations))
    }

    private func commitAndWait(
        _ items: [RecordBatch.Item], in zoneID: RecordZone.ID, isAtomic: Bool,
        _ operation: OperationRequest?, _ assets: SealedAssets?
    ) throws(StoreError) -> [Result<Record?, StoreError>] {
        let batch = try batch(items, in: zoneID, isAtomic: isAtomic, operation, assets)
        try batch.limits?.enter(scope, zoneID)
        defer { batch.limits?.leave(scope, zoneID) }
        let committed = try container.engine().commitBlocking(batch)
        return try batch.outcomes(of: committed, container.reading.waiting)
    }
}
