internal import StratusJournal

/// Makes deletions be forgotten: after it tokens from before them are refused, and their entries go
/// with the next compaction of their segments.
struct HorizonCommit: Transaction {
    let horizons: [JournalCompaction.Horizon]

    func draft(
        _ reading: StoreReading, _ context: PreparationContext, sink: PartSink
    ) throws(EngineError) -> Draft? {
        var draft = Draft(reading)
        for horizon in horizons {
            guard let zone = try reading.zone(horizon.zone), zone.isAlive else { continue }
            draft.readSet.append(.zoneNumber(horizon.zone))
            let entry = HorizonEntry(through: horizon.through)
            try draft.buffer.add(.horizon, in: zone) { entry.write(to: &$0) }
        }
        return draft
    }
}
