internal import FoundationEssentials
internal import StratusBytes
internal import StratusIndex
internal import StratusJournal
internal import StratusEngine

/// Goes through the versions of a record that are kept, the newest first.
///
/// Each is found by one look into the index, at the last kept point before the version that was
/// found last: so the cost does not depend on how many others there are.
struct HistoryWalk {
    private let reading: StoreReading
    private let database: UInt32
    private let recordName: String
    private let hash: Hash128
    /// What is kept beside the newest state.
    private let points: NeededPoints
    /// The version that comes next, and the zone that it is in.
    private var coming: (place: EntryLocation, zone: ZonePlace, zoneID: RecordZone.ID)?

    /// Of versions before `offset`; nil: from the newest on.
    init(
        of id: Record.ID, _ reading: StoreReading, in view: DatabaseView, before offset: UInt64?
    ) throws(EngineError) {
        self.reading = reading
        recordName = id.recordName
        hash = reading.hash(id.recordName)
        points = reading.history.points
        guard let zone = try view.usedZone(id.zoneID, reading)?.place else {
            database = 0
            return
        }
        database = zone.database
        let newest = try known(reading.value(.record(zone.number, hash)), in: zone)
        coming = newest.map { ($0, zone, id.zoneID) }
        guard let offset, let newest, newest.offset.rawValue >= offset else { return }
        if let place = try place(in: zone, before: offset) {
            coming = (place, zone, id.zoneID)
            return
        }
        // It lay in another zone then, where its versions lead.
        while let place = coming?.place, place.offset.rawValue >= offset { _ = try next() }
    }

    /// The next version; nil behind the earliest that is kept.
    mutating func next() throws(EngineError) -> RecordVersion? {
        guard let (place, zone, zoneID) = coming else { return nil }
        coming = nil
        let id = Record.ID(recordName: recordName, zoneID: zoneID)
        let entry = try reading.entry(place)
        if place.isDeleted {
            let tombstone = try reading.tombstone(entry)
            guard tombstone.name == recordName else { throw .refused(.hashCollision) }
            try come(before: place, in: zone, zoneID)
            return RecordVersion(
                date: Date(milliseconds: tombstone.deleted),
                userRecordID: Record.ID(recordName: try userName(tombstone.deleter, entry)),
                offset: place.offset.rawValue,
                isNext: coming?.place.version == tombstone.previous)
        }
        let record = try reading.record(place, as: id)
        let head = try entry.recordHead().head
        guard let date = record.modificationDate, let user = record.lastModifiedUserRecordID else {
            throw .damaged(entry)
        }
        var previous = head.previous
        // The record of a user comes from no zone.
        let origin = head.origin.flatMap { $0.zone == 0 ? nil : $0 }
        if let origin, !head.isUpdate {
            previous = origin.version
        } else if previous != .none {
            try come(before: place, in: zone, zoneID)
        }
        // Of those that it had here before, none may be kept.
        if let origin, coming == nil { try come(from: origin, before: place) }
        return RecordVersion(
            recordChangeTag: record.recordChangeTag, date: date, userRecordID: user,
            record: record, offset: place.offset.rawValue,
            isNext: (coming?.place.version ?? .none) == previous)
    }

    private mutating func come(
        before place: EntryLocation, in zone: ZonePlace, _ zoneID: RecordZone.ID
    ) throws(EngineError) {
        coming = try self.place(in: zone, before: place.offset.rawValue).map { ($0, zone, zoneID) }
    }

    /// Goes on in the zone that the record was moved from, where the caller may read it: as of the
    /// ancestors of conflicts, that is a living zone of the same database.
    private mutating func come(
        from origin: MoveOrigin, before place: EntryLocation
    ) throws(EngineError) {
        guard let zone = try reading.zone(origin.zone), zone.isAlive, zone.database == database
        else { return }
        let zoneID = RecordZone.ID(zoneName: try reading.zoneEntry(zone).name)
        var found = try self.place(in: zone, before: place.offset.rawValue)
        // The move itself may have deleted it there before it came here.
        if let tombstone = found, tombstone.isDeleted {
            found = try self.place(in: zone, before: tombstone.offset.rawValue)
        }
        coming = found.map { ($0, zone, zoneID) }
    }

    /// What the record was at the last kept point before `offset`.
    private func place(
        in zone: ZonePlace, before offset: UInt64
    ) throws(EngineError) -> EntryLocation? {
        guard let point = points.lastKept(before: offset) else { return nil }
        let past = reading.looking(from: JournalOffset(rawValue: point).next)
        return try known(past.value(.record(zone.number, hash)), in: zone)
    }

    /// What a row says, but for a deletion that is forgotten: in its place comes what was kept before.
    private func known(
        _ value: IndexValue?, in zone: ZonePlace
    ) throws(EngineError) -> EntryLocation? {
        guard let place = value.map({ EntryLocation($0) }) else { return nil }
        guard place.isDeleted, place.offset <= (try reading.horizon(of: zone)).offset else {
            return place
        }
        return try self.place(in: zone, before: place.offset.rawValue)
    }

    private func userName(
        _ number: UInt32, _ entry: JournalEntry
    ) throws(EngineError) -> String {
        guard let user = try reading.user(number) else { throw .damaged(entry) }
        return user.recordName
    }
}
