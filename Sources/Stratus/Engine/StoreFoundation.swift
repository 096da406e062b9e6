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

    /// A fold of nothing.
    ///
    /// A number of a table is never used twice, since blocks of the old one may be in somebody's
    /// cache: the counter of an index that is made anew begins above all that earlier generations
    /// of the manifest, which each add a few tables, can have reached.
    func emptyFold(of manifest: Manifest, spills: Bool) throws -> StoreFold {
        let generation = manifest.generation & (1 << 22 - 1)
        let number = max(try firstFreeNumber, generation << 16)
        return fold(
            StoreFold.State(tables(of: manifest), firstNumber: number, released), of: manifest,
            spills: spills)
    }

    /// The fold that a checkpoint holds, where it makes sense.
    func fold(
        _ checkpoint: Manifest.Checkpoint, of manifest: Manifest, spills: Bool
    ) -> StoreFold? {
        guard let number = try? firstFreeNumber,
            let state = StoreFold.State(
                checkpoint, tables(of: manifest), firstNumber: number, released)
        else { return nil }
        return fold(state, of: manifest, spills: spills)
    }

    /// Behind the numbers of all files, those that a crash has left among them.
    private var firstFreeNumber: UInt64 {
        get throws {
            let numbers = try storage.list().compactMap { OrderedIndex.number(ofFile: $0) }
            return (numbers.max() ?? 0) + 1
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
