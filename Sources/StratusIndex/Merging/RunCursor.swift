/// Reads the entries of a run in either direction, a stretch of a block at a time.
///
/// After an error nothing has moved: the same call goes on where it failed.
struct RunCursor {
    let run: Run
    /// Forward the least position not yet given; backward the one that all not given are before.
    private var position: IndexPosition
    private let direction: IndexDirection
    private let passedOver: Set<UInt8>
    private var current: Current?

    /// A data block, and where in it the next entry stands: forward at `place`, backward before it.
    private struct Current {
        /// The table's number in the run, and the block's in the table.
        var table: Int
        var number: Int
        var range: Range<Int>
        /// Nil: it is to be looked for. Backward, what is greater stands for the end.
        var place: Int?
        var block: Block?
    }

    /// How many entries are given at a time: few at first, since many readers want no more.
    private var length = Self.firstLength
    private static let firstLength = 2
    private static let lengthLimit = 32

    /// Forward, blocks that have only entries of one keyspace in `passedOver` are skipped, but for a few.
    init(
        _ run: Run, from position: IndexPosition, _ direction: IndexDirection,
        passingOver passedOver: Set<UInt8>
    ) {
        self.run = run
        self.position = position
        self.direction = direction
        self.passedOver = passedOver
    }

    /// Puts the next entries, in ascending order also backward, in the place of `entries`; none at the end.
    mutating func next(
        _ reading: Reading, into entries: inout [IndexEntry]
    ) throws(IndexError) {
        entries.removeAll(keepingCapacity: true)
        if current == nil {
            guard try begin(reading) else { return }
        }
        do throws(IndexError) {
            repeat {
                try stretch(reading, into: &entries)
                if !entries.isEmpty { return }
            } while try follow(reading)
        } catch {
            entries.removeAll(keepingCapacity: true)
            throw error
        }
    }

    /// How many keys other than `last` the rest of the block has or, where that was given, the next one,
    /// without those that are removed, and the last of all its keys. Nil where not all of it lies before `end`
    /// and below `limit`, or nothing was read yet.
    mutating func countBlock(
        before end: IndexPosition?, below limit: IndexKey, after last: IndexKey, _ reading: Reading
    ) throws(IndexError) -> (count: Int, last: IndexKey)? {
        enum Found {
            case nothing, nothingAsWhole
            case keys(Int, last: IndexPosition)
        }
        while let current, let place = current.place {
            let found = try run.tables[current.table].withBlock(current.range, reading) {
                block, bytes throws(BlockLayout.Fault) -> Found in
                guard place < block.count else { return .nothing }
                let entry = try block.entry(block.count - 1, bytes)
                guard end.map({ entry.precedes($0) }) ?? true, entry.key < limit else {
                    return .nothingAsWhole
                }
                let count = try block.keyCount(from: place, after: last, bytes)
                return .keys(count, last: entry.position)
            }
            switch found {
            case .nothing: guard try follow(reading) else { return nil }
            case .nothingAsWhole: return nil
            case .keys(let count, let last):
                self.current?.place = .max
                position = last.next
                return (count, last.key)
            }
        }
        return nil
    }

    /// Appends the next entries of the block; none where it has no more.
    private mutating func stretch(
        _ reading: Reading, into entries: inout [IndexEntry]
    ) throws(IndexError) {
        guard var current else { return }
        let table = run.tables[current.table]
        if length == Self.firstLength {
            // For so few the block is not worth a copy.
            current.place = try table.withBlock(current.range, reading) {
                layout, bytes throws(BlockLayout.Fault) in
                try append(current.place, layout, bytes, to: &entries)
            }
        } else {
            let block: Block
            if let held = current.block {
                block = held
            } else {
                block = try table.data(current.range, reading)
                current.block = block
            }
            let bytes = block.bytes
            do throws(BlockLayout.Fault) {
                current.place = try append(
                    current.place, block.layout, bytes.span, to: &entries)
            } catch {
                throw table.damage(error, inBlockAt: current.range.lowerBound)
            }
        }
        if let first = entries.first, let last = entries.last {
            switch direction {
            case .forward:
                guard !first.precedes(position), position < last.position.next else {
                    throw table.disorder(at: current.range)
                }
                position = last.position.next
            case .backward:
                guard last.precedes(position), first.position < position else {
                    throw table.disorder(at: current.range)
                }
                position = first.position
            }
            length = min(length * 2, Self.lengthLimit)
        }
        self.current = current
    }

    /// Appends the entries of a block from a place on, or before it; returns the place where the next
    /// ones stand.
    private func append(
        _ place: Int?, _ block: BlockLayout, _ bytes: Span<UInt8>, to entries: inout [IndexEntry]
    ) throws(BlockLayout.Fault) -> Int {
        let place =
            if let place { min(place, block.count) } else { try block.lowerBound(position, bytes) }
        switch direction {
        case .forward:
            let end = min(place + length, block.count)
            try block.append(place..<end, bytes, to: &entries)
            return end
        case .backward:
            let start = max(place - length, 0)
            try block.append(start..<place, bytes, to: &entries)
            return start
        }
    }

    /// Looks for the block where reading begins; returns whether there is one.
    private mutating func begin(_ reading: Reading) throws(IndexError) -> Bool {
        var place = run.table(endingFrom: position)
        let number: Int
        switch direction {
        case .forward:
            guard place < run.tables.count else { return false }
            // An entry that stands at the position itself is given.
            let before = try run.tables[place].block(beginningBefore: position.next, reading)
            number = max(before, 0)
        case .backward:
            if place == run.tables.count || !(run.tables[place].info.first < position) {
                place -= 1
            }
            guard place >= 0 else { return false }
            number = try run.tables[place].block(beginningBefore: position, reading)
            guard number >= 0 else {
                throw run.tables[place].disorder(at: run.tables[place].directoryRange)
            }
        }
        try enter(place, number, nil, reading)
        return true
    }

    /// Goes on to the next block; returns whether there is one.
    private mutating func follow(_ reading: Reading) throws(IndexError) -> Bool {
        guard let current else { return false }
        let key = position.key
        if passedOver.contains(key.keyspace) {
            position = IndexPosition(
                IndexKey(partition: key.partition, keyspace: key.keyspace).afterPrefix)
            self.current = nil
            return try begin(reading)
        }
        var (table, number) = (current.table, current.number)
        switch direction {
        case .forward:
            number += 1
            if number == (try run.tables[table].blockCount(reading)) {
                (table, number) = (table + 1, 0)
                guard table < run.tables.count else { return false }
            }
        case .backward:
            number -= 1
            if number < 0 {
                table -= 1
                guard table >= 0 else { return false }
                number = try run.tables[table].blockCount(reading) - 1
            }
        }
        try enter(table, number, direction == .forward ? 0 : .max, reading)
        return true
    }

    private mutating func enter(
        _ table: Int, _ number: Int, _ place: Int?, _ reading: Reading
    ) throws(IndexError) {
        guard let range = try run.tables[table].place(ofBlock: number, reading) else {
            throw run.tables[table].disorder(at: run.tables[table].directoryRange)
        }
        current = Current(table: table, number: number, range: range, place: place)
    }
}
