internal import FoundationEssentials
internal import StratusAssets
internal import StratusBytes
internal import StratusFiles
internal import StratusJournal
internal import Synchronization

/// The chunks of an open store: where they lie the journal says, and so the newest state.
final class AssetStore: Sendable {
    private struct State {
        var identity: StoreIdentity?
        var randomness = Randomness.system
        var segmentLength = AssetStore.usualSegment
        /// Weak, since every state refers to this.
        weak var published: PublishedState?
        var chunks: ChunkStore?
        var isClosed = false
        var isCollecting = false
        /// What records have ceased to name since the last collection, in bytes.
        var freedBytes = 0
    }

    let storage: any Storage
    private let state = Mutex(State())
    /// Held while the segments are listed for the first time, by calls that need them.
    private let opening = Mutex(())
    let holds = ChunkHolds()
    let receipts = AssetReceipts()
    /// For whatever waits for the disk and is short.
    let threads: IOThreads
    /// For whole assets that come from files or go into them; these threads wait for ``workers``.
    let uploads = IOThreads(count: 4)
    /// Hash and compress, read and decompress; one less than there are cores, since the thread that
    /// waits for them does the same work.
    let workers: IOThreads
    /// How many cores there are.
    let width: Int

    static let usualSegment = 64 << 20

    init(_ storage: any Storage, threads: IOThreads) {
        self.storage = storage
        self.threads = threads
        width = max(1, min(ProcessInfo.processInfo.activeProcessorCount, 16))
        workers = IOThreads(count: max(1, width - 1))
    }

    /// Says what is read, once it is open.
    func attach(
        _ published: PublishedState, _ identity: StoreIdentity,
        _ options: JournalOptions = JournalOptions()
    ) {
        state.withLock { state in
            state.published = published
            state.identity = identity
            state.randomness = options.randomness
            // The option for short segments applies to chunks too.
            if let length = options.segmentLength { state.segmentLength = length * 4 }
        }
    }

    /// The segments, which are looked at only when the first asset is.
    func chunks(_ mode: ReadMode = .blocking) throws(EngineError) -> ChunkStore {
        if let chunks = state.withLock({ $0.chunks }) { return chunks }
        if mode == .resident { throw .wouldBlock }
        return try opening.withLock { _ throws(EngineError) in try openChunks() }
    }

    private func openChunks() throws(EngineError) -> ChunkStore {
        let (known, identity, randomness, segmentLength) = state.withLock {
            ($0.chunks, $0.identity, $0.randomness, $0.segmentLength)
        }
        if let known { return known }
        guard let identity else { throw .closed }
        let chunks = try translated { () throws(ChunkError) in
            try ChunkStore(
                in: storage, storeID: identity.idBits, randomness: randomness,
                segmentLength: segmentLength)
        }
        let isClosed = state.withLock { state in
            state.chunks = chunks
            return state.isClosed
        }
        if isClosed { chunks.close() }
        return chunks
    }

    /// Nothing is written any more when this returns: uploads that are under way fail.
    func close() {
        let chunks = state.withLock { state in
            state.isClosed = true
            return state.chunks
        }
        chunks?.close()
    }

    func checkThatItIsOpen() throws(EngineError) {
        if state.withLock({ $0.isClosed }) { throw .closed }
    }

    /// The newest state.
    func reading() throws(EngineError) -> StoreReading {
        guard let published = state.withLock({ $0.published }) else { throw .closed }
        return StoreReading(published.current, .blocking)
    }

    /// Keeps what the newest state needs until it is released.
    func pinForReading() -> ReadPin? { state.withLock { $0.published }.map { ReadPin($0) } }

    /// Whether a reader may have pinned a generation of the manifest before the newest: such a
    /// reader can see chunks that were reclaimed since.
    func hasOldReaders() throws(EngineError) -> Bool {
        do {
            let names = try storage.list()
            return names.count { Manifest.generation(ofFile: $0) != nil } > 1
        } catch {
            throw EngineError(error)
        }
    }

    /// Counts what is needed no longer, in bytes.
    func noteFreed(_ bytes: Int) { state.withLock { $0.freedBytes &+= bytes } }

    /// True, and counted anew, where as much was freed as a segment holds.
    func takeFreed() -> Bool {
        state.withLock { state in
            guard state.freedBytes >= state.segmentLength else { return false }
            state.freedBytes = 0
            return true
        }
    }

