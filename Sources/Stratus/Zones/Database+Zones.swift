internal import StratusIndex
internal import StratusJournal

extension Database {
    /// Makes a zone, or changes nothing where it is there already.
    ///
    /// - Throws: ``StoreError`` with `badDatabase` in the public database, `invalidArguments`.
    @discardableResult
    public nonisolated(nonsending) func save(
        _ zone: RecordZone
    ) async throws(StoreError) -> RecordZone {
        try await modifyZone(.save(zone.zoneID), zone.zoneID)
        return try await answer { snapshot throws(StoreError) in
            try snapshot.recordZone(for: zone.zoneID)
        }
    }

    /// Deletes a zone and every record in it, for good.
    ///
    /// - Parameter reason: what the database's feed reports. Saves into a zone that was purged fail
    ///   with `userDeletedZone` until it is made again.
    /// - Throws: ``StoreError`` with `zoneNotFound`, `invalidArguments` for the default zone.
    @discardableResult
    public nonisolated(nonsending) func deleteRecordZone(
        withID id: RecordZone.ID, reason: DatabaseChanges.Deletion.Reason = .deleted
    ) async throws(StoreError) -> RecordZone.ID {
        try await modifyZone(.delete(id, reason == .purged ? .purged : .deleted), id)
        return id
    }

    /// The zone `id`, with what it can do.
    public nonisolated(nonsending) func recordZone(
        for id: RecordZone.ID
    ) async throws(StoreError) -> RecordZone {
        try await read { snapshot throws(StoreError) in try snapshot.recordZone(for: id) }
    }

    /// All zones of this database, the default zone first, the others sorted by name.
    public nonisolated(nonsending) func allRecordZones() async throws(StoreError) -> [RecordZone] {
        try await read { snapshot throws(StoreError) in try snapshot.allRecordZones() }
    }

    private nonisolated(nonsending) func modifyZone(
        _ item: ZoneBatch.Item, _ id: RecordZone.ID
    ) async throws(StoreError) {
        let user = try writer()
        try container.limits?.admit(user)
        try current.check(id)
        let batch = ZoneBatch(scope: scope, userName: userName, items: [item])
        let committed = try await container.engine().commit(batch)
        if case .failed(let error)? = committed.draft.results.first { throw error }
    }
}

extension DatabaseSnapshot {
    /// The zone `id`, with what it can do.
    public func recordZone(for id: RecordZone.ID) throws(StoreError) -> RecordZone {
        RecordZone(zoneID: id, try usedZone(id, reading)?.capabilities ?? [])
    }

    /// All zones of this database, the default zone first, the others sorted by name.
    public func allRecordZones() throws(StoreError) -> [RecordZone] {
        var zones: [RecordZone] = []
        for (id, place) in try livingZones(reading) where !id.isDefault {
            zones.append(RecordZone(zoneID: id, place.capabilities))
        }
        zones.sort { $0.zoneID.zoneName < $1.zoneID.zoneName }
        return [RecordZone(zoneID: .default)] + zones
    }

    /// The living zones of one state, in no order; the default zone once it was saved in.
    func livingZones(
        _ reading: StoreReading
    ) throws(StoreError) -> [(RecordZone.ID, ZonePlace)] {
        guard let database = try reading.database(scope) else { return [] }
        var places: [ZonePlace] = []
        try reading.scan(KeySpace.zones.key().appending(database).asPrefix) {
            _, value throws(StoreError) in
            if let place = try ZonePlace.decoded(value), place.isAlive { places.append(place) }
            return true
        }
        var zones: [(RecordZone.ID, ZonePlace)] = []
        for place in places {
            zones.append((RecordZone.ID(zoneName: try reading.zoneEntry(place).name), place))
        }
        return zones
    }
}
