internal import StratusBytes

struct BlockName: Equatable {
    var file: UInt64
    var place: UInt64

    /// Mixed by multiplication: no caller can choose files and places so that hashes collide.
    var hash: UInt64 {
        let mixed = (file &* 0x9e37_79b9_7f4a_7c15) ^ (place &* 0xd6e8_feb8_6659_fd93)
        return (mixed ^ mixed >> 32) &* 0xd6e8_feb8_6659_fd93
    }
}

/// One shard of a ``BlockCache``: a ring of blocks, each behind a header that names it, and a hash
/// table of their places.
///
/// What comes goes to the head. Where there is no room the oldest makes some: it is dropped, or
/// moves to the head if it has lives left.
struct CacheRing {
    private(set) var statistics = BlockCache.Statistics()
    private let capacity: Int
    private let mostSlots: Int
    /// Made when the first block comes.
    private(set) var ring: [UInt8] = []
    private var head = 0
    private var tail = 0
    /// Where the blocks end that lie behind the head; nil: none do, all are between tail and head.
    private var wrap: Int?
    /// Open addressing; never full.
    private var slots: [Slot]
    private var count = 0
    /// A part of the hashes of blocks that were refused lately.
    private var refused: [UInt32] = []

    private static let livesOfPreferred: UInt8 = 4
    private static let refusedPerSlot = 2

    /// `limit` is for the ring, its slots and what is known of refused blocks, in bytes.
    init(limit: Int) {
        let slotBytes = limit / 16
        var count = 1
        let perSlot = MemoryLayout<Slot>.size + Self.refusedPerSlot * MemoryLayout<UInt32>.size
        while count * 2 * perSlot <= slotBytes { count *= 2 }
        mostSlots = count
        capacity = min((limit - slotBytes) & ~7, 1 << 34)
        slots = [Slot](repeating: Slot(), count: min(16, mostSlots))
    }

    /// Where the block's bytes lie in the ring.
    mutating func find(_ name: BlockName) -> Range<Int>? {
        guard let place = slots[slot(of: name)].place else {
            statistics.misses += 1
            return nil
        }
        statistics.hits += 1
        var header = header(place)
        let lives = header.isPreferred ? Self.livesOfPreferred : 1
        if header.lives != lives {
            header.lives = lives
            write(header, place)
        }
        let start = place + BlockHeader.length
        return start..<start + header.count
    }

    /// Where `onlyRepeated` says so, a block that would drive out others must come twice within a
    /// short time.
    mutating func insert(
        _ name: BlockName, _ bytes: Span<UInt8>, preferred: Bool, onlyRepeated: Bool
    ) {
        var header = BlockHeader(name: name, count: bytes.count)
        guard mostSlots >= 4, header.size <= capacity else { return }
        if onlyRepeated, wrap != nil || capacity - head < header.size, !isRepeated(name) { return }
        if ring.isEmpty {
            // Safe: nothing is read that was not written. Zeros would go to pages that may never
            // be needed.
            ring = unsafe [UInt8](unsafeUninitializedCapacity: capacity) { $1 = capacity }
        }
        if let old = slots[slot(of: name)].place { forget(old) }
        while count >= mostSlots / 4 * 3 || !findRoom(for: header.size) { takeOldest() }
        if (count + 1) * 4 > slots.count * 3 { growSlots() }
        header.lives = preferred ? Self.livesOfPreferred : 0
        header.isPreferred = preferred
        let slot = slot(of: name)
        slots[slot] = Slot(head, name.hash)
        let place = head + BlockHeader.length
        var span = ring.mutableSpan
        span.copy(bytes, to: place)
        addAtHead(header)
        statistics.bytes += header.size
        count += 1
    }

    /// Whether the block was refused lately; if it was not, it is now.
    private mutating func isRepeated(_ name: BlockName) -> Bool {
        if refused.isEmpty {
            refused = [UInt32](repeating: 0, count: mostSlots * Self.refusedPerSlot)
        }
        let hash = name.hash
        let place = Int(truncatingIfNeeded: hash) & (refused.count - 1)
        let part = UInt32(truncatingIfNeeded: hash >> 32)
        defer { refused[place] = part }
        return refused[place] == part
    }

    mutating func remove(file: UInt64) {
        for part in wrap.map({ [tail..<$0, 0..<head] }) ?? [tail..<head] {
            var place = part.lowerBound
            while place < part.upperBound {
                let header = header(place)
                if header.isKept, header.name.file == file { forget(place) }
                place += header.size
            }
        }
    }
}

// The ring.
extension CacheRing {
    private func header(_ place: Int) -> BlockHeader {
        let span = ring.span
        return BlockHeader(
            name: BlockName(file: span.uint64(at: place), place: span.uint64(at: place + 8)),
            bits: span.uint64(at: place + 16))
    }

