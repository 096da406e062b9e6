internal import StratusEngine
internal import StratusIndex
internal import StratusJournal

/// What a zone keeps of its past when it is restored where it is not there any more, or never was:
/// the change tags, dates and users of its records, and what was deleted in it. So change tags and
/// tokens from up to then stay good.
struct ZoneHistory: Sendable {
    /// What becomes one item of the restore.
    struct Item: Sendable {
        var recordName: String
        /// The version that it had.
        var version: Version
        /// Whether it keeps that; otherwise it is not quite what it was, and gets one of this store.
        var keepsVersion: Bool
        /// In milliseconds since 1970.
        var created: Int64
        var modified: Int64
        var creator: User
        /// Who saved or deleted it.
        var modifier: User
        /// The type of a record that was deleted; nil: it is there.
        var deletedType: String?
    }

    /// A user of this store.
    struct User: Sendable {
        var id: UserID
        /// Empty: the host's name is not known.
        var name: String
    }

    let lineage: ZoneLineage
    /// The greatest of the store that it is taken from.
    let incarnation: UInt16
    /// In the order of their entries, which is that of their versions.
    let items: [Item]

    /// The items of a call that restores the zone, whose records are `records`.
    func callItems(
        saving records: [Record], in zone: RecordZone.ID
    ) -> [RecordItem] {
        var saved: [String: Record] = [:]
        for record in records { saved[record.recordID.recordName] = record }
        return items.map { item in
            if item.deletedType == nil, let record = saved[item.recordName] {
                return .save(record, SaveRule(.ifServerRecordUnchanged))
            }
            return .delete(Record.ID(recordName: item.recordName, zoneID: zone))
        }
    }
}

/// A zone of another store, or of a state of this one.
struct PastZone {
    /// But for those of shares, in the order of the feed.
    let records: [Record]
    let history: ZoneHistory
}

extension DatabaseSnapshot {
    /// The zone with its history; nil where it would not be the same zone in `database`. `progress` is
    /// told how many records were read.
    func zone(
        _ zoneID: RecordZone.ID, for database: Database, _ progress: (Int) -> Void
    ) throws(StoreError) -> PastZone? {
        try answer { view throws(EngineError) in
            try view.pastZone(zoneID, for: database, progress)
        }
    }
}

extension DatabaseView {
    fileprivate func pastZone(
        _ id: RecordZone.ID, for database: Database, _ progress: (Int) -> Void
    ) throws(EngineError) -> PastZone? {
        let reading = try reading
        let container = database.container
        var users = PastUsers(reading, container.identity)
        guard case .private(let owner) = scope, case .private(let target) = database.scope,
            try users.user(owner).id == target, let zone = try usedZone(id, reading)?.place,
            zone.capabilities.contains(.fetchChanges)
        else { return nil }
        try checkReadsAll()
        var records: [Record] = []
        var items: [ZoneHistory.Item] = []
        // Deletions of what the store may have no types for are left out.
        let types = container.environment == .production ? container.reading.schema : nil
        var floor = max(try reading.horizon(of: zone), try reading.lastHiddenDeletion(in: zone))
        var places: [EntryLocation] = []
        var length = 0
        func add() throws(EngineError) {
            var names = UserNames(reading)
            for entry in try reading.entries(places) {
                var item: ZoneHistory.Item
                if entry.kind == .tombstone {
                    item = try users.item(reading.tombstone(entry), of: entry)
                } else {
                    let record = try reading.record(entry, in: id, &names)
                    item = try users.item(record, of: entry)
                    if !record.isShare { records.append(record) }
                }
                if let types, let type = item.deletedType, types.number(type) == nil {
                    floor = max(floor, item.keepsVersion ? item.version : reading.lastVersion)
                } else {
                    items.append(item)
                }
            }
            progress(records.count)
            places.removeAll(keepingCapacity: true)
            length = 0
        }
        try reading.scan(KeySpace.feed.range(zone: zone.number)) { _, value throws(EngineError) in
            places.append(EntryLocation(value))
            length += EntryLocation(value).frameLength
            if places.count == Page.usual || length > Page.lengthLimit { try add() }
            return true
        }
        try add()
        // What does not keep its version has a greater one, and comes behind the others.
        let sorted = items.filter(\.keepsVersion) + items.filter { !$0.keepsVersion }
        let history = ZoneHistory(
            lineage: try reading.lineage(of: zone, floor: floor),
            incarnation: items.reduce(reading.identity.incarnation) {
                max($0, $1.version.incarnation)
            },
            items: sorted)
        return PastZone(records: records, history: history)
    }
}

