internal import FoundationEssentials
internal import StratusBytes
internal import StratusEngine
internal import StratusIndex
internal import StratusJournal

// What zone and database subscriptions tell, which is computed when it is read:
// `Formats/Notification.md`, "Zones and databases".
extension NotificationReader {
    /// The last change of a zone of the user's own, as one subscription is told of it.
    struct ZoneChange {
        var offset: JournalOffset
        var zone: ZonePlace
        var subscription: StoredSubscription
    }

    /// What has changed in the user's own zones since an offset, by the offsets of the changes.
    func zoneChanges(
        _ subscriptions: [StoredSubscription], since: JournalOffset
    ) throws(EngineError) -> [ZoneChange] {
        var found: [ZoneChange] = []
        func add(_ subscription: StoredSubscription, _ zone: ZonePlace) throws(EngineError) {
            let since = try start(of: subscription, since: since)
            let type = subscription.entry.recordType
            let change = try lastChange(
                of: zone, ofType: type.isEmpty ? nil : type, since: since)
            guard let change else { return }
            found.append(ZoneChange(offset: change, zone: zone, subscription: subscription))
        }
        let ofDatabase = subscriptions.filter { $0.entry.kind == .database }
        for subscription in subscriptions where subscription.entry.kind == .zone {
            let name = reading.hash(subscription.entry.zone)
            let value = try reading.value(.zone(number, name))
            if let zone = try ZonePlace.decoded(value), zone.capabilities.contains(.fetchChanges) {
                try add(subscription, zone)
            }
        }
        if !ofDatabase.isEmpty {
            for zone in try changedZones(since: since) {
                for subscription in ofDatabase { try add(subscription, zone) }
            }
        }
        return found.sorted {
            ($0.offset, $0.subscription.number) < ($1.offset, $1.subscription.number)
        }
    }

    /// From where on a subscription tells what there is behind `since`: from where it began or, where
    /// it says again what one under its ID said before it, from where that did.
    func start(
        of subscription: StoredSubscription, since: JournalOffset
    ) throws(EngineError) -> JournalOffset {
        var last = subscription
        while last.number > since.rawValue, let former = last.entry.former {
            let offset = JournalOffset(rawValue: former.number)
            guard let entry = try reading.keptEntry(at: offset) else {
                throw reading.damaged(at: offset)
            }
            let replaced = try reading.storedSubscription(entry)
            guard replaced.entry.kind == last.entry.kind,
                replaced.entry.zone == last.entry.zone,
                replaced.entry.recordType == last.entry.recordType
            else { break }
            last = replaced
        }
        return max(since, JournalOffset(rawValue: last.number))
    }

    /// The zones that the feed of the user's own database has behind an offset, without the default
    /// zone and without those in whose place there is another one by now.
    private func changedZones(since: JournalOffset) throws(EngineError) -> [ZonePlace] {
        let all = KeySpace.databaseFeed.key().appending(number).asPrefix
        var numbers: [UInt32] = []
        try reading.scan(IndexKey.databaseFeed(number, since.next)..<all.upperBound) { _, value in
            numbers.append(UInt32(truncatingIfNeeded: value.first))
            return true
        }
        var zones: [ZonePlace] = []
        for number in numbers {
            guard let zone = try reading.zone(number), zone.capabilities.contains(.fetchChanges)
            else { continue }
            if !zone.isAlive {
                let name = reading.hash(try reading.zoneEntry(zone).name)
                let last = try ZonePlace.decoded(reading.value(.zone(zone.database, name)))
                guard last?.number == zone.number else { continue }
            }
            zones.append(zone)
        }
        return zones
    }

    /// Where a zone was last changed behind `since`: by a record of the type or, where that is nil,
    /// by anything; nil where it was not. A zone that is gone was, whatever the type.
    private func lastChange(
        of zone: ZonePlace, ofType type: String?, since: JournalOffset
    ) throws(EngineError) -> JournalOffset? {
        guard zone.isAlive else { return zone.offset > since ? zone.offset : nil }
        // Of deletions that are forgotten it is not known of which type they were.
        let forgotten = try reading.horizon(of: zone).offset
        var last = forgotten
        if let type {
            last = max(last, try lastRecord(ofType: type, in: zone, since: max(since, last)))
        } else {
            let feed = KeySpace.feed.range(zone: zone.number)
            last = max(last, zone.offset, try reading.lastChange(in: feed).offset)
        }
        return last > since ? last : nil
    }

