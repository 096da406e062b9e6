/// The points of the journal at which a reader may still read.
package struct NeededPoints: Sendable {
    /// Open snapshots, marks and pinned readers, in their order.
    package private(set) var listed: [UInt64]
    /// From here on every point is needed: the beginning of the history that is kept.
    package var floor: UInt64?

    package init(_ listed: [UInt64] = [], floor: UInt64? = nil) {
        self.listed = listed.count < 2 ? listed : listed.sorted()
        self.floor = floor
    }

    /// Whether an entry made at `start` and replaced at `end` is seen from a point.
    ///
    /// Everything that drops entries asks here: the memtable, the merges of the index, and the
    /// compaction of the journal.
    package func isNeeded(from start: UInt64, replacedAt end: UInt64) -> Bool {
        if let floor, max(start, floor) < end { return true }
        if listed.isEmpty { return false }
        let low = listed.place(of: start)
        return low < listed.count && listed[low] < end
    }
}

extension [UInt64] {
    /// The place of the first that is not below `value`, of rising numbers.
    package func place(of value: UInt64) -> Int {
        var (low, high) = (0, count)
        while low < high {
            let middle = (low + high) / 2
            if self[middle] < value { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
