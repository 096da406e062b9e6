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

    struct Effect {
        enum Change { case added, replaced, removed, none }
        var change: Change
        /// The node became two; this is the right one.
        var split: Child?
    }

    /// The most entries or children of a node.
    static let order = 32

    init() { entries.reserveCapacity(Self.order + 1) }

    /// A new root. The least position of the first child is never looked at.
    init(above left: MemtableNode, _ right: Child, _ size: inout MemtableSize) {
        children.reserveCapacity(Self.order + 1)
        children.append(Child(least: right.least, node: left))
        children.append(right)
        size.inner += 1
    }

    private init(entries: ArraySlice<IndexEntry>) {
        self.entries.reserveCapacity(Self.order + 1)
        self.entries.append(contentsOf: entries)
    }

    private init(children: ArraySlice<Child>) {
        self.children.reserveCapacity(Self.order + 1)
        self.children.append(contentsOf: children)
    }

    private var isLeaf: Bool { children.isEmpty }
    private var isEmpty: Bool { entries.isEmpty && children.isEmpty }

    /// The place of the first entry that is not before `position`.
    private func lowerBound(_ position: IndexPosition) -> Int {
        var low = 0
        var high = entries.count
        while low < high {
            let middle = (low + high) / 2
            if entries[middle].precedes(position) { low = middle + 1 } else { high = middle }
        }
        return low
    }

    /// The number of the child that may hold `position`.
    private func child(for position: IndexPosition) -> Int {
        var low = 1
        var high = children.count
        while low < high {
            let middle = (low + high) / 2
            if position < children[middle].least { high = middle } else { low = middle + 1 }
        }
        return low - 1
    }
}

// Changing.
extension MemtableNode {
    mutating func set(
        _ entry: IndexEntry, _ points: NeededPoints, _ size: inout MemtableSize
    ) -> Effect {
        let position = IndexPosition(entry.key)
        if isLeaf { return setInLeaf(entry, at: lowerBound(position), points, &size) }
        let place = child(for: position)
        let isAboveLeaves = children[place].node.isLeaf
        // Down through the arrays in place: a copy of a node would count references.
        var effect = children[place].node.set(entry, points, &size)
        if effect.change == .removed, children[place].node.isEmpty {
            children.remove(at: place)
            if isAboveLeaves { size.leaves -= 1 } else { size.inner -= 1 }
        } else if let right = effect.split {
            children.insert(right, at: place + 1)
            effect.split = children.count > Self.order ? splitInner(at: place + 1, &size) : nil
        }
        return effect
    }

    /// `place` is that of the newest entry of the key, or where it belongs.
    private mutating func setInLeaf(
        _ entry: IndexEntry, at place: Int, _ points: NeededPoints, _ size: inout MemtableSize
    ) -> Effect {
        if place < entries.count, entries[place].key == entry.key {
            let old = entries[place]
            let isRemoval = entry.flags.contains(.removed) && !entry.key.isPartition
            if isRemoval, old.flags.contains(.removed) { return Effect(change: .none) }
            if !points.isNeeded(from: old.value.stamp, replacedAt: entry.value.stamp) {
                let isFresh = old.flags.contains(.fresh)
                if isRemoval, isFresh {
                    entries.remove(at: place)
                    return Effect(change: .removed)
                }
                entries[place] = entry
                if isFresh { entries[place].flags.insert(.fresh) }
                return Effect(change: .replaced)
            }
        }
        // Also where a copy that is kept has the old array.
        entries.reserveCapacity(Self.order + 1)
        entries.insert(entry, at: place)
        guard entries.count > Self.order else { return Effect(change: .added) }
        return Effect(change: .added, split: splitLeaf(at: place, &size))
    }

    /// Splits in the middle, or where keys come in order, so that the left one stays full.
    private mutating func splitLeaf(at place: Int, _ size: inout MemtableSize) -> Child {
        let middle = place == entries.count - 1 ? place : entries.count / 2
        let right = MemtableNode(entries: entries[middle...])
        entries.removeSubrange(middle...)
        size.leaves += 1
        // Where a key begins, even its newest entry to come belongs to the right.
        let first = right.entries[0]
        let beginsKey = entries[middle - 1].key != first.key
        return Child(least: beginsKey ? IndexPosition(first.key) : first.position, node: right)
    }

    private mutating func splitInner(at place: Int, _ size: inout MemtableSize) -> Child {
        let middle = place == children.count - 1 ? place - 1 : children.count / 2
        let right = MemtableNode(children: children[middle...])
        children.removeSubrange(middle...)
        size.inner += 1
        return Child(least: right.children[0].least, node: right)
    }
}

// Looking.
extension MemtableNode {
    /// The first entry at or behind `position`.
    func ceiling(_ position: IndexPosition) -> IndexEntry? {
        if isLeaf {
            let place = lowerBound(position)
            return place < entries.count ? entries[place] : nil
        }
        let place = child(for: position)
        if let found = children[place].node.ceiling(position) { return found }
        return place + 1 < children.count ? children[place + 1].node.ceiling(position) : nil
    }

    func leaf(from position: IndexPosition) -> (entries: [IndexEntry], place: Int)? {
        if isLeaf {
            let place = lowerBound(position)
            return place < entries.count ? (entries, place) : nil
        }
        let place = child(for: position)
        if let found = children[place].node.leaf(from: position) { return found }
        return place + 1 < children.count ? children[place + 1].node.leaf(from: position) : nil
    }

    func leaf(before position: IndexPosition) -> (entries: [IndexEntry], place: Int)? {
        if isLeaf {
            let place = lowerBound(position) - 1
            return place >= 0 ? (entries, place) : nil
        }
        let place = child(for: position)
        if let found = children[place].node.leaf(before: position) { return found }
        return place > 0 ? children[place - 1].node.leaf(before: position) : nil
    }
}
