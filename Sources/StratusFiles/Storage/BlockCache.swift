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
    /// In bytes, with all that finding the blocks takes, and without what is pinned.
    package let limit: Int
    /// For what others keep, in bytes.
    private let pinLimit: Int
    private let pinned = Atomic(0)
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

    /// - Parameters:
    ///   - limit: in bytes.
    ///   - pinLimit: comes on top of `limit`.
    ///   - isShared: whether several threads read at once.
    package init(limit: Int, pinLimit: Int = 0, isShared: Bool = true) {
        self.limit = limit
        self.pinLimit = pinLimit
        var bits: UInt64 = 0
        let mostBits = isShared ? Self.mostShardBits : 0
        while bits < mostBits, limit >> Int(bits + 1) >= Self.leastShard { bits += 1 }
        shardShift = 64 - bits
        let count = 1 << Int(bits)
        shards = (0..<count).map { _ in LockedShard(limit: limit / count) }
    }

    /// Gives `body` the block that begins at `place` of `file`, if it is kept. Its shard is locked
    /// meanwhile: `body` is short, and does not come here again.
    package func withBlock(_ file: UInt64, _ place: UInt64, _ body: (Span<UInt8>) -> Void) {
        let name = BlockName(file: file, place: place)
        shard(of: name).state.withLock { shard in
            if let range = shard.find(name) { body(shard.ring.span.extracting(range)) }
        }
    }

    /// A copy of the block that begins at `place` of `file`, if it is kept.
    package func block(_ file: UInt64, _ place: UInt64) -> [UInt8]? {
        var copy: [UInt8]?
        withBlock(file, place) { copy = $0.array }
        return copy
    }

    /// Whether the caller may keep so many bytes, until it calls ``unpin(_:)``.
    package func pin(_ count: Int) -> Bool {
        if pinned.add(count, ordering: .relaxed).newValue <= pinLimit { return true }
        unpin(count)
        return false
    }

    package func unpin(_ count: Int) { pinned.subtract(count, ordering: .relaxed) }

    /// How many more bytes callers may keep now.
    package var pinRoom: Int { pinLimit - pinned.load(ordering: .relaxed) }

    /// Keeps a block unless it is too large. With `onlyRepeated`, one that would drive out others is
    /// kept only where it comes twice within a short time: what is read once is not worth it.
    package func insert(
        _ file: UInt64, _ place: UInt64, _ bytes: Span<UInt8>, preferred: Bool,
        onlyRepeated: Bool = false
    ) {
        let name = BlockName(file: file, place: place)
        shard(of: name).state.withLock {
            $0.insert(name, bytes, preferred: preferred, onlyRepeated: onlyRepeated)
        }
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
