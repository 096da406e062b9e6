/// Reads the entries of a run in either direction, a stretch of a block at a time.
///
/// After an error nothing has moved: the same call goes on where it failed.
struct RunCursor {
    let run: Run
    /// Forward the least position not yet given; backward the one that all not given are before.
    private var position: IndexPosition
    private let direction: IndexDirection
    private var current: Current?

    /// A data block, and where in it the next entry stands: forward at `place`, backward before it.
    private struct Current {
        /// The table's number in the run, and the block's in the table.
        var table: Int
        var number: Int
        var range: Range<Int>
        var block: Block
        var place: Int
    }

    /// How many entries are given at a time.
    private static let stretch = 32

    init(_ run: Run, from position: IndexPosition, _ direction: IndexDirection) {
        self.run = run
        self.position = position
        self.direction = direction
    }

    /// The next entries, in ascending order also backward; none at the end.
    mutating func next(_ reading: Reading) throws(IndexError) -> [IndexEntry] {
        if current == nil {
            guard try begin(reading) else { return [] }
        }
        while true {
            let entries = try stretch()
            if !entries.isEmpty { return entries }
            guard try follow(reading) else { return [] }
        }
    }

    /// The next entries of the block; none where it has no more.
    private mutating func stretch() throws(IndexError) -> [IndexEntry] {
        guard let current else { return [] }
        let range =
            switch direction {
            case .forward: current.place..<min(current.place + Self.stretch, current.block.count)
            case .backward: max(current.place - Self.stretch, 0)..<current.place
            }
        var entries: [IndexEntry] = []
        entries.reserveCapacity(range.count)
        let table = run.tables[current.table]
        do {
            for place in range { entries.append(try current.block.entry(place)) }
        } catch {
            throw table.damage(error, inBlockAt: current.range.lowerBound)
        }
        guard let first = entries.first, let last = entries.last else { return [] }
        switch direction {
        case .forward:
            guard !first.precedes(position), position < last.position.next else {
                throw table.disorder(at: current.range)
            }
            position = last.position.next
            self.current?.place = range.upperBound
        case .backward:
            guard last.precedes(position), first.position < position else {
                throw table.disorder(at: current.range)
            }
            position = first.position
            self.current?.place = range.lowerBound
        }
        return entries
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
        try enter(place, number, reading)
        guard let current else { return false }
        do {
            self.current?.place = try current.block.lowerBound(position)
        } catch {
            self.current = nil
            throw run.tables[place].damage(error, inBlockAt: current.range.lowerBound)
        }
        return true
    }

    /// Goes on to the next block; returns whether there is one.
    private mutating func follow(_ reading: Reading) throws(IndexError) -> Bool {
        guard let current else { return false }
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
        try enter(table, number, reading)
        return true
    }

    private mutating func enter(
        _ table: Int, _ number: Int, _ reading: Reading
    ) throws(IndexError) {
        guard let range = try run.tables[table].place(ofBlock: number, reading) else {
            throw run.tables[table].disorder(at: run.tables[table].directoryRange)
        }
        let block = try run.tables[table].data(range, reading)
        current = Current(
            table: table, number: number, range: range, block: block,
            place: direction == .forward ? 0 : block.count)
    }
}
