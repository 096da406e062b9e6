internal import StratusAssets
internal import StratusBytes
internal import StratusEngine
internal import StratusJournal

// The assets that a long-lived request is to save with its records.

extension JournalEntry {
    /// Those that the request in the entry names.
    func requestedAssets() throws(EngineError) -> [AssetContent] {
        guard let request = withPayload({ try? RequestEntry($0) }) else { throw .damaged(self) }
        guard case .modify(let modification) = request.body.call else { return [] }
        var assets: [AssetContent] = []
        do throws(FormatError) {
            for case .save(let save) in modification.items {
                for case .value(let kind, let bytes) in save.fields.map(\.content)
                where kind.isAsset {
                    assets += try AssetFields.contents(bytes.span, in: 0..<bytes.count, kind)
                }
            }
        } catch {
            throw .damaged(self)
        }
        return assets
    }
}

/// What was stored for a request until its entry names it: holds the chunks as long as it is there.
struct RequestAssets {
    let stored: SealedAssets?
    let claims: ReceiptClaims
    let itemCount: Int

    /// The request is kept, and has them, or it is not.
    func end(isKept: Bool) {
        claims.end(isKept ? Array(repeating: .success(nil), count: itemCount) : [])
    }
}

extension RecordItem {
    /// Fails where an asset of the record could not be stored.
    func checkAssets() throws(EngineError) {
        guard case .save(let record, _) = self, record.edits.hasAssets else { return }
        for case .failed(let error) in record.edits.all.flatMap({ $0.value?.assets ?? [] })
            .map(\.source)
        {
            throw .refused(error.with(record.recordID))
        }
    }
}
