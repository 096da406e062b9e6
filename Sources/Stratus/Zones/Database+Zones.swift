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
        let saved = try await modifyZones([.save(zone.zoneID)])[0].get()
        return saved ?? zone
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
        _ = try await modifyZones([.delete(id, reason)])[0].get()
        return id
    }

    /// Makes and deletes zones: one commit of what can be done.
    ///
    /// - Parameter reason: what the database's feed reports of those that are deleted.
    /// - Returns: for each zone what became of it: as of ``save(_:)`` and
    ///   ``deleteRecordZone(withID:reason:)``.
    /// - Throws: ``StoreError`` with `badDatabase` in the public and the shared database,
    ///   `invalidArguments` where a zone is to be made and deleted, `limitExceeded`.
    public nonisolated(nonsending) func modifyRecordZones(
        saving zones: [RecordZone], deleting ids: [RecordZone.ID] = [],
        reason: DatabaseChanges.Deletion.Reason = .deleted
    ) async throws(StoreError) -> ModifyRecordZonesResult {
        let items = ZoneItem.all(saving: zones, deleting: ids, reason)
        return ModifyRecordZonesResult(items, try await modifyZones(items))
    }

    /// The same in the order of the items: what became of each.
    package nonisolated(nonsending) func modifyZones(
        _ items: [ZoneItem]
    ) async throws(StoreError) -> [Result<RecordZone?, StoreError>] {
        try await outcomes(of: items) { () async throws(EngineError) in
            try await zoneBatch(items)
        }
    }

    /// The commit of a call. Fails where the call as a whole is refused.
    nonisolated(nonsending) func zoneBatch(
        _ items: [ZoneItem]
    ) async throws(EngineError) -> ZoneBatch {
        _ = try await admittedWriter(itemCount: items.count)
        return try ZoneBatch(items, in: self)
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
}

/// What became of the zones that a call was to make and delete.
public struct ModifyRecordZonesResult: Sendable {
    /// For each zone to be made what it can do, or why it was not made.
    public internal(set) var saveResults: [RecordZone.ID: Result<RecordZone, StoreError>] = [:]
    /// For each deleted zone nothing, or why it was not deleted.
    public internal(set) var deleteResults: [RecordZone.ID: Result<Void, StoreError>] = [:]

    /// Nil where everything was done, else an error of code `partialFailure` with one per zone.
    public var partialFailure: StoreError? {
        StoreError.partial(
            saveResults, deleteResults, "some zones could not be changed"
        ) { id, _ in .zone(id) }
    }

    init(_ items: [ZoneItem], _ outcomes: [Result<RecordZone?, StoreError>]) {
        for (item, outcome) in zip(items, outcomes) {
            switch item {
            case .save(let id):
                saveResults[id] = outcome.map { $0 ?? RecordZone(zoneID: id) }
            case .delete(let id, _): deleteResults[id] = outcome.map { _ in }
            }
        }
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
        return try hasDefaultZone ? [RecordZone(zoneID: .default)] + zones : zones
    }

    /// How many zones there are, damaged or not.
    func zoneCount() throws(EngineError) -> Int {
        let reading = try reading
        let count = try livingPlaces(reading).count
        // The default zone is there also before anything was saved in it.
        guard try hasDefaultZone, try usedZone(.default, reading) == nil else { return count }
        return count + 1
    }

    private var hasDefaultZone: Bool {
        get throws(EngineError) {
            if isShared { return false }
            let owner = owner(of: .default)
            return try reading.selection?.contains(ZoneEntry.defaultName, of: owner) ?? true
        }
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
