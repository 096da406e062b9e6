internal import StratusBytes
internal import StratusIndex
internal import StratusJournal

/// A page of the records of a zone.
public struct RecordPage: Sendable {
    /// Where the next page begins.
    public struct Cursor: Hashable, Sendable {
        var zone: UInt32
        var high: UInt64
        var low: UInt64
    }

    /// In an order of the store's own.
    public internal(set) var records: [Record] = []
    /// Nil at the end. Records that are saved meanwhile may or may not appear.
    public internal(set) var cursor: Cursor?
}

extension Database {
    /// The records of a zone, or those of one type, a page at a time.
    ///
    /// - Parameter resultsLimit: the most records in the page; the store may stop earlier.
    /// - Throws: ``StoreError`` with `zoneNotFound`, `invalidArguments` where the cursor is another
    ///   zone's.
    public nonisolated(nonsending) func records(
        inZoneWith id: RecordZone.ID, type: String? = nil, desiredKeys: [String]? = nil,
        resultsLimit: Int? = nil, from cursor: RecordPage.Cursor? = nil
    ) async throws(StoreError) -> RecordPage {
        try await read { snapshot throws(StoreError) in
            try snapshot.records(
                inZoneWith: id, type: type, desiredKeys: desiredKeys, resultsLimit: resultsLimit,
                from: cursor)
        }
    }
}

extension DatabaseSnapshot {
    /// The records of a zone, or those of one type, a page at a time: as of ``Database``.
    public func records(
        inZoneWith id: RecordZone.ID, type: String? = nil, desiredKeys: [String]? = nil,
        resultsLimit: Int? = nil, from cursor: RecordPage.Cursor? = nil
    ) throws(StoreError) -> RecordPage {
        let reading = reading
        guard let zone = try usedZone(id, reading) else { return RecordPage() }
        guard cursor.map({ $0.zone == zone.number }) ?? true else {
            throw StoreError(.invalidArguments, "the cursor is of another zone")
        }
        let prefix: IndexKey
        if let type {
            guard let number = reading.schema.number(type) else { return RecordPage() }
            prefix = KeySpace.types.key(zone: zone.number).appending(number)
        } else {
            prefix = KeySpace.records.key(zone: zone.number)
        }
        let limit = Page(resultsLimit).limit
        let (places, next) = try reading.places(prefix, zone.number, from: cursor, limit)
        let records = try reading.records(places, in: id)
        return RecordPage(records: records.map { $0.showing(desiredKeys) }, cursor: next)
    }
}

extension StoreReading {
    /// Living records whose keys begin with `prefix`, which ends before the hash of the name.
    fileprivate func places(
        _ prefix: IndexKey, _ zone: UInt32, from cursor: RecordPage.Cursor?, _ limit: Int
    ) throws(StoreError) -> (places: [EntryPlace], next: RecordPage.Cursor?) {
        let range = prefix.asPrefix
        let isRecords = prefix == KeySpace.records.key(zone: zone)
        let first = cursor.map { prefix.appending($0.high).appending($0.low) } ?? range.lowerBound
        var places: [EntryPlace] = []
        var length = 0
        var next: RecordPage.Cursor?
        try scan(first..<range.upperBound) { key, value throws(StoreError) in
            let name = Hash128(
                high: key.uint64(at: prefix.count), low: key.uint64(at: prefix.count + 8))
            let record = isRecords ? value : try self.value(.record(zone, name))
            guard let place = record.map({ EntryPlace($0) }), !place.isDeleted else { return true }
            length += place.frameLength
            guard places.count < limit, places.isEmpty || length <= Page.lengthLimit else {
                next = RecordPage.Cursor(zone: zone, high: name.high, low: name.low)
                return false
            }
            places.append(place)
            return true
        }
        return (places, next)
    }
}