    /// Runs `body`; fails where another collection is under way.
    func collecting<Value>(_ body: () throws(EngineError) -> Value) throws(EngineError) -> Value {
        let isFirst = state.withLock { state in
            defer { state.isCollecting = true }
            return !state.isCollecting
        }
        guard isFirst else {
            throw .refused(.serviceUnavailable, "another collection is under way")
        }
        defer { state.withLock { $0.isCollecting = false } }
        return try body()
    }

    /// Where a chunk lies: as the newest state says or, where another process writes, a state that
    /// is held here. The chunks of such a state are kept for it.
    func place(
        of address: ChunkAddress, _ mode: ReadMode = .blocking
    ) throws(EngineError) -> ChunkLocation? {
        guard let published = state.withLock({ $0.published }) else { throw .closed }
        for state in published.readable {
            let value = try StoreReading(state, mode).value(.chunk(address))
            if let place = value.flatMap({ ChunkLocation($0) }) { return place }
        }
        return nil
    }

    /// The bytes of a chunk, verified; nil where the store has none of that address.
    func read(
        _ address: ChunkAddress, _ mode: ReadMode = .blocking
    ) throws(EngineError) -> ArraySlice<UInt8>? {
        let chunks = try chunks(mode)
        var last: ChunkLocation?
        while let place = try place(of: address, mode) {
            do throws(ChunkError) {
                return try chunks.read(address, at: place, mode)
            } catch .storage(let error) where error.kind == .notFound {
                // It may have been moved since its place was looked up, but not without end.
                guard place != last else {
                    throw .chunk(.damaged(ChunkDamage(.missing, file: place.file, byte: 0)))
                }
                last = place
            } catch {
                throw EngineError(error)
            }
        }
        return nil
    }

    /// That a chunk is whole and is not what an asset says of it.
    func misfit(
        _ address: ChunkAddress, _ mode: ReadMode
    ) throws(EngineError) -> EngineError {
        guard let place = try place(of: address, mode) else { return .refused(.assetGone) }
        return .chunk(.damaged(ChunkDamage(.list, file: place.file, byte: place.byte)))
    }

    /// The domain in which the assets of a user in a database are the same.
    func domain(
        _ scope: DatabaseScope, _ caller: UserID, _ deduplication: Container.Deduplication
    ) throws(EngineError) -> ChunkDomain {
        guard let identity = state.withLock({ $0.identity }) else { throw .closed }
        var writer = ByteWriter(capacity: 40)
        switch (deduplication, scope) {
        case (.wholeStore, _): writer.uint8(0)
        case (.perUser, .public):
            writer.uint8(1)
            writer.hash(caller.bits)
        case (.perUser, .private(let owner)):
            writer.uint8(2)
            writer.hash(owner.bits)
            writer.hash(caller.bits)
        }
        return ChunkDomain(Hash128(writer.bytes.span, seed: identity.secret))
    }
}

/// Pins a state that is read from: what the state needs stays until this is no longer referenced.
final class ReadPin: Sendable {
    private let published: PublishedState
    private let point: JournalOffset

    init(_ published: PublishedState) {
        self.published = published
        point = published.hold().point
    }

    deinit { published.release(point) }
}

extension Container {
    /// Whose assets are stored once where they are the same.
    public enum Deduplication: Hashable, Sendable {
        /// Those of each user in each database: no user can learn from a save, its duration or what
        /// it takes on the disk what others have stored. The default.
        case perUser
        /// All of the store, for users who trust each other: a user who saves a file can learn, by
        /// how long that takes, whether the store had it already.
        case wholeStore
    }
}

/// What `body` returns, its errors as those of the store.
func translated<Value>(
    _ body: () throws(ChunkError) -> Value
) throws(EngineError) -> Value {
    do throws(ChunkError) {
        return try body()
    } catch {
        throw EngineError(error)
    }
}

extension StoreError {
    init(_ error: ChunkError) {
        switch error {
        case .storage(let error): self.init(error)
        case .damaged(let damage):
            if case .newerFormat = damage.kind {
                self.init(.internalError, "an asset lies in a segment of a newer format")
                cause = .newerFormat
            } else {
                self.init(.internalError, "an asset is damaged")
                cause = .damaged
            }
            place = Place(
                file: damage.file, byte: damage.byte, kind: damage.kind.identifier)
        case .refused: self.init(.internalError, "the index gave no answer")
        case .closed: self.init(JournalError.closed)
        }
    }
}
