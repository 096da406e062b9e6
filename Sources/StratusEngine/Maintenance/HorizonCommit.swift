internal import StratusJournal

/// Makes deletions be forgotten: after it tokens from before them are refused, and their entries go
/// with the next compaction of their segments.
package struct HorizonCommit: Transaction {
    let horizons: [JournalCompaction.Horizon]
    let participations: [ParticipationHorizonEntry]

    init(
        horizons: [JournalCompaction.Horizon] = [],
        participations: [ParticipationHorizonEntry] = []
    ) {
        self.horizons = horizons
        self.participations = participations
    }

    var isEmpty: Bool { horizons.isEmpty && participations.isEmpty }

    /// Brings a copy to the horizons that `source` has by now, which looks from where the copy was
    /// taken: of deletions up to there the copy has no entries. Where there are many zones, those
    /// of some of them; nil: all of them have theirs.
    package init?(
        bringing copy: StoreReading, to source: StoreReading
    ) throws(EngineError) {
        var horizons: [JournalCompaction.Horizon] = []
        for number in 0..<copy.zoneCount where horizons.count < CompactionPlanner.forgottenLimit {
            // Numbers of shares are those of no zone: a share forgets with its zone.
            guard let zone = try copy.zone(number + 1), zone.isAlive else { continue }
            // What the source wrote behind it the copy never had.
            let through = min(try source.horizon(of: zone).offset, source.head.previous)
            if through > (try copy.horizon(of: zone).offset) {
                horizons.append(JournalCompaction.Horizon(zone: zone.number, through: through))
            }
        }
        if horizons.isEmpty { return nil }
        self.init(horizons: horizons)
    }

    package func draft(
        _ reading: StoreReading, _ context: PreparationContext, sink: PartSink
    ) throws(EngineError) -> Draft? {
        var draft = Draft(reading)
        for horizon in horizons {
            // A horizon never goes back.
            guard let zone = try reading.zone(horizon.zone), zone.isAlive,
                horizon.through > (try reading.horizon(of: zone).offset)
            else { continue }
            draft.readSet.append(.zoneNumber(horizon.zone))
            let entry = HorizonEntry(through: horizon.through)
            try draft.buffer.add(.horizon, in: zone) { entry.write(to: &$0) }
        }
        for entry in participations
        where entry.through > (try reading.participationHorizon(of: entry.user).through) {
            draft.readSet.append(.participationHorizon(entry.user))
            try draft.buffer.add(.participationHorizon) { entry.write(to: &$0) }
        }
        return draft
    }
}
