internal import StratusBytes
package import StratusFiles

/// Turns streams of bytes into assets, one after the other: cuts each, has the chunks hashed and
/// compressed on several threads, and appends those that are not there yet in the order of the
/// streams. An asset begins while chunks of those before it are still being processed.
///
/// What is in memory at a time is bounded by the number of threads, whatever a stream's length,
/// but for what was added and not taken. Used by one thread at a time.
package final class ChunkIngest {
    /// Says where a chunk lies that is there already; asked on the threads.
    package typealias Lookup =
        @Sendable (ChunkAddress) throws(ChunkError) -> ChunkLocation?

    /// Stands for an asset that was given whole.
    package struct Ticket: Hashable, Sendable {
        fileprivate let number: Int
    }

    /// The asset whose chunks a job processes, and whether they are its last.
    private struct Step {
        var asset: AssetDraft
        var isLast: Bool
    }

    private let store: ChunkStore
    private let domain: ChunkDomain
    private let lookup: Lookup
    /// How many groups of chunks are processed at once.
    private let window: Int
    private let extentLimit: Int
    private var uncut = UncutBytes()
    private var work: OrderedWork<Result<[IngestedChunk], ChunkError>>
    /// One for each job.
    private var steps: [Step] = []
    /// What is being added to.
    private var current: AssetDraft?
    /// Those that were given whole and not asked for.
    private var ended: [Int: AssetDraft] = [:]
    private var endedCount = 0
    private var added: [ChunkAddress: ChunkLocation] = [:]
    /// What was added before: chunks being processed may have been looked up before that.
    private var taken: [ChunkAddress: ChunkLocation] = [:]

    /// - Parameters:
    ///   - width: on how many threads chunks are processed.
    ///   - extentLimit: how many extents an asset has at most before their list goes into chunks.
    package init(
        into store: ChunkStore, domain: ChunkDomain, on threads: IOThreads, width: Int,
        extentLimit: Int = AssetContent.extentLimit, _ lookup: @escaping Lookup
    ) {
        self.store = store
        self.domain = domain
        self.lookup = lookup
        work = OrderedWork(on: threads)
        window = max(1, width) * 4
        self.extentLimit = extentLimit
    }

    /// The next bytes of an asset, at most `count`, which `read` appends; returns how many.
    package func add<Failure>(
        upTo count: Int, _ read: (inout OutputSpan<UInt8>) throws(Failure) -> Void
    ) throws(Failure) -> Int {
        let added = try uncut.add(upTo: count, read)
        if uncut.isReady { give(uncut.takeCut(), isLast: false) }
        return added
    }

    /// The next bytes of an asset.
    package func add(_ bytes: Span<UInt8>) {
        var done = 0
        while done < bytes.count {
            done += add(upTo: bytes.count - done) { room in
                room.append(bytes.extracting(done..<done + room.freeCapacity))
            }
        }
    }

    /// Why the asset that is being added cannot be stored.
    package var failure: ChunkError? {
        if case .failure(let error)? = current?.outcome { error } else { nil }
    }

    /// The asset ends here; what is added next begins another one.
    package func end() -> Ticket {
        let asset = draft()
        give(uncut.takeAll(), isLast: true)
        current = nil
        endedCount += 1
        ended[endedCount] = asset
        return Ticket(number: endedCount)
    }

    /// What an asset consists of; to be asked once.
    package func content(of ticket: Ticket) throws(ChunkError) -> AssetContent {
        guard let asset = ended.removeValue(forKey: ticket.number) else {
            preconditionFailure("an asset is asked for once")
        }
        while true {
            if let outcome = asset.outcome { return try outcome.get() }
            takeFirst()
        }
    }

    /// Forgets what was given of an asset that has no end.
    package func abandon() {
        _ = uncut.takeAll()
        current?.isAbandoned = true
        current = nil
    }

    /// How many chunks were added since they were last taken.
    package var addedCount: Int { added.count }

    /// What was not there before, and where it lies now; durable after the store's next sync.
    package func takeAdded() -> [ChunkAddress: ChunkLocation] {
        taken = added
        added = [:]
        return taken
    }

    private func draft() -> AssetDraft {
        if let current { return current }
        let draft = AssetDraft(extentLimit)
        current = draft
        return draft
    }

    private func give(_ group: CutBytes, isLast: Bool) {
        while steps.count >= window { takeFirst() }
        steps.append(Step(asset: draft(), isLast: isLast))
        work.add { [domain, lookup] _ in
            Result { () throws(ChunkError) in
                try group.cuts.map { cut throws(ChunkError) in
                    try IngestedChunk(group.bytes[cut], domain, lookup)
                }
            }
        }
    }

    private func takeFirst() {
        let step = steps.removeFirst()
        let asset = step.asset
        guard let chunks = work.takeFirst(.blocking), !asset.isAbandoned, asset.outcome == nil
        else { return }
        do throws(ChunkError) {
            for chunk in try chunks.get() { try take(chunk, of: asset) }
            guard step.isLast else { return }
            asset.outcome = .success(
                try asset.finish { bytes throws(ChunkError) in try append(list: bytes) })
        } catch {
            asset.outcome = .failure(error)
        }
    }

    private func take(_ chunk: IngestedChunk, of asset: AssetDraft) throws(ChunkError) {
        // The same bytes may come twice.
        if let encoded = chunk.encoded, !wasAdded(chunk.address) {
            added[chunk.address] = try store.append(encoded)
        }
        try asset.add(chunk) { bytes throws(ChunkError) in try append(list: bytes) }
    }

    private func append(list bytes: [UInt8]) throws(ChunkError) -> ChunkAddress {
        let address = ChunkAddress(of: ContentDigest(of: bytes.span), in: domain)
        if !wasAdded(address), try lookup(address) == nil {
            let chunk = EncodedChunk(bytes[...], address: address, in: domain)
            added[address] = try store.append(chunk)
        }
        return address
    }

    private func wasAdded(_ address: ChunkAddress) -> Bool {
        added[address] != nil || taken[address] != nil
    }
}

