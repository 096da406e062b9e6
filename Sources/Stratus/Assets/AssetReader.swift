internal import StratusAssets
internal import StratusBytes
internal import StratusFiles

/// Reads a stored asset, or a part of it, chunk by chunk. A value: used by one at a time.
struct AssetReader: Sendable {
    private let asset: StoredAsset
    private var cursor: PieceCursor
    /// While somebody reads, what the record had is not collected.
    private let point: HeldPoint?
    /// How many bytes were read.
    private(set) var position = 0

    /// Reads the bytes `range`, which must be inside the asset.
    init(_ asset: StoredAsset, _ range: Range<Int>? = nil) {
        self.asset = asset
        cursor = PieceCursor(asset.content, range)
        point = asset.store?.holdPoint()
    }

    /// The next bytes; nil at the end.
    mutating func next() throws(StoreError) -> [UInt8]? {
        while let step = cursor.next() {
            let bytes = try bytes(of: step)
            if step.isList {
                guard cursor.enter(step, bytes.span) else { throw try misfit(step) }
                continue
            }
            position += step.range.count
            return step.range.count == bytes.count ? bytes : Array(bytes[step.range])
        }
        return nil
    }

    private func bytes(of step: PieceCursor.Step) throws(StoreError) -> [UInt8] {
        guard let store = asset.store else { throw asset.named(.assetGone) }
        let bytes: [UInt8]?
        do throws(StoreError) {
            bytes = try store.read(step.address)
        } catch {
            throw asset.named(error)
        }
        guard let bytes else { throw asset.named(.assetGone) }
        guard step.fits(bytes.count) else { throw try misfit(step) }
        return bytes
    }

    /// That the chunk of a step is not what the asset says of it.
    private func misfit(_ step: PieceCursor.Step) throws(StoreError) -> StoreError {
        asset.named(try asset.store?.misfit(step.address) ?? .assetGone)
    }
}

extension StoredAsset {
    /// The error, with the record and the field that it is about.
    fileprivate func named(_ error: StoreError) -> StoreError {
        guard let record, let field else { return error }
        var error = error.with(record)
        error.reason += " (field \(field))"
        return error
    }
}
