internal import FoundationEssentials
internal import StratusBytes
internal import StratusIndex
internal import StratusJournal
internal import StratusEngine

extension Database {
    /// What changed in a zone since `token`; without one, all that is in it. A caller's own changes
    /// come back.
    ///
    /// - Parameters:
    ///   - point: a token of the zone; the page is what it would have been when everything up to
    ///     it was there and nothing later. Takes the longer the more was changed since. Beyond
    ///     CloudKit.
    ///   - desiredRecordTypes: the types of the records in the page; nil: all. A record of one of
    ///     them that was deleted is reported as deleted, also where its name was given to a record
    ///     of another type since. Takes the longer the more often records of other types were
    ///     saved since the token. As in CloudKit's Web Services.
    ///   - resultsLimit: the most changes in the page; the store may stop earlier.
    ///   - skippingDamaged: gives the changes that can be read, and says in
    ///     ``RecordZoneChanges/skipped`` which cannot. Without it a change that is damaged fails the
    ///     page, and there is no token beyond it. What an earlier state is traced back through
    ///     (`point`) is never skipped.
    /// - Throws: ``StoreError`` with `changeTokenExpired` where a token is not, or no longer, one
    ///   of this zone's history, `invalidArguments` where it is a database's, or the zone has no
    ///   feed, `zoneNotFound`, and with the cause ``StoreError/Cause/damaged``.
    public nonisolated(nonsending) func recordZoneChanges(
        inZoneWith id: RecordZone.ID, since token: ChangeToken? = nil,
        asOf point: ChangeToken? = nil, desiredKeys: [String]? = nil,
        desiredRecordTypes types: [String]? = nil, resultsLimit: Int? = nil,
        skippingDamaged: Bool = false
    ) async throws(StoreError) -> RecordZoneChanges {
        try await read { view throws(EngineError) in
            try view.recordZoneChanges(
                inZoneWith: id, since: token, asOf: point, desiredKeys: desiredKeys,
                desiredRecordTypes: types, resultsLimit: resultsLimit,
                skippingDamaged: skippingDamaged)
        }
    }

    /// Which zones changed since `token`; without one, which there are.
    ///
    /// - Throws: ``StoreError`` with `changeTokenExpired`, `invalidArguments` where the token is a
    ///   zone's, `badDatabase` in the public database, which has no feed.
    public nonisolated(nonsending) func databaseChanges(
        since token: ChangeToken? = nil, resultsLimit: Int? = nil
    ) async throws(StoreError) -> DatabaseChanges {
        try await read { view throws(EngineError) in
            try view.databaseChanges(since: token, resultsLimit: resultsLimit)
        }
    }

    /// The token with which a reader of the database's feed, at `token`, goes on in a zone:
    /// everything in the zone up to that moment was seen. Good for tokens of a last page only:
    /// before it a zone may be reported later than it changed. Beyond CloudKit.
    ///
    /// - Throws: ``StoreError`` with `changeTokenExpired` where the zone was made since.
    public nonisolated(nonsending) func zoneToken(
        for id: RecordZone.ID, asOf token: ChangeToken
    ) async throws(StoreError) -> ChangeToken {
        try await read { view throws(EngineError) in
            try view.zoneToken(for: id, asOf: token)
        }
    }
}

extension Database {
    /// All zones, sorted by name but for the default zone, which is the first; each that has a feed
    /// with a token that has seen all that is in it, as zones have in CloudKit's Web Services.
    package nonisolated(nonsending) func zonesWithTokens() async throws(StoreError)
        -> [(zone: RecordZone, token: ChangeToken?)]
    {
        try await read { view throws(EngineError) in
            try view.allRecordZones().map { zone throws(EngineError) in
                (zone, try view.currentToken(of: zone))
            }
        }
    }

    /// One zone as ``zonesWithTokens()`` has it.
    package nonisolated(nonsending) func zoneWithToken(
        for id: RecordZone.ID
    ) async throws(StoreError) -> (zone: RecordZone, token: ChangeToken?) {
        try await read { view throws(EngineError) in
            let zone = try view.recordZone(for: id)
            return (zone, try view.currentToken(of: zone))
        }
    }
}

