internal import StratusBytes
internal import StratusIndex
internal import StratusJournal
internal import StratusEngine

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
    /// Why records that belong here are missing, where the caller asked to skip what is damaged:
    /// each with its ``StoreError/place`` and, where that can be read, its name.
    public internal(set) var skipped: [StoreError] = []
    /// Nil at the end. Records that are saved meanwhile may or may not appear.
    public internal(set) var cursor: Cursor?
}

extension Database {
    /// The records of a zone, or those of one type, a page at a time.
    ///
    /// - Parameters:
    ///   - resultsLimit: the most records in the page; the store may stop earlier.
    ///   - skippingDamaged: gives the records that can be read, and says in ``RecordPage/skipped``
    ///     which cannot. Without it one that is damaged ends the call.
    ///   - reversed: begins with the last one. A cursor is good for the direction of its page: in the
    ///     other one it leads back through that page.
    /// - Throws: ``StoreError`` with `zoneNotFound`, `invalidArguments` where the cursor is another
    ///   zone's, and with the cause ``StoreError/Cause/damaged``.
    public nonisolated(nonsending) func records(
        inZoneWith id: RecordZone.ID, type: String? = nil, desiredKeys: [String]? = nil,
        resultsLimit: Int? = nil, from cursor: RecordPage.Cursor? = nil,
        skippingDamaged: Bool = false, reversed: Bool = false
    ) async throws(StoreError) -> RecordPage {
        try await read { view throws(EngineError) in
            try view.records(
                inZoneWith: id, type: type, desiredKeys: desiredKeys, resultsLimit: resultsLimit,
                from: cursor, skippingDamaged: skippingDamaged, reversed: reversed)
        }
    }
}

extension DatabaseView {
    /// The records of a zone, or those of one type, a page at a time: as of ``Database``.
    func records(
        inZoneWith id: RecordZone.ID, type: String? = nil, desiredKeys: [String]? = nil,
        resultsLimit: Int? = nil, from cursor: RecordPage.Cursor? = nil,
        skippingDamaged: Bool = false, reversed: Bool = false
    ) throws(EngineError) -> RecordPage {
        try page(
            ofZoneWith: id, desiredKeys, resultsLimit, from: cursor, skippingDamaged,
            reversed ? .backward : .forward
        ) { zone, reading in
            guard let type else { return KeySpace.records.key(zone: zone) }
            return reading.schema.number(type).map {
                KeySpace.types.key(zone: zone).appending($0)
            }
        }
    }

    /// The records of a zone whose parent is the record of that name, a page at a time.
    func records(
        inZoneWith id: RecordZone.ID, withParent parent: String, desiredKeys: [String]? = nil,
        resultsLimit: Int? = nil, from cursor: RecordPage.Cursor? = nil,
        skippingDamaged: Bool = false
    ) throws(EngineError) -> RecordPage {
        try page(
            ofZoneWith: id, desiredKeys, resultsLimit, from: cursor, skippingDamaged
        ) { zone, reading in
            .children(zone, of: reading.hash(parent))
        }
    }

    /// A page of the records that a map of the index names, whose keys begin with what `prefix` says
    /// and go on with the hash of the record's name; none where it says nothing.
    private func page(
        ofZoneWith id: RecordZone.ID, _ desiredKeys: [String]?, _ resultsLimit: Int?,
        from cursor: RecordPage.Cursor?, _ skippingDamaged: Bool,
        _ direction: IndexDirection = .forward,
        _ prefix: (UInt32, StoreReading) -> IndexKey?
    ) throws(EngineError) -> RecordPage {
        let reading = try reading
        guard let used = try usedZone(id, reading) else { return RecordPage() }
        let (zone, shared) = (used.place, used.shared)
        guard cursor.map({ $0.zone == zone.number }) ?? true else {
            throw .refused(.invalidArguments, "the cursor is of another zone")
        }
        guard let prefix = prefix(zone.number, reading) else { return RecordPage() }
        let limit = Page(resultsLimit).limit
        let (places, next) = try reading.places(
            prefix, zone.number, direction, from: cursor, limit
        ) { name throws(EngineError) in
            try shared?.mayRead(name, self, reading) ?? true
        }
        var skipped = SkippedDamage(isAllowed: skippingDamaged)
        let reader = try PublicReader(self, reading)
        var page = RecordPage(cursor: next)
        for record in try reading.records(places, in: id, &skipped)
        where reader?.refusal(of: record) == nil {
            page.records.append(
                try reading.shown(record, to: principal, in: scope).showing(desiredKeys))
        }
        page.skipped = skipped.errors
        return page
    }
}

extension StoreReading {
    /// Living records whose keys begin with `prefix`, which ends before the hash of the name.
    func places(
        _ prefix: IndexKey, _ zone: UInt32, _ direction: IndexDirection = .forward,
        from cursor: RecordPage.Cursor?, _ limit: Int,
        where mayRead: (Hash128) throws(EngineError) -> Bool = { _ in true }
    ) throws(EngineError) -> (places: [EntryLocation], next: RecordPage.Cursor?) {
        var range = prefix.asPrefix
        let isRecords = prefix == KeySpace.records.key(zone: zone)
        if let first = cursor.map({ prefix.appending($0.high).appending($0.low) }) {
            range =
                direction == .forward
                ? first..<range.upperBound : range.lowerBound..<first.afterPrefix
        }
        var places: [EntryLocation] = []
        var length = 0
        var next: RecordPage.Cursor?
        try scan(range, direction) { key, value throws(EngineError) in
            // A record of another type may have taken the name.
            if EntryLocation(value).isDeleted { return true }
            let name = Hash128(
                high: key.uint64(at: prefix.count), low: key.uint64(at: prefix.count + 8))
            guard try mayRead(name) else { return true }
            let record = isRecords ? value : try self.value(.record(zone, name))
            guard let place = record.map({ EntryLocation($0) }), !place.isDeleted else {
                return true
            }
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
