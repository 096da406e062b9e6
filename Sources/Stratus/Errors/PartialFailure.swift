extension StoreError {
    /// Of a call of which some items failed; nil where none did. The same call may be made again
    /// after the longest of their delays.
    ///
    /// - Parameter item: what an error is about.
    static func partial<ID, Saved>(
        _ saves: [ID: Result<Saved, StoreError>], _ deletes: [ID: Result<Void, StoreError>],
        _ reason: String, item: (ID, StoreError) -> Item
    ) -> StoreError? {
        var failure = StoreError(.partialFailure, reason)
        func add(_ error: StoreError, of id: ID) {
            failure.partialErrors[item(id, error)] = error
            if let delay = error.retryAfter {
                failure.retryAfter = max(delay, failure.retryAfter ?? delay)
            }
        }
        for (id, result) in saves {
            if case .failure(let error) = result { add(error, of: id) }
        }
        for (id, result) in deletes {
            if case .failure(let error) = result { add(error, of: id) }
        }
        return failure.partialErrors.isEmpty ? nil : failure
    }
}
