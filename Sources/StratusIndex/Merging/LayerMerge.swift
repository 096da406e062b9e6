/// Puts layers in one order, at once or step by step. This is where most of a save's time in the index
/// goes.
struct LayerMerge {
    private var merger: StretchMerger
    private var sieve: VersionSieve
    private(set) var isDone = false
    /// So far.
    private(set) var entries: [IndexEntry] = []

    /// The newest first. What `points` do not need is left out; they are those of the beginning, also
    /// where fewer are needed at the end.
    init(_ newest: [IndexEntry], over layers: ArraySlice<MemtableLayer>, _ points: NeededPoints) {
        sieve = VersionSieve(points, isOldest: false, joinsRemovals: false)
        merger = StretchMerger(.forward, capacity: 1 + layers.count)
        merger.add(EntryStretch(entries: newest))
        for layer in layers { merger.add(EntryStretch(entries: layer.entries)) }
        entries.reserveCapacity(layers.reduce(newest.count) { $0 + $1.entries.count })
    }

    /// The greatest stamp of a change of which nothing is left.
    var lastVanished: UInt64 { sieve.lastVanished }

    /// Takes so many entries more, or all that are left.
    mutating func advance(by count: Int) {
        if isDone { return }
        // A local array is appended to without asking each time whether it is shared.
        var all: [IndexEntry] = []
        swap(&all, &entries)
        var rest = count
        while rest > 0, merger.settle() {
            merger.visit { entry in
                sieve.pass(entry) { all.append(copy $0) }
                rest -= 1
                return rest > 0
            }
        }
        if rest > 0 {
            sieve.finish { all.append(copy $0) }
            isDone = true
        }
        swap(&all, &entries)
    }
}
