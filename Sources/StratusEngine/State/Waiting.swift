package import StratusFiles

// Work that waits for the disk, off the cooperative pool.

extension IOThreads {
    /// Runs `body` on one of the threads.
    package nonisolated(nonsending) func run<Value: Sendable>(
        _ body: @escaping @Sendable () throws -> Value
    ) async throws(EngineError) -> Value {
        do {
            return try await outcome(of: body).get()
        } catch {
            throw EngineError(translating: error)
        }
    }
}
