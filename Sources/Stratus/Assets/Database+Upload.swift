internal import FoundationEssentials
internal import StratusAssets
internal import StratusFiles
internal import Synchronization

// Assets go into the store before the records that have them.

/// How far the assets of a record are on their way.
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
    var operations: [RecordOperation]
    /// Nil where there are none.
    var assets: SealedAssets?

    /// What became of the records, with those that were given in place of those that were sent.
    func outcomes(
        _ outcomes: [Result<Record?, StoreError>], of given: [RecordOperation]
    ) -> [Result<Record?, StoreError>] {
        if assets == nil { return outcomes }
        return zip(outcomes, given).map { outcome, operation in
            guard case .failure(var error) = outcome, case .save(let record, _) = operation,
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
        _ operations: [RecordOperation], _ progress: UploadProgress? = nil
    ) async throws(StoreError) -> UploadedCall {
        guard operations.contains(where: \.mayHaveAssets) else {
            return UploadedCall(operations: operations)
        }
        let (store, engine, domain) = try uploading()
        let upload = try await store.threads.run { try AssetUpload(into: store, engine, domain) }
        var operations = operations
        let result = await withTaskCancellationHandler {
            await upload.resolve(&operations, progress)
        } onCancel: {
            upload.cancel()
        }
        try result.get()
        let assets = try await store.uploads.run { try upload.seal() }
        return UploadedCall(operations: operations, assets: assets)
    }

    /// The same on the calling thread, which waits.
    func uploadAndWait(
        _ operations: [RecordOperation]
    ) throws(StoreError) -> UploadedCall {
        guard operations.contains(where: \.mayHaveAssets) else {
            return UploadedCall(operations: operations)
        }
        let (store, engine, domain) = try uploading()
        let upload = try AssetUpload(into: store, engine, domain)
        var operations = operations
        for index in operations.indices {
            guard var task = RecordUpload(operations[index]) else { continue }
            for key in task.keys {
                task.put(key) { asset in upload.stored(asset) { _, _ in } }
            }
            upload.retainOthers(of: task)
            operations[index] = task.operation
        }
        return UploadedCall(operations: operations, assets: try upload.seal())
    }

    private func uploading() throws(StoreError) -> (AssetStore, Engine, ChunkDomain) {
        let engine = try container.engine()
        let store = container.foundation.assets
        return (store, engine, try store.domain(scope, try writer(), container.deduplication))
    }
}

/// A record whose assets are being stored.
private struct RecordUpload: Sendable {
    private(set) var record: Record
    private let rule: SaveRule
    /// The fields with assets that were set.
    let keys: [String]
    /// Of the assets that were stored before, in bytes.
    var completed = 0

    /// Nil where there is nothing to do.
    init?(_ operation: RecordOperation) {
        guard operation.mayHaveAssets, case .save(let record, let rule) = operation else {
            return nil
        }
        self.record = record
        self.rule = rule
        keys = record.edits.all.filter { $0.value?.hasAssets == true }.map(\.key)
    }

    var operation: RecordOperation { .save(record, rule) }

    func assets(_ key: String) -> [Asset] { record[key]?.assets ?? [] }

    /// Puts others in the places of the assets of a field.
    mutating func put(_ key: String, _ assets: [Asset]) {
        var next = assets.makeIterator()
        switch record[key] {
        case .asset: record[key] = next.next().map { .asset($0) }
        case .list(let values):
            record[key] = .list(
                values.map { value in
                    if case .asset = value, let asset = next.next() { .asset(asset) } else { value }
                })
        default: break
        }
    }

    mutating func put(_ key: String, _ replace: (Asset) -> Asset) {
        put(key, assets(key).map(replace))
    }

    /// What stands in fields that were not set, and would be saved with them.
    var others: [Asset] {
        record.stored.hasAssets && record.mayBeSentWhole(rule)
            ? record.allKeys.filter { !keys.contains($0) }.flatMap(assets) : []
    }
}

