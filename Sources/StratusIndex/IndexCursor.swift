package import StratusFiles

/// What an index says of the keys of a range at a point, one key after the other.
///
/// After an error nothing has moved: where memory alone could not answer, the same call in the mode
/// `.blocking` goes on.
package struct IndexCursor: Sendable {
    package var mode: ReadMode
    private let index: OrderedIndex
    private let range: Range<IndexKey>
    private let point: UInt64
    private let direction: IndexDirection
    private var entries: EntryMerger
    /// Forward: the key whose entry was found last. Backward: the newest one found of a key of
    /// which more may follow.
    private var last: IndexEntry?
    /// The partition that was entered last, and its newest drop.
    private var dropped: (partition: UInt32, stamp: UInt64?)?
    private let hidesLapsed: Bool
    /// The partition whose horizon was asked for last.
    private var horizon: (partition: UInt32, stamp: UInt64)?

    init(
        _ index: OrderedIndex, _ range: Range<IndexKey>, at point: UInt64, _ mode: ReadMode,
        _ direction: IndexDirection, hidesLapsed: Bool
    ) {
        self.hidesLapsed = hidesLapsed
        self.index = index
        self.range = range
        self.point = point
        self.mode = mode
        self.direction = direction
        let start = direction == .forward ? range.lowerBound : range.upperBound
        entries = index.entries(from: IndexPosition(start), direction)
    }

    /// The next key and what it is at the point; nil at the end.
    package mutating func next() throws(IndexError) -> (key: IndexKey, value: IndexValue)? {
        switch direction {
        case .forward: try nextForward()
        case .backward: try nextBackward()
        }
    }

    /// The first entry of a key that is not newer than the point decides.
    private mutating func nextForward() throws(IndexError) -> (key: IndexKey, value: IndexValue)? {
        let reading = index.reading(mode)
        while try entries.settle(reading) {
            let entry = entries.current
            guard entry.key < range.upperBound else { return nil }
            if entry.value.stamp > point || entry.key == last?.key {
                entries.advance()
                continue
            }
            let isVisible = try isVisible(entry, reading)
            entries.advance()
            last = entry
            if isVisible { return (entry.key, entry.value) }
        }
        return nil
    }

    /// The newest entry of a key that is not newer than the point comes last.
    private mutating func nextBackward() throws(IndexError) -> (key: IndexKey, value: IndexValue)? {
        let reading = index.reading(mode)
        while true {
            let isThere =
                try entries.settle(reading) && !(entries.current.key < range.lowerBound)
            if let found = last, !isThere || entries.current.key != found.key {
                let isVisible = try isVisible(found, reading)
                last = nil
                if isVisible { return (found.key, found.value) }
            }
            guard isThere else { return nil }
            let entry = entries.current
            entries.advance()
            // Of two with one stamp, that of the newer source came first.
            if entry.value.stamp <= point, last?.value.stamp != entry.value.stamp { last = entry }
        }
    }

    private mutating func isVisible(
        _ entry: IndexEntry, _ reading: Reading
    ) throws(IndexError) -> Bool {
        if entry.flags.contains(.removed) { return false }
        let partition = entry.key.partition
        if hidesLapsed, entry.flags.contains(.lapsing) {
            if horizon?.partition != partition {
                let stamp = try index.horizon(ofPartition: partition, mode)
                horizon = (partition, stamp)
            }
            if let horizon, entry.value.stamp <= horizon.stamp { return false }
        }
        guard index.hasDrops else { return true }
        if dropped?.partition != partition {
            let stamp = try index.drop(of: partition, at: point, reading)
            dropped = (partition, stamp)
        }
        guard let stamp = dropped?.stamp else { return true }
        // A horizon that was set with a drop goes in merges with what was dropped.
        return entry.key.isHorizon ? entry.value.stamp > stamp : entry.value.stamp >= stamp
    }
}
