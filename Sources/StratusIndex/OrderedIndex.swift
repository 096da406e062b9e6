internal import StratusBytes
package import StratusFiles

/// An ordered map from byte keys to small values, of which every version that is needed can still
/// be seen: a memtable, and sorted runs on disk.
///
/// A value: a copy costs a few references and is a snapshot. The journal is its write-ahead log;
/// what was not yet written to runs is lost with the process and comes again from the journal.
package struct OrderedIndex: Sendable {
    /// Decides which versions may go.
    ///
    /// A point may be added if it was needed before, or if nothing was changed behind it yet.
    /// While a group is applied of which readers do not know yet, the end of what they see must
    /// be among the points.
    package var points = NeededPoints()
    /// What merges leave out; nil: nothing.
    package var dropped: DroppedKeys?
    /// Where tables lie; without one everything stays in memory.
    let store: TableStore?
    private(set) var active: Memtable
    /// The newest first.
    var frozen: [FrozenMemtable] = []
    /// The newest first.
    var runs: [Run] = [] {
        didSet {
            generation = store?.recent.nextGeneration() ?? 0
            runsHaveDrops = runs.contains { $0.dropCount > 0 }
        }
    }
    private var runsHaveDrops = false
    /// That of the runs in ``TableStore/recent``.
    private var generation: UInt32
    /// No table had this number or a higher one.
    var nextNumber: UInt64 = 1
    /// The greatest stamp of all changes.
    private var lastStamp: UInt64 = 0
    /// The greatest stamp that is in no memtable any more.
    package internal(set) var leftMemoryThrough: UInt64 = 0

    /// An empty index, whose tables get numbers from `firstNumber` on.
    package init(in store: TableStore? = nil, firstNumber: UInt64 = 1) {
        self.store = store
        active = Memtable(store?.groupings ?? KeyGroupings())
        generation = store?.recent.nextGeneration() ?? 0
        nextNumber = firstNumber
    }

    /// Keeps numbers of tables from being used again that a later state has used.
    package mutating func keepNumbers(of later: OrderedIndex) {
        keepNumbers(before: later.nextNumber)
    }

    /// Gives no table a number below this one.
    package mutating func keepNumbers(before number: UInt64) {
        nextNumber = max(nextNumber, number)
    }

    /// What the memtables take.
    package var memtableBytes: Int {
        frozen.reduce(active.bytes) { $0 + $1.memtable.bytes }
    }

    /// Whether a memtable waits to be written.
    package var hasFrozen: Bool { !frozen.isEmpty }

    /// What the active memtable takes.
    package var activeBytes: Int { active.bytes }
}

/// A memtable that is not changed any more; two with the same content are still two.
final class FrozenMemtable: Sendable {
    let memtable: Memtable
    /// No stamp of its entries is greater.
    let lastStamp: UInt64

    init(_ memtable: Memtable, lastStamp: UInt64) {
        self.memtable = memtable
        self.lastStamp = lastStamp
    }
}

// Changing. Stamps never go down from one change to the next.
extension OrderedIndex {
    /// Says what a key is from the value's stamp on.
    ///
    /// - Parameters:
    ///   - isFresh: promises that nothing older under this key exists.
    ///   - isLapsing: what was set is forgotten once the horizon of the partition, which its owner
    ///     sets as any other key, has reached its stamp. Merges then treat it as a removal, so that
    ///     it goes with whatever it replaced. Until they do, looking still finds it.
    package mutating func set(
        _ key: IndexKey, _ value: IndexValue, isFresh: Bool = false, isLapsing: Bool = false
    ) {
        precondition(key.count > 4 && value.stamp < IndexEntry.stampLimit)
        var flags: IndexEntry.Flags = isFresh ? .fresh : []
        if isLapsing { flags.insert(.lapsing) }
        change(IndexEntry(key: key, value: value, flags: flags))
    }

    /// From the stamp on the key is not there.
    package mutating func remove(_ key: IndexKey, at stamp: UInt64) {
        precondition(key.count > 4 && stamp < IndexEntry.stampLimit)
        change(IndexEntry(key: key, value: IndexValue(stamp: stamp), flags: .removed))
    }

    /// From the stamp on no key of the partition is there that was set before.
    package mutating func drop(partition: UInt32, at stamp: UInt64) {
        precondition(stamp < IndexEntry.stampLimit)
        let key = IndexKey(partition: partition)
        change(IndexEntry(key: key, value: IndexValue(stamp: stamp), flags: .removed))
    }

    private mutating func change(_ entry: IndexEntry) {
        lastStamp = max(lastStamp, entry.stamp)
        active.set(entry, points)
    }

    /// Ends a group of changes: what follows belongs to another one. Readers should be given copies
    /// only now, since the changes of an open group are held in a form that is dear to copy.
    package mutating func endGroup() { active.endGroup(points) }

    /// Ends the active memtable, so that a checkpoint can write it, and begins another.
    package mutating func freeze() {
        active.endGroup(points)
        if active.isEmpty { return }
        frozen.insert(FrozenMemtable(active, lastStamp: lastStamp), at: 0)
        active = Memtable(after: active)
    }
}

// Looking.
extension OrderedIndex {
    /// What a key is at a point: by default now.
    package func value(
        of key: IndexKey, at point: UInt64 = .max, _ mode: ReadMode
    ) throws(IndexError) -> IndexValue? {
        let reading = reading(mode)
        guard let entry = try entry(at: IndexPosition(key, stamp: point), reading),
            !entry.flags.contains(.removed)
        else { return nil }
        if hasDrops, let drop = try drop(of: key.partition, at: point, reading),
            drop > entry.stamp
        {
            return nil
        }
        return entry.value
    }

