import FoundationEssentials
import Stratus
import StratusJournal
import Support

// Stores with assets.
extension SampleMaker {
    static let chunkFile = ChunkImage.filePrefix + "0000000000000001"

    /// Bytes that no compression shrinks.
    private static func noise(_ number: UInt64, count: Int) -> RecordValue {
        var generator = SeededGenerator(seed: number)
        return .asset(Asset(data: Data(generator.bytes(count))))
    }

    /// Thirty chunks, of which three differ: more than a record of so small a store names itself.
    /// With these three bytes the hash has no bit of the mask, so that each chunk ends behind them.
    private static var long: Data {
        var data = Data()
        for number in 0..<30 {
            data.append(Data(repeating: UInt8(number % 3), count: 16_384))
            data.append(contentsOf: Array("shf".utf8))
        }
        return data
    }

    /// In the order of their chunks: as it is, as LZ4, in another domain, in several chunks with a
    /// list. What is stored already, and an asset of no bytes, add none. Not closed.
    static func assets() async throws -> SampleMaker {
        let maker = SampleMaker(seed: 70)
        let container = try maker.open()
        let database = container.privateDatabase(for: "alice")
        try await database.save(RecordZone(zoneID: zone))
        let plain = noise(1, count: 500)
        let text = String(repeating: "What is said twice is stored once. ", count: 30)
        let packed = RecordValue.asset(Asset(data: Data(text.utf8)))
        try await database.save(maker.record("plain", ["file": plain]))
        try await database.save(maker.record("packed", ["file": packed]))
        try await database.save(maker.record("empty", ["file": noise(2, count: 0)]))
        try await database.save(maker.record("twice", ["files": .list([packed, plain])]))
        let shared = container.publicDatabase(as: "alice")
        try await shared.save(maker.record("plain", in: .default, ["file": plain]))
        try await database.save(maker.record("long", ["file": .asset(Asset(data: long))]))
        return maker
    }

    /// Of two segments one is gone, since most of what was in it is not needed any more: the rest
    /// was copied. Without the index that the collection has written; closed.
    static func collectedAssets() async throws -> StoreFiles {
        let maker = SampleMaker(seed: 71)
        var container = try maker.open()
        var database = container.privateDatabase(for: "alice")
        try await database.save(RecordZone(zoneID: zone))
        try await database.save(maker.record("stays", ["file": noise(3, count: 300)]))
        var changed = try await database.save(
            maker.record("changed", ["file": noise(4, count: 1500)]))
        let gone = try await database.save(maker.record("gone", ["file": noise(5, count: 900)]))
        try await container.close()
        container = try maker.open()
        database = container.privateDatabase(for: "alice")
        changed["file"] = noise(6, count: 200)
        try await database.save(changed)
        try await database.deleteRecord(withID: gone.recordID)
        try await container.collectAssets()
        try await container.close()
        try maker.editManifest { $0.set(nil) }
        return maker.files.filter { !$0.key.hasPrefix(Manifest.Checkpoint.filePrefix) }
    }
}

/// Changes the first chunk segment of a store.
private struct ChunkChanger {
    let files: StoreFiles

    func with(_ bytes: [UInt8]?) -> StoreFiles {
        var files = files
        files[SampleMaker.chunkFile] = bytes
        return files
    }

    /// `change` is told where the frames begin.
    func chunks(_ change: (inout ChunkImage, [Int]) -> Void) -> StoreFiles {
        var image = ChunkImage(files[SampleMaker.chunkFile] ?? [])
        change(&image, image.frames)
        return with(image.bytes)
    }

    /// Other bytes in the header, whose checksum holds.
    func header(_ place: Int, _ new: [UInt8]) -> StoreFiles {
        chunks { image, _ in
            image.overwrite(place, with: new)
            image.sealHeader()
        }
    }

    /// A frame that was changed, and its checksums hold.
    func frame(_ number: Int, _ change: (inout ChunkImage, Int) -> Void) -> StoreFiles {
        chunks { image, frames in
            change(&image, frames[number])
            image.seal(frames[number])
        }
    }
}

