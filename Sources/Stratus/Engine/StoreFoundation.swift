internal import StratusBytes
internal import StratusFiles
internal import StratusIndex
internal import StratusJournal

/// What the reading and the writing side of an open store stand on.
struct StoreFoundation: Sendable {
    let storage: any Storage
    let budget: MemoryBudget
    let cache: BlockCache
    let released = ReleasedFiles()
    /// For whatever waits for the disk.
    let threads: IOThreads

    init(_ storage: any Storage, memoryLimit: Int, threads: IOThreads) {
        self.storage = storage
        self.threads = threads
        budget = MemoryBudget(limit: max(memoryLimit, MemoryBudget.least))
        cache = BlockCache(limit: budget.cache)
    }

    /// A fold of nothing. Tables that a crash left, or that are of no use, keep their numbers.
    func emptyFold(of manifest: Manifest, spills: Bool) throws -> StoreFold {
        let numbers = try storage.list().compactMap { OrderedIndex.number(ofFile: $0) }
        let state = StoreFold.State(
            tables(of: manifest), firstNumber: (numbers.max() ?? 0) + 1, released)
        return fold(state, of: manifest, spills: spills)
    }

    /// The fold that a checkpoint holds, where it makes sense.
    func fold(
        _ checkpoint: Manifest.Checkpoint, of manifest: Manifest, spills: Bool
    ) -> StoreFold? {
        StoreFold.State(checkpoint, tables(of: manifest), released).map {
            fold($0, of: manifest, spills: spills)
        }
    }

    private func fold(
        _ state: StoreFold.State, of manifest: Manifest, spills: Bool
    ) -> StoreFold {
        StoreFold(
            state, secret: manifest.secret, released,
            spillLimit: spills ? budget.memtable : nil)
    }

    private func tables(of manifest: Manifest) -> TableStore {
        TableStore(storage, cache: cache, storeID: StoreIdentity(manifest).idBits)
    }
}