extension DatabaseSnapshot {
    /// The token of a reader that has seen all that is in a zone. With it a later snapshot tells
    /// what changed between the two.
    ///
    /// - Throws: ``StoreError`` with `zoneNotFound`; with `invalidArguments` where the zone has no
    ///   feed.
    public func changeToken(ofZoneWith id: RecordZone.ID) throws(StoreError) -> ChangeToken {
        try answer { view throws(EngineError) in
            guard let token = try view.currentToken(of: view.recordZone(for: id)) else {
                throw .refused(.noFeed(id))
            }
            return token
        }
    }

    /// The token of a reader that has seen all that is in the database.
    public func changeToken() throws(StoreError) -> ChangeToken {
        try answer { view throws(EngineError) in try view.currentToken }
    }
}

extension StoreError {
    fileprivate static var noDatabaseFeed: StoreError {
        StoreError(.badDatabase, "the public database has no change feed")
    }

    fileprivate static func noFeed(_ id: RecordZone.ID) -> StoreError {
        StoreError(.invalidArguments, "this zone has no change feed").with(id)
    }
}

extension DatabaseView {
    /// The token of a reader that has seen all that is in the database.
    fileprivate var currentToken: ChangeToken {
        get throws(EngineError) {
            guard case .private = scope else { throw .refused(.noDatabaseFeed) }
            let reading = try reading
            return ChangeToken(
                database: try reading.database(scope) ?? 0, at: reading.lastVersion,
                of: reading.identity)
        }
    }

    /// The token of a reader that has seen all that is in a zone; nil where it has no feed.
    fileprivate func currentToken(of zone: RecordZone) throws(EngineError) -> ChangeToken? {
        guard zone.capabilities.contains(.fetchChanges) else { return nil }
        let reading = try reading
        let place = try self.zone(zone.zoneID, reading)
        if let shared = try sharedZone(place, reading) {
            return ChangeToken(
                participant: shared.user, in: place.number, at: reading.lastVersion,
                of: reading.identity)
        }
        return ChangeToken(zone: place, at: reading.lastVersion, of: reading.identity)
    }

    /// What changed in a zone since `token`: as of ``Database``.
    func recordZoneChanges(
        inZoneWith id: RecordZone.ID, since token: ChangeToken? = nil,
        asOf point: ChangeToken? = nil, desiredKeys: [String]? = nil,
        desiredRecordTypes types: [String]? = nil, resultsLimit: Int? = nil,
        skippingDamaged: Bool = false
    ) throws(EngineError) -> RecordZoneChanges {
        let reading = try reading
        guard let used = try usedZone(id, reading),
            used.place.capabilities.contains(.fetchChanges)
        else { throw .refused(.noFeed(id)) }
        let zone = used.place
        if let shared = used.shared {
            if point != nil { try checkOwner() }
            return try changes(
                in: shared, id, since: token, reading, desiredKeys, types, resultsLimit,
                skippingDamaged)
        }
        let horizon = try reading.horizon(of: zone)
        let token = try token?.accepted(for: zone, horizon, reading)
        let point = try point?.accepted(for: zone, horizon, reading)
        let since = token?.position ?? .none
        let end = point?.position
        // A fetch without a token reports nothing that was gone when it began.
        let floor = token?.floor ?? end ?? reading.lastVersion
        var changes = RecordZoneChanges(
            changeToken: token ?? ChangeToken(zone: zone, at: .none, of: reading.identity))
        changes.isFullSnapshot = token == nil
        if point == nil {
            changes.clientChangeTokenData = try clientToken(in: zone, reading).map { Data($0) }
        }
        let page = try reading.feed(of: zone, since: since, asOf: end, Page(resultsLimit))
        changes.moreComing = page.moreComing
        changes.changeToken.advance(
            to: page.places.last?.version, floor: floor,
            head: page.moreComing
                ? try reading.lastChange(in: KeySpace.feed.range(zone: zone.number)) : .none,
            moreComing: page.moreComing, of: reading.identity)
        if !page.moreComing {
            // Whatever was deleted in what is seen, its reader knows of.
            changes.changeToken.pass(min(horizon, reading.lastVersion))
        }
        let places = page.places.filter { !$0.isDeleted || $0.version > floor }
        let types = types.map { Set($0.compactMap { reading.schema.number($0) }) }
        var users = UserNames(reading)
        changes.modifications.reserveCapacity(places.count)
        var skipped = SkippedDamage(isAllowed: skippingDamaged)
        // Their order is that of the feed, in which they lie.
        try reading.forEachReadable(places, &skipped) { _, entry throws(EngineError) in
            if entry.kind == .record, try reading.isOne(of: types, entry) {
                let record = try reading.record(entry, in: id, &users)
                changes.modifications.append(
                    try reading.shown(record, to: principal, in: scope).showing(desiredKeys))
            } else if let deletion = try reading.deletion(
                entry, after: floor, of: types, in: id, asOf: end)
            {
                changes.deletions.append(deletion)
            }
        }
        changes.skipped = skipped.errors
        return changes
    }

