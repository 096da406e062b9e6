internal import StratusAssets
internal import StratusBytes
internal import StratusFiles
internal import StratusEngine

extension Asset {
    /// Gives `take` the bytes in `range`, some slices that follow each other at a time, with the
    /// place of the first, on several threads and in any order. It may block, and ends all where it
    /// throws. For who has no use for the bytes in memory.
    package nonisolated(nonsending) func copy(
        _ range: Range<Int>,
        _ take: @escaping @Sendable ([ArraySlice<UInt8>], Int) throws -> Void
    ) async throws(StoreError) {
        try await answering { () async throws(EngineError) in
            let asset = try stored(range)
            guard let threads = asset.store?.uploads else { throw .refused(.assetGone) }
            try await threads.run {
                var reader = AssetReader(asset, range) { slices, place throws(EngineError) in
                    do { try take(slices, place) } catch { throw EngineError(translating: error) }
                }
                try reader.useAll()
            }
        }
    }
}
