internal import FoundationEssentials
internal import StratusAssets
internal import StratusFiles
internal import Synchronization
internal import StratusEngine

// Assets go into the store before the records that have them.

/// How much of the assets of a record was transferred.
public struct TransferProgress: Hashable, Sendable {
    /// Of all assets of the record together, in bytes.
    public var completedBytes: Int
    /// Nil while that is not known.
    public var totalBytes: Int?

    /// So far.
    public init(completedBytes: Int, totalBytes: Int?) {
        self.completedBytes = completedBytes
        self.totalBytes = totalBytes
    }
}

/// Is told how far the assets of a record were read, often, and from any thread.
public typealias UploadProgress = @Sendable (Record.ID, TransferProgress) -> Void

/// A call whose assets are in the store.
struct UploadedCall: Sendable {
    var items: [RecordItem]
    /// Nil where there are none.
    var assets: SealedAssets?

    /// What became of the records, with those that were given in place of those that were sent.
    func outcomes(
        _ outcomes: [Result<Record?, StoreError>], of given: [RecordItem]
    ) -> [Result<Record?, StoreError>] {
        if assets == nil { return outcomes }
        return zip(outcomes, given).map { outcome, item in
            guard case .failure(var error) = outcome, case .save(let record, _) = item,
                error.clientRecord != nil
            else { return outcome }
            error.clientRecord = record
            return .failure(error)
        }
    }
}

extension Database {
    /// Stores the assets of the records that are to be saved. Where one of a record cannot be read,
    /// the record is left to fail with that.
    nonisolated(nonsending) func upload(
        _ items: [RecordItem], _ progress: UploadProgress? = nil
    ) async throws(EngineError) -> UploadedCall {
        guard items.hasItem(where: { $0.mayHaveAssets }) else {
            return UploadedCall(items: items)
        }
        let (store, engine, domain) = try uploading(to: items.first?.recordID.zoneID)
        let upload = try await store.threads.run { try AssetUpload(into: store, engine, domain) }
        let call = CallUpload(items, by: upload, progress)
        let result = await withTaskCancellationHandler {
            await call.outcome()
        } onCancel: {
            upload.cancel()
        }
        return try result.get()
    }

    /// Commits the places of chunks ahead of what names them.
    nonisolated(nonsending) func commitPlaces(
        of assets: SealedAssets
    ) async throws(EngineError) {
        if assets.rows.isEmpty { return }
        _ = try await container.engine().commit(ChunkCommit(rows: assets.rows))
    }

    /// The upload on the calling thread, which waits.
    func uploadAndWait(
        _ items: [RecordItem]
    ) throws(EngineError) -> UploadedCall {
        guard items.hasItem(where: { $0.mayHaveAssets }) else {
            return UploadedCall(items: items)
        }
        let (store, engine, domain) = try uploading(to: items.first?.recordID.zoneID)
        return try CallUpload(items, by: AssetUpload(into: store, engine, domain), nil)
            .finished()
    }

    private func uploading(
        to zone: RecordZone.ID?
    ) throws(EngineError) -> (AssetStore, Engine, ChunkDomain) {
        let engine = try container.engine()
        let store = container.foundation.assets
        return (
            store, engine,
            try store.identity.domain(scope, zone, try writer(), container.deduplication)
        )
    }
}

/// A call whose assets are being stored: streams first, as their bytes come, then all others by one
/// thread, which reads the next while chunks of the last are being stored.
private struct CallUpload: Sendable {
    private var items: [RecordItem]
    private var records: [RecordUpload]
    private let upload: AssetUpload
    private let progress: UploadProgress?

    init(
        _ items: [RecordItem], by upload: AssetUpload, _ progress: UploadProgress?
    ) {
        self.items = items
        self.upload = upload
        self.progress = progress
        records = items.indices.compactMap { RecordUpload(items[$0], at: $0) }
    }

    nonisolated(nonsending) func outcome() async -> Result<UploadedCall, EngineError> {
        var call = self
        do throws(EngineError) {
            try await call.readStreams()
            let rest = call
            return .success(try await upload.store.uploads.run { try rest.finished() })
        } catch {
            return .failure(error)
        }
    }

    private nonisolated(nonsending) mutating func readStreams() async throws(EngineError) {
        for index in records.indices {
            for place in records[index].assets.indices {
                guard case .stream(let stream)? = records[index].assets[place].unread?.source else {
                    continue
                }
                let id = records[index].recordID
                let before = records[index].completed
                let (asset, count) = try await upload.read(stream) { [progress] count in
                    progress?(
                        id, TransferProgress(completedBytes: before + count, totalBytes: nil))
                }
                records[index].assets[place] = asset
                records[index].completed += count
            }
        }
    }

    /// Stores what is left, and waits for it.
    func finished() throws(EngineError) -> UploadedCall {
        var (items, records) = (items, records)
        for index in records.indices {
            try records[index].begin(upload, progress)
        }
        for index in records.indices {
            records[index].finish(upload)
            items[records[index].index] = records[index].item
        }
        return UploadedCall(items: items, assets: try upload.seal())
    }
}

/// A record whose assets are being stored.
private struct RecordUpload: Sendable {
    /// Which item of the call it is.
    let index: Int
    /// Those of the fields that were set, field by field.
    var assets: [SentAsset]
    /// How much of them was read, in bytes.
    var completed = 0
    private var record: Record
    private let rule: SaveRule
    /// The fields with assets that were set.
    private let keys: [String]