    /// Which zones changed since `token`: as of ``Database``.
    func databaseChanges(
        since token: ChangeToken? = nil, resultsLimit: Int? = nil
    ) throws(EngineError) -> DatabaseChanges {
        try checkHasAll()
        if case .shared(let user) = scope {
            return try changes(of: user, since: token, Page(resultsLimit))
        }
        guard case .private = scope else {
            throw .refused(.noDatabaseFeed)
        }
        let reading = try reading
        let owner = try reading.database(scope)
        let token = try token?.accepted(for: owner ?? 0, reading)
        var changes = DatabaseChanges(
            changeToken: token
                ?? ChangeToken(database: owner ?? 0, at: .none, of: reading.identity))
        // A token from before the owner's first write has no number of the database yet.
        changes.changeToken.database = owner ?? 0
        changes.isFullSnapshot = token == nil
        guard let database = owner else { return changes }
        let since = (token?.position ?? .none).offset
        let page = try reading.databaseFeed(of: database, since: since, Page(resultsLimit))
        let floor = token?.floor ?? reading.lastVersion
        changes.moreComing = page.moreComing
        changes.changeToken.advance(
            to: page.zones.last.map { reading.identity.version(at: $0.0) },
            floor: floor,
            head: page.moreComing
                ? try reading.lastChange(
                    in: KeySpace.databaseFeed.key().appending(database).asPrefix) : .none,
            moreComing: page.moreComing, of: reading.identity)
        for (offset, place) in page.zones {
            let zoneID = RecordZone.ID(zoneName: try reading.zoneEntry(place).name)
            if place.isAlive {
                if place.capabilities.contains(.fetchChanges) {
                    changes.modifications.append(zoneID)
                }
            } else if offset > floor.offset, place.capabilities.contains(.fetchChanges),
                try reading.isLast(place, named: zoneID.zoneName)
            {
                changes.deletions.append(
                    DatabaseChanges.Deletion(
                        zoneID: zoneID, reason: place.state == .purged ? .purged : .deleted))
            }
        }
        return changes
    }

    /// The token with which a reader of the database's feed goes on in a zone: as of ``Database``.
    func zoneToken(
        for id: RecordZone.ID, asOf token: ChangeToken
    ) throws(EngineError) -> ChangeToken {
        try checkOwner()
        let reading = try reading
        let zone = try zone(id, reading)
        try token.check(against: try reading.database(scope) ?? 0, reading)
        let offset = token.position.offset
        guard zone.offset <= offset else {
            throw .refused(.expired(.zone, "the zone was made after the token"))
        }
        return ChangeToken(
            zone: zone, at: reading.identity.version(at: offset), of: reading.identity)
    }
}

/// How much goes into a page.
struct Page {
    static let usual = 1000
    /// What the entries of a page may take together, in bytes.
    static let lengthLimit = 8 << 20

    var limit: Int

    init(_ limit: Int?) { self.limit = max(1, min(limit ?? Self.usual, 10_000)) }
}

extension StoreReading {
    fileprivate func feed(
        of zone: ZonePlace, since version: Version, asOf end: Version?, _ page: Page
    ) throws(EngineError) -> (places: [EntryLocation], moreComing: Bool) {
        var places: [EntryLocation] = []
        var length = 0
        var moreComing = false
        func add(_ place: EntryLocation) -> Bool {
            length += place.frameLength
            guard places.count < page.limit, places.isEmpty || length <= Page.lengthLimit else {
                moreComing = true
                return false
            }
            places.append(place)
            return true
        }
        if let end {
            let past = PastFeed(
                reading: self, zone: zone, since: version, end: end, limit: page.limit)
            for place in try past.places() where !add(place) { break }
            return (places, moreComing)
        }
        let all = KeySpace.feed.range(zone: zone.number)
        let first = IndexKey.feed(zone.number, Version(rawValue: version.rawValue + 1))
        try scan(first..<all.upperBound) { _, value in add(EntryLocation(value)) }
        return (places, moreComing)
    }