extension StoreReading {
    /// The last deletion in a zone of a record whose name another type has had since: readers of one
    /// type alone are told of it, and the feed has nothing of it.
    fileprivate func lastHiddenDeletion(in zone: ZonePlace) throws(EngineError) -> Version {
        var last = Version.none
        let types = KeySpace.types.range(zone: zone.number)
        try scan(types) { key, value throws(EngineError) in
            let place = EntryLocation(value)
            guard place.isDeleted, place.version > last, let name = key.namedRecord else {
                return true
            }
            if try self.value(.record(zone.number, name))?.stamp != value.stamp {
                last = place.version
            }
            return true
        }
        return last
    }

    /// That of the zone where it is restored as it is in this state.
    fileprivate func lineage(
        of zone: ZonePlace, floor: Version
    ) throws(EngineError) -> ZoneLineage {
        let own = try zoneEntry(zone).lineage
        func source(_ lineage: UInt64, _ through: Version) -> ZoneLineage.Source {
            ZoneLineage.Source(
                storeID: identity.storeID, lineage: lineage, database: zone.database,
                zone: zone.number, through: through)
        }
        let last = lastVersion
        var sources = [source(identity.lineage, last)]
        for lineage in identity.ancestors.reversed().map(\.lineage)
        where !sources.contains(where: { $0.lineage == lineage }) {
            guard let shared = identity.lastShared(with: lineage), shared != .none else { continue }
            sources.append(source(lineage, min(last, shared)))
        }
        return ZoneLineage(
            floor: max(floor, own?.floor ?? .none), sources: sources + (own?.sources ?? []))
    }
}

/// The users of another store, or of this one, as users of a store of an identity.
struct PastUsers {
    private let reading: StoreReading
    private let identity: StoreIdentity
    private var known: [UserID: ZoneHistory.User] = [:]

    init(_ reading: StoreReading, _ identity: StoreIdentity) {
        self.reading = reading
        self.identity = identity
    }

    /// Whom the host's name stands for; where that is not known, or the stores give names the same
    /// meaning, the user of the same record name.
    mutating func user(_ id: UserID) throws(EngineError) -> ZoneHistory.User {
        if let user = known[id] { return user }
        let number = try reading.user(id)
        let entry = try number.flatMap { number throws(EngineError) in
            try reading.userEntry(number)
        }
        let name = entry?.hostName ?? ""
        let isSame = name.isEmpty || reading.identity.userSeed == identity.userSeed
        let user = ZoneHistory.User(
            id: isSame ? id : UserID(name, seed: identity.userSeed), name: name)
        known[id] = user
        return user
    }

    /// Whether it is certain that the host calls the user here as it did there.
    func isSure(_ user: ZoneHistory.User) -> Bool {
        !user.name.isEmpty || reading.identity.userSeed == identity.userSeed
    }

    mutating func item(
        _ record: Record, of entry: JournalEntry
    ) throws(EngineError) -> ZoneHistory.Item {
        guard let system = record.system else { throw .damaged(entry) }
        let modifier = try user(system.modifier)
        var item = ZoneHistory.Item(
            recordName: record.recordID.recordName, version: entry.version,
            // A root would have lost its share without having been changed.
            keepsVersion: record.share == nil, created: system.created,
            modified: system.modified, creator: try user(system.creator), modifier: modifier)
        if record.isShare {
            // Who may see records is not brought back: to who has it the share has ended.
            item.keepsVersion = false
            item.deletedType = record.recordType
        }
        return item
    }

    mutating func item(
        _ tombstone: Tombstone, of entry: JournalEntry
    ) throws(EngineError) -> ZoneHistory.Item {
        guard let id = try reading.user(tombstone.deleter),
            let type = reading.schema.name(tombstone.type)
        else { throw .damaged(entry) }
        let deleter = try user(id)
        return ZoneHistory.Item(
            recordName: tombstone.name, version: entry.version, keepsVersion: true,
            created: tombstone.deleted, modified: tombstone.deleted, creator: deleter,
            modifier: deleter, deletedType: type)
    }
}