    /// Nil where there is nothing to do.
    init?(_ item: RecordItem, at index: Int) {
        guard item.mayHaveAssets, case .save(let record, let rule) = item else {
            return nil
        }
        let keys = record.edits.all.filter { $0.value?.hasAssets == true }.map(\.key)
        self.index = index
        self.record = record
        self.rule = rule
        self.keys = keys
        assets = keys.flatMap { record[$0]?.assets ?? [] }.map { .given($0) }
    }

    var recordID: Record.ID { record.recordID }
    var item: RecordItem { .save(record, rule) }

    /// Reads what was not read yet.
    mutating func begin(
        _ upload: AssetUpload, _ progress: UploadProgress?
    ) throws(EngineError) {
        let total = progress == nil ? nil : totalBytes(on: upload.store.storage.fileSystem)
        for place in assets.indices {
            guard case .given(let asset) = assets[place] else { continue }
            let before = completed
            assets[place] = try upload.begin(asset) { count in
                completed = before + count
                progress?(
                    recordID, TransferProgress(completedBytes: completed, totalBytes: total))
            }
        }
    }

    /// Waits for what was read, and puts the stored assets in the places of those that were given.
    mutating func finish(_ upload: AssetUpload) {
        var stored = assets.map { upload.stored($0) }[...]
        for key in keys {
            record[key] = record[key]?.mappingAssets { stored.popFirst() ?? $0 }
        }
        for case .stored(let asset) in others.map(\.source) {
            // What cannot be held any more can only be kept, and not be saved anew.
            try? upload.retain(asset)
        }
    }

    /// What stands in fields that were not set, and would be saved with them.
    private var others: [Asset] {
        record.stored.hasAssets && record.mayBeSentWhole(rule)
            ? record.allKeys.filter { !keys.contains($0) }.flatMap { record[$0]?.assets ?? [] }
            : []
    }

    /// With what was read; nil where a file does not say.
    private func totalBytes(on system: any FileSystem) -> Int? {
        var total = completed
        for asset in assets.compactMap(\.unread) {
            let size =
                if case .file(let place) = asset.source {
                    place.length(on: system)
                } else {
                    asset.size
                }
            guard let size else { return nil }
            total += size
        }
        return total
    }
}

/// An asset that is being stored.
private enum SentAsset: Sendable {
    case given(Asset)
    /// It was read.
    case read(ChunkIngest.Ticket)
    /// It is in the store, or cannot be stored.
    case done(Asset)

    var unread: Asset? {
        if case .given(let asset) = self { asset } else { nil }
    }
}

extension RecordItem {
    /// Whether there are assets that must be in the store before this is done.
    var mayHaveAssets: Bool {
        guard case .save(let record, let rule) = self else { return false }
        return record.edits.hasAssets || record.stored.hasAssets && record.mayBeSentWhole(rule)
    }
}

extension Record {
    /// Whether a save may send fields that were not set.
    fileprivate func mayBeSentWhole(_ rule: SaveRule) -> Bool {
        rule.policy != .ifServerRecordUnchanged
    }
}

extension AssetUpload {
    /// Reads an asset to its end; fails only where it was cancelled.
    fileprivate func begin(
        _ asset: Asset, _ progress: (Int) -> Void
    ) throws(EngineError) -> SentAsset {
        do throws(EngineError) {
            switch asset.source {
            case .file(let place): return .read(try add(file: place, progress: progress))
            case .data(let data): return .read(try add(data: data, progress: progress))
            case .stored(let stored) where stored.store === store:
                try stored.checkReader(.blocking)
                try retain(stored)
                progress(stored.content.length)
                return .done(asset)
            case .stored(let other): return .read(try add(other, progress: progress))
            case .stream:
                throw .refused(
                    .invalidArguments, "a stream is read by tasks only, which call save(_:)")
            case .failed: return .done(asset)
            case .request: throw .refused(.assetGone)
            }
        } catch {
            return try failed(StoreError(error))
        }
    }

    /// The same of a stream, and how many bytes it had.
    fileprivate nonisolated(nonsending) func read(
        _ stream: AssetStream, _ progress: @escaping @Sendable (Int) -> Void
    ) async throws(EngineError) -> (SentAsset, Int) {
        let total = Counter()
        do {
            try await stream.read { [self] data in
                try await store.uploads.run { [self] in try add(data.span) }
                progress(total.add(data.count))
            }
            return (.read(try await store.uploads.run { [self] in end() }), total.add(0))
        } catch {
            let reason =
                Task.isCancelled
                ? .uploadCancelled
                : (error as? EngineError).map { StoreError($0) } ?? error as? StoreError
                    ?? StoreError(.assetNotAvailable, "the stream of the asset failed: \(error)")
            return (try failed(reason), total.add(0))
        }
    }

    /// The asset as it is in the store, or why it is not.
    fileprivate func stored(_ asset: SentAsset) -> Asset {
        switch asset {
        case .given(let asset), .done(let asset): return asset
        case .read(let ticket):
            do throws(EngineError) {
                return Asset(try content(of: ticket), in: store)
            } catch {
                return Asset(.failed(StoreError(error)))
            }
        }
    }

    private func failed(_ error: StoreError) throws(EngineError) -> SentAsset {
        giveUp()
        if error.code == .operationCancelled { throw .refused(error) }
        return .done(Asset(.failed(error)))
    }
}

private final class Counter: Sendable {
    private let total = Atomic(0)

    func add(_ count: Int) -> Int { total.add(count, ordering: .relaxed).newValue }
}
