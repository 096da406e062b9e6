internal import StratusIndex
internal import StratusJournal

/// One database at one moment, as one user sees it.
///
/// Answers come at once from memory or, where a record is not there, after the calling thread has
/// waited for the disk: for code that must not suspend, and for reading many things of one state.
/// ``Database`` asks the same of the newest state without ever blocking its caller.
public struct DatabaseSnapshot: Sendable {
    /// What is read.
    enum Source: Sendable {
        case state(StoreReading)
        /// The past: every call asks the newest state for it, so that holding it holds no memory.
        case held(Snapshot)
    }

    private let source: Source
    let scope: DatabaseScope
    private let principal: Principal
    /// Which of the caller's devices asks; nil: the one without a name.
    let device: String?

    init(
        _ source: Source, _ scope: DatabaseScope, _ principal: Principal, _ device: String? = nil
    ) {
        self.source = source
        self.scope = scope
        self.principal = principal
        self.device = device
    }

    /// The state that is read, where the caller may read it.
    var reading: StoreReading {
        get throws(StoreError) {
            try Permission.check(.read, by: principal, in: scope)
            switch source {
            case .state(let reading): return reading
            case .held(let snapshot): return snapshot.reading
            }
        }
    }

    /// Nil where the caller is anonymous.
    var user: UserID? { principal.user }

    /// The record `id`.
    ///
    /// - Throws: ``StoreError`` with `unknownItem` or `zoneNotFound`.
    public func record(
        for id: Record.ID, desiredKeys: [String]? = nil
    ) throws(StoreError) -> Record {
        try record(id, reading).showing(desiredKeys)
    }

    /// The records of these identities: for each the record or why it cannot be had.
    public func records(
        for ids: [Record.ID], desiredKeys: [String]? = nil
    ) throws(StoreError) -> [Record.ID: Result<Record, StoreError>] {
        let reading = try reading
        var results: [Record.ID: Result<Record, StoreError>] = [:]
        results.reserveCapacity(ids.count)
        for id in ids {
            do throws(StoreError) {
                results[id] = .success(try record(id, reading).showing(desiredKeys))
            } catch {
                if error.wouldBlock { throw error }
                results[id] = .failure(error)
            }
        }
        return results
    }

    private func record(
        _ id: Record.ID, _ reading: StoreReading
    ) throws(StoreError) -> Record {
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
    ) throws(StoreError) -> ZonePlace? {
        try check(id)
        var place: ZonePlace?
        if let database = try reading.database(scope) {
            let value = try reading.value(.zone(database, reading.hash(id.zoneName)))
            place = try ZonePlace.decoded(value)
        }
        if let place, place.isAlive { return place }
        if id.isDefault { return nil }
        throw StoreError.noZone(id, place)
    }

    /// The living zone `id` of this database, in which something was saved where it is the default.
    func zone(
        _ id: RecordZone.ID, _ reading: StoreReading
    ) throws(StoreError) -> ZonePlace {
        guard let place = try usedZone(id, reading) else { throw StoreError.zoneNotFound(id) }
        return place
    }

    /// A private database holds its owner's zones only.
    func check(_ id: RecordZone.ID) throws(StoreError) {
        guard id.ownerName == RecordZone.ID.currentUser || id.ownerName == user?.recordName
        else {
            throw StoreError(
                .badDatabase, "this database holds no zones of another user"
            ).with(id)
        }
    }
}
