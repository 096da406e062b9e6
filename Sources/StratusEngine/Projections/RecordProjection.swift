package import StratusBytes
package import StratusIndex
package import StratusJournal

extension EntryKind {
    package static let record = EntryKind(rawValue: 32)
    package static let tombstone = EntryKind(rawValue: 33)
}

extension KeySpace {
    package static var records: KeySpace { KeySpace(1, "records", names: .elsewhere) }
    package static var feed: KeySpace { KeySpace(2, "feed", isRestated: true) }
    package static var types: KeySpace { KeySpace(3, "types", names: .deletions, isRestated: true) }
}

extension IndexKey {
    /// The newest entry of a name.
    package static func record(_ zone: UInt32, _ name: Hash128) -> IndexKey {
        IndexKey(
            partition: zone, keyspace: KeySpace.records.rawValue, high: name.high, low: name.low)
    }
    package static func feed(_ zone: UInt32, _ version: Version) -> IndexKey {
        KeySpace.feed.key(zone: zone).appending(version.rawValue)
    }
    /// Since when a name has a record of a type, or had: then the tombstone, as in ``record(_:_:)``.
    package static func type(_ zone: UInt32, _ type: UInt32, _ name: Hash128) -> IndexKey {
        KeySpace.types.key(zone: zone).appending(type).appending(name)
    }
}

/// Records by name and by type, and the feed of each zone.
struct RecordProjection: Projection {
    package static let entries = [
        EntryForm(.record, "record", isInZone: true),
        EntryForm(.tombstone, "tombstone", isInZone: true),
    ]
    package static let keyspaces: [KeySpace] = [.records, .feed, .types]

    package mutating func apply(
        _ entry: inout FoldedEntry, _ payload: Span<UInt8>, to state: inout FoldState
    ) throws(FormatError) {
        let (zone, version) = (entry.zone, entry.header.version)
        if entry.header.kind == .tombstone {
            let tombstone = try entry.tombstone(payload)
            let location = entry.location(isDeleted: true)
            if tombstone.deletesRecord { state.noteDead(payload: tombstone.entry.replacedLength) }
            state.index.set(.record(zone, tombstone.name), location, isLapsing: true)
            if tombstone.previous != .none {
                state.index.remove(.feed(zone, tombstone.previous), at: entry.stamp)
            }
            state.index.set(.feed(zone, version), location, isFresh: true, isLapsing: true)
            // A record of another type may take the name: then this is found here.
            state.index.set(
                .type(zone, tombstone.entry.type, tombstone.name), location, isLapsing: true)
            return
        }
        let record = try entry.record(payload)
        let location = entry.location()
        // Nothing older can be there of a name that was never used.
        let isNew = record.previous == .none
        state.index.set(.record(zone, record.name), location, isFresh: isNew)
        if !isNew {
            state.index.remove(.feed(zone, record.previous), at: entry.stamp)
            state.noteDead(payload: record.replacedLength)
        }
        state.index.set(.feed(zone, version), location, isFresh: true)
        if !record.isDifference {
            state.index.set(
                .type(zone, record.head.type, record.name), IndexValue(stamp: entry.stamp),
                isFresh: isNew)
        }
    }

    package static func validate(
        _ payload: Span<UInt8>, of entry: JournalEntry, _ numbers: inout NumberCheck
    ) throws(FormatError) {
        if entry.kind == .tombstone {
            let tombstone = try Tombstone(payload)
            numbers.useType(tombstone.type)
            numbers.useUser(tombstone.deleter)
            if let zone = tombstone.destination { numbers.useZone(zone) }
            numbers.use(tombstone.membership)
            return
        }
        var cursor = ByteCursor()
        let head = try RecordHead(payload, &cursor)
        _ = try head.name(in: payload)
        _ = try head.parent(in: payload)
        _ = try head.shareRecord(in: payload)
        cursor.position += entry.payloadRange.lowerBound
        let fields = try StoredFields(
            entry.bytes, at: cursor, end: entry.payloadRange.upperBound, schema: nil)
        numbers.useType(head.type)
        numbers.useUser(head.modifier)
        numbers.useUser(head.creator)
        if let zone = head.origin?.zone, zone != 0 { numbers.useZone(zone) }
        numbers.use(head.membership)
        numbers.use(head.formerMembership)
        numbers.use(fields)
    }

    package static func describe(
        _ payload: Span<UInt8>, _ kind: EntryKind, _ schema: Schema
    ) throws(FormatError) -> EntryDescription {
        if kind == .tombstone {
            let tombstone = try Tombstone(payload)
            return EntryDescription(
                recordName: tombstone.name, recordType: schema.name(tombstone.type),
                detail: tombstone.previous == .none
                    ? "was deleted" : "deletes \(tombstone.previous)")
        }
        var cursor = ByteCursor()
        let head = try RecordHead(payload, &cursor)
        return EntryDescription(
            recordName: try? head.name(in: payload), recordType: schema.name(head.type),
            detail: head.isUpdate ? "replaces \(head.previous)" : nil)
    }
}
