/// An ordered map: a B+tree that is a value.
///
/// A copy costs one reference and is a snapshot: nodes that only one copy holds are changed in
/// place, those that several hold are copied first. So a writer that keeps a copy for its readers
/// after each group copies a node at most once per group.
package struct OrderedMap: Sendable {
    private var root = Node()
    package private(set) var count = 0

    package init() {}

    package subscript(key: IndexKey) -> IndexValue? {
        var node = root
        while !node.isLeaf { node = node.children[node.child(for: key)] }
        let place = node.lowerBound(key)
        guard place < node.keys.count, node.keys[place] == key else { return nil }
        return node.values[place]
    }

    package mutating func set(_ key: IndexKey, _ value: IndexValue) {
        let result = root.insert(key, value)
        if result.isNew { count += 1 }
        if let (separator, right) = result.split {
            var top = Node()
            top.keys = [separator]
            top.children = [root, right]
            root = top
        }
    }

    package mutating func remove(_ key: IndexKey) {
        guard root.remove(key) else { return }
        count -= 1
        while root.children.count == 1 { root = root.children[0] }
    }

    /// Removes every key in `range`.
    package mutating func remove(_ range: Range<IndexKey>) {
        count -= root.remove(range)
        while root.children.count == 1 { root = root.children[0] }
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

/// A leaf holds keys and their values; an inner node holds children, and between each two the
/// least key of the second.
private struct Node: Sendable {
    var keys: [IndexKey] = []
    var values: [IndexValue] = []
    var children: [Node] = []

    /// The most keys in a node.
    static let order = 32

    var isLeaf: Bool { children.isEmpty }
    var isEmpty: Bool { keys.isEmpty && children.isEmpty }

    /// The place of the first key that is not less than `key`.
    func lowerBound(_ key: IndexKey) -> Int {
        var low = 0
        var high = keys.count
        while low < high {
            let middle = (low + high) / 2
            if keys[middle] < key { low = middle + 1 } else { high = middle }
        }
        return low
    }

    /// The number of the child that holds `key`.
    func child(for key: IndexKey) -> Int {
        let place = lowerBound(key)
        return place < keys.count && keys[place] == key ? place + 1 : place
    }

    mutating func insert(
        _ key: IndexKey, _ value: IndexValue
    ) -> (isNew: Bool, split: (IndexKey, Node)?) {
        if isLeaf {
            let place = lowerBound(key)
            if place < keys.count, keys[place] == key {
                values[place] = value
                return (false, nil)
            }
            if keys.isEmpty {
                keys.reserveCapacity(Self.order + 1)
                values.reserveCapacity(Self.order + 1)
            }
            keys.insert(key, at: place)
            values.insert(value, at: place)
            return (true, keys.count > Self.order ? splitLeaf(at: place) : nil)
        }
        let place = child(for: key)
        let result = children[place].insert(key, value)
        guard let (separator, right) = result.split else { return result }
        keys.insert(separator, at: place)
        children.insert(right, at: place + 1)
        return (result.isNew, keys.count > Self.order ? splitInner() : nil)
    }

    /// Splits in the middle, or where keys come in order, so that the left one stays full.
    private mutating func splitLeaf(at place: Int) -> (IndexKey, Node) {
        let middle = place == keys.count - 1 ? place : keys.count / 2
        var right = Node()
        right.keys.reserveCapacity(Self.order + 1)
        right.values.reserveCapacity(Self.order + 1)
        right.keys.append(contentsOf: keys[middle...])
        right.values.append(contentsOf: values[middle...])
        keys.removeSubrange(middle...)
        values.removeSubrange(middle...)
        return (right.keys[0], right)
    }

    private mutating func splitInner() -> (IndexKey, Node) {
        let middle = keys.count / 2
        let separator = keys[middle]
        var right = Node()
        right.keys = Array(keys[(middle + 1)...])
        right.children = Array(children[(middle + 1)...])
        keys.removeSubrange(middle...)
        children.removeSubrange((middle + 1)...)
        return (separator, right)
    }

    mutating func remove(_ key: IndexKey) -> Bool {
        if isLeaf {
            let place = lowerBound(key)
            guard place < keys.count, keys[place] == key else { return false }
            keys.remove(at: place)
            values.remove(at: place)
            return true
        }
        let place = child(for: key)
        guard children[place].remove(key) else { return false }
        if children[place].isEmpty { removeChild(place) }
        return true
    }

    private mutating func removeChild(_ place: Int) {
        children.remove(at: place)
        if !keys.isEmpty { keys.remove(at: max(place - 1, 0)) }
    }

    mutating func remove(_ range: Range<IndexKey>) -> Int {
        if isLeaf {
            let places = lowerBound(range.lowerBound)..<lowerBound(range.upperBound)
            keys.removeSubrange(places)
            values.removeSubrange(places)
            return places.count
        }
        var removed = 0
        // From the back, so that places stay right; the end of the range belongs to nobody.
        let last = lowerBound(range.upperBound)
        for place in stride(from: last, through: child(for: range.lowerBound), by: -1) {
            removed += children[place].remove(range)
            if children[place].isEmpty { removeChild(place) }
        }
        return removed
    }

    func scan(_ range: Range<IndexKey>, _ body: (IndexKey, IndexValue) -> Bool) -> Bool {
        if isLeaf {
            for place in lowerBound(range.lowerBound)..<keys.count {
                guard keys[place] < range.upperBound, body(keys[place], values[place]) else {
                    return false
                }
            }
            return true
        }
        for place in child(for: range.lowerBound)..<children.count
        where !children[place].scan(range, body) { return false }
        return true
    }

    func last(in range: Range<IndexKey>) -> (key: IndexKey, value: IndexValue)? {
        if isLeaf {
            let place = lowerBound(range.upperBound) - 1
            guard place >= 0, keys[place] >= range.lowerBound else { return nil }
            return (keys[place], values[place])
        }
        for place in stride(from: lowerBound(range.upperBound), through: 0, by: -1) {
            if let last = children[place].last(in: range) { return last }
            if place > 0, keys[place - 1] < range.lowerBound { return nil }
        }
        return nil
    }
}