    /// Whether a key was set or removed at or behind `stamp`. Memory alone is asked: where changes
    /// from then on have left it, the answer is that it may have been.
    package func mayHaveChanged(_ key: IndexKey, since stamp: UInt64) -> Bool {
        if haveChangesLeft(since: stamp) { return true }
        if active.hasEntry(of: key, since: stamp) { return true }
        return frozen.contains {
            $0.lastStamp >= stamp && $0.memtable.hasEntry(of: key, since: stamp)
        }
    }

    /// Whether any key of a range was set or removed at or behind `stamp`, likewise.
    package func mayHaveChanged(_ range: Range<IndexKey>, since stamp: UInt64) -> Bool {
        if haveChangesLeft(since: stamp) { return true }
        return active.hasEntry(in: range, since: stamp)
            || frozen.contains {
                $0.lastStamp >= stamp && $0.memtable.hasEntry(in: range, since: stamp)
            }
    }

    private func haveChangesLeft(since stamp: UInt64) -> Bool {
        leftMemoryThrough >= stamp || active.lastVanished >= stamp
            || frozen.contains { $0.memtable.lastVanished >= stamp }
    }

    /// Whether a range is a group of keys and none of them is there, at whatever point: it takes much
    /// less than a cursor that finds none.
    package func isEmptyGroup(
        _ range: Range<IndexKey>, _ mode: ReadMode
    ) throws(IndexError) -> Bool {
        guard let store, store.groupings.isGroup(range), !active.mayHold(range),
            !frozen.contains(where: { $0.memtable.mayHold(range) })
        else { return false }
        let (reading, hash) = (reading(mode), range.lowerBound.filterHash)
        for run in runs where try run.mayHold(range, hash: hash, reading) { return false }
        return true
    }

    /// Goes through the keys of a range as they are at a point. With `hidesLapsed`, without those
    /// that the horizon has reached by now.
    package func cursor(
        _ range: Range<IndexKey>, at point: UInt64 = .max, _ mode: ReadMode,
        _ direction: IndexDirection = .forward, hidesLapsed: Bool = false
    ) -> IndexCursor {
        IndexCursor(self, range, at: point, mode, direction, hidesLapsed: hidesLapsed)
    }

    /// The horizon of a partition now, also where that was dropped since; 0 where none was set.
    package func horizon(
        ofPartition partition: UInt32, _ mode: ReadMode
    ) throws(IndexError) -> UInt64 {
        let position = IndexPosition(.horizon(ofPartition: partition))
        return try entry(at: position, reading(mode))?.value.first ?? 0
    }

    func reading(_ mode: ReadMode) -> Reading { Reading(mode: mode, cache: store?.cache) }

    /// Whether anything may be dropped.
    var hasDrops: Bool {
        active.dropCount > 0 || frozen.contains { $0.memtable.dropCount > 0 }
            || runsHaveDrops
    }

    /// The stamp of a partition's newest drop that is not newer than the point.
    func drop(
        of partition: UInt32, at point: UInt64, _ reading: Reading
    ) throws(IndexError) -> UInt64? {
        let position = IndexPosition(IndexKey(partition: partition), stamp: point)
        if active.dropCount > 0, let found = active.entry(at: position) {
            return found.stamp
        }
        for memtable in frozen where memtable.memtable.dropCount > 0 {
            if let found = memtable.memtable.entry(at: position) { return found.stamp }
        }
        let hash = position.key.filterHash
        for run in runs where run.dropCount > 0 {
            if let found = try run.entry(at: position, hash: hash, reading) {
                return found.stamp
            }
        }
        return nil
    }

    /// The newest entry of the key that is not newer than the position's stamp.
    private func entry(
        at position: IndexPosition, _ reading: Reading
    ) throws(IndexError) -> IndexEntry? {
        if let found = entryInMemory(at: position) { return found }
        return runs.isEmpty ? nil : try entryInRuns(at: position, reading)
    }

    private func entryInMemory(at position: IndexPosition) -> IndexEntry? {
        if let found = active.entry(at: position) { return found }
        for memtable in frozen {
            if let found = memtable.memtable.entry(at: position) { return found }
        }
        return nil
    }

    private func entryInRuns(
        at position: IndexPosition, _ reading: Reading
    ) throws(IndexError) -> IndexEntry? {
        guard let recent = store?.recent else { return nil }
        let hash = position.key.layerHash
        if let found = recent.entry(of: position.key, hash: hash, in: generation),
            !(found.position < position)
        {
            return found
        }
        let found = try searchRuns(for: position, reading)
        // Only of what is asked for now it is known that nothing is newer.
        if let found, position.isNewest { recent.remember(found, hash: hash, in: generation) }
        return found
    }

    private func searchRuns(
        for position: IndexPosition, _ reading: Reading
    ) throws(IndexError) -> IndexEntry? {
        let hash = position.key.filterHash
        for run in runs {
            if let found = try run.entry(at: position, hash: hash, reading) { return found }
        }
        return nil
    }

    /// All versions of all keys from a position on, without runs of which all entries have lesser stamps
    /// than `stamp`. Forward, some entries of the keyspaces `passedOver` are missing.
    func entries(
        from position: IndexPosition, _ direction: IndexDirection, madeFrom stamp: UInt64 = 0,
        passingOver passedOver: Set<UInt8> = []
    ) -> EntryMerger {
        var sources = active.sources(from: position)
        sources += frozen.flatMap { $0.memtable.sources(from: position) }
        for run in runs where run.tables.contains(where: { $0.info.footer.greatestStamp >= stamp })
        {
            sources.append(
                EntrySource(run, from: position, direction, passingOver: passedOver))
        }
        return EntryMerger(sources, direction)
    }
}
