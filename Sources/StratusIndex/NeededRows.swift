internal import StratusFiles

/// All that an index says of any key at any point that is needed, in the order of the keys, a key's
/// newest first.
///
/// The same sieve decides as in a merge, so that what else depends on the answer agrees with what
/// the index keeps.
package struct NeededRows {
    private var entries: EntryMerger
    private var sieve: VersionSieve
    private let reading: Reading
    private var isEnded = false

    /// Horizons that were set at `limit` or behind it are not known yet. Of rows that an entry before
    /// `start` made only some are given: what has none that is newer is passed over.
    package init(
        _ index: OrderedIndex, at points: NeededPoints, from start: UInt64 = 0,
        horizonsBefore limit: UInt64 = .max
    ) {
        // What an older entry replaced, dropped or made lapse is older still.
        entries = index.entries(from: IndexPosition(IndexKey()), .forward, madeFrom: start)
        sieve = VersionSieve(points, isOldest: true, horizonsBefore: limit)
        reading = Reading(passingThrough: index.runs.count)
    }

    /// A row, and whether it lapses some day.
    package struct Row {
        package var key: IndexKey
        package var value: IndexValue
        package var isLapsing: Bool
    }

    /// The next row; nil at the end.
    package mutating func next() throws(IndexError) -> Row? {
        while !isEnded {
            var kept: IndexEntry?
            if try entries.settle(reading) {
                sieve.pass(entries.current) { kept = copy $0 }
                entries.advance()
            } else {
                sieve.finish { kept = copy $0 }
                isEnded = true
            }
            if let kept, !kept.flags.contains(.removed) {
                return Row(
                    key: kept.key, value: kept.value, isLapsing: kept.flags.contains(.lapsing))
            }
        }
        return nil
    }
}
