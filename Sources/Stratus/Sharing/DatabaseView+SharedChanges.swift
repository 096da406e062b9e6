internal import FoundationEssentials
internal import StratusBytes
internal import StratusEngine
internal import StratusIndex
internal import StratusJournal

// What changed for a participant: `Formats/README.md`, "The shared database".
extension DatabaseView {
    /// A page of what changed in a zone of another user.
    func changes(
        in shared: SharedZone, _ id: RecordZone.ID, since token: ChangeToken?,
        _ reading: StoreReading, _ desiredKeys: [String]?, _ types: [String]?,
        _ resultsLimit: Int?, _ skippingDamaged: Bool
    ) throws(EngineError) -> RecordZoneChanges {
        try token?.check(against: shared.zone, for: shared.user, reading)
        var feed = try SharedFeed(
            shared, since: token, head: reading.lastVersion, Page(resultsLimit), reading)
        try feed.run()
        var changes = RecordZoneChanges(
            changeToken: token
                ?? ChangeToken(
                    participant: shared.user, in: shared.zone.number, at: .none,
                    of: reading.identity))
        changes.isFullSnapshot = token == nil
        changes.clientChangeTokenData = try clientToken(in: shared.zone, reading).map { Data($0) }
        changes.moreComing = !feed.isAtEnd
        if feed.isAtEnd, feed.round.bound < reading.lastVersion {
            changes.moreComing = try reading.lastChange(of: shared) > feed.round.bound
        }
        changes.changeToken.goOn(
            feed.round, isAtEnd: feed.isAtEnd, moreComing: changes.moreComing,
            head: reading.lastVersion, of: reading.identity)
        var places: [EntryLocation] = []
        for change in feed.changes {
            if let place = change.record {
                places.append(place)
                continue
            }
            let gone = try reading.changedRecord(at: change.entry, ordinal: change.ordinal)
            guard let type = reading.schema.name(gone.type) else {
                throw reading.damaged(at: change.entry)
            }
            guard types?.contains(type) ?? true else { continue }
            changes.deletions.append(
                RecordZoneChanges.Deletion(
                    recordID: Record.ID(recordName: gone.name, zoneID: id), recordType: type))
        }
        var skipped = SkippedDamage(isAllowed: skippingDamaged)
        let records = try reading.records(places, in: id, &skipped)
        for record in records where types?.contains(record.recordType) ?? true {
            changes.modifications.append(
                try reading.shown(record, to: principal, in: scope).showing(desiredKeys))
        }
        changes.skipped = skipped.errors
        return changes
    }

    /// A page of the zones of others that changed for a user. It is computed when it is read.
    func changes(
        of user: UserID, since token: ChangeToken?, _ page: Page
    ) throws(EngineError) -> DatabaseChanges {
        let reading = try reading
        let number = try reading.user(user)
        try token?.check(against: nil, for: number ?? 0, reading)
        var changes = DatabaseChanges(
            changeToken: token
                ?? ChangeToken(participant: number ?? 0, in: nil, at: .none, of: reading.identity))
        // A token from before the user was known has no number yet.
        changes.changeToken.database = number ?? 0
        // Before the user was known nothing was to be seen.
        changes.isFullSnapshot = token.map { $0.position == .none && $0.round == nil } ?? true
        guard let number else { return changes }
        let seen = token?.position ?? .none
        var round = ChangeToken.Round(bound: reading.lastVersion)
        if let last = token?.round, last.bound > seen { round = last }
        var isAtEnd = true
        var count = 0
        // Where nothing at all was written since, there is nothing to look at.
        let zones = round.bound > seen ? try reading.participationZones(of: number) : []
        for zone in zones where zone > round.place {
            guard count < page.limit else {
                isAtEnd = false
                break
            }
            round.place = zone
            count += 1
            guard let place = try reading.zone(zone) else { continue }
            let shared = try SharedZone(place, for: number, reading)
            let id = try sharedID(of: place, reading)
            if place.isAlive, shared.isVisible {
                // What began behind the round is told of in the next.
                guard shared.wasVisible(by: round.bound) else { continue }
                guard try reading.lastChange(of: shared) > seen else { continue }
                changes.modifications.append(id)
                changes.modifiedPlaces.append(place)
            } else {
                guard shared.wasLost(after: seen, upTo: round.bound),
                    try !isMadeAnew(id, place, for: number, by: round.bound, reading)
                else { continue }
                changes.deletions.append(
                    DatabaseChanges.Deletion(
                        zoneID: id, reason: place.state == .purged ? .purged : .deleted))
                changes.deletedPlaces.append(place)
            }
        }
        changes.moreComing = !isAtEnd
        if isAtEnd, round.bound < reading.lastVersion {
            changes.moreComing = try reading.hasChanged(for: number, since: round.bound)
        }
        changes.changeToken.goOn(
            round, isAtEnd: isAtEnd, moreComing: changes.moreComing, head: reading.lastVersion,
            of: reading.identity)
        return changes
    }

    /// Whether the round tells of a zone of the same name that was made since.
    private func isMadeAnew(
        _ id: RecordZone.ID, _ zone: ZonePlace, for user: UInt32, by bound: Version,
        _ reading: StoreReading
    ) throws(EngineError) -> Bool {
        let value = try reading.value(.zone(zone.database, reading.hash(id.zoneName)))
        guard let last = try ZonePlace.decoded(value), last.number != zone.number, last.isAlive
        else { return false }
        return try SharedZone(last, for: user, reading).wasVisible(by: bound)
    }
}

extension SharedZone {
    /// Whether the user sees anything of the zone by what began up to `version`.
    fileprivate func wasVisible(by version: Version) -> Bool {
        parts.contains { $0.end == nil && $0.since <= version }
    }

    /// Whether a part in the zone ended in a round. The reader may know of one that began in the round,
    /// too; a reader that has seen nothing knows of none.
    fileprivate func wasLost(after seen: Version, upTo bound: Version) -> Bool {
        seen != .none && parts.contains { $0.end.map { $0 > seen && $0 <= bound } ?? false }
    }
}

extension StoreReading {
    /// The zones that a user ever had a part in, by their numbers.
    fileprivate func participationZones(of user: UInt32) throws(EngineError) -> [UInt32] {
        var zones: [UInt32] = []
        for participation in try participations(of: user, in: nil)
        where participation.zone != zones.last {
            zones.append(participation.zone)
        }
        return zones
    }

    /// Whether anything changed for a participant, in any zone.
    fileprivate func hasChanged(
        for user: UInt32, since version: Version
    ) throws(EngineError) -> Bool {
        for number in try participationZones(of: user) {
            guard let zone = try zone(number) else { continue }
            if try lastChange(of: SharedZone(zone, for: user, self)) > version { return true }
        }
        return false
    }

    /// The version of the last change that a participant meets in a zone.
    func lastChange(of shared: SharedZone) throws(EngineError) -> Version {
        // A token from before what is forgotten is refused.
        let horizon = try value(.horizon(ofPartition: shared.zone.number))
        var last = horizon.map { identity.version(at: JournalOffset(rawValue: $0.stamp)) } ?? .none
        for part in shared.parts {
            last = max(last, part.end ?? part.since)
            guard part.end == nil else { continue }
            let rows =
                part.isWholeZone
                ? KeySpace.feed.range(zone: shared.zone.number) : IndexKey.shareRows(part.share)
            last = max(last, try lastChange(in: rows))
        }
        return last
    }
}
