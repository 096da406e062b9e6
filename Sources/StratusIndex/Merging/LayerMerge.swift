/// Puts two layers in one order, at once or step by step. This is where most of a save's time in the
/// index goes.
struct LayerMerge {
    private let newer: [IndexEntry]
    private let older: [IndexEntry]
    private let points: NeededPoints
    /// Where partitions are dropped, the rules for runs hold; otherwise only versions of one key
    /// touch each other.
    private var sieve: VersionSieve?
    /// The places of the next entries.
    private var first = 0
    private var second = 0
    /// The stamp of the last entry taken: there it replaced what is older.
    private var replacedAt: UInt64 = 0
    /// So far. The last one may still change, or go.
    private(set) var entries: [IndexEntry] = []

    /// What `points` do not need goes, also where some are no longer needed before the end.
    init(
        _ newer: [IndexEntry], over older: [IndexEntry], hasDrops: Bool, _ points: NeededPoints
    ) {
        self.newer = newer
        self.older = older
        self.points = points
        if hasDrops { sieve = VersionSieve(points, isOldest: false) }
        entries.reserveCapacity(newer.count + older.count)
    }

    /// Of all of it.
    static func entries(
        _ newer: [IndexEntry], over older: [IndexEntry], hasDrops: Bool, _ points: NeededPoints
    ) -> [IndexEntry] {
        var merge = LayerMerge(newer, over: older, hasDrops: hasDrops, points)
        merge.advance(by: newer.count + older.count)
        return merge.entries
    }

    var isDone: Bool { first == newer.count && second == older.count }

    /// Takes so many entries more, or all that are left.
    mutating func advance(by count: Int) {
        if isDone { return }
        let end = min(first + second + count, newer.count + older.count)
        if sieve == nil { take(until: end) } else { pass(until: end) }
        if isDone, let last = sieve?.finish() { entries.append(last) }
    }

    private mutating func take(until end: Int) {
        let (newerEntries, olderEntries) = (self.newer, self.older)
        let (newer, older) = (newerEntries.span, olderEntries.span)
        var all: [IndexEntry] = []
        swap(&all, &entries)
        var (first, second, replacedAt) = (first, second, replacedAt)
        while first + second < end {
            let takesNewer =
                second == older.count
                || (first < newer.count && !(older[second].key < newer[first].key))
            let entry = takesNewer ? newer[first] : older[second]
            if takesNewer { first += 1 } else { second += 1 }
            let isOlderVersion = !all.isEmpty && all[all.count - 1].key == entry.key
            if isOlderVersion, !points.isNeeded(from: entry.value.stamp, replacedAt: replacedAt) {
                if entry.flags.contains(.fresh) { Self.makeFresh(&all) }
            } else {
                all.append(entry)
            }
            replacedAt = entry.value.stamp
        }
        (self.first, self.second, self.replacedAt) = (first, second, replacedAt)
        swap(&all, &entries)
    }

    /// Behind what is fresh there is nothing, and so behind what replaced it.
    private static func makeFresh(_ all: inout [IndexEntry]) {
        if all[all.count - 1].flags.contains(.removed) {
            all.removeLast()
        } else {
            all[all.count - 1].flags.insert(.fresh)
        }
    }

    private mutating func pass(until end: Int) {
        while first + second < end {
            let takesNewer =
                second == older.count
                || (first < newer.count && !(older[second].key < newer[first].key))
            if let kept = sieve?.pass(takesNewer ? newer[first] : older[second]) {
                entries.append(kept)
            }
            if takesNewer { first += 1 } else { second += 1 }
        }
    }
}
