internal import StratusIndex
internal import StratusJournal
internal import StratusEngine

extension Database {
    /// Makes a zone, or changes nothing where it is there already.
    ///
    /// - Throws: ``StoreError`` with `badDatabase` in the public database, `invalidArguments`.
    @discardableResult
    public nonisolated(nonsending) func save(
        _ zone: RecordZone
    ) async throws(StoreError) -> RecordZone {
        try await answering { () async throws(EngineError) -> RecordZone in
            try await modifyZone(.save(zone.zoneID), zone.zoneID)
            return try await answer { view throws(EngineError) in
                try view.recordZone(for: zone.zoneID)
            }
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
        try await answering { () async throws(EngineError) -> RecordZone.ID in
            try await modifyZone(.delete(id, reason == .purged ? .purged : .deleted), id)
            return id
        }
    }

    /// The zone `id`, with what it can do.
    public nonisolated(nonsending) func recordZone(
        for id: RecordZone.ID
    ) async throws(StoreError) -> RecordZone {
        try await read { view throws(EngineError) in try view.recordZone(for: id) }
    }

    /// All zones of this database, the default zone first, the others sorted by name.
    public nonisolated(nonsending) func allRecordZones() async throws(StoreError) -> [RecordZone] {
        try await read { view throws(EngineError) in try view.allRecordZones() }
    }

    /// The same, where zones may be damaged: the others, and the error of each that is missing.
    public nonisolated(nonsending) func readableRecordZones() async throws(StoreError)
        -> (zones: [RecordZone], skipped: [StoreError])
    {
        try await read { view throws(EngineError) in try view.readableRecordZones() }
    }

    private nonisolated(nonsending) func modifyZone(
        _ item: ZoneBatch.Item, _ id: RecordZone.ID
    ) async throws(EngineError) {
        let user = try writer()
        try await checkAccount()
        try container.limits?.admit(user)
        try current.check(id)
        let batch = ZoneBatch(scope: scope, userName: userName, device: device, items: [item])
        let committed = try await container.engine().commit(batch)
        if let error = committed.draft.results.first?.error { throw .refused(error) }
    }
}

extension DatabaseView {
    /// The zone `id`, with what it can do.
    func recordZone(for id: RecordZone.ID) throws(EngineError) -> RecordZone {
        RecordZone(zoneID: id, try usedZone(id, reading)?.place.capabilities ?? [])
    }

    /// All zones of this database, the default zone first, the others sorted by name.
    func allRecordZones() throws(EngineError) -> [RecordZone] {
        var skipped = SkippedDamage(isAllowed: false)
        return try recordZones(&skipped)
    }

    /// The same without those that are damaged, and why these cannot be had.
    func readableRecordZones() throws(EngineError) -> (zones: [RecordZone], skipped: [StoreError]) {
        var skipped = SkippedDamage(isAllowed: true)
        let zones = try recordZones(&skipped)
        return (zones, skipped.errors)
    }

    private func recordZones(
        _ skipped: inout SkippedDamage
    ) throws(EngineError) -> [RecordZone] {
        var zones: [RecordZone] = []
        for (id, place) in try livingZones(reading, &skipped) where !id.isDefault {
            zones.append(RecordZone(zoneID: id, place.capabilities))
        }
        zones.sort {
            ($0.zoneID.zoneName, $0.zoneID.ownerName) < ($1.zoneID.zoneName, $1.zoneID.ownerName)
        }
        if case .shared = scope { return zones }
        return [RecordZone(zoneID: .default)] + zones
    }

    /// How many zones there are, damaged or not.
    func zoneCount() throws(EngineError) -> Int {
        let reading = try reading
        let count = try livingPlaces(reading).count
        if case .shared = scope { return count }
        // The default zone is there also before anything was saved in it.
        return try usedZone(.default, reading) == nil ? count + 1 : count
    }

    /// The living zones of one state, in no order; the default zone once it was saved in.
    func livingZones(
        _ reading: StoreReading
    ) throws(EngineError) -> [(RecordZone.ID, ZonePlace)] {
        var skipped = SkippedDamage(isAllowed: false)
        return try livingZones(reading, &skipped)
    }

    /// The same without those that are skipped.
    func livingZones(
        _ reading: StoreReading, _ skipped: inout SkippedDamage
    ) throws(EngineError) -> [(RecordZone.ID, ZonePlace)] {
        var zones: [(RecordZone.ID, ZonePlace)] = []
        for place in try livingPlaces(reading) {
            do throws(EngineError) {
                zones.append((try sharedID(of: place, reading), place))
            } catch {
                try skipped.take(error, at: place.offset)
            }
        }
        return zones
    }

    /// The same without their names.
    func livingPlaces(_ reading: StoreReading) throws(EngineError) -> [ZonePlace] {
        if case .shared(let user) = scope { return try reading.sharedZones(of: user) }
        guard let database = try reading.database(scope) else { return [] }
        var places: [ZonePlace] = []
        try reading.scan(KeySpace.zones.key().appending(database).asPrefix) {
            _, value throws(EngineError) in
            if let place = try ZonePlace.decoded(value), place.isAlive { places.append(place) }
            return true
        }
        return places
    }
}
