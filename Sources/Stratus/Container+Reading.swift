internal import StratusFiles
internal import StratusEngine

extension Container {
    /// Asks the newest state: from memory and on the caller's own thread or, where that is not
    /// enough, once more on a thread that may wait for the disk.
    nonisolated(nonsending) func read<Answer: Sendable>(
        _ body: @escaping @Sendable (StoreReading) throws(EngineError) -> Answer
    ) async throws(EngineError) -> Answer {
        let reading = reading
        return try await trying { mode throws(EngineError) in
            try body(mode == .blocking ? reading.waiting : reading)
        }
    }

    /// Reads from memory and on the caller's own thread or, where that is not enough, once more on a
    /// thread that may wait for the disk.
    nonisolated(nonsending) func trying<Answer: Sendable>(
        _ body: @escaping @Sendable (ReadMode) throws(EngineError) -> Answer
    ) async throws(EngineError) -> Answer {
        do throws(EngineError) {
            return try body(.resident)
        } catch {
            guard error.wouldBlock else { throw error }
        }
        return try await threads.run { try body(.blocking) }
    }
}
