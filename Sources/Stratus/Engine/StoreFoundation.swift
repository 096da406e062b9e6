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

    /// Where the tables of the store lie. Those that a crash left keep their numbers.
    func tables(of manifest: Manifest) throws -> TableStore {
        let tables = TableStore(
            storage, cache: cache, storeID: StoreIdentity(manifest).idBits)
        tables.keepNumbers(ofFiles: try storage.list())
        return tables
    }

    /// A fold of nothing.
    func emptyFold(of manifest: Manifest, in tables: TableStore, spills: Bool) -> StoreFold {
        fold(StoreFold.State(tables, released), of: manifest, spills: spills)
    }

    /// The fold that a checkpoint holds, where it makes sense and all its files are there.
    func fold(
        _ checkpoint: Manifest.Checkpoint, of manifest: Manifest, in tables: TableStore,
        spills: Bool
    ) -> StoreFold? {
        guard let files = try? storage.list(), Set(checkpoint.files).isSubset(of: files) else {
            return nil
        }
        return StoreFold.State(checkpoint, tables, released).map {
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
}
