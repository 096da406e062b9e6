/// An ordered map: a B+tree that is a value.
///
/// A copy costs one reference and is a snapshot: nodes that only one copy holds are changed in
/// place, those that several hold are copied first. So a writer that keeps a copy for its readers
/// after each group copies a node at most once per group.
package struct OrderedMap: Sendable {
    private var root = Node()
    package private(set) var count = 0

    package init() {}

    package subscript(key: IndexKey) -> IndexValue? { root.value(of: key) }

    package mutating func set(_ key: IndexKey, _ value: IndexValue) {
        let result = root.insert(key, value)
        if result.isNew { count += 1 }
        if let right = result.split {
            var top = Node()
            // The least key of the first child is never looked at.
            top.children = [Child(least: key, node: root), right]
            root = top
        }
    }

    package mutating func remove(_ key: IndexKey) {
        guard root.remove(key) else { return }
        count -= 1
        while root.children.count == 1 { root = root.children[0].node }
    }

    /// Removes every key in `range`.
    package mutating func remove(_ range: Range<IndexKey>) {
        count -= root.remove(range)
        while root.children.count == 1 { root = root.children[0].node }
    }

    /// Gives `body` the entries of `range` in order, until it returns false.
    package func scan(_ range: Range<IndexKey>, _ body: (IndexKey, IndexValue) -> Bool) {
        _ = root.scan(range, body)
    }

    /// The last entry of `range`.
    package func last(in range: Range<IndexKey>) -> (key: IndexKey, value: IndexValue)? {
        root.last(in: range)
    }
}

/// A leaf holds entries, an inner node children, each with the least key it may hold.
///
/// One array a node: a copy of an inner node costs one reference for each child.
private struct Node: Sendable {
    var entries: [Entry] = []
    var children: [Child] = []

    /// The most entries or children of a node.
    static let order = 32

    var isLeaf: Bool { children.isEmpty }
    var isEmpty: Bool { entries.isEmpty && children.isEmpty }
}

private struct Entry: Sendable {
    var key: IndexKey
    var value: IndexValue
}

private struct Child: Sendable {
    var least: IndexKey
    var node: Node
}

extension Node {
    /// The place of the first entry that is not less than `key`.
    func lowerBound(_ key: IndexKey) -> Int {
        var low = 0
        var high = entries.count
        while low < high {
            let middle = (low + high) / 2
            if entries[middle].key < key { low = middle + 1 } else { high = middle }
        }
        return low
    }

    /// The number of the child that may hold `key`.
    func child(for key: IndexKey) -> Int {
        var low = 1
        var high = children.count
        while low < high {
            let middle = (low + high) / 2
            if key < children[middle].least { high = middle } else { low = middle + 1 }
        }
        return low - 1
    }

    func value(of key: IndexKey) -> IndexValue? {
        // Down through the arrays in place: a copy of a node would count references.
        if !isLeaf { return children[child(for: key)].node.value(of: key) }
        let place = lowerBound(key)
        guard place < entries.count, entries[place].key == key else { return nil }
        return entries[place].value
    }

    mutating func insert(
        _ key: IndexKey, _ value: IndexValue
    ) -> (isNew: Bool, split: Child?) {
        if isLeaf {
            let place = lowerBound(key)
            if place < entries.count, entries[place].key == key {
                entries[place].value = value
                return (false, nil)
            }
            if entries.isEmpty { entries.reserveCapacity(Self.order + 1) }
            entries.insert(Entry(key: key, value: value), at: place)
            return (true, entries.count > Self.order ? splitLeaf(at: place) : nil)
        }
        let place = child(for: key)
        let result = children[place].node.insert(key, value)
        guard let right = result.split else { return result }
        children.insert(right, at: place + 1)
        return (result.isNew, children.count > Self.order ? splitInner() : nil)
    }

    /// Splits in the middle, or where keys come in order, so that the left one stays full.
    private mutating func splitLeaf(at place: Int) -> Child {
        let middle = place == entries.count - 1 ? place : entries.count / 2
        var right = Node()
        right.entries.reserveCapacity(Self.order + 1)
        right.entries.append(contentsOf: entries[middle...])
        entries.removeSubrange(middle...)
        return Child(least: right.entries[0].key, node: right)
    }

    private mutating func splitInner() -> Child {
        let middle = children.count / 2
        var right = Node()
        right.children = Array(children[middle...])
        children.removeSubrange(middle...)
        return Child(least: right.children[0].least, node: right)
    }

    mutating func remove(_ key: IndexKey) -> Bool {
        if isLeaf {
            let place = lowerBound(key)
            guard place < entries.count, entries[place].key == key else { return false }
            entries.remove(at: place)
            return true
        }
        let place = child(for: key)
        guard children[place].node.remove(key) else { return false }
        if children[place].node.isEmpty { children.remove(at: place) }
        return true
    }

    mutating func remove(_ range: Range<IndexKey>) -> Int {
        if isLeaf {
            let places = lowerBound(range.lowerBound)..<lowerBound(range.upperBound)
            entries.removeSubrange(places)
            return places.count
        }
        var removed = 0
        // From the back, so that places stay right.
        let last = child(for: range.upperBound)
        for place in stride(from: last, through: child(for: range.lowerBound), by: -1) {
            removed += children[place].node.remove(range)
            if children[place].node.isEmpty { children.remove(at: place) }
        }
        return removed
    }

    func scan(_ range: Range<IndexKey>, _ body: (IndexKey, IndexValue) -> Bool) -> Bool {
        if isLeaf {
            for place in lowerBound(range.lowerBound)..<entries.count {
                let entry = entries[place]
                guard entry.key < range.upperBound, body(entry.key, entry.value) else {
                    return false
                }
            }
            return true
        }
        for place in child(for: range.lowerBound)..<children.count
        where !children[place].node.scan(range, body) { return false }
        return true
    }

    func last(in range: Range<IndexKey>) -> (key: IndexKey, value: IndexValue)? {
        if isLeaf {
            let place = lowerBound(range.upperBound) - 1
            guard place >= 0, entries[place].key >= range.lowerBound else { return nil }
            return (entries[place].key, entries[place].value)
        }
        for place in stride(from: child(for: range.upperBound), through: 0, by: -1) {
            if let last = children[place].node.last(in: range) { return last }
            if place > 0, children[place].least < range.lowerBound { return nil }
        }
        return nil
    }
}
