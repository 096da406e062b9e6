public import FoundationEssentials
internal import StratusBytes
internal import StratusIndex
internal import StratusJournal
internal import StratusEngine

/// One version of a record, or its deletion.
public struct RecordVersion: Sendable {
    /// The change tag that the record had; of a deletion nil.
    public var recordChangeTag: String?
    /// When it was saved or deleted.
    public var date: Date
    /// Who saved or deleted it.
    public var userRecordID: Record.ID
    /// The record as it was, in the zone where it was; nil: it was deleted.
    public var record: Record?
    /// Where it lies in the journal, as an offset.
    public var offset: UInt64
    /// Whether the next earlier version of the history is the one that this one replaced. Where only
    /// single states are kept, versions between them may be missing. Of the first version of a
    /// record, whether it is that.
    public var isNext: Bool
}

/// The versions of a record, or a part of them.
public struct RecordHistory: Sendable {
    /// The newest first.
    public var versions: [RecordVersion]
    /// Where the next page begins; nil: there are no earlier ones that are kept.
    public var nextOffset: UInt64?
}

/// Which version a field of a record is from.
public struct FieldOrigin: Sendable {
    /// The version with which the field got its value.
    public var version: RecordVersion
    /// Whether that is certain: the versions before it are kept. Otherwise the field may have got
    /// its value before.
    public var isCertain: Bool
}

extension Database {
    /// The versions of a record that are kept (``History``), the newest first, also those that it
    /// had in other zones before it was moved, and deletions. A deleted record has its history, too.
    ///
    /// - Parameters:
    ///   - resultsLimit: at most so many (usual: 100, at most 1,000).
    ///   - offset: only versions before it: the page that ``RecordHistory/nextOffset`` names.
    /// - Throws: ``StoreError`` with `unknownItem` where there never was a record of the name, or
    ///   nothing of it is kept.
    public nonisolated(nonsending) func history(
        of id: Record.ID, desiredKeys: [String]? = nil, resultsLimit: Int? = nil,
        before offset: UInt64? = nil
    ) async throws(StoreError) -> RecordHistory {
        try await read { view throws(EngineError) in
            try view.history(
                of: id, desiredKeys: desiredKeys, resultsLimit: resultsLimit, before: offset)
        }
    }

    /// With which version each field of a record got the value that it has: who set it, and when. The
    /// versions that are kept are read back until that is known of all fields.
    ///
    /// - Throws: ``StoreError`` with `unknownItem` or `zoneNotFound`.
    public nonisolated(nonsending) func blame(
        _ id: Record.ID
    ) async throws(StoreError) -> [String: FieldOrigin] {
        try await read { view throws(EngineError) in try view.blame(id) }
    }
}

extension DatabaseSnapshot {
    /// The versions of a record up to this moment: as of ``Database``.
    public func history(
        of id: Record.ID, desiredKeys: [String]? = nil, resultsLimit: Int? = nil,
        before offset: UInt64? = nil
    ) throws(StoreError) -> RecordHistory {
        try answer { view throws(EngineError) in
            try view.history(
                of: id, desiredKeys: desiredKeys, resultsLimit: resultsLimit, before: offset)
        }
    }

    /// With which version each field got its value: as of ``Database``.
    public func blame(_ id: Record.ID) throws(StoreError) -> [String: FieldOrigin] {
        try answer { view throws(EngineError) in try view.blame(id) }
    }
}

extension DatabaseView {
    private static var usualLimit: Int { 100 }
    private static var greatestLimit: Int { 1000 }

    func history(
        of id: Record.ID, desiredKeys: [String]? = nil, resultsLimit: Int? = nil,
        before offset: UInt64? = nil
    ) throws(EngineError) -> RecordHistory {
        try checkOwner()
        let limit = max(1, min(resultsLimit ?? Self.usualLimit, Self.greatestLimit))
        var walk = try HistoryWalk(of: id, reading, in: self, before: offset)
        var history = RecordHistory(versions: [])
        let reader = try PublicReader(self, reading)
        while let version = try walk.next() {
            if let record = version.record { try reader?.check(record) }
            if history.versions.count == limit {
                history.nextOffset = history.versions.last?.offset
                break
            }
            history.versions.append(version.showing(desiredKeys))
        }
        guard !history.versions.isEmpty || offset != nil else { throw .refused(.noRecord(id)) }
        return history
    }

    func blame(_ id: Record.ID) throws(EngineError) -> [String: FieldOrigin] {
        try checkOwner()
        var walk = try HistoryWalk(of: id, reading, in: self, before: nil)
        guard var version = try walk.next(), let record = version.record else {
            throw .refused(.noRecord(id))
        }
        try PublicReader(self, reading)?.check(record)
        var origins: [String: FieldOrigin] = [:]
        var open = Set(record.allKeys)
        while !open.isEmpty {
            let earlier = try walk.next()
            for key in open {
                if let old = earlier?.record, record.stored.hasSameValue(as: old.stored, key) {
                    // Across what is missing a value may have changed and come back.
                    if version.isNext { continue }
                }
                origins[key] = FieldOrigin(version: version, isCertain: version.isNext)
                open.remove(key)
            }
            guard let earlier else { break }
            version = earlier
        }
        return origins
    }
}

extension RecordVersion {
    fileprivate func showing(_ keys: [String]?) -> RecordVersion {
        var version = self
        version.record = record?.showing(keys)
        return version
    }
}

extension StoredFields {
    /// Whether a field has the same value in both, which have the names of one store.
    fileprivate func hasSameValue(as other: StoredFields, _ name: String) -> Bool {
        guard let number = schema.number(name), let own = field(number),
            let others = other.field(number), own.kind == others.kind
        else { return false }
        return bytes[own.range] == other.bytes[others.range]
    }
}
