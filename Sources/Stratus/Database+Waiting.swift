public import FoundationEssentials
internal import StratusEngine

// Saving on a thread of one's own.

extension Database {
    /// Saves one record as ``save(_:savePolicy:operationID:)`` does, and blocks the calling thread
    /// until the record is durable.
    ///
    /// For threads that may block: where no other thread is saving, the calling thread does all the
    /// work, which takes little longer than the disk does. Never for tasks: they share as many
    /// threads as there are cores, and a blocked thread is lost to all other tasks.
    ///
    /// - Throws: ``StoreError`` as ``save(_:savePolicy:operationID:)``, but for
    ///   `operationCancelled`.
    @available(*, noasync, message: "it blocks the thread; tasks call save")
    @discardableResult
    public func saveAndWait(
        _ record: Record, savePolicy: SavePolicy = .ifServerRecordUnchanged,
        operationID: String? = nil
    ) throws(StoreError) -> Record {
        let outcomes = try answering { () throws(EngineError) -> RecordCall.Outcomes in
            try runAndWait(RecordCall(saving: record, savePolicy, operationID, in: self))
        }
        return try outcomes[0].get() ?? record
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
        let items = Self.items(saving: records, deleting: recordIDs, savePolicy)
        let options = RecordCall.Options(
            policy: savePolicy, isAtomic: atomically, operationID: operationID,
            clientChangeTokenData: clientChangeTokenData)
        let outcomes = try answering { () throws(EngineError) -> RecordCall.Outcomes in
            try runAndWait(RecordCall(items, options, of: self))
        }
        return ModifyRecordsResult(items, outcomes)
    }
}
