public import FoundationEssentials
internal import StratusBytes
internal import StratusFiles
internal import StratusIndex
package import StratusJournal
package import StratusEngine

// What the tool asks of a store beyond the model.

/// What a store is and holds, on one page.
public struct StoreInformation: Sendable {
    /// 32 hexadecimal digits.
    public var storeID: String
    /// When the store was made.
    public var created: Date
    /// Of the journal and the manifest.
    public var formatVersion: Int
    /// What a save may bring.
    public var environment: Container.Environment
    /// Where the journal ends, as an offset.
    public var head: UInt64
    /// How many segments it has, and their bytes together.
    public var segmentCount: Int
    /// In bytes.
    public var journalLength: Int
    /// How many users have ever written.
    public var userCount: Int
    /// How many zones and shares there are or were.
    public var zoneCount: Int
    /// How many names of types and fields.
    public var nameCount: Int
    /// When the last commit was made; nil where there is none.
    public var lastCommit: Date?
}

extension Container {
    /// What the store is and holds.
    public var information: StoreInformation {
        let reading = reading
        let last = Double(reading.lastTime) / 1_000_000
        return StoreInformation(
            storeID: reading.identity.storeID.description,
            created: Date(timeIntervalSince1970: Double(reading.identity.created) / 1_000_000),
            formatVersion: Int(JournalVersion.current), environment: environment,
            head: reading.head.rawValue,
            segmentCount: reading.view.segments.count,
            journalLength: reading.view.segments.reduce(0) { $0 + $1.lengthInBytes },
            userCount: Int(reading.userCount), zoneCount: Int(reading.zoneCount),
            nameCount: reading.schema.nameCount,
            lastCommit: reading.lastTime == 0 ? nil : Date(timeIntervalSince1970: last))
    }

    /// Who has the store open for writing now, in words for people: process and machine; nil where
    /// no writer does.
    package func writer() throws(StoreError) -> String? {
        do {
            return try foundation.storage.writer()
        } catch {
            throw StoreError(error)
        }
    }

    /// The frames of the journal from `start` on, before `end`.
    package func log(
        from start: UInt64 = 0, to end: UInt64? = nil, skipsDamaged: Bool = false
    ) -> JournalLog {
        let (view, end) = journal(before: end)
        return JournalLog(
            view, from: JournalOffset(rawValue: start), to: end, skipsDamaged: skipsDamaged)
    }

    /// The same, the last one first.
    package func reversedLog(
        from start: UInt64 = 0, to end: UInt64? = nil, skipsDamaged: Bool = false
    ) -> ReversedJournalLog {
        let (view, end) = journal(before: end)
        return ReversedJournalLog(
            view, from: JournalOffset(rawValue: start), to: end, skipsDamaged: skipsDamaged)
    }

    /// The journal as it is now, and where what is asked for of it ends; `end` is nil for all.
    private func journal(before end: UInt64?) -> (view: JournalView, end: JournalOffset) {
        let reading = reading
        return (
            reading.view, end.map { min(JournalOffset(rawValue: $0), reading.head) } ?? reading.head
        )
    }

    /// The user record name of a user of the store, and the name that the host gave first; nil
    /// where that was the record name. Numbers begin with 1 and have no gaps.
    package func user(
        number: UInt32
    ) throws(StoreError) -> (recordName: String, hostName: String?) {
        try answer { () throws(EngineError) -> (recordName: String, hostName: String?) in
            guard let user = try reading.waiting.userEntry(number) else {
                throw .refused(.internalError, "the index does not name user \(number)")
            }
            return (UserID(bits: user.bits).recordName, user.hostName.isEmpty ? nil : user.hostName)
        }
    }

    /// Whether `user` ever wrote to the store.
    package func hasUser(_ user: String) throws(StoreError) -> Bool {
        try answer { () throws(EngineError) in
            try reading.waiting.known(userID(user)) != nil
        }
    }

    /// The name of a zone and the number of its owner, 0 in the public database, where the store knows
    /// them.
    package func zone(number: UInt32) -> (name: String, owner: UInt32)? {
        let reading = reading.waiting
        guard let place = try? reading.zone(number), place.state != .leftOut,
            let entry = try? reading.zoneEntry(place)
        else { return nil }
        return (entry.name, place.database)
    }
}

extension Database {
    /// How many records a zone has.
    public nonisolated(nonsending) func recordCount(
        inZoneWith id: RecordZone.ID
    ) async throws(StoreError) -> Int {
        try await read { view throws(EngineError) in try view.usage(ofZoneWith: id).recordCount }
    }

    /// The token of a zone that has seen everything up to the save of `record`.
    public nonisolated(nonsending) func zoneToken(
        after record: Record
    ) async throws(StoreError) -> ChangeToken {
        try await read { view throws(EngineError) in try view.zoneToken(after: record) }
    }
}

extension DatabaseView {
    /// The token of a zone that has seen everything up to the save of `record`.
    func zoneToken(after record: Record) throws(EngineError) -> ChangeToken {
        try checkOwner()
        let reading = try reading
        guard let system = record.system else {
            throw .refused(.invalidArguments, "the record was never saved")
        }
        return ChangeToken(
            zone: try zone(record.recordID.zoneID, reading), at: Version(rawValue: system.version),
            of: reading.identity)
    }
}

extension Container {
    /// What `entry` says; where its payload has no meaning, its kind alone.
    package func describe(_ entry: JournalEntry) -> EntryDescription {
        foundation.registry.describe(entry, reading.schema)
    }
}
