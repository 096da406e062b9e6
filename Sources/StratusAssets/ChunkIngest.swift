internal import StratusBytes
package import StratusFiles

/// Turns streams of bytes into assets: cuts each, has the chunks hashed and compressed on several
/// threads, and appends those that are not there yet in the order of the stream.
///
/// What is in memory at a time is bounded by the number of threads, whatever a stream's length,
/// but for what was added and not taken. Used by one thread at a time.
package final class ChunkIngest {
    /// Says where a chunk lies that is there already; asked on the threads.
    package typealias Lookup =
        @Sendable (ChunkAddress) throws(ChunkError) -> ChunkPlace?

    private let store: ChunkStore
    private let domain: ChunkDomain
    private let threads: IOThreads
    private let lookup: Lookup
    /// How many chunks are on their way at once.
    private let window: Int
    private let chunker = Chunker()
    /// What was not cut yet begins at `start`.
    private var pending: [UInt8] = []
    private var start = 0
    private var isEnding = false
    private var jobs: [ChunkJob] = []
    private var firstJob = 0
    private var tree: PieceTree
    private var length = 0
    private let pieceLimit: Int
    private var digest: SHA256? = SHA256()
    private var added: [ChunkAddress: ChunkPlace] = [:]

    /// - Parameters:
    ///   - width: on how many threads chunks are to be on their way.
    ///   - pieceLimit: how many pieces an asset has at most before their list goes into chunks.
    package init(
        into store: ChunkStore, domain: ChunkDomain, on threads: IOThreads, width: Int,
        pieceLimit: Int = AssetContent.pieceLimit, _ lookup: @escaping Lookup
    ) {
        self.store = store
        self.domain = domain
        self.threads = threads
        self.lookup = lookup
        window = max(1, width) * 4
        self.pieceLimit = pieceLimit
        tree = PieceTree(limit: pieceLimit)
    }

    /// The next bytes of the stream.
    package func add(_ bytes: Span<UInt8>) throws(ChunkError) {
        let rest = pending
        var writer = ByteWriter(capacity: rest.count - start + bytes.count)
        writer.append(rest.span.extracting(start..<rest.count))
        writer.append(bytes)
        pending = writer.bytes
        start = 0
        while pending.count - start >= Chunker.most { try cut() }
    }

    /// The stream ends here; what is added next begins another asset.
    package func finish() throws(ChunkError) -> AssetContent {
        isEnding = true
        defer { isEnding = false }
        while start < pending.count { try cut() }
        while firstJob < jobs.count { try takeFirst() }
        let ended = digest.take() ?? SHA256()
        digest = SHA256()
        var content = AssetContent(digest: ContentDigest(ended.finish().span))
        content.length = length
        (content.depth, content.pieces) = try tree.finish { bytes throws(ChunkError) in
            try append(list: bytes)
        }
        length = 0
        return content
    }

    /// Forgets what was given of an asset that has no end.
    package func abandon() {
        (pending, start) = ([], 0)
        (jobs, firstJob) = ([], 0)
        digest = SHA256()
        length = 0
        tree = PieceTree(limit: pieceLimit)
    }

    /// How many chunks were added since they were last taken.
    package var addedCount: Int { added.count }

    /// What was not there before, and where it lies now; durable after the store's next sync.
    package func takeAdded() -> [ChunkAddress: ChunkPlace] {
        defer { added = [:] }
        return added
    }

    private func cut() throws(ChunkError) {
        let bytes = pending
        let length = chunker.firstCut(in: bytes.span.extracting(start..<bytes.count))
        let job = ChunkJob(Array(pending[start..<start + length]), domain, lookup)
        start += length
        if jobs.count - firstJob >= window { try takeFirst() }
        jobs.append(job)
        // An asset of one chunk is done here, as everything is where the system gives no thread.
        if jobs.count - firstJob == 1, isEnding, start == pending.count { return job.run() }
        do { try threads.submit { job.run() } } catch { job.run() }
    }

    private func takeFirst() throws(ChunkError) {
        let job = jobs[firstJob]
        firstJob += 1
        if firstJob * 2 > jobs.count {
            jobs.removeFirst(firstJob)
            firstJob = 0
        }
        let result = try job.wait()
        // The same bytes may come twice in a stream.
        if let chunk = result.chunk, added[result.address] == nil {
            added[result.address] = try store.append(chunk)
        }
        length += result.length
        var writer = ByteWriter(capacity: 40)
        result.content.write(to: &writer)
        writer.uint64(UInt64(result.length))
        digest?.update(writer.bytes.span)
        let piece = AssetContent.Piece(address: result.address, length: result.length)
        try tree.add(piece) { bytes throws(ChunkError) in try append(list: bytes) }
    }

    private func append(list bytes: [UInt8]) throws(ChunkError) -> ChunkAddress {
        let address = ChunkAddress(of: ContentDigest(of: bytes.span), in: domain)
        if added[address] == nil, try lookup(address) == nil {
            let chunk = EncodedChunk(bytes, address: address, in: domain)
            added[address] = try store.append(chunk)
        }
        return address
    }
}

/// One chunk on its way through a thread.
private final class ChunkJob: Sendable {
    struct Result: Sendable {
        var content: ContentDigest
        var address: ChunkAddress
        var length: Int
        /// Nil where the chunk is there already.
        var chunk: EncodedChunk?
    }

    private let bytes: [UInt8]
    private let domain: ChunkDomain
    private let lookup: ChunkIngest.Lookup
    private let outcome = Outcome<Swift.Result<Result, ChunkError>>()

    init(_ bytes: [UInt8], _ domain: ChunkDomain, _ lookup: @escaping ChunkIngest.Lookup) {
        self.bytes = bytes
        self.domain = domain
        self.lookup = lookup
    }

    func run() {
        let bytes = bytes
        let result = Swift.Result { () throws(ChunkError) in
            let content = ContentDigest(of: bytes.span)
            let address = ChunkAddress(of: content, in: domain)
            let isKnown = try lookup(address) != nil
            return Result(
                content: content, address: address, length: bytes.count,
                chunk: isKnown ? nil : EncodedChunk(bytes, address: address, in: domain))
        }
        outcome.finish(result)
    }

    func wait() throws(ChunkError) -> Result { try outcome.wait().get() }
}
