internal import StratusAssets
internal import StratusFiles
internal import StratusJournal
internal import StratusEngine

/// Reads every chunk that the journal knows, and every asset that a record names.
struct AssetVerification {
    private(set) var findings: [StoreError.Place] = []
    private(set) var chunkCount = 0
    /// As stored, without frames.
    private(set) var chunkBytes = 0
    /// Why chunks cannot be read.
    private var damaged: [ChunkAddress: StoreError.Place] = [:]
    private let follower: StoreFollower
    private let assets: AssetStore

    /// The index is made of the journal alone, so that nothing of one on disk is believed.
    init(_ foundation: StoreFoundation) throws {
        precondition(foundation.rebuilds)
        follower = try StoreFollower(foundation)
        assets = foundation.assets
        try readChunks()
        try followAssets()
    }

    private var reading: StoreReading { StoreReading(follower.published.current, .blocking) }

    private mutating func readChunks() throws {
        var check = ChunkCheck(try assets.chunks())
        try reading.forEachChunk { address, place throws(EngineError) in
            try check.add(address, place)
        }
        try check.finish()
        (chunkCount, chunkBytes, damaged) = (check.count, check.bytes, check.damaged)
    }

    /// Says which records and fields are concerned.
    private mutating func followAssets() throws {
        let reading = reading
        var walk = AssetWalk(assets, damaged)
        var findings: [StoreError.Place] = []
        try reading.forEachAsset { asset throws(EngineError) in
            var noted: Set<StoreError.Place> = []
            for extent in asset.content.extents {
                try walk.follow(extent, depth: asset.content.depth) { place throws(EngineError) in
                    // A chunk without a place is reported where it is named.
                    var place = place.file.isEmpty ? reading.place(of: asset.entry) : place
                    guard noted.insert(place).inserted else { return }
                    place.record = try reading.recordID(of: asset.entry, in: asset.zone)
                    place.field = reading.schema.name(asset.field)
                    findings.append(place)
                }
            }
        }
        // What no record names is damaged all the same.
        findings += damaged.filter { !walk.met.contains($0.key) }.map(\.value)
        self.findings = findings
    }
}

/// Reads chunks a few thousand at a time, in the order in which they lie.
struct ChunkCheck {
    private(set) var count = 0
    /// As stored, without frames.
    private(set) var bytes = 0
    /// Why chunks cannot be read.
    private(set) var damaged: [ChunkAddress: StoreError.Place] = [:]
    private let chunks: ChunkStore
    private var batch: [ChunkEntry.Row] = []

    private static let batchLimit = 4096

    init(_ chunks: ChunkStore) { self.chunks = chunks }

    mutating func add(
        _ address: ChunkAddress, _ place: ChunkLocation
    ) throws(EngineError) {
        batch.append((address, place))
        count += 1
        bytes += place.storedLength
        if batch.count == Self.batchLimit { try finish() }
    }

    /// Reads those that were added and not read yet.
    mutating func finish() throws(EngineError) {
        for (address, place) in batch.sorted(by: ChunkEntry.isBefore) {
            do throws(ChunkError) {
                _ = try chunks.read(address, at: place)
            } catch {
                damaged[address] = try Self.place(of: error, at: place)
            }
        }
        batch.removeAll(keepingCapacity: true)
    }

    private static func place(
        of error: ChunkError, at place: ChunkLocation
    ) throws(EngineError) -> StoreError.Place {
        if case .storage(let failure) = error, failure.kind == .notFound {
            return StoreError.Place(
                file: place.file, byte: 0, kind: ChunkDamage.Kind.missing.identifier)
        }
        let failure = StoreError(error)
        guard let place = failure.place else { throw .refused(failure) }
        return place
    }
}

extension StoreReading {
    /// That an entry names a chunk of which no entry says where it lies.
    fileprivate func place(of entry: JournalEntry) -> StoreError.Place {
        StoreError.Place(
            file: entry.fileName, byte: entry.byte, offset: entry.offset.rawValue,
            kind: "asset.chunk")
    }
}

/// Follows extents of assets to their chunks.
///
/// Each list is read once, however many assets name it: for a list that was read before, the first
/// damage in it is reported again.
private struct AssetWalk {
    typealias Note = (StoreError.Place) throws(EngineError) -> Void

    private let assets: AssetStore
    private let damaged: [ChunkAddress: StoreError.Place]
    /// The damaged chunks that were come to.
    private(set) var met: Set<ChunkAddress> = []
    /// What was damaged first in each list; nil: nothing.
    private var lists: [AssetContent.List: StoreError.Place?] = [:]

    init(_ assets: AssetStore, _ damaged: [ChunkAddress: StoreError.Place]) {
        self.assets = assets
        self.damaged = damaged
    }

    /// Tells `note` all damage of what an extent stands for, with no file for a chunk that has no
    /// place; returns the first.
    @discardableResult
    mutating func follow(
        _ extent: AssetContent.Extent, depth: Int, _ note: Note
    ) throws(EngineError) -> StoreError.Place? {
        if depth == 0 {
            let place = try damage(of: extent)
            if let place { try note(place) }
            return place
        }
        let list = AssetContent.List(extent: extent, depth: depth - 1)
        if let known = lists[list] {
            if let known { try note(known) }
            return known
        }
        var first: StoreError.Place?
        switch try read(list) {
        case .success(let extents):
            for extent in extents {
                let place = try follow(extent, depth: depth - 1, note)
                first = first ?? place
            }
        case .failure(let damage):
            try note(damage.place)
            first = damage.place
        }
        lists.updateValue(first, forKey: list)
        return first
    }

    /// What is wrong with a chunk of an asset.
    private mutating func damage(
        of extent: AssetContent.Extent
    ) throws(EngineError) -> StoreError.Place? {
        if let place = damaged[extent.address] {
            met.insert(extent.address)
            return place
        }
        guard let place = try assets.place(of: extent.address) else { return Self.nowhere }
        return place.length == extent.length ? nil : Self.wrong(place)
    }

    private struct ListDamage: Error { var place: StoreError.Place }

    private mutating func read(
        _ list: AssetContent.List
    ) throws(EngineError) -> Result<[AssetContent.Extent], ListDamage> {
        let address = list.extent.address
        if let place = damaged[address] {
            met.insert(address)
            return .failure(ListDamage(place: place))
        }
        guard let place = try assets.place(of: address), let bytes = try assets.read(address)
        else { return .failure(ListDamage(place: Self.nowhere)) }
        guard let extents = list.extents(bytes.span) else {
            return .failure(ListDamage(place: Self.wrong(place)))
        }
        return .success(extents)
    }

    /// The caller puts the place of the entry that names the chunk instead.
    private static let nowhere = StoreError.Place(file: "", byte: 0, kind: "asset.chunk")

    private static func wrong(_ place: ChunkLocation) -> StoreError.Place {
        StoreError.Place(
            file: place.file, byte: place.byte, kind: ChunkDamage.Kind.list.identifier)
    }
}
