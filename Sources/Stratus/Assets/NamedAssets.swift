internal import StratusAssets
internal import StratusBytes
internal import StratusIndex
internal import StratusJournal
internal import StratusEngine

/// An asset that a record names.
struct NamedAsset {
    var content: AssetContent
    var zone: ZonePlace
    /// The entry of the record.
    var entry: JournalEntry
    /// The number of its name.
    var field: UInt32
}

extension StoreReading {
    /// Gives `body` the places of all records of living zones that have assets, or of those among
    /// them that have these numbers.
    func forEachRecordWithAssets(
        in numbers: Set<UInt32>? = nil,
        _ body: (ZonePlace, IndexKey, EntryLocation) throws(EngineError) -> Void
    ) throws(EngineError) {
        var zones: [ZonePlace] = []
        try scan(KeySpace.zoneNumbers.range()) { _, value throws(EngineError) in
            if let zone = try ZonePlace.decoded(value), zone.isAlive,
                numbers?.contains(zone.number) ?? true
            {
                zones.append(zone)
            }
            return true
        }
        for zone in zones {
            try scan(KeySpace.assets.range(zone: zone.number)) { key, value throws(EngineError) in
                try body(zone, key, EntryLocation(value))
                return true
            }
        }
    }

    /// Gives `body` all assets of living zones.
    func forEachAsset(
        _ body: (NamedAsset) throws(EngineError) -> Void
    ) throws(EngineError) {
        var batch: [(zone: ZonePlace, place: EntryLocation)] = []
        var length = 0
        func take() throws(EngineError) {
            let entries = try entries(batch.map(\.place))
            for (index, entry) in entries.enumerated() {
                try forEachAsset(of: entry, in: batch[index].zone, body)
            }
            batch.removeAll(keepingCapacity: true)
            length = 0
        }
        try forEachRecordWithAssets { zone, _, place throws(EngineError) in
            batch.append((zone, place))
            length += place.frameLength
            if batch.count == 512 || length > 1 << 20 { try take() }
        }
        try take()
    }

    /// Gives `body` the assets of the record that the entry holds.
    func forEachAsset(
        of entry: JournalEntry, in zone: ZonePlace, _ body: (NamedAsset) throws(EngineError) -> Void
    ) throws(EngineError) {
        try forEachAsset(of: entry) { field, content throws(EngineError) in
            try body(NamedAsset(content: content, zone: zone, entry: entry, field: field))
        }
    }

    /// The same: the number of the field's name, and what the asset consists of.
    func forEachAsset(
        of entry: JournalEntry, _ body: (UInt32, AssetContent) throws(EngineError) -> Void
    ) throws(EngineError) {
        do {
            let (_, cursor) = try entry.recordHead()
            let fields = try StoredFields(
                entry.bytes, at: cursor, end: entry.payloadRange.upperBound, schema: schema)
            var found: [StoredFields.Field] = []
            fields.forEach { field in
                if field.kind.isAsset { found.append(field) }
                return true
            }
            for field in found {
                let contents = try AssetFields.contents(
                    entry.bytes.span, in: field.range, field.kind)
                for content in contents { try body(field.number, content) }
            }
        } catch let error as EngineError {
            throw error
        } catch {
            throw .damaged(entry)
        }
    }

    /// Which record an entry is about, for people: the zone is the one that its owner sees.
    func recordID(of entry: JournalEntry, in zone: ZonePlace) throws(EngineError) -> Record.ID? {
        guard let name = entry.recordName else { return nil }
        let owner = zone.database == 0 ? nil : try user(zone.database)?.recordName
        let zoneID = RecordZone.ID(
            zoneName: try zoneEntry(zone).name,
            ownerName: owner ?? RecordZone.ID.currentUser)
        return Record.ID(recordName: name, zoneID: zoneID)
    }
}
