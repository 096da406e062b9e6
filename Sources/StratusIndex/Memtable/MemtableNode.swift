/// A leaf holds entries, an inner node children, each with the least position it may hold.
///
/// One array a node: a copy of an inner node costs a few references for each child.
struct MemtableNode: Sendable {
    private(set) var entries: [IndexEntry] = []
    private(set) var children: [Child] = []

    struct Child: Sendable {
        var least: IndexPosition
        var node: MemtableNode
    }

    /// The most entries of a leaf.
    static let leafOrder = 48
    /// The most children of a node: fewer, since copying one counts references.
    static let innerOrder = 16

    init() { entries.reserveCapacity(Self.leafOrder + 1) }

    /// A new root. The least position of the first child is never looked at.
    init(above left: MemtableNode, _ right: Child) {
        children.reserveCapacity(Self.innerOrder + 1)
        children.append(Child(least: right.least, node: left))
        children.append(right)
    }

    private init(entries: ArraySlice<IndexEntry>) {
        self.entries.reserveCapacity(Self.leafOrder + 1)
        self.entries.append(contentsOf: entries)
    }

    private init(children: ArraySlice<Child>) {
        self.children.reserveCapacity(Self.innerOrder + 1)
        self.children.append(contentsOf: children)
    }

    private var isLeaf: Bool { children.isEmpty }
    private var isEmpty: Bool { entries.isEmpty && children.isEmpty }

    /// The number of the child that may hold `position`.
    private func child(for position: IndexPosition) -> Int {
        // In place: a copy of a child would count references.
        let children = children.span
        var low = 1
        var high = children.count
        while low < high {
            let middle = (low + high) / 2
            if position < children[middle].least { high = middle } else { low = middle + 1 }
        }
        return low - 1
    }
}

/// A change as it is passed down through the nodes of a memtable.
struct MemtableChange {
    let entry: IndexEntry
    let points: NeededPoints
    /// Before all entries of the key.
    let position: IndexPosition
    var size: MemtableSize
    /// The node that was changed last became two; this is the right one.
    var split: MemtableNode.Child?

    init(_ entry: IndexEntry, _ points: NeededPoints, _ size: MemtableSize) {
        self.entry = entry
        self.points = points
        self.size = size
        position = IndexPosition(entry.key)
    }
}

// Changing.
extension MemtableNode {
    mutating func set(_ change: inout MemtableChange) {
        if isLeaf { return setInLeaf(at: entries.lowerBound(change.position), &change) }
        let place = child(for: change.position)
        // Down through the arrays in place: a copy of a node would count references.
        let isAboveLeaves = children.span[place].node.isLeaf
        children[place].node.set(&change)
        if let right = change.split {
            change.split = nil
            children.insert(right, at: place + 1)
            if children.count > Self.innerOrder { splitInner(at: place + 1, &change) }
        } else if children.span[place].node.isEmpty {
            children.remove(at: place)
            if isAboveLeaves { change.size.leaves -= 1 } else { change.size.inner -= 1 }
        }
    }

    /// `place` is that of the newest entry of the key, or where it belongs.
    private mutating func setInLeaf(at place: Int, _ change: inout MemtableChange) {
        if place < entries.count, entries[place].key == change.entry.key,
            supersede(at: place, &change)
        {
            return
        }
        // Also where a copy that is kept has the old array.
        entries.reserveCapacity(Self.leafOrder + 1)
        entries.insert(change.entry, at: place)
        change.size.entries += 1
        if entries.count > Self.leafOrder { splitLeaf(at: place, &change) }
    }

    /// Lets the newest entry of the key give way; returns whether nothing is left to do.
    private mutating func supersede(at place: Int, _ change: inout MemtableChange) -> Bool {
        let entry = change.entry
        let old = entries[place]
        let isRemoval = entry.flags.contains(.removed) && !entry.key.isPartition
        if isRemoval, old.flags.contains(.removed) { return true }
        guard !change.points.isNeeded(from: old.stamp, replacedAt: entry.stamp)
        else { return false }
        let isFresh = old.flags.contains(.fresh)
        if isRemoval, isFresh {
            entries.remove(at: place)
            change.size.entries -= 1
        } else {
            entries[place] = entry
            if isFresh { entries[place].flags.insert(.fresh) }
        }
        return true
    }

    /// Splits in the middle, or where keys come in order, so that the left one stays full.
    private mutating func splitLeaf(at place: Int, _ change: inout MemtableChange) {
        let middle = place == entries.count - 1 ? place : entries.count / 2
        let right = MemtableNode(entries: entries[middle...])
        entries.removeSubrange(middle...)
        change.size.leaves += 1
        // Where a key begins, even its newest entry to come belongs to the right.
        let first = right.entries[0]
        let beginsKey = entries[middle - 1].key != first.key
        change.split = Child(
            least: beginsKey ? IndexPosition(first.key) : first.position, node: right)
    }

    private mutating func splitInner(at place: Int, _ change: inout MemtableChange) {
        let middle = place == children.count - 1 ? place - 1 : children.count / 2
        let right = MemtableNode(children: children[middle...])
        children.removeSubrange(middle...)
        change.size.inner += 1
        change.split = Child(least: right.children[0].least, node: right)
    }
}

// Looking.
extension MemtableNode {
    /// The first entry at or behind `position`.
    func ceiling(_ position: IndexPosition) -> IndexEntry? {
        if isLeaf {
            let place = entries.lowerBound(position)
            return place < entries.count ? entries[place] : nil
        }
        let place = child(for: position)
        if let found = children[place].node.ceiling(position) { return found }
        return place + 1 < children.count ? children[place + 1].node.ceiling(position) : nil
    }

    func append(to all: inout [IndexEntry]) {
        all += entries
        for child in children { child.node.append(to: &all) }
    }

    func leaf(from position: IndexPosition) -> (entries: [IndexEntry], place: Int)? {
        if isLeaf {
            let place = entries.lowerBound(position)
            return place < entries.count ? (entries, place) : nil
        }
        let place = child(for: position)
        if let found = children[place].node.leaf(from: position) { return found }
        return place + 1 < children.count ? children[place + 1].node.leaf(from: position) : nil
    }

    func leaf(before position: IndexPosition) -> (entries: [IndexEntry], place: Int)? {
        if isLeaf {
            let place = entries.lowerBound(position) - 1
            return place >= 0 ? (entries, place) : nil
        }
        let place = child(for: position)
        if let found = children[place].node.leaf(before: position) { return found }
        return place > 0 ? children[place - 1].node.leaf(before: position) : nil
    }
}
