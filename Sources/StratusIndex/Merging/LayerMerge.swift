/// Puts two layers in one order. This is where most of a save's time in the index goes.
enum LayerMerge {
    /// Where no partition is dropped, only versions of one key touch each other.
    static func entries(
        _ newer: [IndexEntry], over older: [IndexEntry], _ points: NeededPoints
    ) -> [IndexEntry] {
        let newer = newer.span
        let older = older.span
        var all: [IndexEntry] = []
        all.reserveCapacity(newer.count + older.count)
        var (first, second) = (0, 0)
        // Of the last entry taken: there it replaced what is older.
        var replacedAt: UInt64 = 0
        while first < newer.count || second < older.count {
            let takesNewer =
                second == older.count
                || (first < newer.count && !(older[second].key < newer[first].key))
            let entry = takesNewer ? newer[first] : older[second]
            if takesNewer { first += 1 } else { second += 1 }
            let isOlderVersion = !all.isEmpty && all[all.count - 1].key == entry.key
            if isOlderVersion, !points.isNeeded(from: entry.value.stamp, replacedAt: replacedAt) {
                if entry.flags.contains(.fresh) { makeFresh(&all) }
            } else {
                all.append(entry)
            }
            replacedAt = entry.value.stamp
        }
        return all
    }

    /// Behind what is fresh there is nothing, and so behind what replaced it.
    private static func makeFresh(_ all: inout [IndexEntry]) {
        if all[all.count - 1].flags.contains(.removed) {
            all.removeLast()
        } else {
            all[all.count - 1].flags.insert(.fresh)
        }
    }

    /// The same by the rules for runs, which know of drops.
    static func sieved(
        _ newer: [IndexEntry], over older: [IndexEntry], _ points: NeededPoints
    ) -> [IndexEntry] {
        let newer = newer.span
        let older = older.span
        var all: [IndexEntry] = []
        var sieve = VersionSieve(points, isOldest: false)
        var (first, second) = (0, 0)
        while first < newer.count || second < older.count {
            let takesNewer =
                second == older.count
                || (first < newer.count && !(older[second].key < newer[first].key))
            if let kept = sieve.pass(takesNewer ? newer[first] : older[second]) {
                all.append(kept)
            }
            if takesNewer { first += 1 } else { second += 1 }
        }
        if let last = sieve.finish() { all.append(last) }
        return all
    }
}
