internal import StratusEngine

extension ItemResult {
    static func saved(_ record: Record) -> ItemResult { .done(record) }
    static func failed(_ error: StoreError) -> ItemResult { .refused(error) }

    /// The record that is in the store now, where that was read already.
    var record: Record? { if case .done(let record) = self { record as? Record } else { nil } }

    /// Why the item failed; nil where it did not.
    var error: StoreError? {
        if case .refused(let error) = self { StoreError(translating: error) } else { nil }
    }
}
