/// Which runs of an index, or layers of a memtable, are merged: tiers of similar size, so that an entry is
/// copied once a tier.
struct MergePolicy {
    /// Parts up to this size are of the lowest tier; each tier is four times larger.
    let lowestTier: Int
    /// So many parts, of whatever tiers, are merged, so that reading never asks too many.
    let mostParts: Int

    /// So many parts of a tier are merged into one of the next.
    private static let partsPerTier = 4

    /// Sizes in bytes.
    static let runs = MergePolicy(lowestTier: 1 << 20, mostParts: 8)
    /// Sizes in entries.
    static let layers = MergePolicy(lowestTier: 1, mostParts: .max)

    /// How many of the newest of `count` parts should be merged; 0: none. `size` is asked for that of each,
    /// the newest being the first.
    func countToMerge(_ count: Int, size: (Int) -> Int) -> Int {
        var (highest, countOfHighest) = (0, 0)
        for place in 0..<count {
            let tier = tier(size(place))
            if tier > highest {
                if isDue(countOfHighest, of: place) { return place }
                (highest, countOfHighest) = (tier, 0)
            }
            if tier == highest { countOfHighest += 1 }
        }
        return isDue(countOfHighest, of: count) ? count : 0
    }

    private func isDue(_ countOfTier: Int, of count: Int) -> Bool {
        countOfTier >= Self.partsPerTier || count >= mostParts
    }

    private func tier(_ size: Int) -> Int {
        let parts = size / lowestTier
        return (Int.bitWidth - parts.leadingZeroBitCount + 1) / 2
    }
}
