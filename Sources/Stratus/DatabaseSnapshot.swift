internal import StratusEngine

/// One database at one moment, as one user sees it.
///
/// Answers come at once from memory or, where a record is not there, after the calling thread has
/// waited for the disk: for code that must not suspend, and for reading many things of one state.
/// ``Database`` asks the same of the newest state without ever blocking its caller.
public struct DatabaseSnapshot: Sendable {
    let snapshot: Snapshot
    let scope: DatabaseScope
    private let principal: Principal

    init(_ snapshot: Snapshot, _ scope: DatabaseScope, _ principal: Principal) {
        self.snapshot = snapshot
        self.scope = scope
        self.principal = principal
    }

    /// Every call asks the newest state for the past, so that holding a snapshot holds no memory.
    func answer<Answer>(
        _ body: (DatabaseView) throws(EngineError) -> Answer
    ) throws(StoreError) -> Answer {
        try snapshot.container.answer { () throws(EngineError) in
            try body(DatabaseView(snapshot.reading(), scope, principal))
        }
    }

    /// The record `id`.
    ///
    /// - Throws: ``StoreError`` with `unknownItem` or `zoneNotFound`.
    public func record(
        for id: Record.ID, desiredKeys: [String]? = nil
    ) throws(StoreError) -> Record {
        try answer { view throws(EngineError) in
            try view.record(for: id, desiredKeys: desiredKeys)
        }
    }

    /// The records of these identities: for each the record or why it cannot be had.
    public func records(
        for ids: [Record.ID], desiredKeys: [String]? = nil
    ) throws(StoreError) -> [Record.ID: Result<Record, StoreError>] {
        try answer { view throws(EngineError) in
            try view.records(for: ids, desiredKeys: desiredKeys)
        }
    }

    /// The records of a zone, or those of one type, a page at a time: as of ``Database``.
    public func records(
        inZoneWith id: RecordZone.ID, type: String? = nil, desiredKeys: [String]? = nil,
        resultsLimit: Int? = nil, from cursor: RecordPage.Cursor? = nil,
        skippingDamaged: Bool = false, reversed: Bool = false
    ) throws(StoreError) -> RecordPage {
        try answer { view throws(EngineError) in
            try view.records(
                inZoneWith: id, type: type, desiredKeys: desiredKeys, resultsLimit: resultsLimit,
                from: cursor, skippingDamaged: skippingDamaged, reversed: reversed)
        }
    }

    /// The records of a zone whose parent is the record of that name, a page at a time.
    package func records(
        inZoneWith id: RecordZone.ID, withParent parent: String, desiredKeys: [String]? = nil,
        resultsLimit: Int? = nil, from cursor: RecordPage.Cursor? = nil,
        skippingDamaged: Bool = false
    ) throws(StoreError) -> RecordPage {
        try answer { view throws(EngineError) in
            try view.records(
                inZoneWith: id, withParent: parent, desiredKeys: desiredKeys,
                resultsLimit: resultsLimit, from: cursor, skippingDamaged: skippingDamaged)
        }
    }

    /// The zone `id`, with what it can do.
    public func recordZone(for id: RecordZone.ID) throws(StoreError) -> RecordZone {
        try answer { view throws(EngineError) in try view.recordZone(for: id) }
    }

    /// All zones of this database, the default zone first, the others sorted by name.
    public func allRecordZones() throws(StoreError) -> [RecordZone] {
        try answer { view throws(EngineError) in try view.allRecordZones() }
    }

    /// The same, where zones may be damaged: as of ``Database``.
    public func readableRecordZones() throws(StoreError)
        -> (zones: [RecordZone], skipped: [StoreError])
    {
        try answer { view throws(EngineError) in try view.readableRecordZones() }
    }

    /// How many zones there are, damaged or not.
    package func zoneCount() throws(StoreError) -> Int {
        try answer { view throws(EngineError) in try view.zoneCount() }
    }

    /// How many records a zone has.
    public func recordCount(inZoneWith id: RecordZone.ID) throws(StoreError) -> Int {
        try answer { view throws(EngineError) in try view.usage(ofZoneWith: id).recordCount }
    }

    /// What the database takes.
    public func usage() throws(StoreError) -> Usage {
        try answer { view throws(EngineError) in try view.usage() }
    }

    /// What a zone takes.
    public func usage(ofZoneWith id: RecordZone.ID) throws(StoreError) -> Usage {
        try answer { view throws(EngineError) in try view.usage(ofZoneWith: id) }
    }

    /// What changed in a zone since `token`: as of ``Database``.
    public func recordZoneChanges(
        inZoneWith id: RecordZone.ID, since token: ChangeToken? = nil,
        asOf point: ChangeToken? = nil, desiredKeys: [String]? = nil,
        desiredRecordTypes types: [String]? = nil, resultsLimit: Int? = nil,
        skippingDamaged: Bool = false
    ) throws(StoreError) -> RecordZoneChanges {
        try answer { view throws(EngineError) in
            try view.recordZoneChanges(
                inZoneWith: id, since: token, asOf: point, desiredKeys: desiredKeys,
                desiredRecordTypes: types, resultsLimit: resultsLimit,
                skippingDamaged: skippingDamaged)
        }
    }

    /// Which zones changed since `token`: as of ``Database``.
    public func databaseChanges(
        since token: ChangeToken? = nil, resultsLimit: Int? = nil
    ) throws(StoreError) -> DatabaseChanges {
        try answer { view throws(EngineError) in
            try view.databaseChanges(since: token, resultsLimit: resultsLimit)
        }
    }

    /// The token with which a reader of the database's feed goes on in a zone: as of ``Database``.
    public func zoneToken(
        for id: RecordZone.ID, asOf token: ChangeToken
    ) throws(StoreError) -> ChangeToken {
        try answer { view throws(EngineError) in try view.zoneToken(for: id, asOf: token) }
    }

    /// The token of a zone that has seen everything up to the save of `record`.
    public func zoneToken(after record: Record) throws(StoreError) -> ChangeToken {
        try answer { view throws(EngineError) in try view.zoneToken(after: record) }
    }

    /// The hash of a zone. With `includingSystem`, change tags, dates and users count too.
    public func contentHash(
        of id: RecordZone.ID, includingSystem: Bool = false
    ) throws(StoreError) -> ContentHash {
        try contentHash(of: id, includingSystem: includingSystem) { _ in }
    }

    /// The hash of all zones.
    public func contentHash(includingSystem: Bool = false) throws(StoreError) -> ContentHash {
        try contentHash(of: nil, includingSystem: includingSystem) { _ in }
    }

    /// The hash of a zone, or of all. `progress` is told after each page how many records were read.
    package func contentHash(
        of id: RecordZone.ID?, includingSystem: Bool, progress: (Int) -> Void
    ) throws(StoreError) -> ContentHash {
        try answer { view throws(EngineError) in
            try view.contentHash(of: id, includingSystem: includingSystem, progress: progress)
        }
    }
}
