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
    let assets: AssetStore
    /// Whether the index that a checkpoint names is believed.
    private let resumes: Bool
    let registry: ProjectionRegistry

    init(
        _ storage: any Storage, _ registry: ProjectionRegistry = .store, memoryLimit: Int,
        threads: IOThreads, resumes: Bool = true
    ) {
        self.registry = registry
        self.resumes = resumes
        Heap.prepare()
        self.storage = storage
        self.threads = threads
        assets = AssetStore(storage, threads: threads)
        budget = MemoryBudget(limit: max(memoryLimit, MemoryBudget.least))
        cache = BlockCache(limit: budget.cache, pinLimit: budget.pinned)
    }

    /// What a reading of the journal may begin with.
    struct Beginnings {
        /// A fold of nothing.
        var empty: StoreFold
        /// The fold that a checkpoint holds, where it makes sense.
        var resuming: (Manifest.Checkpoint) -> StoreFold?
    }

    /// `follow` is told how far the journal was read.
    func beginnings(
        of manifest: Manifest, spills: Bool,
        follow: (@Sendable (JournalOffset) -> Void)? = nil
    ) throws -> Beginnings {
        let tables = tables(of: manifest)
        // A crash may have left tables behind the last one that a checkpoint names. Nor is a
        // number ever used twice, since blocks of the old table may be in a reader's cache: an
        // index that is made anew begins above all that earlier generations of the manifest,
        // which each add a few tables, can have reached.
        let files = Set(try storage.list())
        let numbers = files.compactMap { OrderedIndex.number(ofFile: $0) }
        let firstFree = (numbers.max() ?? 0) + 1
        let unused = (manifest.generation & (1 << 22 - 1)) << 16
        let empty = FoldState(tables, firstNumber: max(firstFree, unused), released)
        func fold(_ state: FoldState) -> StoreFold {
            StoreFold(
                state, registry, secret: manifest.secret, released,
                spillLimit: spills ? budget.memtable : nil, follow: follow)
        }
        return Beginnings(empty: fold(empty)) { checkpoint in
            // Where files of the index were deleted, it is made anew.
            guard resumes, checkpoint.files.allSatisfy(files.contains) else { return nil }
            return FoldState(checkpoint, tables, firstNumber: firstFree, released).map(fold)
        }
    }

    func tables(of manifest: Manifest) -> TableStore {
        TableStore(storage, cache: cache, storeID: StoreIdentity(manifest).idBits)
    }
}
