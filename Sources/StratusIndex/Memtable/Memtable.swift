/// The newest entries of the index.
///
/// The group at hand fills a small tree of its own. When it ends it becomes a layer, a sorted array
/// that never changes, and layers of similar size are merged, four at a time. So a reader holds a few
/// references, and the writer copies nothing because a reader holds it: with one large tree, copying the
/// nodes that readers shared cost more than the rest of a save. Large layers are merged step by step with
/// the groups that follow, since a commit would have to wait for milliseconds otherwise.
struct Memtable: Sendable {
    private let groupings: KeyGroupings
    private var filling = MemtableTree()
    /// The newest first.
    private var layers: [MemtableLayer] = []
    /// Of neighbours among the layers, each of which is in one at most. The oldest first.
    private var merges: [GradualMerge] = []
    private var layerBytes = 0
    private var layerCount = 0
    private var layerDropCount = 0
    /// The greatest stamp of a change of which nothing is left: of a removal that went with what it removed.
    private(set) var lastVanished: UInt64 = 0
    /// How many entries the memtable before had when it was ended; nil: there was none.
    private let expectedCount: Int?

    init(_ groupings: KeyGroupings) {
        self.groupings = groupings
        expectedCount = nil
    }

    /// One that will become about as large as `previous` is.
    init(after previous: Memtable) {
        groupings = previous.groupings
        expectedCount = previous.count
    }

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
        startMerge(points)
        layerBytes = layers.reduce(0) { $0 + $1.bytes }
        layerCount = layers.reduce(0) { $0 + $1.entries.count }
        layerDropCount = layers.reduce(0) { $0 + $1.dropCount }
    }

    /// Layers of more entries together, or of more than so many for each entry of the group, are merged
    /// step by step.
    private static let mostAtOnce = 4096
    private static let mostAtOncePerEntry = 8
    /// A merge should be done before many more layers of its tier have come.
    private static let stepsPerEntry = 4
    private static let leastStep = 256

    /// Makes a layer of the group, together with smaller ones behind it and with those that are due to be
    /// merged with it, as far as that is little work.
    private mutating func addLayer(_ points: NeededPoints) {
        var newest = filling.entries
        filling = MemtableTree()
        let most = max(Self.mostAtOnce, newest.count * Self.mostAtOncePerEntry)
        var mergedCount = 0
        while true {
            let free = layers[mergedCount..<freeCount]
            let due = MergePolicy.layers.countToMerge(1 + free.count) { place in
                place == 0 ? newest.count : layers[mergedCount + place - 1].entries.count
            }
            let smaller = free.prefix { $0.entries.count < newest.count / 4 }.count
            let merged = free.prefix(max(smaller, due - 1))
            let size = merged.reduce(newest.count) { $0 + $1.entries.count }
            guard !merged.isEmpty, size <= most else { break }
            var merge = LayerMerge(newest, over: merged, points)
            merge.advance(by: .max)
            newest = merge.entries
            lastVanished = max(lastVanished, merge.lastVanished)
            mergedCount += merged.count
        }
        // Made anew, since readers hold the list.
        var kept: [MemtableLayer] = []
        kept.reserveCapacity(layers.count - mergedCount + 1)
        if !newest.isEmpty { kept.append(MemtableLayer(newest, groupings)) }
        kept += layers[mergedCount...]
        layers = kept
    }

    /// Layers of so many entries stay as they are: a checkpoint will soon merge all. There are about a dozen
    /// of them, also where the memtable becomes larger than the one before.
    private var largeLayer: Int {
        expectedCount.map { max($0, layerCount, Self.mostAtOnce * Self.mostLarge) / Self.mostLarge }
            ?? .max
    }
    private static let mostLarge = 12

    /// How many of the newest layers may be merged, and are not yet.
    private var freeCount: Int {
        let largeLayer = largeLayer
        let end = layers.firstIndex { layer in
            layer.entries.count >= largeLayer || merges.contains { $0.layers[0] === layer }
        }
        return end ?? layers.count
    }

    private mutating func advanceMerges(by count: Int) {
        for merge in merges {
            guard let layer = merge.advance(by: count) else { continue }
            merges.removeAll { $0 === merge }
            lastVanished = max(lastVanished, merge.lastVanished)
            guard let place = layers.firstIndex(where: { $0 === merge.layers[0] }) else { continue }
            layers.replaceSubrange(
                place..<place + merge.layers.count, with: layer.entries.isEmpty ? [] : [layer])
        }
    }

    private mutating func startMerge(_ points: NeededPoints) {
        let count = MergePolicy.layers.countToMerge(freeCount) { layers[$0].entries.count }
        if count > 1 { merges.append(GradualMerge(Array(layers[..<count]), points, groupings)) }
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
            return found.stamp >= stamp
        }
        let hash = key.layerHash
        for layer in layers where layer.greatestStamp >= stamp {
            if let found = layer.entry(at: position, hash: hash) {
                return found.stamp >= stamp
            }
        }
        return false
    }

    /// The same of any key of a range.
    func hasEntry(in range: Range<IndexKey>, since stamp: UInt64) -> Bool {
        let start = IndexPosition(range.lowerBound)
        for layer in layers where layer.greatestStamp >= stamp {
            let behind = layer.entries[layer.entries.lowerBound(start)...]
            let found = behind.prefix { $0.key < range.upperBound }
            if found.contains(where: { $0.stamp >= stamp }) { return true }
        }
        return fillingHasEntry(in: range, since: stamp)
    }

    /// The same of the group at hand alone.
    private func fillingHasEntry(in range: Range<IndexKey>, since stamp: UInt64) -> Bool {
        var position = IndexPosition(range.lowerBound)
        while let (entries, place) = filling.leaf(from: position) {
            let found = entries[place...].prefix { $0.key < range.upperBound }
            if found.contains(where: { $0.stamp >= stamp }) { return true }
            if found.endIndex < entries.count { return false }
            position = entries[entries.count - 1].position.next
        }
        return false
    }

    /// Whether there may be an entry of a group of keys, at whatever point.
    func mayHold(_ group: Range<IndexKey>) -> Bool {
        let hash = group.lowerBound.layerHash
        if layers.contains(where: { $0.holds(group, hash: hash) }) { return true }
        return !filling.isEmpty && fillingHasEntry(in: group, since: 0)
    }

    /// The entries from a position on, for a merger, the newest source first.
    func sources(from position: IndexPosition) -> [EntrySource] {
        let newest = filling.isEmpty ? [] : [EntrySource(filling, from: position)]
        return newest + layers.map { EntrySource($0, from: position) }
    }
}
