internal import StratusBytes
package import StratusFiles
package import StratusIndex
package import StratusJournal

/// What the reading and the writing side of an open store stand on.
package struct StoreFoundation: Sendable {
    package let storage: any Storage
    package let budget: MemoryBudget
    package let cache: BlockCache
    package let released = ReleasedFiles()
    /// For whatever waits for the disk.
    package let threads: IOThreads
    package let assets: AssetStore
    package let registry: ProjectionRegistry
    /// Whether the index is made of the journal alone, whatever a checkpoint names; then the
    /// storage takes tables of a reader, too.
    package let rebuilds: Bool
    /// Where randomness and times come from, and how new segments are laid out.
    package var options = JournalOptions()
    /// Of an archive, which need not have all of the past that entries say is kept: from here on it
    /// does.
    package var historyFloor = JournalOffset.zero
    /// Of an archive that has some zones only, which these are; nil: everything is there.
    package var selection: ZoneSelection?
    /// What was made so.
    private var rebuilt: (position: JournalPosition, fold: StoreFold)?

    package init(
        _ storage: any Storage, _ registry: ProjectionRegistry = .store, memoryLimit: Int,
        threads: IOThreads, rebuilds: Bool = false
    ) {
        self.registry = registry
        self.rebuilds = rebuilds
        Heap.prepare()
        self.storage = storage
        self.threads = threads
        assets = AssetStore(storage, threads: threads)
        budget = MemoryBudget(limit: max(memoryLimit, MemoryBudget.least))
        cache = BlockCache(limit: budget.cache, pinLimit: budget.pinned)
    }

    /// What a reading of the journal may begin with.
    package struct Beginnings {
        /// A fold of nothing.
        package var empty: StoreFold
        /// The fold that a checkpoint holds, where it makes sense.
        package var resuming: (Manifest.Checkpoint) -> StoreFold?
    }

    /// `follow` is told how far the journal was read.
    package func beginnings(
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
        let follow = rebuilds ? deletingReleased(then: follow) : follow
        func fold(_ state: FoldState) -> StoreFold {
            StoreFold(
                state, registry, secret: manifest.secret, released,
                spillLimit: spills ? budget.memtable : nil, follow: follow)
        }
        return Beginnings(empty: fold(empty)) { checkpoint in
            if rebuilds {
                return rebuilt?.position == checkpoint.position ? rebuilt?.fold : nil
            }
            // Where files of the index were deleted, it is made anew.
            guard checkpoint.files.allSatisfy(files.contains) else { return nil }
            return FoldState(checkpoint, tables, firstNumber: firstFree, released).map(fold)
        }
    }

    /// Makes the state at the checkpoint of `manifest` of the journal alone; what is read later
    /// begins with it. Nil where the checkpoint lies in no segment.
    package mutating func rebuild(
        _ manifest: Manifest, follow: @escaping @Sendable (JournalOffset) -> Void
    ) throws -> FoldState? {
        guard let position = manifest.checkpoint?.position, let part = manifest.endingAtCheckpoint
        else { return nil }
        let beginnings = try beginnings(of: manifest, spills: true, follow: follow)
        var reader = JournalReader(part, in: storage, fold: beginnings.empty)
        try reader.read(.toTheEnd)
        rebuilt = (position, reader.fold)
        return reader.fold.committed
    }

    /// Where no writer does it, tables go as soon as they are merged into others.
    private func deletingReleased(
        then follow: (@Sendable (JournalOffset) -> Void)?
    ) -> @Sendable (JournalOffset) -> Void {
        { [released, storage] offset in
            for name in released.take() { _ = try? storage.delete(name) }
            follow?(offset)
        }
    }

    package func tables(of manifest: Manifest) -> TableStore {
        registry.tables(of: manifest, in: storage, cache: cache, recentLimit: budget.recent)
    }
}

extension ProjectionRegistry {
    /// Where the tables of a store's index lie.
    package func tables(
        of manifest: Manifest, in storage: any Storage, cache: BlockCache, recentLimit: Int = 0
    ) -> TableStore {
        TableStore(
            storage, cache: cache, storeID: StoreIdentity(manifest).idBits,
            groupings: groupings,
            recentLimit: recentLimit)
    }
}