    /// The last offset behind `since` where a record of a type was saved or deleted; `since` where
    /// none was.
    private func lastRecord(
        ofType type: String, in zone: ZonePlace, since: JournalOffset
    ) throws(EngineError) -> JournalOffset {
        guard let type = reading.schema.number(type) else { return since }
        let all = KeySpace.feed.range(zone: zone.number)
        let version = reading.identity.version(at: since)
        let first = IndexKey.feed(zone.number, Version(rawValue: version.rawValue + 1))
        var last = since
        guard first < all.upperBound else { return last }
        try reading.scan(first..<all.upperBound, .backward) { _, value throws(EngineError) in
            let place = EntryLocation(value)
            guard place.offset > last else { return false }
            let entry = try reading.entry(place)
            let found: (type: UInt32, name: String)
            if entry.kind == .tombstone {
                let tombstone = try reading.tombstone(entry)
                found = (tombstone.type, tombstone.name)
            } else {
                guard let name = entry.recordName else { throw .damaged(entry) }
                found = (try entry.recordHead().head.type, name)
            }
            if found.type == type {
                last = place.offset
                return false
            }
            // A record of the type may have had the name before.
            let key = IndexKey.type(zone.number, type, reading.hash(found.name))
            if let value = try reading.value(key), EntryLocation(value).isDeleted {
                last = max(last, EntryLocation(value).offset)
            }
            return true
        }
        return last
    }

    /// A page of what has changed in the zones of others.
    struct SharedPage {
        var notifications: [StoreNotification] = []
        var token: ChangeToken
        var moreComing: Bool
    }

    func sharedChanges(
        _ subscriptions: [StoredSubscription], since token: ChangeToken?, limit: Int
    ) throws(EngineError) -> SharedPage {
        let scope = DatabaseScope.shared(user: user)
        let view = DatabaseView(reading, scope, principal)
        let changes = try view.databaseChanges(since: token, resultsLimit: limit)
        var page = SharedPage(token: changes.changeToken, moreComing: changes.moreComing)
        let seen = token?.position.offset ?? .zero
        // What changed behind the round is told of in the next one.
        let bound = changes.changeToken.round?.bound ?? changes.changeToken.position
        let zones = changes.modifiedPlaces + changes.deletedPlaces
        for (place, zone) in zones.enumerated() {
            let isGone = place >= changes.modifiedPlaces.count
            let id = try view.sharedID(of: zone, reading)
            let shared = try SharedZone(zone, for: number, reading)
            let last =
                isGone
                ? shared.parts.compactMap(\.end).filter { $0 <= bound }.max() ?? Version.none
                : try reading.lastChange(of: shared)
            guard last <= bound else { continue }
            let offset = last.offset
            for subscription in subscriptions {
                let since = try start(of: subscription, since: seen)
                guard offset > since else { continue }
                let type = subscription.entry.recordType
                if !isGone, !type.isEmpty,
                    try !hasShared(type, in: zone, id, since: since, view)
                {
                    continue
                }
                page.notifications.append(
                    try notification(subscription, at: offset, zone, as: id))
            }
        }
        return page
    }

    /// Whether a record of a type that the user may see has changed in a zone of another user.
    /// Where that cannot be told any more, it is said to have.
    private func hasShared(
        _ type: String, in zone: ZonePlace, _ id: RecordZone.ID, since: JournalOffset,
        _ view: DatabaseView
    ) throws(EngineError) -> Bool {
        var token = ChangeToken(
            participant: number, in: zone.number, at: reading.identity.version(at: since),
            of: reading.identity)
        do throws(EngineError) {
            while true {
                let page = try view.recordZoneChanges(
                    inZoneWith: id, since: token, desiredRecordTypes: [type])
                if !page.modifications.isEmpty || !page.deletions.isEmpty { return true }
                guard page.moreComing else { return false }
                token = page.changeToken
            }
        } catch {
            if error.wouldBlock || StoreError(error).code != .changeTokenExpired { throw error }
            return true
        }
    }

    /// A notification of a zone or database subscription.
    func notification(
        _ subscription: StoredSubscription, at offset: JournalOffset, _ zone: ZonePlace,
        as zoneID: RecordZone.ID
    ) throws(EngineError) -> StoreNotification {
        let isOfZone = subscription.entry.kind == .zone
        let id = NotificationID(
            kind: subscription.entry.kind.rawValue, number: subscription.number,
            offset: offset.rawValue, place: zone.number)
        var notification = StoreNotification(
            NotificationIdentifier(id), isOfZone ? .zone : .database,
            created: try date(ofChangeAt: offset), of: reading.identity)
        notification.subscriptionOwner = owner
        notification.state(subscription, [:])
        notification.zoneID = zoneID
        notification.databaseScope = subscription.entry.scope == .shared ? .shared : .private
        notification.isRead = try isRead(id)
        return notification
    }

    /// That of the record that was saved or deleted there; where it was another change, that of the
    /// last commit.
    private func date(ofChangeAt offset: JournalOffset) throws(EngineError) -> Date {
        if let entry = try reading.keptEntry(at: offset) {
            if entry.kind == .record {
                return Date(milliseconds: try entry.recordHead().head.modified)
            }
            if entry.kind == .tombstone {
                return Date(milliseconds: try reading.tombstone(entry).deleted)
            }
        }
        return Date(microseconds: reading.lastTime)
    }
}