    /// Whether a record or tombstone is of one of `types`; nil: any.
    fileprivate func isOne(
        of types: Set<UInt32>?, _ entry: JournalEntry
    ) throws(EngineError) -> Bool {
        guard let types else { return true }
        let isTombstone = entry.kind == .tombstone
        return types.contains(
            isTombstone ? try tombstone(entry).type : try entry.recordHead().head.type)
    }

    /// The last deletion after `floor` of a record with the name of `entry` and one of `types`; nil
    /// where there was none.
    fileprivate func deletion(
        _ entry: JournalEntry, after floor: Version, of types: Set<UInt32>?,
        in zoneID: RecordZone.ID, asOf end: Version?
    ) throws(EngineError) -> RecordZoneChanges.Deletion? {
        guard entry.version > floor else { return nil }
        if entry.kind == .tombstone, try isOne(of: types, entry) {
            return try deletion(entry, in: zoneID)
        }
        guard let types else { return nil }
        if end != nil {
            var next = try self.entry(replacedBy: entry, after: floor)
            while let entry = next {
                if entry.kind == .tombstone, try isOne(of: types, entry) {
                    return try deletion(entry, in: zoneID)
                }
                next = try self.entry(replacedBy: entry, after: floor)
            }
            return nil
        }
        // The name has an entry of another type since.
        let name = try nameHash(of: entry)
        var last: EntryLocation?
        for type in types {
            guard let value = try value(.type(entry.zone, type, name)) else { continue }
            let place = EntryLocation(value)
            if place.isDeleted, place.version > last?.version ?? floor { last = place }
        }
        guard let last else { return nil }
        return try deletion(self.entry(last), in: zoneID)
    }

    private func deletion(
        _ entry: JournalEntry, in zoneID: RecordZone.ID
    ) throws(EngineError) -> RecordZoneChanges.Deletion {
        let tombstone = try tombstone(entry)
        guard let type = schema.name(tombstone.type) else { throw .damaged(entry) }
        return RecordZoneChanges.Deletion(
            recordID: Record.ID(recordName: tombstone.name, zoneID: zoneID), recordType: type)
    }

    /// The hash of the name that a record or tombstone has.
    func nameHash(of entry: JournalEntry) throws(EngineError) -> Hash128 {
        if entry.kind == .tombstone { return hash(try tombstone(entry).name) }
        let name = try entry.recordHead().head.name
        return Hash128(entry.bytes.span.extracting(name), seed: identity.secret)
    }

    /// The version of the last change in a feed.
    func lastChange(in feed: Range<IndexKey>) throws(EngineError) -> Version {
        var last = Version.none
        try scan(feed, .backward) { _, value in
            last = identity.version(at: JournalOffset(rawValue: value.stamp))
            return false
        }
        return last
    }

    /// The greatest version that an entry may have in this state. What follows the last commit is not
    /// part of a copy of the store; right before the end there may be a gap.
    var lastVersion: Version { identity.version(at: view.last(before: min(head, end))) }

    fileprivate func databaseFeed(
        of database: UInt32, since offset: JournalOffset, _ page: Page
    ) throws(EngineError) -> (zones: [(JournalOffset, ZonePlace)], moreComing: Bool) {
        let all = KeySpace.databaseFeed.key().appending(database).asPrefix
        let first = IndexKey.databaseFeed(database, offset.next)
        var zones: [(JournalOffset, ZonePlace)] = []
        var moreComing = false
        try scan(first..<all.upperBound) { _, value throws(EngineError) in
            guard zones.count < page.limit else {
                moreComing = true
                return false
            }
            if let place = try zone(UInt32(truncatingIfNeeded: value.first)) {
                zones.append((JournalOffset(rawValue: value.stamp), place))
            }
            return true
        }
        return (zones, moreComing)
    }

    /// Whether no zone was made under the name of this one since: a zone that was deleted, made
    /// anew and deleted again is told of once.
    func isLast(_ zone: ZonePlace, named name: String) throws(EngineError) -> Bool {
        try ZonePlace.decoded(value(.zone(zone.database, hash(name))))?.number
            == zone.number
    }
}
