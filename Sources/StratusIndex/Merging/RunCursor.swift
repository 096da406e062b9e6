/// Reads the entries of a run in either direction, an interval of a block at a time.
///
/// After an error nothing has moved: the same call goes on where it failed.
struct RunCursor {
    let run: Run
    /// Forward the least position not yet given; backward the one that all not given are before.
    private var position: IndexPosition
    private let direction: IndexDirection
    private var current: Current?

    /// A block, and the interval in it that comes next.
    private struct Current {
        var place: Run.Place
        var block: Block
        var interval: Int
    }

    init(_ run: Run, from position: IndexPosition, _ direction: IndexDirection) {
        self.run = run
        self.position = position
        self.direction = direction
    }

    /// The next entries, in ascending order also backward; none at the end.
    mutating func next(_ reading: Reading) throws(IndexError) -> [IndexEntry] {
        if current == nil { try begin(reading) }
        while true {
            while let entries = try interval() {
                if !entries.isEmpty { return entries }
            }
            guard try follow(reading) else { return [] }
        }
    }

    /// What is wanted of the next interval of the block; nil where it has no more.
    private mutating func interval() throws(IndexError) -> [IndexEntry]? {
        guard let current, 0..<current.block.layout.intervalCount ~= current.interval else {
            return nil
        }
        let place = current.place
        var entries: [IndexEntry]
        do {
            entries = try current.block.entries(current.interval)
        } catch {
            throw place.table.damage(error, inBlockAt: place.range.lowerBound)
        }
        self.current?.interval += direction == .forward ? 1 : -1
        switch direction {
        case .forward:
            let unwanted = entries.prefix { $0.precedes(position) }.count
            if unwanted > 0 { entries.removeFirst(unwanted) }
            guard let next = entries.last?.position.next else { return entries }
            guard position < next else { throw place.table.disorder(at: place.range) }
            position = next
        case .backward:
            while let last = entries.last, !last.precedes(position) { entries.removeLast() }
            guard let next = entries.first?.position else { return entries }
            guard next < position else { throw place.table.disorder(at: place.range) }
            position = next
        }
        return entries
    }

    /// Looks for the block where reading begins.
    private mutating func begin(_ reading: Reading) throws(IndexError) {
        // An entry that stands at the position itself is given forward.
        let bound = direction == .forward ? position.next : position
        if let place = try run.block(beginningBefore: bound, reading) {
            let block = try place.table.data(place.range, reading)
            do {
                let interval = try block.interval(of: bound)
                current = Current(place: place, block: block, interval: interval)
            } catch {
                throw place.table.damage(error, inBlockAt: place.range.lowerBound)
            }
        }
    }

    /// Goes on to the next block; returns whether there is one.
    private mutating func follow(_ reading: Reading) throws(IndexError) -> Bool {
        let next =
            switch direction {
            case .forward: try run.block(beginningFrom: position, reading)
            case .backward: try run.block(beginningBefore: position, reading)
            }
        guard let next else { return false }
        // In a table whose entries are not in order, reading could go round in circles.
        if let place = current?.place, place.table === next.table, place.range == next.range {
            throw next.table.disorder(at: next.range)
        }
        let block = try next.table.data(next.range, reading)
        let interval = direction == .forward ? 0 : block.layout.intervalCount - 1
        current = Current(place: next, block: block, interval: interval)
        return true
    }
}