// The same with something wrong.
extension SampleMaker {
    static func damagedAssets() async throws -> [(String, StoreFiles)] {
        let files = try await assets().files
        let store = ChunkChanger(files: files)
        var samples: [(String, StoreFiles)] = [
            ("chunk-segment-length", store.chunks { image, _ in image.cut(to: 40) }),
            ("chunk-segment-magic", store.chunks { image, _ in image.flip(0) }),
            ("chunk-segment-checksum", store.chunks { image, _ in image.flip(20) }),
            ("chunk-segment-newer-format", store.header(8, [2, 0, 2])),
            ("chunk-segment-reserved", store.header(48, [1])),
            ("chunk-segment-store", store.header(16, [0])),
            ("chunk-segment-number", store.header(32, [2])),
            ("chunk-segment-missing", store.with(nil)),
        ]
        samples += damagedFrames(of: store)
        return samples + (try lyingAssets(files))
    }

    private static func damagedFrames(of store: ChunkChanger) -> [(String, StoreFiles)] {
        [
            ("chunk-length", store.chunks { image, _ in image.cut(to: image.bytes.count - 8) }),
            ("chunk-header-checksum", store.chunks { $0.flip($1[0] + 20) }),
            ("chunk-padding", store.chunks { $0.flip($0.stored($1[0]).upperBound) }),
            ("chunk-checksum", store.chunks { $0.flip($0.stored($1[0]).lowerBound) }),
            ("chunk-encoding", store.frame(0) { $0.overwrite($1 + 24, with: [2]) }),
            // One byte more than a chunk may have.
            ("chunk-lengths", store.frame(1) { $0.overwrite($1 + 20, with: [1, 0, 4, 0]) }),
            (
                "chunk-compression",
                store.frame(1) { image, place in
                    let stored = image.stored(place)
                    image.overwrite(
                        stored.lowerBound, with: repeatElement(0xff, count: stored.count))
                }
            ),
            ("chunk-address", store.frame(0) { $0.flip($0.stored($1).lowerBound) }),
            (
                "chunk-other",
                store.frame(0) { image, place in
                    image.flip(image.stored(place).lowerBound)
                    image.setAddress(place)
                }
            ),
        ]
    }

    /// A record says something false of its asset.
    private static func lyingAssets(_ whole: StoreFiles) throws -> [(String, StoreFiles)] {
        let chunks = ChunkImage(whole[chunkFile] ?? [])
        func asset(_ change: (inout AssetImage) -> Void) throws -> StoreFiles {
            try with(lastAsset: change, in: whole)
        }
        return [
            ("asset-chunk", try asset { $0.extents[0].address[0] ^= 1 }),
            (
                "asset-list-longer",
                try asset {
                    $0.length += 1
                    $0.extents[0].length += 1
                }
            ),
            (
                "asset-list-longest",
                try asset {
                    $0.length = 1 << 59
                    $0.extents[0].length = 1 << 59
                }
            ),
            (
                "asset-chunk-shorter",
                try asset {
                    $0.length = 499
                    $0.depth = 0
                    $0.extents = [(chunks.address(chunks.frames[0]), 499)]
                }
            ),
            // The list is one of lists, which its chunks are not.
            ("asset-depth", try asset { $0.depth = 2 }),
        ]
    }

    /// The files of a store of one journal segment, whose last entry is a new record with one
    /// asset, with another asset in it and checksums that hold.
    static func with(
        lastAsset change: (inout AssetImage) -> Void, in files: StoreFiles
    ) throws -> StoreFiles {
        let name = "journal-0000000000000000"
        var image = SegmentImage(files[name] ?? [], base: 0)
        var record = try AssetRecordImage(image.lastPayload)
        change(&record.asset)
        image.replaceLast(payload: record.payload)
        var files = files
        files[name] = image.bytes
        return files
    }
}
