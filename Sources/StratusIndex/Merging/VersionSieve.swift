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
    /// What is lapsing in the partition says no more than a removal up to this stamp.
    private var horizon: UInt64 = 0
    /// Those of entries with such a stamp or a greater one are not known yet.
    private let horizonLimit: UInt64

    init(_ points: NeededPoints, isOldest: Bool, horizonsBefore limit: UInt64 = .max) {
        self.points = points
        self.isOldest = isOldest
        horizonLimit = limit
    }

    /// Takes the next entry; returns one that is kept.
    mutating func pass(_ entry: IndexEntry) -> IndexEntry? {
        let out = key == entry.key ? nil : finish()
        if partition != entry.key.partition {
            partition = entry.key.partition
            drops.removeAll(keepingCapacity: true)
            horizon = 0
        }
        if entry.key.isHorizon, entry.value.stamp < horizonLimit {
            horizon = max(horizon, entry.value.first)
        }
        let end = end(of: entry)
        key = entry.key
        replacedAt = entry.value.stamp
        if entry.key.isPartition { drops.append(entry.value.stamp) }
        if let end, !points.isNeeded(from: entry.value.stamp, replacedAt: end) {
            // Behind what is fresh there is nothing, and so behind what replaced it.
            if entry.flags.contains(.fresh) { becomeFresh() }
            return out
        }
        // Of two removals in a row the older one says it all.
        let isSecond = !entry.key.isPartition && isRemoval(entry) && held.map(isRemoval) == true
        let before = isSecond ? nil : held
        held = entry
        return out ?? before
    }

    /// What is held back when no more entries of its key follow.
    mutating func finish() -> IndexEntry? {
        defer { held = nil }
        replacedAt = nil
        guard let held, isOldest else { return held }
        if held.key.isPartition || held.key.isHorizon, let drop = drops.first {
            // What was dropped goes with this merge, if no point is there that still sees it.
            return points.isNeeded(from: 0, replacedAt: drop) ? held : nil
        }
        return isRemoval(held) ? nil : held
    }

    /// Where the entry was replaced or dropped, or nil where it still holds.
    private func end(of entry: IndexEntry) -> UInt64? {
        let replaced = key == entry.key ? replacedAt : nil
        guard !entry.key.isPartition, !entry.key.isHorizon,
            let drop = drops.last(where: { $0 > entry.value.stamp })
        else { return replaced }
        return min(replaced ?? drop, drop)
    }

    private func isRemoval(_ entry: IndexEntry) -> Bool {
        entry.flags.contains(.removed)
            || entry.flags.contains(.lapsing) && entry.value.stamp <= horizon
    }

    private mutating func becomeFresh() {
        guard let newer = held, newer.key == key else { return }
        if newer.flags.contains(.removed) { held = nil } else { held?.flags.insert(.fresh) }
    }
}
