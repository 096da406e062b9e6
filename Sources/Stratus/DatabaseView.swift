internal import StratusIndex
internal import StratusJournal
internal import StratusEngine

/// What one user can read of one database, in one state of the store.
struct DatabaseView: Sendable {
    private let state: StoreReading
    let scope: DatabaseScope
    private let principal: Principal
    /// Which of the caller's devices asks; nil: the one without a name.
    let device: String?

    init(
        _ state: StoreReading, _ scope: DatabaseScope, _ principal: Principal,
        _ device: String? = nil
    ) {
        self.state = state
        self.scope = scope
        self.principal = principal
        self.device = device
    }

    /// The state that is read, where the caller may read it.
    var reading: StoreReading {
        get throws(EngineError) {
            try Permission.check(.read, by: principal, in: scope)
            return state
        }
    }

    /// The same, for a thread that may wait for the disk.
    var waiting: DatabaseView { DatabaseView(state.waiting, scope, principal, device) }

    /// Nil where the caller is anonymous.
    var user: UserID? { principal.user }

    /// The record `id`.
    func record(
        for id: Record.ID, desiredKeys: [String]? = nil
    ) throws(EngineError) -> Record {
        try record(id, reading).showing(desiredKeys)
    }

    /// The records of these identities: for each the record or why it cannot be had.
    func records(
        for ids: [Record.ID], desiredKeys: [String]? = nil
    ) throws(EngineError) -> [Record.ID: Result<Record, StoreError>] {
        let reading = try reading
        var results: [Record.ID: Result<Record, StoreError>] = [:]
        results.reserveCapacity(ids.count)
        for id in ids {
            do throws(EngineError) {
                results[id] = .success(try record(id, reading).showing(desiredKeys))
            } catch {
                if error.wouldBlock { throw error }
                results[id] = .failure(StoreError(error))
            }
        }
        return results
    }

    private func record(
        _ id: Record.ID, _ reading: StoreReading
    ) throws(EngineError) -> Record {
        guard let zone = try usedZone(id.zoneID, reading) else { return try unsaved(id, reading) }
        let value = try reading.value(.record(zone.number, reading.hash(id.recordName)))
        guard let place = value.map({ EntryLocation($0) }), !place.isDeleted else {
            return try unsaved(id, reading)
        }
        return try reading.record(place, as: id)
    }

    /// The living zone `id` of this database. The default zone is there before anything was saved
    /// in it, and then nil.
    func usedZone(
        _ id: RecordZone.ID, _ reading: StoreReading
    ) throws(EngineError) -> ZonePlace? {
        try check(id)
        var place: ZonePlace?
        if let database = try reading.database(scope) {
            let value = try reading.value(.zone(database, reading.hash(id.zoneName)))
            place = try ZonePlace.decoded(value)
        }
        if let place, place.isAlive { return place }
        if id.isDefault { return nil }
        throw .refused(.noZone(id, place))
    }

    /// The living zone `id` of this database, in which something was saved where it is the default.
    func zone(
        _ id: RecordZone.ID, _ reading: StoreReading
    ) throws(EngineError) -> ZonePlace {
        guard let place = try usedZone(id, reading) else { throw .refused(.zoneNotFound(id)) }
        return place
    }

    /// A private database holds its owner's zones only.
    func check(_ id: RecordZone.ID) throws(EngineError) {
        guard id.ownerName == RecordZone.ID.currentUser || id.ownerName == user?.recordName
        else {
            throw .refused(
                StoreError(
                    .badDatabase, "this database holds no zones of another user"
                ).with(id))
        }
    }
}
