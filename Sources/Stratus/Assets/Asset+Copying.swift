internal import StratusAssets
internal import StratusBytes
internal import StratusFiles

extension Asset {
    /// Gives `take` all bytes, each piece with its place, on one thread, where it may block; ends
    /// where it returns false. For who copies many assets, and has no use for them in memory.
    package nonisolated(nonsending) func forEachPiece(
        _ take: @escaping @Sendable (Span<UInt8>, Int) -> Bool
    ) async throws(StoreError) {
        guard case .stored(let asset) = source, let threads = asset.store?.uploads else {
            throw .assetGone
        }
        try await threads.run {
            var reader = AssetReader(asset)
            while let bytes = try reader.next() {
                guard take(bytes.span, reader.position - bytes.count) else { return }
            }
        }
    }
}
