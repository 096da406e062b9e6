/// Entries in a B+tree, as one group makes them.
struct MemtableTree: Sendable {
    private var root = MemtableNode()
    private var size = MemtableSize()
    /// How many drops of partitions are among the entries.
    private(set) var dropCount = 0

    var count: Int { size.entries }
    var isEmpty: Bool { count == 0 }

    /// What the nodes take.
    var bytes: Int { size.bytes }

    /// Adds an entry; the newest one of its key gives way where no point needs it. A removal of
    /// what is fresh leaves nothing at all.
    mutating func set(_ entry: IndexEntry, _ points: NeededPoints) {
        var change = MemtableChange(entry, points, size)
        root.set(&change)
        if let right = change.split {
            root = MemtableNode(above: root, right)
            change.size.inner += 1
        }
        while root.children.count == 1 {
            root = root.children[0].node
            change.size.inner -= 1
        }
        if entry.key.isPartition { dropCount += change.size.entries - size.entries }
        size = change.size
    }

    /// The newest entry of the key that is not newer than the position's stamp.
    func entry(at position: IndexPosition) -> IndexEntry? {
        guard let found = root.ceiling(position), found.key == position.key else { return nil }
        return found
    }

    /// All entries in their order.
    var entries: [IndexEntry] {
        var all: [IndexEntry] = []
        all.reserveCapacity(count)
        root.append(to: &all)
        return all
    }

    /// A leaf and where in it the first entry at or behind `position` stands.
    func leaf(from position: IndexPosition) -> (entries: [IndexEntry], place: Int)? {
        root.leaf(from: position)
    }

    /// A leaf and where in it the last entry before `position` stands.
    func leaf(before position: IndexPosition) -> (entries: [IndexEntry], place: Int)? {
        root.leaf(before: position)
    }
}

/// What a memtable consists of.
struct MemtableSize: Sendable {
    var entries = 0
    var leaves = 1
    var inner = 0

    /// What the nodes take, each with its full capacity.
    var bytes: Int {
        let leaf = MemoryLayout<IndexEntry>.stride * (MemtableNode.leafOrder + 1) + 32
        let node = MemoryLayout<MemtableNode.Child>.stride * (MemtableNode.innerOrder + 1) + 32
        return leaves * leaf + inner * node
    }
}
