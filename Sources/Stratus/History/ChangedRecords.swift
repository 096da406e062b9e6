internal import StratusIndex
internal import StratusJournal
internal import StratusEngine

/// Which records of a zone were saved or deleted between two states of one store, a page at a time:
/// once each, in the order of their last changes. Zones without a change feed have this, too.
package struct ChangedRecords {
    private let snapshot: DatabaseSnapshot
    private let zoneID: RecordZone.ID
    private var since: Version

    /// - Parameters:
    ///   - snapshot: the database in its later state.
    ///   - earlier: the same database in an earlier state.
    /// - Returns: nil where the states do not say it: the zone was made in between, or deletions in
    ///   it are forgotten.
    package init?(
        of zoneID: RecordZone.ID, in snapshot: DatabaseSnapshot, since earlier: DatabaseSnapshot
    ) throws(StoreError) {
        let before = try earlier.answer { view throws(EngineError) in
            let reading = try view.reading
            return (zone: try view.usedZone(zoneID, reading)?.place, version: reading.lastVersion)
        }
        let isKnown = try snapshot.answer { view throws(EngineError) in
            try view.checkReadsAll()
            let reading = try view.reading
            guard let zone = try view.usedZone(zoneID, reading)?.place,
                zone.number == before.zone?.number
            else { return false }
            return try reading.horizon(of: zone) <= before.version
        }
        guard isKnown else { return nil }
        self.snapshot = snapshot
        self.zoneID = zoneID
        since = before.version
    }

    /// The next ones; none: these were all.
    package mutating func next() throws(StoreError) -> [Record.ID] {
        let start = since
        let page = try snapshot.answer { view throws(EngineError) in
            let reading = try view.reading
            let zone = try view.zone(zoneID, reading).number
            var places: [EntryLocation] = []
            var length = 0
            let first = IndexKey.feed(zone, Version(rawValue: start.rawValue + 1))
            try reading.scan(first..<KeySpace.feed.range(zone: zone).upperBound) { _, value in
                places.append(EntryLocation(value))
                length += EntryLocation(value).frameLength
                return places.count < Page.usual && length < Page.lengthLimit
            }
            let ids = try reading.entries(places).map { entry throws(EngineError) in
                let name =
                    entry.kind == .tombstone
                    ? try reading.tombstone(entry).name : entry.recordName
                guard let name else { throw .damaged(entry) }
                return Record.ID(recordName: name, zoneID: zoneID)
            }
            return (ids: ids, last: places.last?.version)
        }
        since = page.last ?? since
        return page.ids
    }
}
