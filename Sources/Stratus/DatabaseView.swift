internal import StratusIndex
internal import StratusJournal
internal import StratusEngine

/// A living zone, and what the caller sees of it: nil where it is the caller's own or that of all.
struct UsedZone: Sendable {
    let place: ZonePlace
    let shared: SharedZone?
}

/// What one user can read of one database, in one state of the store.
struct DatabaseView: Sendable {
    private let state: StoreReading
    let scope: DatabaseScope
    let principal: Principal
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
            if let refusal = try state.accountRefusal(of: principal, in: scope, isWrite: false) {
                throw .refused(refusal)
            }
            return state
        }
    }

    /// The same, for a thread that may wait for the disk.
    var waiting: DatabaseView { DatabaseView(state.waiting, scope, principal, device) }

    /// Whether its zones are others'.
    var isShared: Bool { if case .shared = scope { true } else { false } }

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
        let name = reading.hash(id.recordName)
        let value = try reading.value(.record(zone.place.number, name))
        guard let place = value.map({ EntryLocation($0) }), !place.isDeleted,
            try zone.shared?.mayRead(name, self, reading) ?? true
        else { return try unsaved(id, reading) }
        let record = try reading.record(place, as: id)
        try PublicReader(self, reading)?.check(record)
        return try reading.shown(record, to: principal, in: scope)
    }

    /// The living zone `id` of this database. The default zone is there before anything was saved
    /// in it, and then nil.
    func usedZone(
        _ id: RecordZone.ID, _ reading: StoreReading
    ) throws(EngineError) -> UsedZone? {
        try check(id)
        guard reading.selection?.contains(id.zoneName, of: owner(of: id)) ?? true else {
            throw .refused(.zoneNotSelected(id))
        }
        var place: ZonePlace?
        if let database = try reading.database(of: id, in: scope) {
            let value = try reading.value(.zone(database, reading.hash(id.zoneName)))
            place = try ZonePlace.decoded(value)
        }
        if case .shared(let user) = scope {
            guard let place, place.isAlive,
                let shared = try reading.sharedZone(place, for: user)
            else { throw .refused(.zoneNotFound(id)) }
            return UsedZone(place: place, shared: shared)
        }
        if let place, place.isAlive { return UsedZone(place: place, shared: nil) }
        if id.isDefault { return nil }
        throw .refused(.noZone(id, place))
    }

    /// Of a zone as the caller names it; nil: it is one of the public database.
    func owner(of id: RecordZone.ID) -> UserID? {
        switch scope {
        case .public: nil
        case .private(let owner): owner
        case .shared: UserID(recordName: id.ownerName)
        }
    }

    /// What is asked of a whole database an archive of some zones cannot answer.
    func checkHasAll() throws(EngineError) {
        guard try reading.selection?.containsAll(of: scope) ?? true else {
            throw .refused(
                .zoneNotFound,
                "the archive was made without some zones of the database: ask for one that it has")
        }
    }

    /// What the caller sees of another user's zone; nil where the zone is the caller's own or that of
    /// all.
    func sharedZone(
        _ zone: ZonePlace, _ reading: StoreReading
    ) throws(EngineError) -> SharedZone? {
        guard case .shared(let user) = scope else { return nil }
        guard let shared = try reading.sharedZone(zone, for: user) else {
            throw .refused(.zoneNotFound(try sharedID(of: zone, reading)))
        }
        return shared
    }

    /// The identity of a zone as this database names it.
    func sharedID(
        of zone: ZonePlace, _ reading: StoreReading
    ) throws(EngineError) -> RecordZone.ID {
        let name = try reading.zoneEntry(zone).name
        guard case .shared = scope else { return RecordZone.ID(zoneName: name) }
        guard let owner = try reading.user(zone.database) else {
            throw reading.damaged(at: zone.offset)
        }
        return RecordZone.ID(zoneName: name, ownerName: owner.recordName)
    }

    /// What is asked of a whole zone or database is the owner's to ask.
    func checkOwner() throws(EngineError) {
        guard case .shared = scope else { return }
        throw .refused(
            .badDatabase, "in the shared database this is not to be had: its zones have owners")
    }

    /// What says something of all records is for those to ask who may read all of them.
    func checkReadsAll() throws(EngineError) {
        try checkOwner()
        if try PublicReader(self, reading) != nil { throw .refused(.mayNotRead) }
    }

    /// The living zone `id` of this database, in which something was saved where it is the default.
    func zone(
        _ id: RecordZone.ID, _ reading: StoreReading
    ) throws(EngineError) -> ZonePlace {
        guard let zone = try usedZone(id, reading) else { throw .refused(.zoneNotFound(id)) }
        return zone.place
    }

    /// A private database holds its owner's zones only, a shared one those of others.
    func check(_ id: RecordZone.ID) throws(EngineError) {
        if case .shared = scope { return }
        guard id.ownerName == RecordZone.ID.currentUser || id.ownerName == user?.recordName
        else {
            throw .refused(
                StoreError(
                    .badDatabase, "this database holds no zones of another user"
                ).with(id))
        }
    }
}
