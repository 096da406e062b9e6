/// The entries of several sources in one order: all versions of all keys.
///
/// Sources are given the newest first. After an error nothing has moved.
struct EntryMerger {
    private var sources: [EntrySource]
    private let direction: IndexDirection
    /// What the sources have at hand, those that were begun.
    private var merger: StretchMerger

    init(_ sources: [EntrySource], _ direction: IndexDirection) {
        self.sources = sources
        self.direction = direction
        merger = StretchMerger(direction, capacity: sources.count)
    }

    /// The entry that is next, if ``settle(_:)`` found one.
    var current: IndexEntry { merger.current }

    /// Finds what is next; returns whether there is anything.
    mutating func settle(_ reading: Reading) throws(IndexError) -> Bool {
        while merger.count < sources.count {
            var stretch = EntryStretch()
            try sources[merger.count].next(direction, reading, into: &stretch)
            merger.add(stretch)
        }
        if merger.firstHasEnded {
            try sources[merger.first].next(direction, reading, into: &merger.firstStretch)
        }
        return merger.settle()
    }

    /// Goes on behind ``current``.
    mutating func advance() { merger.advance() }

    /// Gives `body` the entry that is next, if ``settle(_:)`` found one, and those behind it, as long as it
    /// returns true and they are at hand. Forward.
    mutating func visit(
        _ body: (borrowing IndexEntry) throws(IndexError) -> Bool
    ) throws(IndexError) {
        try merger.visit(body)
    }

    /// Behind what ``visit(_:)`` gave: how many keys the next block of the same source has, where all of it is
    /// before the entries of the others; nil where that cannot be said, and nothing has moved.
    mutating func countBlock(
        below limit: IndexKey, after last: IndexKey, _ reading: Reading
    ) throws(IndexError) -> (count: Int, last: IndexKey)? {
        guard merger.firstHasEnded else { return nil }
        return try sources[merger.first].countBlock(
            before: merger.secondPosition, below: limit, after: last, reading)
    }
}

/// A part of a memtable or a run, read a stretch of entries at a time.
///
/// One of the three is there until its end. No enumeration: a cursor is changed in its place, since a copy
/// would count references.
struct EntrySource {
    private var layer: MemtableLayer?
    private var position: IndexPosition
    private var tree: MemtableTree?
    private var run: RunCursor?

    init(_ tree: MemtableTree, from position: IndexPosition) {
        self.tree = tree
        self.position = position
    }

    init(_ layer: MemtableLayer, from position: IndexPosition) {
        self.layer = layer
        self.position = position
    }

    init(
        _ run: Run, from position: IndexPosition, _ direction: IndexDirection,
        passingOver passedOver: Set<UInt8> = []
    ) {
        self.run = RunCursor(run, from: position, direction, passingOver: passedOver)
        self.position = position
    }

    /// As ``RunCursor/countBlock(before:below:after:_:)``.
    mutating func countBlock(
        before end: IndexPosition?, below limit: IndexKey, after last: IndexKey, _ reading: Reading
    ) throws(IndexError) -> (count: Int, last: IndexKey)? {
        try run?.countBlock(before: end, below: limit, after: last, reading)
    }

    /// Reads the next stretch, if there is one.
    mutating func next(
        _ direction: IndexDirection, _ reading: Reading, into stretch: inout EntryStretch
    ) throws(IndexError) {
        if run != nil {
            try run?.next(reading, into: &stretch.entries)
            stretch.place = direction == .forward ? 0 : stretch.entries.count - 1
        } else if let layer {
            stretch.entries = layer.entries
            stretch.place = layer.entries.lowerBound(position) - (direction == .forward ? 0 : 1)
            self.layer = nil
        } else if let tree {
            nextLeaf(of: tree, direction, into: &stretch)
        }
    }

    private mutating func nextLeaf(
        of tree: MemtableTree, _ direction: IndexDirection, into stretch: inout EntryStretch
    ) {
        let leaf =
            switch direction {
            case .forward: tree.leaf(from: position)
            case .backward: tree.leaf(before: position)
            }
        guard let leaf else {
            self.tree = nil
            return
        }
        switch direction {
        case .forward: position = leaf.entries[leaf.entries.count - 1].position.next
        case .backward: position = leaf.entries[0].position
        }
        (stretch.entries, stretch.place) = leaf
    }
}
