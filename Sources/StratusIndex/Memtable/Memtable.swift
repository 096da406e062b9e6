/// The newest entries of the index.
///
/// The group at hand fills a small tree of its own. When it ends it becomes a layer, a sorted array
/// that never changes, and layers of similar size are merged. So a reader holds a few references,
/// and the writer copies nothing because a reader holds it: with one large tree, copying the nodes
/// that readers shared cost more than the rest of a save. Large layers are merged step by step with
/// the groups that follow, since a commit would have to wait for milliseconds otherwise.
struct Memtable: Sendable {
    private var filling = MemtableTree()
    /// The newest first.
    private var layers: [MemtableLayer] = []
    /// Of neighbours among the layers, each of which is in one at most.
    private var merges: [GradualMerge] = []
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
        let count = filling.count
        addLayer(points)
        advanceMerges(by: max(Self.leastStep, count * Self.stepsPerEntry))
        startMerges(points)
        layerBytes = layers.reduce(0) { $0 + $1.bytes }
        layerCount = layers.reduce(0) { $0 + $1.entries.count }
        layerDropCount = layers.reduce(0) { $0 + $1.dropCount }
    }

    /// Layers of more entries, or of more than so many for each entry of the group, are merged step by
    /// step.
    private static let mostAtOnce = 4096
    private static let mostAtOncePerEntry = 8
    /// A merge has at most three times as many entries as its newer layer has. It is done before as
    /// many have come again as that one has, and so before there is another to be merged.
    private static let stepsPerEntry = 4
    private static let leastStep = 256

    /// Makes a layer of the group, together with small ones that are not much larger than it: each
    /// layer is at least twice as large as the one before it, so that an entry is copied once for
    /// each doubling and there are few layers to look through.
    private mutating func addLayer(_ points: NeededPoints) {
        var newest = filling.entries
        var dropCount = filling.dropCount
        filling = MemtableTree()
        let most = max(Self.mostAtOnce, newest.count * Self.mostAtOncePerEntry)
        var mergedCount = 0
        for layer in layers {
            let count = layer.entries.count
            guard newest.count * 2 > count, count <= most, !isMerged(layer) else { break }
            dropCount += layer.dropCount
            newest = LayerMerge.entries(
                newest, over: layer.entries, hasDrops: dropCount > 0, points)
            mergedCount += 1
        }
        // Made anew, since readers hold the list.
        var kept: [MemtableLayer] = []
        kept.reserveCapacity(layers.count - mergedCount + 1)
        if !newest.isEmpty { kept.append(MemtableLayer(newest)) }
        kept += layers[mergedCount...]
        layers = kept
    }

    private func isMerged(_ layer: MemtableLayer) -> Bool {
        merges.contains { $0.newer === layer || $0.older === layer }
    }

    private mutating func advanceMerges(by count: Int) {
        for merge in merges {
            guard let layer = merge.advance(by: count) else { continue }
            merges.removeAll { $0 === merge }
            guard let place = layers.firstIndex(where: { $0 === merge.newer }) else { continue }
            layers.replaceSubrange(place...place + 1, with: layer.entries.isEmpty ? [] : [layer])
        }
    }

    /// The largest first.
    private mutating func startMerges(_ points: NeededPoints) {
        for place in layers.indices.dropFirst().reversed() {
            let (newer, older) = (layers[place - 1], layers[place])
            guard newer.entries.count * 2 > older.entries.count, !isMerged(newer), !isMerged(older)
            else { continue }
            merges.append(GradualMerge(newer, over: older, points))
        }
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
