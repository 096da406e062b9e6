package import StratusFiles

/// Which way a cursor goes.
package enum IndexDirection: Sendable {
    case forward
    case backward
}

/// What an index says of the keys of a range at a point, one key after the other.
///
/// After an error of ``next()`` nothing has moved: where memory alone could not answer, the same call in the
/// mode `.blocking` goes on.
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
    private let hasDrops: Bool
    /// The partition whose horizon was asked for last.
    private var horizon: (partition: UInt32, stamp: UInt64)?

    init(
        _ index: OrderedIndex, _ range: Range<IndexKey>, at point: UInt64, _ mode: ReadMode,
        _ direction: IndexDirection, hidesLapsed: Bool
    ) {
        self.hidesLapsed = hidesLapsed
        hasDrops = index.hasDrops
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

    /// Gives `body` the keys that follow and what they are at the point, until it returns false. Then the
    /// cursor is of no use any more, nor is it after an error.
    package mutating func forEach(
        _ body: (IndexKey, IndexValue) -> Bool
    ) throws(IndexError) {
        guard direction == .forward else {
            while let next = try next() {
                if !body(next.key, next.value) { return }
            }
            return
        }
        let reading = index.reading(mode)
        var walk = beginWalk()
        while try walk.merger.settle(reading), try visit(&walk, reading, body) {}
    }

    /// Counts the keys that follow, to about `limit`, forward. Then the cursor is of no use any more, nor is it
    /// after an error.
    ///
    /// Where a block of one run lies between the entries of all others its keys are counted together.
    ///
    /// - Returns: how many there are, and the last key that was looked at, counted or not; nil: all were.
    package mutating func count(
        upTo limit: Int
    ) throws(IndexError) -> (count: Int, last: IndexKey?) {
        precondition(direction == .forward, "keys are counted forward")
        let countsBlocks = !hasDrops && !hidesLapsed && point == .max
        let reading = index.reading(mode)
        var walk = beginWalk()
        var count = 0
        while try walk.merger.settle(reading) {
            if count >= limit { return (count, walk.lastKey) }
            let goesOn = try visit(&walk, reading) { _, _ in
                count += 1
                return count < limit
            }
            if !goesOn, count < limit { break }
            while countsBlocks, count < limit,
                let block = try walk.merger.countBlock(
                    below: range.upperBound, after: walk.lastKey, reading)
            {
                count += block.count
                walk.lastKey = block.last
            }
        }
        return (count, nil)
    }

    /// A walk forward, over the entries at hand of one source after the other.
    private struct Walk {
        var merger: EntryMerger
        /// That which was looked at last.
        var lastKey: IndexKey
    }

    /// Takes the entries along.
    private mutating func beginWalk() -> Walk {
        // No key is empty.
        var walk = Walk(merger: EntryMerger([], direction), lastKey: last?.key ?? IndexKey())
        swap(&walk.merger, &entries)
        return walk
    }

    /// Gives `body` what is there of the entries at hand, until it returns false: so does this then, and at
    /// the end of the range.
    private mutating func visit(
        _ walk: inout Walk, _ reading: Reading, _ body: (IndexKey, IndexValue) -> Bool
    ) throws(IndexError) -> Bool {
        var goesOn = true
        var lastKey = walk.lastKey
        try walk.merger.visit { entry throws(IndexError) in
            goesOn = entry.key < range.upperBound
            if !goesOn || entry.stamp > point || entry.key == lastKey { return goesOn }
            lastKey = entry.key
            if try isVisible(entry, reading) { goesOn = body(entry.key, entry.value) }
            return goesOn
        }
        walk.lastKey = lastKey
        return goesOn
    }

    /// The first entry of a key that is not newer than the point decides.
    private mutating func nextForward() throws(IndexError) -> (key: IndexKey, value: IndexValue)? {
        let reading = index.reading(mode)
        while try entries.settle(reading) {
            let entry = entries.current
            guard entry.key < range.upperBound else { return nil }
            if entry.stamp > point || entry.key == last?.key {
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
            if entry.stamp <= point, last?.stamp != entry.stamp { last = entry }
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
            if let horizon, entry.stamp <= horizon.stamp { return false }
        }
        guard hasDrops else { return true }
        if dropped?.partition != partition {
            let stamp = try index.drop(of: partition, at: point, reading)
            dropped = (partition, stamp)
        }
        guard let stamp = dropped?.stamp else { return true }
        // A horizon that was set with a drop goes in merges with what was dropped.
        return entry.key.isHorizon ? entry.stamp > stamp : entry.stamp >= stamp
    }
}
