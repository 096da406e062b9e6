/// Lets through the entries that must be kept when runs, or layers of a memtable, are merged.
///
/// Entries are given in order: the drops of a partition before its keys, of a key the newest
/// first. The last one kept is held back until it is known what of its key stands behind it.
struct VersionSieve {
    private let points: NeededPoints
    /// Nothing older than what is merged exists.
    private let isOldest: Bool
    /// Whether of two removals in a row the older one stands for both. In memory it does not: there
    /// the newest entry of a key tells when it was changed last.
    private let joinsRemovals: Bool
    /// The last entry of the key at hand that is kept; where none is, any of its entries.
    private var last = IndexEntry(key: IndexKey(), words: [0, 0, 0])
    /// Whether that is held back.
    private var isHeld = false
    /// The greatest stamp of a removal that went with all that it removed.
    private(set) var lastVanished: UInt64 = 0
    /// The stamp of the last entry of the key: there it replaced what is older.
    private var replacedAt: UInt64 = 0
    /// The stamps of the partition's drops, the newest first.
    private var drops: [UInt64] = []
    private var partition: UInt32 = 0
    /// What is lapsing in the partition says no more than a removal up to this stamp.
    private var horizon: UInt64 = 0
    /// Those of entries with such a stamp or a greater one are not known yet.
    private let horizonLimit: UInt64

    init(
        _ points: NeededPoints, isOldest: Bool, joinsRemovals: Bool = true,
        horizonsBefore limit: UInt64 = .max
    ) {
        self.points = points
        self.isOldest = isOldest
        self.joinsRemovals = joinsRemovals
        horizonLimit = limit
    }

    /// Takes the next entry; gives `keep` one that is kept, if any is by now.
    @inline(__always)
    mutating func pass<Failure>(
        _ entry: borrowing IndexEntry, _ keep: (borrowing IndexEntry) throws(Failure) -> Void
    ) throws(Failure) {
        let isFirst = last.key != entry.key
        if isFirst {
            try finish(keep)
            if partition != entry.key.partition { begin(entry.key.partition) }
        }
        if entry.key.isOfPartition { note(entry) }
        var end = isFirst ? nil : replacedAt
        if !drops.isEmpty, !entry.key.isOfPartition { end = drop(of: entry.stamp, before: end) }
        replacedAt = entry.stamp
        if let end, !points.isNeeded(from: entry.stamp, replacedAt: end) {
            if isFirst { last = copy entry }
            // Behind what is fresh there is nothing, and so behind what replaced it.
            if entry.flags.contains(.fresh) { becomeFresh() }
            return
        }
        if isHeld {
            // Not `&&`: what is borrowed cannot be captured.
            let areRemovals = joinsRemovals && isRemoval(last) ? isRemoval(entry) : false
            if !areRemovals || last.key.isPartition { try keep(last) }
        }
        last = copy entry
        isHeld = true
    }

    /// Gives `keep` what is held back, where that is kept when no more entries of its key follow.
    mutating func finish<Failure>(
        _ keep: (borrowing IndexEntry) throws(Failure) -> Void
    ) throws(Failure) {
        guard isHeld else { return }
        isHeld = false
        if !isOldest || isKeptAsOldest(last) { try keep(last) }
    }

    /// Whether the last entry of a key says anything where nothing older exists.
    private func isKeptAsOldest(_ entry: borrowing IndexEntry) -> Bool {
        if entry.key.isOfPartition, let drop = drops.first {
            // What was dropped goes with this merge, if no point is there that still sees it.
            return points.isNeeded(from: 0, replacedAt: drop)
        }
        return !isRemoval(entry)
    }

    private mutating func begin(_ partition: UInt32) {
        self.partition = partition
        drops.removeAll(keepingCapacity: true)
        horizon = 0
    }

    /// Takes notice of what a partition begins with: its drops, and where its horizon stands.
    private mutating func note(_ entry: borrowing IndexEntry) {
        if entry.key.isPartition { drops.append(entry.stamp) }
        if entry.key.isHorizon, entry.stamp < horizonLimit {
            horizon = max(horizon, entry.value.first)
        }
    }

    /// The stamp of the drop that ended an entry, or of what replaced it, whichever came first.
    private func drop(of stamp: UInt64, before replacedAt: UInt64?) -> UInt64? {
        guard let drop = drops.last(where: { $0 > stamp }) else { return replacedAt }
        return min(replacedAt ?? drop, drop)
    }

    private func isRemoval(_ entry: borrowing IndexEntry) -> Bool {
        let (flags, stamp) = (entry.flags, entry.stamp)
        return flags.contains(.removed) || flags.contains(.lapsing) && stamp <= horizon
    }

    private mutating func becomeFresh() {
        guard isHeld else { return }
        if last.flags.contains(.removed) {
            isHeld = false
            lastVanished = max(lastVanished, last.stamp)
        } else {
            last.flags.insert(.fresh)
        }
    }
}
