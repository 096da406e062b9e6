internal import StratusBytes

/// Finds keys in a layer: a hash table with a slot for each key, which says where its newest entry
/// stands. A key that is there takes one slot and one entry to find, one that is not a slot alone; a
/// binary search would wait for memory a dozen times.
struct LayerDirectory: Sendable {
    /// Open addressing, at most half of it taken. 0 is free; else the low bits are the place of the
    /// entry and one, the others bits of the key's hash, so that few other keys are looked at.
    private var slots: [UInt32]
    private let placeBits: UInt32

    init(mostEntries count: Int) {
        slots = [UInt32](repeating: 0, count: max(1, count * 2))
        // The greatest number is that of entries: a place is counted from 1.
        placeBits = UInt32(UInt32.bitWidth - UInt32(count).leadingZeroBitCount)
    }

    /// Adds the keys of entries at these places; those before them were added.
    mutating func add(_ entries: [IndexEntry], _ places: Range<Int>) {
        let entries = entries.span
        var slots: [UInt32] = []
        swap(&slots, &self.slots)
        for place in places where place == 0 || entries[place - 1].key != entries[place].key {
            let hash = entries[place].key.layerHash
            var slot = hash.place(among: slots.count)
            while slots[slot] != 0 { slot = slot + 1 == slots.count ? 0 : slot + 1 }
            slots[slot] = Self.mark(hash, placeBits) | UInt32(place + 1)
        }
        swap(&slots, &self.slots)
    }

    var bytes: Int { slots.capacity * MemoryLayout<UInt32>.stride }

    /// Where the newest entry of a key stands in the entries that were added; `hash` is the
    /// key's.
    func place(of key: borrowing IndexKey, hash: UInt64, in entries: [IndexEntry]) -> Int? {
        let slots = slots.span
        let mark = Self.mark(hash, placeBits)
        let placeMask = (1 << placeBits) &- 1 as UInt32
        var slot = hash.place(among: slots.count)
        while slots[slot] != 0 {
            if slots[slot] & ~placeMask == mark {
                let place = Int(slots[slot] & placeMask) - 1
                if entries[place].key == key { return place }
            }
            slot = slot + 1 == slots.count ? 0 : slot + 1
        }
        return nil
    }

    /// The bits of a hash that stand above a place.
    private static func mark(_ hash: UInt64, _ placeBits: UInt32) -> UInt32 {
        UInt32(truncatingIfNeeded: hash) << placeBits
    }
}
