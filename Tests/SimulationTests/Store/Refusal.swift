import Stratus

/// The cause of the refusal of `body`; nil: it is not refused, or without a cause.
func cause(_ body: () async throws -> Void) async -> StoreError.Cause? {
    do {
        try await body()
        return nil
    } catch {
        return (error as? StoreError)?.cause
    }
}
