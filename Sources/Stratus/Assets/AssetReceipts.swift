internal import FoundationEssentials
internal import Synchronization

/// Assets that were stored before any record names them, by the receipts that were given for them.
///
/// They are held as long as this is: for the container's life, and the latest of them only.
final class AssetReceipts: Sendable {
    private struct Entry {
        var scope: DatabaseScope
        var caller: UserID
        var asset: StoredAsset
        /// Holds the chunks.
        var sealed: SealedAssets
    }

    private struct State {
        var entries: [String: Entry] = [:]
        /// The oldest first.
        var order: [String] = []
    }

    private static let limit = 1000

    private let state = Mutex(State())

    fileprivate func add(
        _ asset: StoredAsset, _ sealed: SealedAssets, _ scope: DatabaseScope, _ caller: UserID
    ) -> String {
        let receipt = UUID().uuidString
        state.withLock { state in
            state.entries[receipt] = Entry(
                scope: scope, caller: caller, asset: asset, sealed: sealed)
            state.order.append(receipt)
            if state.order.count > Self.limit {
                state.entries[state.order.removeFirst()] = nil
            }
        }
        return receipt
    }

    /// What the receipt was given for, to whom it was given and in the same database.
    fileprivate func asset(
        _ receipt: String, _ scope: DatabaseScope, _ caller: UserID
    ) -> StoredAsset? {
        state.withLock { state in
            guard let entry = state.entries[receipt], entry.scope == scope,
                entry.caller == caller
            else { return nil }
            return entry.asset
        }
    }
}

extension Database {
    /// Stores an asset that no record has yet. The receipt stands for it until it is one of many
    /// newer ones, or the container is closed.
    package nonisolated(nonsending) func store(
        _ asset: Asset
    ) async throws(StoreError) -> (asset: Asset, receipt: String) {
        try admit([])
        var record = Record(recordType: "Asset")
        record["asset"] = .asset(asset)
        let call = try await upload([.save(record, SaveRule(.ifServerRecordUnchanged))])
        guard case .save(let uploaded, _)? = call.operations.first, var sealed = call.assets,
            let stored = uploaded["asset"]?.assetValue
        else { throw StoreError.assetGone }
        switch stored.source {
        case .failed(let error): throw error
        case .stored(let content):
            if !sealed.rows.isEmpty {
                _ = try await container.engine().commit(ChunkCommit(rows: sealed.rows))
                sealed.rows = []
            }
            let receipts = container.foundation.assets.receipts
            return (stored, receipts.add(content, sealed, scope, try writer()))
        case .file, .data, .stream, .request: throw StoreError.assetGone
        }
    }

    /// The asset that a receipt was given for.
    package func asset(forReceipt receipt: String) throws(StoreError) -> Asset {
        let receipts = container.foundation.assets.receipts
        guard let asset = receipts.asset(receipt, scope, try writer()) else {
            throw StoreError(.assetNotAvailable, "no asset was stored under the receipt")
        }
        return Asset(.stored(asset))
    }
}
