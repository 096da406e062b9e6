package import StratusFiles

// Work that waits for the disk, off the cooperative pool.

extension IOThreads {
    /// Runs `body` on one of the threads.
    package nonisolated(nonsending) func run<Value: Sendable>(
        _ body: @escaping @Sendable () throws -> Value
    ) async throws(StoreError) -> Value {
        let result: Result<Value, StoreError> = await withCheckedContinuation { continuation in
            do throws(SystemError) {
                try submit {
                    do {
                        continuation.resume(returning: .success(try body()))
                    } catch {
                        continuation.resume(returning: .failure(StoreError(translating: error)))
                    }
                }
            } catch {
                continuation.resume(returning: .failure(StoreError(error)))
            }
        }
        return try result.get()
    }
}

extension Container {
    /// Asks the newest state as ``Database`` does: first without waiting.
    nonisolated(nonsending) func read<Answer: Sendable>(
        _ body: @escaping @Sendable (StoreReading) throws(StoreError) -> Answer
    ) async throws(StoreError) -> Answer {
        let reading = reading
        do throws(StoreError) {
            return try body(reading)
        } catch {
            guard error.wouldBlock else { throw error }
        }
        return try await threads.run { try body(reading.waiting) }
    }
}
