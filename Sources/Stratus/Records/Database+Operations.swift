package import FoundationEssentials

// Operations that say for themselves what they may overwrite.

extension Database {
    /// Does what each operation says; what lies in one zone is one commit. The results are in the
    /// order of the operations: the record as it is now, nil where it is gone, or why nothing was
    /// done.
    ///
    /// - Throws: ``StoreError`` with `notAuthenticated`, `limitExceeded`, or `invalidArguments`
    ///   where a record is named twice or another call had that operationID.
    package nonisolated(nonsending) func modifyRecords(
        _ operations: [RecordOperation], atomically: Bool, operationID: String? = nil,
        clientChangeTokenData: Data? = nil
    ) async throws(StoreError) -> [Result<Record?, StoreError>] {
        try admit(operations)
        let operation = try operation(
            operationID, clientChangeTokenData, operations, .ifServerRecordUnchanged, atomically)
        var all = [Result<Record?, StoreError>](
            repeating: .success(nil), count: operations.count)
        for (zone, items, places) in try byZone(operations) {
            let results: [Result<Record?, StoreError>]
            do {
                results = try await commit(items, in: zone, isAtomic: atomically, operation)
            } catch {
                if error == .reusedOperationID { throw error }
                results = items.map { .failure(error.with($0.recordID)) }
            }
            for (index, result) in results.enumerated() {
                let place = places.isEmpty ? index : places[index]
                // A save that changed nothing leaves the record that was given.
                if case .save(let record, _) = items[index] {
                    all[place] = result.map { $0 ?? record }
                } else {
                    all[place] = result
                }
            }
        }
        return all
    }
}
