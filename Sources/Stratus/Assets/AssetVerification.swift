internal import StratusAssets
internal import StratusFiles
internal import StratusJournal

/// Reads every chunk that the journal knows, and every asset that a record names.
struct AssetVerification {
    private(set) var findings: [StoreError.Place] = []
    private(set) var chunkCount = 0
    /// As stored, without frames.
    private(set) var chunkBytes = 0
    /// Why chunks cannot be read.
    private var damaged: [ChunkAddress: StoreError.Place] = [:]
    private let reading: StoreReading
    private let assets: AssetStore

    private static let batchLimit = 4096

    init(_ storage: any Storage) throws {
        let foundation = StoreFoundation(
            storage, memoryLimit: MemoryBudget.usual / 4, threads: IOThreads(count: 1))
        let follower = try StoreFollower(foundation)
        reading = StoreReading(follower.published.current, .blocking)
        assets = foundation.assets
        try withExtendedLifetime(follower) {
            try readChunks()
            try followAssets()
        }
    }

    /// Each once, in the order in which they lie, a few thousand at a time.
    private mutating func readChunks() throws {
        let chunks = try assets.chunks()
        var batch: [ChunkEntry.Row] = []
        var broken: [ChunkAddress: StoreError.Place] = [:]
        func read() throws(StoreError) {
            for (address, place) in batch.sorted(by: ChunkEntry.isBefore) {
                do throws(ChunkError) {
                    _ = try chunks.read(address, at: place)
                } catch {
                    broken[address] = try Self.place(of: error, at: place)
                }
            }
            batch.removeAll(keepingCapacity: true)
        }
        var (count, bytes) = (0, 0)
        try reading.forEachChunk { address, place throws(StoreError) in
            batch.append((address, place))
            count += 1
            bytes += place.storedLength
            if batch.count == Self.batchLimit { try read() }
        }
        try read()
        (chunkCount, chunkBytes, damaged) = (count, bytes, broken)
    }

    private static func place(
        of error: ChunkError, at place: ChunkPlace
    ) throws(StoreError) -> StoreError.Place {
        if case .storage(let failure) = error {
            switch failure.kind {
            case .notFound:
                return StoreError.Place(
                    file: place.file, byte: 0, kind: ChunkDamage.Kind.missing.identifier)
            case .truncated:
                return StoreError.Place(file: place.file, byte: place.byte, kind: "file.truncated")
            default: break
            }
        }
        let failure = StoreError(error)
        guard let place = failure.place else { throw failure }
        return place
    }

    /// Says which records and fields are concerned.
    private mutating func followAssets() throws {
        var findings: [StoreError.Place] = []
        var met: Set<ChunkAddress> = []
        try reading.forEachAsset { asset throws(StoreError) in
            func note(_ place: StoreError.Place) throws(StoreError) {
                var place = place
                place.record = try reading.recordID(of: asset.entry, in: asset.zone)
                place.field = reading.schema.name(asset.field)
                findings.append(place)
            }
            var cursor = PieceCursor(asset.content)
            while let step = cursor.next() {
                if let place = damaged[step.address] {
                    met.insert(step.address)
                    try note(place)
                    continue
                }
                guard let place = try assets.place(of: step.address) else {
                    try note(
                        StoreError.Place(
                            file: "", byte: 0, offset: asset.entry.offset.rawValue,
                            kind: "asset.chunk"))
                    continue
                }
                var isRight = step.fits(place.length)
                if step.isList {
                    let bytes = try assets.read(step.address) ?? []
                    isRight = cursor.enter(step, bytes.span)
                }
                if !isRight {
                    try note(
                        StoreError.Place(
                            file: place.file, byte: place.byte,
                            kind: ChunkDamage.Kind.list.identifier))
                }
            }
        }
        // What no record names is damaged all the same.
        findings += damaged.filter { !met.contains($0.key) }.map(\.value)
        self.findings = findings
    }
}
