internal import FoundationEssentials
internal import StratusAssets
internal import Synchronization

/// Assets that were stored before any record names them, by the receipts that were given for them.
///
/// A receipt is used up by the save of a record that has its asset: until then the asset is not
/// collected, and from then on the record has it. It is still known for a while, so that a call
/// can be repeated whose answer was lost.
final class AssetReceipts: Sendable {
    private struct Owner: Hashable {
        var scope: DatabaseScope
        var caller: UserID
    }

    private struct Given {
        var receipt: String
        var owner: Owner
        var content: AssetContent
    }

    /// Some of the receipts, and never more than the latest thousand.
    private struct List {
        private var contents: [String: Given] = [:]
        /// The oldest first.
        private var order: [String] = []

        private static let limit = 1000

        var all: some Sequence<Given> { contents.values }
        subscript(receipt: String) -> Given? { contents[receipt] }

        mutating func add(_ given: Given) {
            contents[given.receipt] = given
            order.append(given.receipt)
            if order.count > Self.limit { contents[order.removeFirst()] = nil }
        }

        mutating func remove(_ receipt: String) -> Given? {
            order.removeAll { $0 == receipt }
            return contents.removeValue(forKey: receipt)
        }
    }

    private struct State {
        var given: [Owner: List] = [:]
        /// Of all callers.
        var used = List()
    }

    private let state = Mutex(State())

    fileprivate func add(
        _ content: AssetContent, _ scope: DatabaseScope, _ caller: UserID
    ) -> String {
        let owner = Owner(scope: scope, caller: caller)
        let given = Given(receipt: UUID().uuidString, owner: owner, content: content)
        state.withLock { $0.given[owner, default: List()].add(given) }
        return given.receipt
    }

    /// What the receipt was given for, to whom it was given and in the same database.
    fileprivate func content(
        _ receipt: String, _ scope: DatabaseScope, _ caller: UserID
    ) -> AssetContent? {
        let owner = Owner(scope: scope, caller: caller)
        return state.withLock { state in
            let given = state.given[owner]?[receipt] ?? state.used[receipt]
            return given?.owner == owner ? given?.content : nil
        }
    }

    /// A record was saved that has the asset.
    fileprivate func use(_ receipt: String, _ scope: DatabaseScope, _ caller: UserID) {
        let owner = Owner(scope: scope, caller: caller)
        state.withLock { state in
            guard let given = state.given[owner]?.remove(receipt) else { return }
            state.used.add(given)
        }
    }

    /// What no record has yet, and is kept all the same.
    var held: [AssetContent] {
        state.withLock { $0.given.values.flatMap { $0.all.map(\.content) } }
    }
}

extension Database {
    /// Stores an asset that no record has yet. The receipt stands for it until a record was saved
    /// with it, the caller was given a thousand newer ones, or the container is closed.
    package nonisolated(nonsending) func store(
        _ asset: Asset
    ) async throws(StoreError) -> (asset: Asset, receipt: String) {
        try admit([])
        var record = Record(recordType: "Asset")
        record["asset"] = .asset(asset)
        let call = try await upload([.save(record, SaveRule(.ifServerRecordUnchanged))])
        guard case .save(let uploaded, _)? = call.operations.first, let sealed = call.assets,
            let stored = uploaded["asset"]?.assetValue
        else { throw StoreError.assetGone }
        switch stored.source {
        case .failed(let error): throw error
        case .stored(let asset):
            if !sealed.rows.isEmpty {
                _ = try await container.engine().commit(ChunkCommit(rows: sealed.rows))
            }
            let receipts = container.foundation.assets.receipts
            let receipt = receipts.add(asset.content, scope, try writer())
            // Until here the chunks are held, and from here on by the receipt.
            return withExtendedLifetime(sealed) { (stored, receipt) }
        case .file, .data, .stream, .request: throw StoreError.assetGone
        }
    }

    /// The operations with assets in the places of their receipts. One that stands for nothing
    /// leaves its record to fail.
    func redeeming(
        _ operations: [RecordOperation]
    ) throws(StoreError) -> [RecordOperation] {
        guard operations.contains(where: { !$0.receipts.isEmpty }) else { return operations }
        let caller = try writer()
        let store = container.foundation.assets
        return operations.map { operation in
            guard case .save(var record, let rule) = operation else { return operation }
            for edit in record.edits.all {
                guard let value = edit.value, value.hasAssets else { continue }
                record[edit.key] = value.mappingAssets { asset in
                    guard case .receipt(let receipt)? = asset.request else { return asset }
                    guard let content = store.receipts.content(receipt, scope, caller) else {
                        return Asset(.failed(.noReceipt))
                    }
                    return Asset(content, in: store)
                }
            }
            return .save(record, rule)
        }
    }

    /// Uses up the receipts of the records that were saved.
    func useReceipts(
        of operations: [RecordOperation], _ outcomes: [Result<Record?, StoreError>]
    ) {
        guard let caller else { return }
        for (operation, outcome) in zip(operations, outcomes) {
            guard case .success = outcome else { continue }
            for receipt in operation.receipts {
                container.foundation.assets.receipts.use(receipt, scope, caller)
            }
        }
    }
}

extension RecordOperation {
    /// Those that stand in the place of an asset.
    fileprivate var receipts: [String] {
        guard case .save(let record, _) = self, record.edits.hasAssets else { return [] }
        return record.edits.all.flatMap { $0.value?.assets ?? [] }.compactMap { asset in
            if case .receipt(let receipt)? = asset.request { receipt } else { nil }
        }
    }
}

extension StoreError {
    fileprivate static let noReceipt = StoreError(
        .assetNotAvailable, "no asset was stored under the receipt")
}
