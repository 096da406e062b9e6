internal import StratusBytes
internal import Synchronization

/// Verified stretches of files, kept in memory up to a limit: index blocks and journal entries of
/// a whole store.
///
/// What is kept lies in rings of bytes that are allocated once, so that the limit is what the
/// cache takes: blocks of many sizes that come and go one by one would fragment the heap.
/// What was not asked for since it was put in goes first; what is preferred (the upper levels of
/// the index, filters) stays for several turns of its ring.
package final class BlockCache: Sendable {
    /// In bytes, with all that finding the blocks takes.
    package let limit: Int
    private let shards: [LockedShard]
    private let shardShift: UInt64

    package struct Statistics: Equatable, Sendable {
        package var hits = 0
        package var misses = 0
        /// What the kept blocks take.
        package var bytes = 0
    }

    /// Shards are for threads that read at once; in one that is smaller, large blocks would drive
    /// out all others.
    private static let leastShard = 256 << 10
    private static let mostShardBits: UInt64 = 6

    package init(limit: Int) {
        self.limit = limit
        var bits: UInt64 = 0
        while bits < Self.mostShardBits, limit >> Int(bits + 1) >= Self.leastShard { bits += 1 }
        shardShift = 64 - bits
        let count = 1 << Int(bits)
        shards = (0..<count).map { _ in LockedShard(limit: limit / count) }
    }

    /// What `body` makes of the block that begins at `place` of `file`, if it is kept. Its shard is
    /// locked meanwhile: `body` is short, and does not come here again.
    package func withBlock<Result, Failure>(
        _ file: UInt64, _ place: UInt64, _ body: (Span<UInt8>) throws(Failure) -> Result
    ) throws(Failure) -> Result? {
        let name = BlockName(file: file, place: place)
        return try shard(of: name).state.withLock { shard throws(Failure) in
            guard let range = shard.find(name) else { return nil }
            return try body(shard.ring.span.extracting(range))
        }
    }

    /// A copy of the block that begins at `place` of `file`, if it is kept.
    package func block(_ file: UInt64, _ place: UInt64) -> [UInt8]? {
        withBlock(file, place) { $0.array }
    }

    /// Keeps a block unless it is too large.
    package func insert(_ file: UInt64, _ place: UInt64, _ bytes: Span<UInt8>, preferred: Bool) {
        let name = BlockName(file: file, place: place)
        shard(of: name).state.withLock { $0.insert(name, bytes, preferred: preferred) }
    }

    /// Forgets all blocks of a file.
    package func remove(file: UInt64) {
        for shard in shards { shard.state.withLock { $0.remove(file: file) } }
    }

    package var statistics: Statistics {
        shards.reduce(into: Statistics()) { sum, shard in
            let part = shard.state.withLock { $0.statistics }
            sum.hits += part.hits
            sum.misses += part.misses
            sum.bytes += part.bytes
        }
    }

    private func shard(of name: BlockName) -> LockedShard {
        // A shift by all 64 bits leaves 0.
        shards[Int(name.hash >> shardShift)]
    }
}

private final class LockedShard: Sendable {
    let state: Mutex<CacheRing>
    init(limit: Int) { state = Mutex(CacheRing(limit: limit)) }
}
