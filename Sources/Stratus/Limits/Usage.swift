internal import StratusIndex
internal import StratusJournal
internal import StratusEngine

/// What a zone or a database holds.
public struct Usage: Sendable, Hashable {
    /// Records that are there, not counting what was deleted.
    public var recordCount: Int
    /// What these take in bytes, as quotas count them: `Formats/README.md`, "Limits".
    public var bytes: Int

    /// So much.
    public init(recordCount: Int = 0, bytes: Int = 0) {
        self.recordCount = recordCount
        self.bytes = bytes
    }
}

extension Usage {
    init(_ stored: StoredUsage) { self.init(recordCount: stored.recordCount, bytes: stored.bytes) }
}

extension Container {
    /// What the private database of `user` takes.
    public nonisolated(nonsending) func usage(of user: String) async throws(StoreError) -> Usage {
        try await answer { () async throws(EngineError) -> Usage in
            let owner = userID(user)
            return try await read { reading throws(EngineError) in
                try reading.usage(of: .private(owner: owner))
            }
        }
    }
}

extension Database {
    /// What the database takes.
    public nonisolated(nonsending) func usage() async throws(StoreError) -> Usage {
        try await read { view throws(EngineError) in try view.usage() }
    }

    /// What a zone takes.
    ///
    /// - Throws: ``StoreError`` with `zoneNotFound`.
    public nonisolated(nonsending) func usage(
        ofZoneWith id: RecordZone.ID
    ) async throws(StoreError) -> Usage {
        try await read { view throws(EngineError) in try view.usage(ofZoneWith: id) }
    }
}

extension DatabaseView {
    /// What the database takes.
    func usage() throws(EngineError) -> Usage {
        try checkReadsAll()
        try checkHasAll()
        return try reading.usage(of: scope)
    }

    /// What a zone takes.
    func usage(ofZoneWith id: RecordZone.ID) throws(EngineError) -> Usage {
        try checkReadsAll()
        let reading = try reading
        guard let zone = try usedZone(id, reading)?.place else { return Usage() }
        return Usage(StoredUsage(try reading.value(.activity(zone.number))))
    }
}

extension StoreReading {
    fileprivate func usage(of scope: DatabaseScope) throws(EngineError) -> Usage {
        guard let database = try database(scope) else { return Usage() }
        return Usage(StoredUsage(try value(.usage(database))))
    }
}