extension RecordOperation {
    /// Whether there are assets that must be in the store before this is done.
    fileprivate var mayHaveAssets: Bool {
        guard case .save(let record, let rule) = self else { return false }
        return record.edits.hasAssets || record.stored.hasAssets && record.mayBeSentWhole(rule)
    }
}

extension Record {
    /// Whether a save may send fields that were not set.
    fileprivate func mayBeSentWhole(_ rule: SaveRule) -> Bool {
        rule.policy != .ifServerRecordUnchanged || recordType == Record.userRecordType
    }
}

extension AssetUpload {
    fileprivate nonisolated(nonsending) func resolve(
        _ operations: inout [RecordOperation], _ progress: UploadProgress?
    ) async -> Result<Void, StoreError> {
        do throws(StoreError) {
            for index in operations.indices {
                guard var task = RecordUpload(operations[index]) else { continue }
                for key in task.keys {
                    var assets = task.assets(key)
                    for place in assets.indices {
                        let asset = assets[place]
                        let before = task.completed
                        let id = task.record.recordID
                        assets[place] = try await stored(asset) { done, total in
                            progress?(
                                id,
                                TransferProgress(
                                    completedBytes: before + done,
                                    totalBytes: total.map { $0 + before }))
                        }
                        task.completed += assets[place].size ?? 0
                    }
                    task.put(key, assets)
                }
                let done = task
                try await store.uploads.run { [self] in retainOthers(of: done) }
                operations[index] = done.operation
            }
            return .success(())
        } catch {
            return .failure(error)
        }
    }

    private nonisolated(nonsending) func stored(
        _ asset: Asset, _ progress: @escaping @Sendable (Int, Int?) -> Void
    ) async throws(StoreError) -> Asset {
        let result: Asset
        if case .stream(let stream) = asset.source {
            result = await read(stream, progress)
        } else {
            result = try await store.uploads.run { [self] in stored(asset, progress) }
        }
        if case .failed(let error) = result.source, error.code == .operationCancelled {
            throw error
        }
        return result
    }

    private nonisolated(nonsending) func read(
        _ stream: AssetStream, _ progress: @escaping @Sendable (Int, Int?) -> Void
    ) async -> Asset {
        do {
            let total = Counter()
            try await stream.read { [self] data in
                try await store.uploads.run { [self] in try add(data.span) }
                progress(total.add(data.count), nil)
            }
            let content = try await store.uploads.run { [self] in try finish() }
            return Asset(content, in: store)
        } catch {
            _ = try? await store.uploads.run { [self] in giveUp() }
            if Task.isCancelled { return Asset(.failed(.uploadCancelled)) }
            if let error = error as? StoreError { return Asset(.failed(error)) }
            return Asset(
                .failed(StoreError(.assetNotAvailable, "the stream of the asset failed: \(error)")))
        }
    }

    /// The asset as it is in the store, or why it is not.
    fileprivate func stored(_ asset: Asset, _ progress: (Int, Int?) -> Void) -> Asset {
        do throws(StoreError) {
            switch asset.source {
            case .file(let place): return Asset(try add(file: place, progress: progress), in: store)
            case .data(let data): return Asset(try add(data: data, progress: progress), in: store)
            case .stored(let stored) where stored.store === store:
                try retain(stored)
                return asset
            case .stored(let other):
                return Asset(try add(other, progress: progress), in: store)
            case .stream:
                throw StoreError(
                    .invalidArguments, "a stream is read by tasks only, which call save(_:)")
            case .failed: return asset
            case .request: throw StoreError.assetGone
            }
        } catch {
            giveUp()
            return Asset(.failed(error))
        }
    }

    /// What cannot be held any more can only be kept, and not be saved anew.
    fileprivate func retainOthers(of task: RecordUpload) {
        for asset in task.others {
            if case .stored(let stored) = asset.source { try? retain(stored) }
        }
    }
}

private final class Counter: Sendable {
    private let total = Atomic(0)

    func add(_ count: Int) -> Int { total.add(count, ordering: .relaxed).newValue }
}
