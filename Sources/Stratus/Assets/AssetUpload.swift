internal import FoundationEssentials
internal import StratusAssets
internal import StratusBytes
internal import StratusFiles
internal import Synchronization
internal import StratusEngine

/// Stores the assets of one call: chunks are written and durable before any record that names them
/// is committed, and held until then.
final class AssetUpload: Sendable {
    private struct State {
        var ingest: ChunkIngest
        /// What is in the store and held.
        var covered: Set<AssetContent> = []
        /// Why places of chunks were lost on which covered assets may rely.
        var failure: EngineError?
    }

    let store: AssetStore
    private let engine: Engine
    private let chunks: ChunkStore
    private let hold: ChunkHold
    private let state: Mutex<State>
    /// Why a question to the index got no answer.
    private let refusal: Refusal
    private let cancelled = CancelFlag()

    /// So much is read at a time.
    private static let readLength = 256 << 10
    /// The places of so many chunks are kept for the commit that names them.
    private static let rowLimit = 2048

    init(
        into store: AssetStore, _ engine: Engine, _ domain: ChunkDomain
    ) throws(EngineError) {
        self.store = store
        self.engine = engine
        let chunks = try store.chunks()
        let hold = store.holds.begin(from: chunks.currentNumber)
        let refusal = Refusal()
        self.chunks = chunks
        self.hold = hold
        self.refusal = refusal
        let ingest = ChunkIngest(
            into: chunks, domain: domain, on: store.workers, width: store.width,
            // In a store of small segments entries are short.
            extentLimit: engine.payloadLimit / 160
        ) { address throws(ChunkError) in
            guard hold.take(address) else { return nil }
            do throws(EngineError) {
                // Of a store that is closed nothing more will be saved.
                try store.checkThatItIsOpen()
                return try store.place(of: address)
            } catch {
                refusal.note(error)
                throw .refused
            }
        }
        state = Mutex(State(ingest: ingest))
    }

    /// Ends what is under way; it fails with `operationCancelled`.
    func cancel() { cancelled.set() }

    /// Gives what a file holds. `progress` is told what was read, in bytes.
    func add(
        file place: FilePlace, progress: (Int) -> Void
    ) throws(EngineError) -> ChunkIngest.Ticket {
        let path = place.path
        let file: SourceFile
        do throws(SystemError) {
            file = try SourceFile(
                place, outside: store.storage, on: store.storage.fileSystem)
        } catch {
            throw .refused(StoreError(readingFile: error, path))
        }
        guard file.isMeant else { throw .refused(.fileModified(path)) }
        var position = 0
        while true {
            // One more than there should be shows where the file grew.
            let wanted = min(Self.readLength, file.status.length - position + 1)
            let count: Int
            do throws(SystemError) {
                count = try state.withLock { state throws(SystemError) in
                    try state.ingest.add(upTo: wanted) { room throws(SystemError) in
                        try file.read(into: &room, at: position)
                    }
                }
            } catch {
                throw .refused(StoreError(readingFile: error, path))
            }
            if count == 0 { break }
            position += count
            // A file that grows for ever is none.
            guard position <= file.status.length else { throw .refused(.fileModified(path)) }
            try goOn()
            progress(position)
        }
        guard position == file.status.length, file.isUnchanged() else {
            throw .refused(.fileModified(path))
        }
        return end()
    }

    /// Gives these bytes.
    func add(
        data: Data, progress: (Int) -> Void
    ) throws(EngineError) -> ChunkIngest.Ticket {
        for start in stride(from: 0, to: data.count, by: Self.readLength) {
            let end = min(data.count, start + Self.readLength)
            try add(data.span.extracting(start..<end))
            progress(end)
        }
        return end()
    }

    /// Gives an asset of another store.
    func add(
        _ other: StoredAsset, progress: (Int) -> Void
    ) throws(EngineError) -> ChunkIngest.Ticket {
        var reader = AssetReader(other)
        while let bytes = try reader.next() {
            try add(bytes.span)
            progress(reader.position)
        }
        return end()
    }

    /// Gives the next bytes of the asset that ends with ``end()``.
    func add(_ bytes: Span<UInt8>) throws(EngineError) {
        let bytes = bytes.array
        state.withLock { $0.ingest.add(bytes.span) }
        try goOn()
    }

    /// What was given since the last one is an asset.
    func end() -> ChunkIngest.Ticket { state.withLock { $0.ingest.end() } }

    /// Waits until all chunks of an asset are in the store; to be asked once.
    func content(of ticket: ChunkIngest.Ticket) throws(EngineError) -> AssetContent {
        let content = try refusing { () throws(ChunkError) in
            try state.withLock { state throws(ChunkError) in
                try state.ingest.content(of: ticket)
            }
        }
        state.withLock { _ = $0.covered.insert(content) }
        return content
    }

