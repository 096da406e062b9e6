/// Entries in their order, never changed.
final class MemtableLayer: Sendable {
    let entries: [IndexEntry]
    let dropCount: Int
    /// No entry's stamp is greater.
    let greatestStamp: UInt64
    /// There are no more groups of keys.
    let mostGroups: Int
    /// Nil where searching the few entries is as fast.
    private let directory: LayerDirectory?

    convenience init(_ entries: [IndexEntry], _ groupings: KeyGroupings) {
        var groupCount = 0
        for place in entries.indices where groupings.contain(entries[place].key) {
            groupCount += 1
        }
        var summary = LayerSummary(
            mostEntries: entries.count, mostGroups: groupCount, groupings)
        summary.add(entries, until: entries.count)
        self.init(entries, summary)
    }

    /// - Parameter summary: of these entries.
    init(_ entries: [IndexEntry], _ summary: LayerSummary) {
        self.entries = entries
        dropCount = summary.dropCount
        greatestStamp = summary.greatestStamp
        mostGroups = summary.mostGroups
        directory = summary.directory
    }

    var bytes: Int {
        entries.capacity * MemoryLayout<IndexEntry>.stride + (directory?.bytes ?? 0) + 96
    }

    /// The newest entry of the key that is not newer than the position's stamp; `hash` is the
    /// key's.
    func entry(at position: IndexPosition, hash: UInt64) -> IndexEntry? {
        var place: Int
        if let directory {
            guard let newest = directory.place(of: position.key, hash: hash, in: entries) else {
                return nil
            }
            place = newest
            // Newer versions stand before the one that is asked for.
            if entries[place].precedes(position) {
                place = entries.lowerBound(position, from: place)
            }
        } else {
            place = entries.lowerBound(position)
        }
        guard place < entries.count, entries[place].key == position.key else { return nil }
        return entries[place]
    }

    /// Whether there is an entry of a group of keys; `hash` is that of what they have in common.
    func holds(_ group: Range<IndexKey>, hash: UInt64) -> Bool {
        if let directory { return directory.holds(group, hash: hash, in: entries) }
        let place = entries.lowerBound(IndexPosition(group.lowerBound))
        return place < entries.count && entries[place].key < group.upperBound
    }
}

/// What a layer says of its entries, and how to find them; made of all at once or step by step.
struct LayerSummary {
    private(set) var dropCount = 0
    private(set) var greatestStamp: UInt64 = 0
    /// Of the entries that were added, where these are many.
    private(set) var mostGroups = 0
    private(set) var directory: LayerDirectory?
    private let groupings: KeyGroupings
    /// How many entries were added.
    private var count = 0

    private static let fewEntries = 32

    init(mostEntries: Int, mostGroups: Int, _ groupings: KeyGroupings) {
        self.groupings = groupings
        if mostEntries > Self.fewEntries {
            directory = LayerDirectory(mostEntries: mostEntries, mostKeys: mostEntries + mostGroups)
        } else {
            self.mostGroups = mostGroups
        }
    }

    /// Adds the entries before `end` that were not added yet: these stay as they are.
    mutating func add(_ entries: [IndexEntry], until end: Int) {
        guard count < end else { return }
        var greatestStamp = greatestStamp
        for place in count..<end {
            if entries[place].key.isPartition { dropCount += 1 }
            greatestStamp = max(greatestStamp, entries[place].stamp)
        }
        self.greatestStamp = greatestStamp
        mostGroups += directory?.add(entries, count..<end, groupings) ?? 0
        count = end
    }
}

extension IndexKey {
    /// A hash for tables in memory. The names in keys are hashes themselves, under a secret.
    ///
    /// Only its low half depends on the keyspace, and a table takes its slot from the high one: what
    /// is asked of one record in several keyspaces waits for memory once.
    var layerHash: UInt64 {
        var hash = (words[0] & ~(0xff << 24)) &* Self.multiplier
        for place in 1..<6 { hash = (hash ^ words[place]) &* Self.multiplier }
        hash ^= hash >> 32
        return hash ^ (UInt64(keyspace) &* Self.multiplier & 0xffff_ffff)
    }

    static var multiplier: UInt64 { 0x9e37_79b9_7f4a_7c15 }
}
