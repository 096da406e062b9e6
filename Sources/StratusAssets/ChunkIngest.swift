internal import StratusBytes
package import StratusFiles
internal import Synchronization

/// What a stream of bytes has become.
package struct ChunkedContent: Equatable, Sendable {
    package struct Piece: Equatable, Sendable {
        package var address: ChunkAddress
        /// Of the chunk's bytes.
        package var length: Int
    }

    /// In the order of the stream.
    package var pieces: [Piece] = []
    /// What was not there before, and where it lies now; durable after the store's next sync.
    package var added: [ChunkAddress: ChunkPlace] = [:]
    /// In bytes.
    package var length: Int { pieces.reduce(0) { $0 + $1.length } }
}

/// Turns a stream of bytes into chunks: cuts it, has the chunks hashed and compressed on several
/// threads, and appends those that are not there yet in the order of the stream.
///
/// What is in memory at a time is bounded by the number of threads, whatever the stream's length.
/// Used by one thread.
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
    private var jobs: [ChunkJob] = []
    private var firstJob = 0
    private var content = ChunkedContent()

    package init(
        into store: ChunkStore, domain: ChunkDomain, on threads: IOThreads, width: Int,
        _ lookup: @escaping Lookup
    ) {
        self.store = store
        self.domain = domain
        self.threads = threads
        self.lookup = lookup
        window = max(1, width) * 4
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

    /// The stream ends here.
    package func finish() throws(ChunkError) -> ChunkedContent {
        while start < pending.count { try cut() }
        while firstJob < jobs.count { try takeFirst() }
        return content
    }

    private func cut() throws(ChunkError) {
        let bytes = pending
        let length = chunker.firstCut(in: bytes.span.extracting(start..<bytes.count))
        let job = ChunkJob(Array(pending[start..<start + length]), domain, lookup)
        start += length
        if jobs.count - firstJob >= window { try takeFirst() }
        jobs.append(job)
        // Where the system gives no thread it is done here.
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
        content.pieces.append(.init(address: result.address, length: result.length))
        // The same bytes may come twice in a stream.
        guard let chunk = result.chunk, content.added[result.address] == nil else { return }
        content.added[result.address] = try store.append(chunk)
    }
}

/// One chunk on its way through a thread.
private final class ChunkJob: Sendable {
    struct Result: Sendable {
        var address: ChunkAddress
        var length: Int
        /// Nil where the chunk is there already.
        var chunk: EncodedChunk?
    }

    private let bytes: [UInt8]
    private let domain: ChunkDomain
    private let lookup: ChunkIngest.Lookup
    private let result = Mutex<Swift.Result<Result, ChunkError>?>(nil)
    private let wakeUp = WakeUp()

    init(_ bytes: [UInt8], _ domain: ChunkDomain, _ lookup: @escaping ChunkIngest.Lookup) {
        self.bytes = bytes
        self.domain = domain
        self.lookup = lookup
    }

    func run() {
        let bytes = bytes
        let done = Swift.Result { () throws(ChunkError) in
            let address = ChunkAddress(of: bytes.span, in: domain)
            let isKnown = try lookup(address) != nil
            return Result(
                address: address, length: bytes.count,
                chunk: isKnown ? nil : EncodedChunk(bytes, address: address, in: domain))
        }
        result.withLock { $0 = done }
        wakeUp.signal()
    }

    func wait() throws(ChunkError) -> Result {
        while true {
            if let result = result.withLock({ $0 }) { return try result.get() }
            wakeUp.wait()
        }
    }
}