    private mutating func write(_ header: BlockHeader, _ place: Int) {
        var span = ring.mutableSpan
        span.set(header.name.file, at: place)
        span.set(header.name.place, at: place + 8)
        span.set(header.bits, at: place + 16)
    }

    private mutating func addAtHead(_ header: BlockHeader) {
        write(header, head)
        head += header.size
    }

    /// Whether there is room for `size` bytes at the head, which may move to the start of the ring
    /// for it.
    private mutating func findRoom(for size: Int) -> Bool {
        if wrap == nil, capacity - head < size {
            wrap = head
            head = 0
        }
        return (wrap == nil ? capacity : tail) - head >= size
    }

    /// Takes the oldest block out of the ring; if it has lives left it comes in again at the head.
    private mutating func takeOldest() {
        if wrap == nil, tail == head {
            (tail, head) = (0, 0)
            return
        }
        if tail == wrap {
            (tail, wrap) = (0, nil)
            return
        }
        let place = tail
        var header = header(place)
        tail += header.size
        guard header.isKept else { return }
        guard header.lives > 0 else { return forget(place) }
        header.lives -= 1
        // There is, since what it took is free.
        _ = findRoom(for: header.size)
        let slot = slot(of: header.name)
        slots[slot] = Slot(head, header.name.hash)
        let start = place + BlockHeader.length
        let target = head + BlockHeader.length
        var span = ring.mutableSpan
        span.move(start..<start + header.count, to: target)
        addAtHead(header)
    }

    /// Drops the block at `place`; its bytes go when they are the oldest.
    private mutating func forget(_ place: Int) {
        var header = header(place)
        empty(slot(of: header.name))
        header.isKept = false
        write(header, place)
        statistics.bytes -= header.size
        count -= 1
    }
}

// The slots.
extension CacheRing {
    private var mask: Int { slots.count - 1 }

    private func name(_ place: Int) -> BlockName {
        let span = ring.span
        return BlockName(file: span.uint64(at: place), place: span.uint64(at: place + 8))
    }

    /// The slot that holds the block, or the free one where it belongs.
    private func slot(of name: BlockName) -> Int {
        let sought = Slot(0, name.hash)
        var slot = sought.home & mask
        // What differs in the slot already need not be looked at in the ring.
        while let place = slots[slot].place,
            slots[slot].home != sought.home || self.name(place) != name
        { slot = (slot + 1) & mask }
        return slot
    }

    /// Frees a slot and moves up those behind it that were pushed away from their homes.
    private mutating func empty(_ start: Int) {
        var free = start
        var slot = (start + 1) & mask
        while slots[slot].place != nil {
            let distance = (slot - slots[slot].home) & mask
            if distance >= (slot - free) & mask {
                slots.swapAt(free, slot)
                free = slot
            }
            slot = (slot + 1) & mask
        }
        slots[free] = Slot()
    }

    private mutating func growSlots() {
        let old = slots
        slots = [Slot](repeating: Slot(), count: old.count * 2)
        for slot in old {
            guard slot.place != nil else { continue }
            var free = slot.home & mask
            while slots[free].place != nil { free = (free + 1) & mask }
            slots[free] = slot
        }
    }
}

/// Where a block begins in the ring, if the slot is not free, and a part of its name's hash.
private struct Slot {
    /// Place / 8 + 1.
    private var placeBits: UInt32 = 0
    private var hash: UInt32 = 0

    init() {}
    init(_ place: Int, _ hash: UInt64) {
        placeBits = UInt32(place / 8 + 1)
        self.hash = UInt32(truncatingIfNeeded: hash)
    }

    var place: Int? { placeBits == 0 ? nil : Int(placeBits - 1) * 8 }
    /// The slot where the block belongs, modulo their number.
    var home: Int { Int(hash) }
}

/// What stands before each block in the ring.
private struct BlockHeader {
    static let length = 24

    var name: BlockName
    var count: Int
    /// So many more times it comes in again instead of going.
    var lives: UInt8 = 0
    var isPreferred = false
    /// No longer where the block was dropped.
    var isKept = true

    init(name: BlockName, count: Int) {
        self.name = name
        self.count = count
    }

    init(name: BlockName, bits: UInt64) {
        self.name = name
        count = Int(bits & 0xffff_ffff)
        lives = UInt8(truncatingIfNeeded: bits >> 32)
        isPreferred = bits >> 40 & 1 == 1
        isKept = bits >> 41 & 1 == 1
    }

    var bits: UInt64 {
        UInt64(count) | UInt64(lives) << 32 | (isPreferred ? 1 << 40 : 0) | (isKept ? 1 << 41 : 0)
    }

    /// Of header and block, in the ring.
    var size: Int { (Self.length + count + 7) & ~7 }
}
