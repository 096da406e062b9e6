internal import Synchronization

/// Verified stretches of files, kept in memory up to a limit: index blocks and journal entries of
/// a whole store.
///
/// What was not asked for since the clock's hand last passed goes first; what is preferred (the
/// upper levels of the index, filters) survives several turns of the hand.
package final class BlockCache: Sendable {
    /// In bytes, the arrays' own overhead included.
    package let limit: Int
    private let shards: [LockedShard]

    package struct Statistics: Equatable, Sendable {
        package var hits = 0
        package var misses = 0
        /// What the kept blocks take.
        package var bytes = 0
    }

    private static let shardBits: UInt64 = 4

    package init(limit: Int) {
        self.limit = limit
        let count = 1 << Self.shardBits
        shards = (0..<count).map { _ in LockedShard(limit: limit / count) }
    }

    /// The block that begins at `place` of `file`, if it is kept.
    package func block(_ file: UInt64, _ place: UInt64) -> [UInt8]? {
        let name = BlockName(file: file, place: place)
        return shard(of: name).state.withLock { $0.find(name) }
    }

    /// Keeps a block unless it is too large.
    package func insert(_ file: UInt64, _ place: UInt64, _ bytes: [UInt8], preferred: Bool) {
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
        shards[Int(name.hash >> (64 - Self.shardBits))]
    }
}

private final class LockedShard: Sendable {
    let state: Mutex<CacheShard>
    init(limit: Int) { state = Mutex(CacheShard(limit: limit)) }
}

private struct BlockName: Equatable {
    var file: UInt64
    var place: UInt64

    /// Mixed by multiplication: nobody outside chooses files and places.
    var hash: UInt64 {
        let mixed = (file &* 0x9e37_79b9_7f4a_7c15) ^ (place &* 0xd6e8_feb8_6659_fd93)
        return (mixed ^ mixed >> 32) &* 0xd6e8_feb8_6659_fd93
    }
}

/// A hash table with open addressing whose slots are also the clock's face.
private struct CacheShard {
    private struct Slot {
        var name = BlockName(file: 0, place: 0)
        /// Nil: the slot is free.
        var bytes: [UInt8]?
        var isPreferred = false
        /// So many more times the hand passes by.
        var lives: UInt8 = 0
    }

    private(set) var statistics = BlockCache.Statistics()
    private let limit: Int
    private var slots = [Slot](repeating: Slot(), count: 16)
    private var count = 0
    private var hand = 0

    /// An array's header, and its slot at the usual load.
    private static let overhead = 64
    private static let livesOfPreferred: UInt8 = 8

    init(limit: Int) { self.limit = limit }

    private var mask: Int { slots.count - 1 }

    private func home(of name: BlockName) -> Int {
        Int(truncatingIfNeeded: name.hash) & mask
    }

    /// The slot that holds the block, or the free one where it belongs.
    private func place(of name: BlockName) -> Int {
        var place = home(of: name)
        while slots[place].bytes != nil, slots[place].name != name { place = (place + 1) & mask }
        return place
    }

    mutating func find(_ name: BlockName) -> [UInt8]? {
        let place = place(of: name)
        guard let bytes = slots[place].bytes else {
            statistics.misses += 1
            return nil
        }
        statistics.hits += 1
        slots[place].lives = slots[place].isPreferred ? Self.livesOfPreferred : 1
        return bytes
    }

    mutating func insert(_ name: BlockName, _ bytes: [UInt8], preferred: Bool) {
        let cost = bytes.count + Self.overhead
        guard cost <= limit else { return }
        let old = place(of: name)
        if slots[old].bytes != nil { empty(old) }
        while statistics.bytes + cost > limit { evict() }
        if (count + 1) * 4 > slots.count * 3 { grow() }
        let lives = preferred ? Self.livesOfPreferred : 0
        slots[place(of: name)] = Slot(
            name: name, bytes: bytes, isPreferred: preferred, lives: lives)
        statistics.bytes += cost
        count += 1
    }

    mutating func remove(file: UInt64) {
        var place = 0
        while place < slots.count {
            // Emptying may move another block here.
            if slots[place].bytes != nil, slots[place].name.file == file {
                empty(place)
            } else {
                place += 1
            }
        }
        // A block that wrapped around may have moved behind the walk.
        if slots.contains(where: { $0.bytes != nil && $0.name.file == file }) {
            remove(file: file)
        }
    }

    /// Turns the hand to the first block that has no lives left, and removes it.
    private mutating func evict() {
        while true {
            hand &= mask
            if slots[hand].bytes != nil {
                if slots[hand].lives == 0 { return empty(hand) }
                slots[hand].lives -= 1
            }
            hand += 1
        }
    }

    /// Frees a slot and moves up those behind it that were pushed away from their homes.
    private mutating func empty(_ start: Int) {
        statistics.bytes -= (slots[start].bytes?.count ?? 0) + Self.overhead
        count -= 1
        var free = start
        var place = (start + 1) & mask
        while slots[place].bytes != nil {
            let distance = (place - home(of: slots[place].name)) & mask
            if distance >= (place - free) & mask {
                slots.swapAt(free, place)
                free = place
            }
            place = (place + 1) & mask
        }
        slots[free] = Slot()
    }

    private mutating func grow() {
        let old = slots
        slots = [Slot](repeating: Slot(), count: old.count * 2)
        for slot in old where slot.bytes != nil { slots[place(of: slot.name)] = slot }
    }
}
