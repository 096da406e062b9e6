internal import FoundationEssentials
package import StratusAssets
internal import StratusBytes
package import StratusFiles
package import StratusJournal
internal import Synchronization

/// The chunks of an open store: where they lie the journal says, and so the newest state.
package final class AssetStore: Sendable {
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

    package let storage: any Storage
    private let state = Mutex(State())
    /// Held while the segments are listed for the first time, by calls that need them.
    private let opening = Mutex(())
    package let holds = ChunkHolds()
    /// For whatever waits for the disk and is short.
    package let threads: IOThreads
    /// For whole assets that come from files or go into them; these threads wait for ``workers``.
    package let uploads = IOThreads(count: 4)
    /// Hash and compress, read and decompress; one less than there are cores, since the thread that
    /// waits for them does the same work.
    package let workers: IOThreads
    /// How many cores there are.
    package let width: Int

    package static let usualSegment = 64 << 20

    package init(_ storage: any Storage, threads: IOThreads) {
        self.storage = storage
        self.threads = threads
        width = max(1, min(ProcessInfo.processInfo.activeProcessorCount, 16))
        workers = IOThreads(count: max(1, width - 1))
    }

    /// Says what is read, once it is open.
    package func attach(
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
    package func chunks(_ mode: ReadMode = .blocking) throws(EngineError) -> ChunkStore {
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

    /// The identity of the store, while that is open.
    package var identity: StoreIdentity {
        get throws(EngineError) {
            guard let identity = state.withLock({ $0.identity }) else { throw .closed }
            return identity
        }
    }

    /// Nothing is written any more when this returns: uploads that are under way fail.
    package func close() {
        let chunks = state.withLock { state in
            state.isClosed = true
            return state.chunks
        }
        chunks?.close()
    }

    package func checkThatItIsOpen() throws(EngineError) {
        if state.withLock({ $0.isClosed }) { throw .closed }
    }

    /// The newest state.
    package func reading(_ mode: ReadMode = .blocking) throws(EngineError) -> StoreReading {
        guard let published = state.withLock({ $0.published }) else { throw .closed }
        return StoreReading(published.current, mode)
    }

    /// Keeps what the newest state needs until it is released.
    package func pinForReading() -> ReadPin? { state.withLock { $0.published }.map { ReadPin($0) } }

    /// Whether a reader may have pinned a generation of the manifest before the newest: such a
    /// reader can see chunks that were reclaimed since.
    package func hasOldReaders() throws(EngineError) -> Bool {
        do {
            let names = try storage.list()
            return names.count { Manifest.generation(ofFile: $0) != nil } > 1
        } catch {
            throw EngineError(error)
        }
    }

    /// Counts what is needed no longer, in bytes.
    package func noteFreed(_ bytes: Int) { state.withLock { $0.freedBytes &+= bytes } }

    /// True, and counted anew, where as much was freed as a segment holds.
    package func takeFreed() -> Bool {
        state.withLock { state in
            guard state.freedBytes >= state.segmentLength else { return false }
            state.freedBytes = 0
            return true
        }
    }

    /// Runs `body`; nil where another collection is under way.
    package func collecting<Value>(_ body: () throws(EngineError) -> Value) throws(EngineError)
        -> Value?
    {
        let isFirst = state.withLock { state in
            defer { state.isCollecting = true }
            return !state.isCollecting
        }
        guard isFirst else { return nil }
        defer { state.withLock { $0.isCollecting = false } }
        return try body()
    }

    /// Where a chunk lies: as the newest state says or, where another process writes, a state that
    /// is held here. The chunks of such a state are kept for it.
    package func place(
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
    package func read(
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
    package func misfit(
        _ address: ChunkAddress, _ mode: ReadMode
    ) throws(EngineError) -> EngineError {
        guard let place = try place(of: address, mode) else { return .chunkGone }
        return .chunk(.damaged(ChunkDamage(.list, file: place.file, byte: place.byte)))
    }
}

/// What `body` returns, its errors as those of the store.
package func translated<Value>(
    _ body: () throws(ChunkError) -> Value
) throws(EngineError) -> Value {
    do throws(ChunkError) {
        return try body()
    } catch {
        throw EngineError(error)
    }
}
