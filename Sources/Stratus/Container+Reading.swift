internal import StratusFiles
internal import StratusEngine

extension Container {
    /// Asks the newest state: from memory and on the caller's own thread or, where that is not
    /// enough, once more on a thread that may wait for the disk.
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
