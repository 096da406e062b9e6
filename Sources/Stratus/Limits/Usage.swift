internal import StratusIndex
internal import StratusJournal

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
    /// As the index keeps it. Wraps around where a file says nonsense.
    init(_ value: IndexValue?) {
        self.init(
            recordCount: Int(truncatingIfNeeded: value?.first ?? 0),
            bytes: Int(truncatingIfNeeded: value?.second ?? 0))
    }

    func value(at stamp: UInt64) -> IndexValue {
        IndexValue(
            stamp: stamp, first: UInt64(truncatingIfNeeded: recordCount),
            second: UInt64(truncatingIfNeeded: bytes))
    }

    mutating func add(_ other: Usage) {
        recordCount &+= other.recordCount
        bytes &+= other.bytes
    }

    var negated: Usage { Usage(recordCount: 0 &- recordCount, bytes: 0 &- bytes) }
}

extension Container {
    /// What the private database of `user` takes.
    public nonisolated(nonsending) func usage(of user: String) async throws(StoreError) -> Usage {
        try await answering { () async throws(EngineError) -> Usage in
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
    func usage() throws(EngineError) -> Usage { try reading.usage(of: scope) }

    /// What a zone takes.
    func usage(ofZoneWith id: RecordZone.ID) throws(EngineError) -> Usage {
        let reading = try reading
        guard let zone = try usedZone(id, reading) else { return Usage() }
        return Usage(try reading.value(.activity(zone.number)))
    }
}

extension StoreReading {
    fileprivate func usage(of scope: DatabaseScope) throws(EngineError) -> Usage {
        guard let database = try database(scope) else { return Usage() }
        return Usage(try value(.usage(database)))
    }
}
