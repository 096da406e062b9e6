/// Entries in their order, in one array, and which of them is next.
struct EntryStretch: Sendable {
    var entries: [IndexEntry] = []
    var place = 0

    var hasCurrent: Bool { entries.indices ~= place }
    var current: IndexEntry { entries[place] }

    /// Whether its entry that is next is before that of another.
    func precedes(_ other: EntryStretch) -> Bool {
        entries.span[place].precedes(other.entries.span[other.place])
    }

    /// Gives `body` the entry that is next, and those behind it that are before `end`, until it returns false.
    mutating func visit<Failure>(
        before end: IndexPosition?, _ body: (borrowing IndexEntry) throws(Failure) -> Bool
    ) throws(Failure) {
        let held = entries
        let entries = held.span
        repeat {
            let goesOn = try body(entries[place])
            place += 1
            guard goesOn else { return }
            if let end, place < entries.count, !entries[place].precedes(end) { return }
        } while place < entries.count
    }
}

/// The entries of several stretches in one order.
///
/// Of two entries at one place that of the stretch that was added first, the newer one, comes first.
struct StretchMerger: Sendable {
    private let direction: IndexDirection
    private var stretches: [EntryStretch] = []
    /// The numbers of those that have entries left, in the order of their next entries.
    private var order: [Int] = []
    /// Whether the first of them went on since it was put in order.
    private var hasMoved = false

    /// `capacity` is the number of stretches to come.
    init(_ direction: IndexDirection, capacity: Int) {
        self.direction = direction
        stretches.reserveCapacity(capacity)
        order.reserveCapacity(capacity)
    }

    /// How many were added.
    var count: Int { stretches.count }

    mutating func add(_ stretch: EntryStretch) {
        stretches.append(stretch)
        guard stretch.hasCurrent else { return }
        order.insert(stretches.count - 1, at: 0)
        rankFirst()
    }

    /// The entry that is next, if ``settle()`` found one.
    var current: IndexEntry { stretches[order[0]].current }

    /// Which stretch that is of, or was before it moved, counted as they were added.
    var first: Int { order[0] }

    /// What it has.
    var firstStretch: EntryStretch {
        get { stretches[order[0]] }
        _modify { yield &stretches[order[0]] }
    }

    /// Whether all of it was given.
    var firstHasEnded: Bool { hasMoved && !stretches[order[0]].hasCurrent }

    /// Where the next entry of all others stands.
    var secondPosition: IndexPosition? {
        order.count > 1 ? stretches[order[1]].current.position : nil
    }

    /// Goes on behind ``current``.
    mutating func advance() {
        stretches[order[0]].place += direction == .forward ? 1 : -1
        hasMoved = true
    }

    /// Gives `body` the entry that is next, if ``settle()`` found one, and those behind it in the same
    /// stretch, as long as it returns true. Forward.
    mutating func visit<Failure>(
        _ body: (borrowing IndexEntry) throws(Failure) -> Bool
    ) throws(Failure) {
        hasMoved = true
        try stretches[order[0]].visit(before: secondPosition, body)
    }

    /// Finds what is next; returns whether there is anything.
    mutating func settle() -> Bool {
        if hasMoved {
            hasMoved = false
            if stretches[order[0]].hasCurrent { rankFirst() } else { order.removeFirst() }
        }
        return !order.isEmpty
    }

    /// Puts the first stretch among the others, which are in order.
    private mutating func rankFirst() {
        let first = order[0]
        // Often it stays where it is.
        guard order.count > 1, precedes(order[1], first) else { return }
        var (low, high) = (2, order.count)
        while low < high {
            let middle = (low + high) / 2
            if precedes(order[middle], first) { low = middle + 1 } else { high = middle }
        }
        for place in 1..<low { order[place - 1] = order[place] }
        order[low - 1] = first
    }

    /// Whether the entry that is next of one stretch comes before that of another.
    private func precedes(_ left: Int, _ right: Int) -> Bool {
        let (lesser, greater) = direction == .forward ? (left, right) : (right, left)
        return left < right
            ? !stretches[greater].precedes(stretches[lesser])
            : stretches[lesser].precedes(stretches[greater])
    }
}
