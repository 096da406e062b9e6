internal import StratusEngine
internal import StratusFiles
internal import StratusIndex
internal import StratusJournal

extension StoredAsset {
    /// Fails where the asset is of another user's record that the participant sees no longer.
    func checkParticipant(_ mode: ReadMode) throws(EngineError) {
        guard let participant, let record else { return }
        guard let store else { throw .refused(.assetGone) }
        let reading = try store.reading(mode)
        let view = DatabaseView(reading, .shared(user: participant), .user(participant))
        let shared = try view.usedZone(record.zoneID, reading)?.shared
        let isVisible = try shared?.mayRead(reading.hash(record.recordName), view, reading)
        guard isVisible == true else { throw .refused(StoreError.mayNotRead.with(record)) }
    }
}
