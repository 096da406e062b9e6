/// Entries in their order, never changed.
final class MemtableLayer: Sendable {
    let entries: [IndexEntry]
    let dropCount: Int
    /// No entry's stamp is greater.
    let greatestStamp: UInt64
    /// A Bloom filter of the keys, all bits of a key in one word; empty where looking through the
    /// few entries is as fast.
    private let filter: [UInt64]

    private static let fewEntries = 32

    init(_ entries: [IndexEntry]) {
        self.entries = entries
        var dropCount = 0
        var greatestStamp: UInt64 = 0
        var filter: [UInt64] = []
        if entries.count > Self.fewEntries {
            filter = [UInt64](repeating: 0, count: entries.count / 4)
        }
        for entry in entries {
            if entry.key.isPartition { dropCount += 1 }
            greatestStamp = max(greatestStamp, entry.value.stamp)
            if !filter.isEmpty {
                let hash = entry.key.layerHash
                filter[Self.word(hash, of: filter.count)] |= Self.bits(hash)
            }
        }
        self.dropCount = dropCount
        self.greatestStamp = greatestStamp
        self.filter = filter
    }

    /// What two layers hold together, without what no point needs.
    convenience init(
        merging newer: MemtableLayer, over older: MemtableLayer, _ points: NeededPoints
    ) {
        if newer.dropCount + older.dropCount == 0 {
            self.init(LayerMerge.entries(newer.entries, over: older.entries, points))
        } else {
            self.init(LayerMerge.sieved(newer.entries, over: older.entries, points))
        }
    }

    var bytes: Int { entries.capacity * MemoryLayout<IndexEntry>.stride + filter.capacity * 8 + 96 }

    /// The newest entry of the key that is not newer than the position's stamp; `hash` is the
    /// key's.
    func entry(at position: IndexPosition, hash: UInt64) -> IndexEntry? {
        if !filter.isEmpty {
            let bits = Self.bits(hash)
            guard filter[Self.word(hash, of: filter.count)] & bits == bits else { return nil }
        }
        let place = entries.lowerBound(position)
        guard place < entries.count, entries[place].key == position.key else { return nil }
        return entries[place]
    }

    private static func word(_ hash: UInt64, of count: Int) -> Int {
        Int((hash >> 32) * UInt64(count) >> 32)
    }

    /// Five bits of a word.
    private static func bits(_ hash: UInt64) -> UInt64 {
        1 << (hash & 63) | 1 << (hash >> 6 & 63) | 1 << (hash >> 12 & 63)
            | 1 << (hash >> 18 & 63) | 1 << (hash >> 24 & 63)
    }
}

extension IndexKey {
    /// A hash for filters in memory. The names in keys are hashes themselves, under a secret.
    var layerHash: UInt64 {
        var hash: UInt64 = 0
        for place in 0..<6 { hash = (hash ^ words[place]) &* 0x9e37_79b9_7f4a_7c15 }
        return hash ^ hash >> 32
    }
}
