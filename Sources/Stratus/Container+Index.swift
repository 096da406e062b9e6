internal import StratusFiles
internal import StratusIndex
internal import StratusJournal
internal import StratusEngine

// The index on disk: what it takes, and what can be done about it.

extension Container {
    /// Is told how many bytes of the journal were read, and of about how many.
    public typealias ReadingProgress = @Sendable (_ done: Int, _ total: Int) -> Void

    /// Is told how many records were read, and of about how many; nil where that is not known.
    public typealias RecordProgress = @Sendable (_ done: Int, _ total: Int?) -> Void

    /// Writes all of the index that is in memory to disk now, so that the next opening has nothing
    /// to read again.
    ///
    /// The store does so by itself as it grows and when it is closed; nothing that was acknowledged
    /// depends on it. Changes go on meanwhile.
    public nonisolated(nonsending) func checkpoint() async throws(StoreError) {
        try await answer { () async throws(EngineError) in
            try await engine().writeCheckpoint()
        }
    }

    /// Opens the store in the directory `path`, and makes its whole index anew from the journal.
    ///
    /// This is the cure for an index that is damaged: whatever of it lies on disk is not looked at,
    /// and goes.
    ///
    /// - Parameters:
    ///   - rules: as of an opening.
    ///   - memoryLimit: as of an opening.
    ///   - progress: is called often, on a thread of the container.
    public nonisolated(nonsending) static func reindex(
        at path: String, durability: Durability = .full, rules: RecordRules = .none,
        memoryLimit: Int = 64 << 20, progress: @escaping ReadingProgress = { _, _ in }
    ) async throws(StoreError) -> Container {
        try await reindex(
            at: path, on: LinuxFileSystem(), durability: durability, rules: rules,
            memoryLimit: memoryLimit, progress: progress)
    }

    /// The same in a directory of `system`.
    nonisolated(nonsending) static func reindex(
        at path: String, on system: any FileSystem, durability: Durability = .full,
        rules: RecordRules = .none, memoryLimit: Int = 64 << 20,
        progress: @escaping ReadingProgress = { _, _ in }
    ) async throws(StoreError) -> Container {
        try await answering { () async throws(EngineError) -> Container in
            let threads = IOThreads(count: threadCount)
            let container = try await threads.run {
                let storage = try LocalStorage(at: path, .writing(creating: false), on: system)
                return try Container(
                    writing: StoreFoundation(storage, memoryLimit: memoryLimit, threads: threads),
                    creating: false, durability: durability, rules: rules,
                    options: JournalOptions(), driver: .thread,
                    rebuilding: Rebuilding(progress: progress))
            }
            do throws(EngineError) {
                try await container.engine().runExclusively { maintainer throws(EngineError) in
                    try maintainer.writeCheckpoint()
                    try maintainer.mergeAll()
                }
            } catch {
                try? await container.close()
                throw error
            }
            return container
        }
    }

    /// What the index takes, on disk and in memory. Waits for a checkpoint or a refresh that is
    /// under way.
    public nonisolated(nonsending) func indexStatistics() async throws(StoreError)
        -> IndexStatistics
    {
        try await answer { () async throws(EngineError) -> IndexStatistics in
            try await threads.run { [self] in
                let checkpoint: JournalOffset? =
                    switch access {
                    case .writing(let engine): engine.maintainer.checkpoint
                    case .reading(let follower): follower.checkpoint
                    }
                let state = state
                return IndexStatistics(
                    state.fold.index, foundation.registry, foundation.cache, checkpoint: checkpoint,
                    head: state.head)
            }
        }
    }
}

/// An opening that makes the index anew.
struct Rebuilding {
    var progress: Container.ReadingProgress

    /// What is told how far the journal was read.
    func follower(of manifest: Manifest) -> @Sendable (JournalOffset) -> Void {
        let (progress, length) = (progress, manifest.length)
        return { offset in progress(offset.bytes(since: .zero), length) }
    }
}

extension Manifest {
    /// The length of the journal, its active segment as if it were full.
    var length: Int { segments.last?.limit.bytes(since: .zero) ?? 0 }
}

/// What the index of a store takes.
public struct IndexStatistics: Hashable, Sendable {
    /// One of the ordered maps that make up the index.
    public struct Keyspace: Hashable, Sendable {
        /// `records`, `feed`, `types`, `zones`, …; one that this version does not know has its
        /// number.
        public var name: String
        /// Includes versions that no reader needs any more.
        public var entries: Int
        /// What the entries take on disk, in bytes.
        public var bytes: Int
    }

    /// A sorted sequence of entries on disk.
    public struct Run: Hashable, Sendable {
        /// 0 is the newest.
        public var level: Int
        /// How many files it has.
        public var tables: Int
        /// Includes versions that no reader needs any more.
        public var entries: Int
        /// Of its files.
        public var bytes: Int
    }

    /// Of what lies on disk, in the order of their numbers.
    public var keyspaces: [Keyspace]
    /// The newest first.
    public var runs: [Run]
    /// What is in memory only, since the checkpoint.
    public var memtableEntries: Int
    /// In bytes.
    public var memtableBytes: Int
    /// What the caches of the index and the journal may take, in bytes.
    public var cacheLimit: Int
    /// What they take, in bytes.
    public var cacheBytes: Int
    /// How often something was found in them since the container was opened.
    public var cacheHits: Int
    /// How often it had to be read from a file instead, or was not there to be read.
    public var cacheMisses: Int
    /// The offset from which an opening reads the journal; nil: from its beginning.
    public var checkpoint: UInt64?
    /// How much it would have to read, in bytes.
    public var journalBytesSinceCheckpoint: Int

    /// How many files there are.
    public var tables: Int { runs.reduce(0) { $0 + $1.tables } }
    /// What all files take, in bytes.
    public var bytes: Int { runs.reduce(0) { $0 + $1.bytes } }
    /// The share of the questions that the caches answered; nil before the first one.
    public var cacheHitRate: Double? {
        let questions = cacheHits + cacheMisses
        return questions == 0 ? nil : Double(cacheHits) / Double(questions)
    }

    init(
        _ index: OrderedIndex, _ registry: ProjectionRegistry, _ cache: BlockCache,
        checkpoint: JournalOffset?,
        head: JournalOffset
    ) {
        let found = index.statistics
        keyspaces = found.keyspaces.sorted { $0.key < $1.key }.map { number, keyspace in
            Keyspace(
                name: registry.name(ofKeyspace: number), entries: keyspace.entries,
                bytes: keyspace.bytes)
        }
        runs = found.runs.enumerated().map { level, run in
            Run(level: level, tables: run.tables, entries: run.entries, bytes: run.bytes)
        }
        memtableEntries = found.memtableEntries
        memtableBytes = index.memtableBytes
        cacheLimit = cache.limit
        let cached = cache.statistics
        cacheBytes = cached.bytes
        cacheHits = cached.hits
        cacheMisses = cached.misses
        self.checkpoint = checkpoint?.rawValue
        // After a refresh that failed, what is shown may be older than what was begun.
        let start = min(checkpoint ?? .zero, head)
        journalBytesSinceCheckpoint = head.bytes(since: start)
    }
}
