/// The newest entries of the index.
///
/// The group at hand fills a small tree of its own. When it ends it becomes a layer, a sorted array
/// that never changes, and layers of similar size are merged. So a reader holds a few references,
/// and the writer copies nothing because a reader holds it: with one large tree, copying the nodes
/// that readers shared cost more than the rest of a save.
struct Memtable: Sendable {
    private var filling = MemtableTree()
    /// The newest first.
    private var layers: [MemtableLayer] = []
    private var layerBytes = 0
    private var layerCount = 0
    private var layerDropCount = 0

    var isEmpty: Bool { filling.isEmpty && layers.isEmpty }
    var count: Int { filling.count + layerCount }
    /// What the entries take.
    var bytes: Int { filling.bytes + layerBytes }
    /// How many drops of partitions are among the entries.
    var dropCount: Int { filling.dropCount + layerDropCount }

    /// Adds an entry; the newest one of its key gives way where no point needs it. A removal of
    /// what is fresh leaves nothing at all.
    mutating func set(_ entry: IndexEntry, _ points: NeededPoints) { filling.set(entry, points) }

    /// Ends the group at hand.
    mutating func endGroup(_ points: NeededPoints) {
        if filling.isEmpty { return }
        var newest = filling.entries
        var dropCount = filling.dropCount
        filling = MemtableTree()
        // Each layer is at least twice as large as the one before it, so that an entry is copied
        // once for each doubling and there are few layers to look through.
        var mergedCount = 0
        for layer in layers {
            guard newest.count * 2 > layer.entries.count else { break }
            dropCount += layer.dropCount
            newest =
                dropCount == 0
                ? LayerMerge.entries(newest, over: layer.entries, points)
                : LayerMerge.sieved(newest, over: layer.entries, points)
            mergedCount += 1
        }
        // Made anew, since readers hold the list.
        var kept: [MemtableLayer] = []
        kept.reserveCapacity(layers.count - mergedCount + 1)
        if !newest.isEmpty { kept.append(MemtableLayer(newest)) }
        kept += layers[mergedCount...]
        layers = kept
        layerBytes = layers.reduce(0) { $0 + $1.bytes }
        layerCount = layers.reduce(0) { $0 + $1.entries.count }
        layerDropCount = layers.reduce(0) { $0 + $1.dropCount }
    }

    /// The newest entry of the key that is not newer than the position's stamp.
    func entry(at position: IndexPosition) -> IndexEntry? {
        if !filling.isEmpty, let found = filling.entry(at: position) { return found }
        if layers.isEmpty { return nil }
        let hash = position.key.layerHash
        for layer in layers {
            if let found = layer.entry(at: position, hash: hash) { return found }
        }
        return nil
    }

    /// Whether there is an entry of the key that was made at or behind `stamp`. Searches only
    /// layers that new, which are few for a recent stamp.
    func hasEntry(of key: IndexKey, since stamp: UInt64) -> Bool {
        let position = IndexPosition(key)
        if !filling.isEmpty, let found = filling.entry(at: position) {
            return found.value.stamp >= stamp
        }
        let hash = key.layerHash
        for layer in layers where layer.greatestStamp >= stamp {
            if let found = layer.entry(at: position, hash: hash) {
                return found.value.stamp >= stamp
            }
        }
        return false
    }

    /// The same of any key of a range.
    func hasEntry(in range: Range<IndexKey>, since stamp: UInt64) -> Bool {
        let start = IndexPosition(range.lowerBound)
        func isChange(_ entry: IndexEntry) -> Bool { entry.value.stamp >= stamp }
        for layer in layers where layer.greatestStamp >= stamp {
            let behind = layer.entries[layer.entries.lowerBound(start)...]
            if behind.prefix(while: { $0.key < range.upperBound }).contains(where: isChange) {
                return true
            }
        }
        var position = start
        while let (entries, place) = filling.leaf(from: position) {
            let found = entries[place...].prefix { $0.key < range.upperBound }
            if found.contains(where: isChange) { return true }
            if found.endIndex < entries.count { return false }
            position = entries[entries.count - 1].position.next
        }
        return false
    }

    /// The entries from a position on, for a merger, the newest source first.
    func sources(from position: IndexPosition, _ direction: IndexDirection) -> [EntrySource] {
        let newest = filling.isEmpty ? [] : [EntrySource(filling, from: position)]
        return newest + layers.map { EntrySource($0, from: position, direction) }
    }
}
