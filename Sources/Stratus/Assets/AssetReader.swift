internal import StratusAssets
internal import StratusBytes
internal import StratusFiles

/// Reads a stored asset, or a part of it, chunk by chunk: while one is used, threads read, check
/// and decompress those behind it. A value: used by one at a time.
struct AssetReader: Sendable {
    private typealias Chunk = SharedWork<Result<[UInt8], StoreError>>

    private let asset: StoredAsset
    private var cursor: PieceCursor
    /// While somebody reads, what the record had is not collected.
    private let point: HeldPoint?
    /// How many bytes were read.
    private(set) var position = 0
    /// What follows, as far as it was begun.
    private var ahead: [Chunk] = []
    /// Why there is no more behind that.
    private var failure: StoreError?

    /// Reads the bytes `range`, which must be inside the asset.
    init(_ asset: StoredAsset, _ range: Range<Int>? = nil) {
        self.asset = asset
        cursor = PieceCursor(asset.content, range)
        point = asset.store?.holdPoint()
    }

    /// The next bytes; nil at the end.
    mutating func next() throws(StoreError) -> [UInt8]? {
        readAhead()
        if ahead.isEmpty {
            if let failure { throw failure }
            return nil
        }
        return try take(ahead.removeFirst().wait())
    }

    /// The next bytes where they are there already and enough of what follows is on its way; nil
    /// says nothing. Never waits.
    mutating func nextReady() throws(StoreError) -> [UInt8]? {
        guard ahead.count > window / 2, let result = ahead[0].value else { return nil }
        ahead.removeFirst()
        return try take(result)
    }

    private mutating func take(
        _ result: Result<[UInt8], StoreError>
    ) throws(StoreError) -> [UInt8] {
        let bytes = try result.get()
        position += bytes.count
        return bytes
    }

    private var window: Int { (asset.store?.width ?? 1) * 4 }

    private mutating func readAhead() {
        do throws(StoreError) {
            while failure == nil, ahead.count < window, let step = try nextStep() {
                let chunk = Chunk { [asset] in asset.outcome(of: step) }
                ahead.append(chunk)
                // Whoever asks reads the first himself.
                if ahead.count > 1 { try? asset.store?.workers.submit { chunk.run() } }
            }
        } catch {
            failure = error
        }
    }

    /// The next chunk of the asset's own, behind the lists on the way to it.
    private mutating func nextStep() throws(StoreError) -> PieceCursor.Step? {
        while let step = cursor.next() {
            if !step.isList { return step }
            let list = try asset.bytes(of: step)
            guard cursor.enter(step, list.span) else { throw try asset.misfit(step) }
        }
        return nil
    }
}

extension StoredAsset {
    fileprivate func outcome(of step: PieceCursor.Step) -> Result<[UInt8], StoreError> {
        do throws(StoreError) {
            return .success(try bytes(of: step))
        } catch {
            return .failure(error)
        }
    }

    /// The bytes of the asset in a chunk; all of them where it is a list.
    fileprivate func bytes(of step: PieceCursor.Step) throws(StoreError) -> [UInt8] {
        guard let store else { throw named(.assetGone) }
        let bytes: [UInt8]?
        do throws(StoreError) {
            bytes = try store.read(step.address)
        } catch {
            throw named(error)
        }
        guard let bytes else { throw named(.assetGone) }
        guard step.fits(bytes.count) else { throw try misfit(step) }
        return step.isList || step.range.count == bytes.count ? bytes : Array(bytes[step.range])
    }

    /// That the chunk of a step is not what the asset says of it.
    fileprivate func misfit(_ step: PieceCursor.Step) throws(StoreError) -> StoreError {
        named(try store?.misfit(step.address) ?? .assetGone)
    }

    /// The error, with the record and the field that it is about.
    fileprivate func named(_ error: StoreError) -> StoreError {
        guard let record, let field else { return error }
        var error = error.with(record)
        error.reason += " (field \(field))"
        return error
    }
}