    /// Fails where it makes no sense to read on.
    private func goOn() throws(EngineError) {
        if cancelled.isSet { throw .refused(.uploadCancelled) }
        try refusing { () throws(ChunkError) in
            if let failure = state.withLock({ $0.ingest.failure }) { throw failure }
        }
        try writeAhead(from: min(Self.rowLimit, engine.partLimit / 4 / ChunkEntry.rowLimit))
    }

    /// Forgets what was given of an asset that has no end.
    func giveUp() { state.withLock { $0.ingest.abandon() } }

    /// Holds all chunks of an asset that the store has; fails where it has not all of them.
    func retain(_ asset: StoredAsset) throws(EngineError) {
        var cursor = ExtentCursor(asset.content)
        var lists: Set<AssetContent.List> = []
        while let step = cursor.next(once: &lists) {
            hold.takeOrWait(step.address)
            guard try store.place(of: step.address) != nil else { throw .refused(.assetGone) }
            guard step.isList else { continue }
            guard let bytes = try store.read(step.address) else { throw .refused(.assetGone) }
            guard cursor.enter(step, bytes.span) else { throw .refused(.damagedList) }
        }
        state.withLock { _ = $0.covered.insert(asset.content) }
    }

    /// Makes durable what was stored, and returns what it makes possible to save.
    func seal() throws(EngineError) -> SealedAssets {
        let rows = try takeRows()
        return SealedAssets(rows: rows, covered: state.withLock { $0.covered }, upload: self)
    }

    /// Commits the places of chunks where there are too many to wait for the record.
    private func writeAhead(from least: Int) throws(EngineError) {
        let count = state.withLock { $0.ingest.addedCount }
        guard count >= max(1, least) else { return }
        let rows = try takeRows()
        try keepingFailure { () throws(EngineError) in
            _ = try engine.commitBlocking(ChunkCommit(rows: rows))
        }
    }

    private func takeRows() throws(EngineError) -> [ChunkEntry.Row] {
        let (added, failure) = state.withLock { ($0.ingest.takeAdded(), $0.failure) }
        if let failure { throw failure }
        if added.isEmpty { return [] }
        try keepingFailure { () throws(EngineError) in
            try translated { () throws(ChunkError) in try chunks.sync() }
        }
        // In the order in which they lie, so that the same calls make the same store.
        return added.map { (address: $0.key, place: $0.value) }.sorted(by: ChunkEntry.isBefore)
    }

    /// Where `body` fails, the places that were taken for it are gone, and with them all that this
    /// upload makes possible.
    private func keepingFailure(_ body: () throws(EngineError) -> Void) throws(EngineError) {
        do throws(EngineError) {
            try body()
        } catch {
            state.withLock { $0.failure = error }
            throw error
        }
    }

    /// What `body` returns; where the index gave no answer, the error says why.
    private func refusing<Value>(
        _ body: () throws(ChunkError) -> Value
    ) throws(EngineError) -> Value {
        do throws(ChunkError) {
            return try body()
        } catch {
            throw refusal.error ?? EngineError(error)
        }
    }
}

/// What a call has stored of its assets, to be named by its commits.
struct SealedAssets: Sendable {
    /// The places of chunks that no entry names yet.
    var rows: [ChunkEntry.Row]
    private let covered: Set<AssetContent>
    /// Holds everything until the commits are done.
    private let upload: AssetUpload

    init(rows: [ChunkEntry.Row], covered: Set<AssetContent>, upload: AssetUpload) {
        self.rows = rows
        self.covered = covered
        self.upload = upload
    }

    func covers(_ content: AssetContent) -> Bool { covered.contains(content) }
}

/// Why a question got no answer.
private final class Refusal: Sendable {
    private let first = Mutex<EngineError?>(nil)

    var error: EngineError? { first.withLock { $0 } }

    func note(_ error: EngineError) {
        first.withLock { if $0 == nil { $0 = error } }
    }
}

extension StoreError {
    static let uploadCancelled = StoreError(
        .operationCancelled, "cancelled while its assets were read")

    static let assetGone = StoreError(
        .assetNotAvailable, "the store has the bytes of the asset no longer")

    static let damagedList = {
        var error = StoreError(.internalError, "an asset is damaged")
        error.cause = .damaged
        return error
    }()

    fileprivate static func fileModified(_ path: [UInt8]) -> StoreError {
        var error = StoreError(.assetFileModified, "the file was changed while it was read")
        error.cause = .inputOutput(String(decoding: path, as: UTF8.self))
        return error
    }

    fileprivate init(readingFile error: SystemError, _ path: [UInt8]) {
        self =
            switch error.code {
            case .notFound: StoreError(.assetFileNotFound, "the file of the asset is not there")
            case .outsideBounds: .outsideBounds
            case .insideStore: .insideStore
            default: StoreError(.assetFileNotFound, "the file of the asset cannot be read")
            }
        cause = .inputOutput("\(String(decoding: path, as: UTF8.self)) (\(error))")
    }
}
