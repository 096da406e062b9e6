internal import StratusEngine
internal import StratusIndex

extension DatabaseSnapshot {
    /// How many records of each type there are in a zone, from the index alone.
    ///
    /// - Throws: ``StoreError`` with `zoneNotFound`, and `badDatabase` in a shared database.
    package func recordCounts(inZoneWith id: RecordZone.ID) throws(StoreError) -> [String: Int] {
        try answer { view throws(EngineError) in try view.recordCounts(inZoneWith: id) }
    }
}

extension DatabaseView {
    /// How many records of each type there are in a zone: as of ``DatabaseSnapshot``.
    func recordCounts(inZoneWith id: RecordZone.ID) throws(EngineError) -> [String: Int] {
        try checkOwner()
        let reading = try reading
        guard let zone = try usedZone(id, reading)?.place.number else { return [:] }
        let prefix = KeySpace.types.key(zone: zone)
        var counts: [UInt32: Int] = [:]
        try reading.scan(prefix.asPrefix) { key, value in
            // What was deleted is there until it is forgotten.
            if !EntryLocation(value).isDeleted, key.count >= prefix.count + 4 {
                counts[key.uint32(at: prefix.count), default: 0] += 1
            }
            return true
        }
        var named: [String: Int] = [:]
        for (type, count) in counts { named[reading.schema.name(type) ?? "", default: 0] += count }
        return named
    }
}
