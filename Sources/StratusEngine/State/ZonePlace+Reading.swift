package import StratusIndex
internal import StratusJournal

extension ZonePlace {
    /// What a reading found of a zone; nil where it found nothing.
    package static func decoded(_ value: IndexValue?) throws(EngineError) -> ZonePlace? {
        guard let value else { return nil }
        guard let place = ZonePlace(value) else {
            throw .journal(.damaged(JournalDamage(.above("index.zone"), file: "", byte: 0)))
        }
        return place
    }
}
