internal import StratusEngine
internal import StratusFiles
internal import StratusIndex
internal import StratusJournal

/// To whom an asset was given, and of which record: an object, since few records have assets.
final class AssetAccess: Sendable {
    private let principal: Principal
    private let scope: DatabaseScope
    private let type: String
    private let creator: UserID?

    /// Nil for the program itself, which may read everything.
    init?(_ principal: Principal, _ scope: DatabaseScope, type: String, creator: UserID?) {
        if case .host = principal { return nil }
        self.principal = principal
        self.scope = scope
        self.type = type
        self.creator = creator
    }

    /// Why the bytes of the record's assets may not be read any more; nil where they may.
    fileprivate func refusal(
        of record: Record.ID, _ state: StoreReading
    ) throws(EngineError) -> StoreError? {
        let view = DatabaseView(state, scope, principal)
        let reading = try view.reading
        if case .shared = scope {
            let shared = try view.usedZone(record.zoneID, reading)?.shared
            let isVisible = try shared?.mayRead(reading.hash(record.recordName), view, reading)
            return isVisible == true ? nil : .mayNotRead
        }
        return try PublicReader(view, reading)?.refusal(ofType: type, creator: creator)
    }
}

extension StoredAsset {
    /// Fails where the record that the asset was given with may not be read any more.
    func checkReader(_ mode: ReadMode) throws(EngineError) {
        guard let reader, let record else { return }
        guard let store else { throw .refused(.assetGone) }
        if let refusal = try reader.refusal(of: record, store.reading(mode)) {
            throw .refused(refusal.with(record))
        }
    }
}
