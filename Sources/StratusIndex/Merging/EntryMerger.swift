/// Which way a cursor goes.
package enum IndexDirection: Sendable {
    case forward
    case backward
}

/// The entries of several sources in one order: all versions of all keys.
///
/// Sources are given the newest first. After an error nothing has moved.
struct EntryMerger {
    private var sources: [EntrySource]
    private let direction: IndexDirection
    /// The source whose entry is next, and where the next entry of all others stands.
    private var leader = 0
    private var challenger: IndexPosition?
    private var isSettled = false

    init(_ sources: [EntrySource], _ direction: IndexDirection) {
        self.sources = sources
        self.direction = direction
    }

    /// The entry that is next, if ``settle(_:)`` found one.
    var current: IndexEntry { sources[leader].current }

    /// Goes on behind ``current``.
    mutating func advance() {
        sources[leader].advance(direction)
        isSettled = sources[leader].hasCurrent && leads(sources[leader].current.position)
    }

    /// Gives `body` the entry that is next, if ``settle(_:)`` found one, and those behind it, as long as it
    /// returns true and they are at hand. Forward.
    mutating func visit(
        _ body: (borrowing IndexEntry) throws(IndexError) -> Bool
    ) throws(IndexError) {
        isSettled = false
        try sources[leader].visit(before: challenger, body)
    }

    /// Behind what ``visit(_:)`` gave: how many keys the next block of the same source has, where all of it is
    /// before the entries of the others; nil where that cannot be said, and nothing has moved.
    mutating func countBlock(
        below limit: IndexKey, after last: IndexKey, _ reading: Reading
    ) throws(IndexError) -> (count: Int, last: IndexKey)? {
        try sources[leader].countBlock(before: challenger, below: limit, after: last, reading)
    }

    /// Finds what is next; returns whether there is anything.
    mutating func settle(_ reading: Reading) throws(IndexError) -> Bool {
        if isSettled { return true }
        for place in sources.indices where !sources[place].hasCurrent {
            try sources[place].fill(direction, reading)
        }
        elect()
        return isSettled
    }

    private func leads(_ position: IndexPosition) -> Bool {
        guard let challenger else { return true }
        return precedes(position, challenger)
    }

    private func precedes(_ left: IndexPosition, _ right: IndexPosition) -> Bool {
        direction == .forward ? left < right : right < left
    }

    private mutating func elect() {
        isSettled = false
        challenger = nil
        for place in sources.indices where sources[place].hasCurrent {
            let position = sources[place].current.position
            if !isSettled {
                isSettled = true
                leader = place
            } else if precedes(position, sources[leader].current.position) {
                challenger = sources[leader].current.position
                leader = place
            } else if leads(position) {
                challenger = position
            }
        }
    }
}

/// A part of a memtable or a run, read a stretch of entries at a time.
struct EntrySource {
    private var entries: [IndexEntry] = []
    private var place = 0
    private var isEnded = false
    private var tree: MemtableCursor?
    private var run: RunCursor?

    init(_ tree: MemtableTree, from position: IndexPosition) {
        self.tree = MemtableCursor(tree: tree, position: position)
    }

    init(_ layer: MemtableLayer, from position: IndexPosition, _ direction: IndexDirection) {
        entries = layer.entries
        place = layer.entries.lowerBound(position) - (direction == .forward ? 0 : 1)
        isEnded = true
    }

    init(_ run: Run, from position: IndexPosition, _ direction: IndexDirection) {
        self.run = RunCursor(run, from: position, direction)
    }

    var hasCurrent: Bool { entries.indices ~= place }
    var current: IndexEntry { entries[place] }

    mutating func advance(_ direction: IndexDirection) {
        place += direction == .forward ? 1 : -1
    }

    /// Gives `body` the entry that is next, and those at hand that are before `end`, until it returns false.
    mutating func visit(
        before end: IndexPosition?, _ body: (borrowing IndexEntry) throws(IndexError) -> Bool
    ) throws(IndexError) {
        let entries = entries
        repeat {
            guard try body(entries[place]) else { return }
            place += 1
        } while place < entries.count && (end.map { entries[place].precedes($0) } ?? true)
    }

    /// As ``RunCursor/countBlock(before:below:after:_:)``, where all at hand was given.
    mutating func countBlock(
        before end: IndexPosition?, below limit: IndexKey, after last: IndexKey, _ reading: Reading
    ) throws(IndexError) -> (count: Int, last: IndexKey)? {
        hasCurrent
            ? nil : try run?.countBlock(before: end, below: limit, after: last, reading)
    }

    /// Reads the next stretch, if there is one.
    mutating func fill(_ direction: IndexDirection, _ reading: Reading) throws(IndexError) {
        if isEnded { return }
        if let leaf = tree?.next(direction) {
            entries = leaf.entries
            place = leaf.place
        } else if let next = try run?.next(reading), !next.isEmpty {
            entries = next
            place = direction == .forward ? 0 : next.count - 1
        } else {
            isEnded = true
        }
    }
}

/// Reads the entries of a tree in either direction, a leaf at a time.
private struct MemtableCursor {
    let tree: MemtableTree
    /// As that of a ``RunCursor``.
    var position: IndexPosition

    /// The next leaf, and where in it the next entry stands.
    mutating func next(_ direction: IndexDirection) -> (entries: [IndexEntry], place: Int)? {
        let leaf =
            switch direction {
            case .forward: tree.leaf(from: position)
            case .backward: tree.leaf(before: position)
            }
        guard let leaf else { return nil }
        switch direction {
        case .forward: position = leaf.entries[leaf.entries.count - 1].position.next
        case .backward: position = leaf.entries[0].position
        }
        return leaf
    }
}
