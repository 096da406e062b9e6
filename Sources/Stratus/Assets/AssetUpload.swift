internal import FoundationEssentials
internal import StratusAssets
internal import StratusBytes
internal import StratusFiles
internal import Synchronization

/// The assets of one call on their way into the store: chunks are written and durable before any
/// record that names them is committed, and held until then.
final class AssetUpload: Sendable {
    private struct State {
        var ingest: ChunkIngest
        /// What is in the store and held.
        var covered: Set<AssetContent> = []
        /// Why places of chunks were lost on which covered assets may rely.
        var failure: StoreError?
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
    private static let pieceLength = 256 << 10
    /// The places of so many chunks are kept for the commit that names them.
    private static let rowLimit = 2048

    init(
        into store: AssetStore, _ engine: Engine, _ domain: ChunkDomain
    ) throws(StoreError) {
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
            pieceLimit: engine.payloadLimit / 160
        ) { address throws(ChunkError) in
            guard hold.take(address) else { return nil }
            do throws(StoreError) {
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

    /// Stores what a file holds. `progress` is told what was read and of how much, in bytes.
    func add(
        file path: [UInt8], progress: (Int, Int?) -> Void
    ) throws(StoreError) -> AssetContent {
        let file: SourceFile
        do throws(SystemError) {
            file = try SourceFile(bytes: path)
        } catch {
            throw StoreError(readingFile: error, path)
        }
        var position = 0
        while true {
            let piece: [UInt8]
            do throws(SystemError) {
                piece = try file.read(at: position, upTo: Self.pieceLength)
            } catch {
                throw StoreError(readingFile: error, path)
            }
            if piece.isEmpty { break }
            position += piece.count
            // A file that grows for ever is none.
            guard position <= file.identity.length else { throw .fileModified(path) }
            try add(piece.span)
            progress(position, file.identity.length)
        }
        let content = try finish()
        guard position == file.identity.length, file.isUnchanged() else {
            throw .fileModified(path)
        }
        return content
    }

    /// Stores these bytes.
    func add(
        data: Data, progress: (Int, Int?) -> Void
    ) throws(StoreError) -> AssetContent {
        var position = 0
        while position < data.count {
            let end = min(data.count, position + Self.pieceLength)
            try add(data.span.extracting(position..<end))
            position = end
            progress(position, data.count)
        }
        return try finish()
    }

    /// Stores an asset of another store.
    func add(
        _ other: StoredAsset, progress: (Int, Int?) -> Void
    ) throws(StoreError) -> AssetContent {
        var reader = AssetReader(other)
        while let bytes = try reader.next() {
            try add(bytes.span)
            progress(reader.position, other.content.length)
        }
        return try finish()
    }

    /// The next bytes of the asset that ends with ``finish()``.
    func add(_ bytes: Span<UInt8>) throws(StoreError) {
        if cancelled.isSet { throw StoreError.uploadCancelled }
        let bytes = bytes.array(in: 0..<bytes.count)
        try translated(
            state.withLock { state in
                Result { () throws(ChunkError) in try state.ingest.add(bytes.span) }
            })
        try writeAhead(from: min(Self.rowLimit, engine.pieceLimit / 4 / ChunkEntry.rowLimit))
    }

    func finish() throws(StoreError) -> AssetContent {
        let content = try translated(
            state.withLock { state in
                Result { () throws(ChunkError) in try state.ingest.finish() }
            })
        state.withLock { _ = $0.covered.insert(content) }
        return content
    }

    /// Forgets what was given of an asset that has no end.
    func giveUp() { state.withLock { $0.ingest.abandon() } }

    /// Holds all chunks of an asset that the store has; fails where it has not all of them.
    func retain(_ asset: StoredAsset) throws(StoreError) {
        var cursor = PieceCursor(asset.content)
        var lists: Set<ChunkAddress> = []
        while let step = cursor.next() {
            hold.takeOrWait(step.address)
            guard try store.place(of: step.address) != nil else { throw StoreError.assetGone }
            // The same stretch of bytes may come many times.
            guard step.isList, lists.insert(step.address).inserted else { continue }
            guard let bytes = try store.read(step.address) else { throw StoreError.assetGone }
            guard cursor.enter(step, bytes.span) else { throw StoreError.damagedList }
        }
        state.withLock { _ = $0.covered.insert(asset.content) }
    }

    /// Makes durable what was stored, and returns what it makes possible to save.
    func seal() throws(StoreError) -> SealedAssets {
        let rows = try takeRows()
        return SealedAssets(rows: rows, covered: state.withLock { $0.covered }, upload: self)
    }

    /// Commits the places of chunks where there are too many to wait for the record.
    private func writeAhead(from least: Int) throws(StoreError) {
        let count = state.withLock { $0.ingest.addedCount }
        guard count >= max(1, least) else { return }
        let rows = try takeRows()
        try keepingFailure { () throws(StoreError) in
            _ = try engine.commitBlocking(ChunkCommit(rows: rows))
        }
    }

    private func takeRows() throws(StoreError) -> [ChunkEntry.Row] {
        let (added, failure) = state.withLock { ($0.ingest.takeAdded(), $0.failure) }
        if let failure { throw failure }
        if added.isEmpty { return [] }
        try keepingFailure { () throws(StoreError) in
            try translated(Result { () throws(ChunkError) in try chunks.sync() })
        }
        // In the order in which they lie, so that the same calls make the same store.
        return added.map { (address: $0.key, place: $0.value) }.sorted(by: ChunkEntry.isBefore)
    }

    /// Where `body` fails, the places that were taken for it are gone, and with them all that this
    /// upload makes possible.
    private func keepingFailure(_ body: () throws(StoreError) -> Void) throws(StoreError) {
        do throws(StoreError) {
            try body()
        } catch {
            state.withLock { $0.failure = error }
            throw error
        }
    }

    private func translated<Value>(_ result: Result<Value, ChunkError>) throws(StoreError) -> Value
    {
        switch result {
        case .success(let value): return value
        case .failure(let error): throw refusal.error ?? StoreError(error)
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
    private let first = Mutex<StoreError?>(nil)

    var error: StoreError? { first.withLock { $0 } }

    func note(_ error: StoreError) {
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
            default: StoreError(.assetFileNotFound, "the file of the asset cannot be read")
            }
        cause = .inputOutput("\(String(decoding: path, as: UTF8.self)) (\(error))")
    }
}
