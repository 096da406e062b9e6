internal import StratusBytes

/// Finds keys in a layer: a hash table with a slot for each key, which says where its newest entry
/// stands, and one for each group of keys, which says where the first of them stands.
///
/// A key that is there takes one slot and one entry to find, one that is not a slot alone; a binary search
/// would wait for memory a dozen times.
struct LayerDirectory: Sendable {
    /// Open addressing, at most half of it taken. 0 is free; else the low bits are the place of the
    /// entry and one, the others bits of the key's hash, so that few other keys are looked at.
    private var slots: [UInt32]
    private let placeBits: UInt32

    /// - Parameter mostKeys: of keys and groups together.
    init(mostEntries count: Int, mostKeys: Int) {
        slots = [UInt32](repeating: 0, count: max(1, mostKeys * 2))
        // The greatest number is that of entries: a place is counted from 1.
        placeBits = UInt32(UInt32.bitWidth - UInt32(count).leadingZeroBitCount)
    }

    /// Adds the keys of entries at these places, and their groups; those before them were added. Returns
    /// how many groups.
    mutating func add(
        _ entries: [IndexEntry], _ places: Range<Int>, _ groupings: KeyGroupings
    ) -> Int {
        let entries = entries.span
        var slots: [UInt32] = []
        swap(&slots, &self.slots)
        var groupCount = 0
        for place in places {
            // No key is empty.
            let before = place > 0 ? entries[place - 1].key : IndexKey()
            if before == entries[place].key { continue }
            Self.add(place, entries[place].key.layerHash, to: &slots, placeBits)
            if let group = groupings.group(begunBy: entries[place].key, after: before) {
                Self.add(place, group.layerHash, to: &slots, placeBits)
                groupCount += 1
            }
        }
        swap(&slots, &self.slots)
        return groupCount
    }

    @inline(__always)
    private static func add(
        _ place: Int, _ hash: UInt64, to slots: inout [UInt32], _ placeBits: UInt32
    ) {
        var slot = hash.place(among: slots.count)
        while slots[slot] != 0 { slot = slot + 1 == slots.count ? 0 : slot + 1 }
        slots[slot] = tag(hash, placeBits) | UInt32(place + 1)
    }

    var bytes: Int { slots.capacity * MemoryLayout<UInt32>.stride }

    /// Where the newest entry of a key stands in the entries that were added; `hash` is the
    /// key's.
    func place(of key: borrowing IndexKey, hash: UInt64, in entries: [IndexEntry]) -> Int? {
        var search = Search(hash, slots.count)
        while let place = next(&search) {
            if entries[place].key == key { return place }
        }
        return nil
    }

    /// Whether there is an entry of a group of keys; `hash` is that of what they have in common.
    func holds(_ group: Range<IndexKey>, hash: UInt64, in entries: [IndexEntry]) -> Bool {
        var search = Search(hash, slots.count)
        while let place = next(&search) {
            if group.contains(entries[place].key) { return true }
        }
        return false
    }

    /// A walk over the slots where a key with this hash may be.
    private struct Search {
        let hash: UInt64
        var slot: Int

        init(_ hash: UInt64, _ slotCount: Int) {
            self.hash = hash
            slot = hash.place(among: slotCount)
        }
    }

    /// The next place of a key that may have the hash; nil where there is none any more.
    @inline(__always)
    private func next(_ search: inout Search) -> Int? {
        let slots = slots.span
        let tag = Self.tag(search.hash, placeBits)
        let placeMask = (1 << placeBits) &- 1 as UInt32
        while slots[search.slot] != 0 {
            let slot = slots[search.slot]
            search.slot = search.slot + 1 == slots.count ? 0 : search.slot + 1
            if slot & ~placeMask == tag { return Int(slot & placeMask) - 1 }
        }
        return nil
    }

    /// The bits of a hash that stand above a place.
    private static func tag(_ hash: UInt64, _ placeBits: UInt32) -> UInt32 {
        UInt32(truncatingIfNeeded: hash) << placeBits
    }
}
