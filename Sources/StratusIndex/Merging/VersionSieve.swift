/// Lets through the entries that a run must keep, when several are merged into it.
///
/// Entries are given in order: the drops of a partition before its keys, of a key the newest
/// first. The last one kept is held back until it is known what of its key stands behind it.
struct VersionSieve {
    private let points: NeededPoints
    /// Nothing older than what is merged exists.
    private let isOldest: Bool
    private var held: IndexEntry?
    /// The key that is being looked at, and the stamp of its last entry: there it replaced what is
    /// older.
    private var key = IndexKey()
    private var replacedAt: UInt64?
    /// The stamps of the partition's drops, the newest first.
    private var drops: [UInt64] = []
    private var partition: UInt32 = 0

    init(_ points: NeededPoints, isOldest: Bool) {
        self.points = points
        self.isOldest = isOldest
    }

    /// Takes the next entry; returns one that is kept.
    mutating func pass(_ entry: IndexEntry) -> IndexEntry? {
        if partition != entry.key.partition {
            partition = entry.key.partition
            drops.removeAll(keepingCapacity: true)
        }
        let out = key == entry.key ? nil : finish()
        let end = end(of: entry)
        key = entry.key
        replacedAt = entry.value.stamp
        if entry.key.isPartition { drops.append(entry.value.stamp) }
        if let end, !points.isNeeded(from: entry.value.stamp, replacedAt: end) {
            // Behind what is fresh there is nothing, and so behind what replaced it.
            if entry.flags.contains(.fresh) { becomeFresh() }
            return out
        }
        let isRemoval = entry.flags.contains(.removed) && !entry.key.isPartition
        // Of two removals in a row the older one says it all.
        let before = isRemoval && held?.flags.contains(.removed) == true ? nil : held
        held = entry
        return out ?? before
    }

    /// What is held back when no more entries of its key follow.
    mutating func finish() -> IndexEntry? {
        defer { held = nil }
        replacedAt = nil
        guard let held, held.flags.contains(.removed), isOldest else { return held }
        if held.key.isPartition {
            // What it hides goes with this merge, if no point is there that still sees it.
            return points.isNeeded(from: 0, replacedAt: held.value.stamp) ? held : nil
        }
        return nil
    }

    /// Where the entry was replaced or dropped, or nil where it still holds.
    private func end(of entry: IndexEntry) -> UInt64? {
        let replaced = key == entry.key ? replacedAt : nil
        guard !entry.key.isPartition, let drop = drops.last(where: { $0 > entry.value.stamp })
        else { return replaced }
        return min(replaced ?? drop, drop)
    }

    private mutating func becomeFresh() {
        guard let newer = held, newer.key == key else { return }
        if newer.flags.contains(.removed) { held = nil } else { held?.flags.insert(.fresh) }
    }
}
