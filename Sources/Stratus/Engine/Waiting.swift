internal import StratusFiles

// Work that waits for the disk, off the cooperative pool.

extension IOThreads {
    /// Runs `body` on one of the threads.
    nonisolated(nonsending) func run<Value: Sendable>(
        _ body: @escaping @Sendable () throws -> Value
    ) async throws(EngineError) -> Value {
        do {
            return try await outcome(of: body).get()
        } catch {
            throw EngineError(translating: error)
        }
    }
}

extension Container {
    /// Asks the newest state as ``Database`` does: first without waiting.
    nonisolated(nonsending) func read<Answer: Sendable>(
        _ body: @escaping @Sendable (StoreReading) throws(EngineError) -> Answer
    ) async throws(EngineError) -> Answer {
        let reading = reading
        do throws(EngineError) {
            return try body(reading)
        } catch {
            guard error.wouldBlock else { throw error }
        }
        return try await threads.run { try body(reading.waiting) }
    }
}
