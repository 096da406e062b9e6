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

    /// How many rows are given at a time, about.
    private static let usualCount = 256

    /// Horizons that were set at `limit` or behind it are not known yet. Of rows that an entry before
    /// `start` made only some are given: what has none that is newer is passed over. Of the rows of the
    /// keyspaces `passedOver` some are missing, and some are given that were replaced or removed. The
    /// keyspace of the horizons must not be among these: it decides which rows of others have lapsed.
    package init(
        _ index: OrderedIndex, at points: NeededPoints, from start: UInt64 = 0,
        horizonsBefore limit: UInt64 = .max, passingOver passedOver: Set<UInt8>
    ) {
        // What an older entry replaced, dropped or made lapse is older still.
        entries = index.entries(
            from: IndexPosition(IndexKey()), .forward, madeFrom: start, passingOver: passedOver)
        sieve = VersionSieve(points, isOldest: true, horizonsBefore: limit)
        reading = Reading(passingThrough: index.runs.count)
    }

    /// A row, and whether it lapses some day.
    package struct Row {
        package var key: IndexKey
        package var value: IndexValue
        package var isLapsing: Bool
    }

    /// Puts the next rows in the place of `rows`, some at a time; returns whether there are any.
    package mutating func next(into rows: inout [Row]) throws(IndexError) -> Bool {
        rows.removeAll(keepingCapacity: true)
        while rows.isEmpty {
            guard try entries.settle(reading) else {
                sieve.finish { rows.append($0) }
                break
            }
            try entries.visit { entry in
                sieve.pass(entry) { rows.append($0) }
                return rows.count < Self.usualCount
            }
        }
        return !rows.isEmpty
    }
}

extension [NeededRows.Row] {
    fileprivate mutating func append(_ entry: borrowing IndexEntry) {
        let flags = entry.flags
        if flags.contains(.removed) { return }
        append(
            NeededRows.Row(
                key: entry.key, value: entry.value, isLapsing: flags.contains(.lapsing)))
    }
}
