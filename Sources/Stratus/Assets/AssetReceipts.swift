internal import FoundationEssentials
internal import StratusAssets
internal import Synchronization
internal import StratusEngine

/// Assets that were stored before any record names them, by the receipts that were given for them.
///
/// A receipt serves one record. A save claims it for its record, and uses it up where the record
/// was saved: until then the asset is not collected, and from then on the record has it. A used
/// receipt is still known for a while, for its record alone, so that a call whose answer was lost
/// can be repeated.
final class AssetReceipts: Sendable {
    fileprivate struct Uploader: Hashable {
        var scope: DatabaseScope
        var caller: UserID
    }

    private struct Given {
        var receipt: String
        var uploader: Uploader
        var content: AssetContent
        /// The record that was saved with it, or that unfinished saves claim it for.
        var record: Record.ID?
        /// How many unfinished saves claim it.
        var claims = 0
    }

    /// Some of the receipts, and never more than the latest thousand.
    private struct List {
        private var contents: [String: Given] = [:]
        /// The oldest first.
        private var order: [String] = []

        private static let limit = 1000

        var all: some Sequence<Given> { contents.values }
        subscript(receipt: String) -> Given? {
            get { contents[receipt] }
            set { if contents[receipt] != nil { contents[receipt] = newValue } }
        }

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
        var given: [Uploader: List] = [:]
        /// Of all callers.
        var used = List()
    }

    private let state = Mutex(State())

    fileprivate func add(_ content: AssetContent, _ uploader: Uploader) -> String {
        let given = Given(receipt: UUID().uuidString, uploader: uploader, content: content)
        state.withLock { $0.given[uploader, default: List()].add(given) }
        return given.receipt
    }

    /// What the receipt was given for, to the same caller and in the same database, to be saved in
    /// that record. A claim ends with ``end(_:of:isSaved:)``.
    fileprivate func claim(
        _ receipt: String, for record: Record.ID, of uploader: Uploader
    ) throws(EngineError) -> AssetContent {
        let given = state.withLock { state -> Given? in
            guard var given = state.given[uploader]?[receipt] else {
                return state.used[receipt].flatMap { $0.uploader == uploader ? $0 : nil }
            }
            if given.claims == 0 { given.record = record }
            if given.record == record { given.claims += 1 }
            state.given[uploader]?[receipt] = given
            return given
        }
        guard let given else { throw .refused(.noReceipt) }
        guard given.record == record else { throw .refused(.usedReceipt) }
        return given.content
    }

    /// A save that claimed the receipt has ended. One that failed does not use it up.
    fileprivate func end(_ receipt: String, of uploader: Uploader, isSaved: Bool) {
        state.withLock { state in
            state.given[uploader]?[receipt]?.claims -= 1
            guard isSaved, let given = state.given[uploader]?.remove(receipt) else { return }
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
        try await answering { () async throws(EngineError) -> (asset: Asset, receipt: String) in
            try admit([])
            try await checkAccount()
            var record = Record(recordType: "Asset")
            record["asset"] = .asset(asset)
            let call = try await upload([.save(record, SaveRule(.ifServerRecordUnchanged))])
            guard case .save(let uploaded, _)? = call.items.first, let sealed = call.assets,
                let stored = uploaded["asset"]?.assetValue
            else { throw .refused(.assetGone) }
            switch stored.source {
            case .failed(let error): throw .refused(error)
            case .stored(let asset):
                try await commitPlaces(of: sealed)
                let receipts = container.receipts
                let uploader = AssetReceipts.Uploader(scope: scope, caller: try writer())
                let receipt = receipts.add(asset.content, uploader)
                // Until here the chunks are held, and from here on by the receipt.
                return withExtendedLifetime(sealed) { (stored, receipt) }
            case .file, .data, .stream, .request: throw .refused(.assetGone)
            }
        }
    }

    /// The items with assets in the places of their receipts, which are claimed. A record with
    /// a receipt that cannot be claimed is left to fail with the reason.
    func claimingReceipts(
        of items: [RecordItem]
    ) throws(EngineError) -> (items: [RecordItem], claims: ReceiptClaims) {
        guard items.hasItem(where: { $0.namesReceipts }) else {
            return (items, ReceiptClaims())
        }
        let store = container.foundation.assets
        let uploader = AssetReceipts.Uploader(scope: scope, caller: try writer())
        var claims = ReceiptClaims(receipts: container.receipts, uploader: uploader)
        let claimed = items.enumerated().map { index, item in
            guard case .save(var record, let rule) = item else { return item }
            let id = Record.ID(
                recordName: record.recordID.recordName, zoneID: ownZone(record.recordID.zoneID))
            for edit in record.edits.all {
                guard let value = edit.value, value.hasAssets else { continue }
                record[edit.key] = value.mappingAssets { asset in
                    guard case .receipt(let receipt)? = asset.request else { return asset }
                    do throws(EngineError) {
                        let content = try container.receipts.claim(receipt, for: id, of: uploader)
                        claims.taken.append((receipt, index))
                        return Asset(content, in: store)
                    } catch {
                        return Asset(.failed(StoreError(error)))
                    }
                }
            }
            return .save(record, rule)
        }
        return (claimed, claims)
    }
}

/// The receipts that a call has claimed for its records.
struct ReceiptClaims {
    fileprivate var receipts: AssetReceipts?
    fileprivate var uploader: AssetReceipts.Uploader?
    /// Each with the number of the item that saves its record.
    fileprivate var taken: [(receipt: String, item: Int)] = []

    /// Uses up the receipts of the records that were saved, and gives up the others. A call that
    /// failed as a whole has no outcomes.
    func end(_ outcomes: [Result<Record?, StoreError>]) {
        guard let receipts, let uploader else { return }
        for (receipt, item) in taken {
            var isSaved = false
            if outcomes.indices.contains(item), case .success = outcomes[item] {
                isSaved = true
            }
            receipts.end(receipt, of: uploader, isSaved: isSaved)
        }
    }
}

extension RecordItem {
    /// Whether any stands in the place of an asset.
    fileprivate var namesReceipts: Bool {
        guard case .save(let record, _) = self, record.edits.hasAssets else { return false }
        return record.edits.all.contains { edit in
            edit.value?.assets.contains { asset in
                if case .receipt? = asset.request { true } else { false }
            } ?? false
        }
    }
}

extension StoreError {
    fileprivate static let noReceipt = StoreError(
        .assetNotAvailable, "no asset was stored under the receipt")
    fileprivate static let usedReceipt = StoreError(
        .assetNotAvailable, "expected a receipt of its own, found one that serves another record")
}
