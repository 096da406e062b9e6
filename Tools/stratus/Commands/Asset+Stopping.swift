import Stratus
import StratusFiles
import Synchronization

extension Asset {
    /// Gives `take` the bytes in `range` as ``copy(_:_:)`` does, and throws what it throws; a
    /// `CancellationError` where the process was asked to stop.
    func copy(
        stopping range: Range<Int>,
        _ take: @escaping @Sendable ([ArraySlice<UInt8>], Int) throws(SystemError) -> Void
    ) async throws {
        let failure = Mutex<SystemError?>(nil)
        do throws(StoreError) {
            try await copy(range) { slices, position throws(StoreError) in
                if Terminal.requestedStop != nil { throw StoreError(.operationCancelled, "") }
                do throws(SystemError) {
                    try take(slices, position)
                } catch {
                    failure.withLock { $0 = $0 ?? error }
                    throw StoreError(.internalError, "")
                }
            }
        } catch {
            if Terminal.requestedStop != nil { throw CancellationError() }
            if let failure = failure.withLock({ $0 }) { throw failure }
            throw error
        }
    }
}