/// An asset of which not all chunks were taken.
private final class AssetDraft {
    var isAbandoned = false
    /// Is there once it is known.
    var outcome: Result<AssetContent, ChunkError>?
    private var tree: ExtentTree
    private var digest: SHA256? = SHA256()
    private var length = 0

    init(_ extentLimit: Int) { tree = ExtentTree(limit: extentLimit) }

    /// Adds the next chunk; `store` makes one of a list.
    func add(
        _ chunk: IngestedChunk, _ store: ([UInt8]) throws(ChunkError) -> ChunkAddress
    ) throws(ChunkError) {
        length += chunk.length
        var writer = ByteWriter(capacity: 40)
        chunk.content.write(to: &writer)
        writer.uint64(UInt64(chunk.length))
        digest?.update(writer.bytes.span)
        try tree.add(
            AssetContent.Extent(address: chunk.address, length: chunk.length), store)
    }

    func finish(
        _ store: ([UInt8]) throws(ChunkError) -> ChunkAddress
    ) throws(ChunkError) -> AssetContent {
        let whole = digest.take() ?? SHA256()
        var content = AssetContent(digest: ContentDigest(whole.finish().span))
        content.length = length
        (content.depth, content.extents) = try tree.finish(store)
        return content
    }
}

/// A chunk that was hashed and, where it is not there already, made ready to be written.
private struct IngestedChunk: Sendable {
    var content: ContentDigest
    var address: ChunkAddress
    var length: Int
    /// Nil where the chunk is there already.
    var encoded: EncodedChunk?

    init(
        _ bytes: ArraySlice<UInt8>, _ domain: ChunkDomain, _ lookup: ChunkIngest.Lookup
    ) throws(ChunkError) {
        content = ContentDigest(of: bytes.span)
        address = ChunkAddress(of: content, in: domain)
        length = bytes.count
        if try lookup(address) == nil {
            encoded = EncodedChunk(bytes, address: address, in: domain)
        }
    }
}
