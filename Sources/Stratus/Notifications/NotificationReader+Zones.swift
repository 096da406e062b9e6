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
        /// Whether all that it is told of was changed by the device for which it is read.
        var isFromThisDevice = false
    }

    /// What has changed in the user's own zones since an offset, as subscriptions tell of it that are
    /// there or have ended.
    mutating func zoneChanges(
        _ subscriptions: [StoredSubscription], _ ended: [EndedSubscription] = [],
        since: JournalOffset
    ) throws(EngineError) -> [ZoneChange] {
        var found: [ZoneChange] = []
        var changed: ChangedZones?
        let reader = self
        func changedZones() throws(EngineError) -> ChangedZones {
            if let changed { return changed }
            let read = try reader.changedZones(since: since)
            changed = read
            return read
        }
        func changes(
            in zone: ZonePlace, of subscription: StoredSubscription, since start: JournalOffset
        ) throws(EngineError) -> ZoneChanges {
            var changes = ZoneChanges(
                zone, ofType: subscription.entry.recordType, since: start, reader.reading)
            // Only one that was made since may have come after others.
            if zone.offset > start {
                changes.former = try changedZones().former[zone.number] ?? []
            }
            return changes
        }
        for subscription in subscriptions {
            let start = start(of: subscription, since: since)
            var zones: [ZonePlace] = []
            if subscription.entry.kind == .database {
                zones = try changedZones().zones
            } else {
                let name = reading.hash(subscription.entry.zone)
                let value = try reading.value(.zone(number, name))
                if let zone = try ZonePlace.decoded(value),
                    zone.capabilities.contains(.fetchChanges)
                {
                    zones = [zone]
                }
            }
            for zone in zones {
                let changes = try changes(in: zone, of: subscription, since: start)
                guard let offset = try changes.last(&entriesLeft) else { continue }
                var change = ZoneChange(offset: offset, zone: zone, subscription: subscription)
                if let device {
                    change.isFromThisDevice = try changes.last(notBy: device, &entriesLeft) == nil
                }
                found.append(change)
            }
        }
        for ended in ended {
            let start = start(of: ended.subscription, since: since)
            for change in ended.changes where change.offset > since.rawValue {
                guard let zone = try reading.zone(change.zone), zone.database == number else {
                    continue
                }
                var told = ZoneChange(
                    offset: JournalOffset(rawValue: change.offset), zone: zone,
                    subscription: ended.subscription)
                if let device {
                    let changes = try changes(in: zone, of: ended.subscription, since: start)
                    // By what is known now: what has changed since then counts, too.
                    told.isFromThisDevice = try changes.last(notBy: device, &entriesLeft) == nil
                }
                found.append(told)
            }
        }
        return found
    }

    /// From where on a subscription tells what there is behind `since`: from where it began or, where
    /// it goes on with what others told before it, from where the first of them did.
    func start(of subscription: StoredSubscription, since: JournalOffset) -> JournalOffset {
        max(since, JournalOffset(rawValue: subscription.origin))
    }

    /// What the feed of the user's own database has behind an offset, without the default zone.
    private struct ChangedZones {
        /// Those that are there, or were the last of their name.
        var zones: [ZonePlace] = []
        /// By the number of the last zone of their name those before it, which are gone.
        var former: [UInt32: [ZonePlace]] = [:]
    }

    private func changedZones(since: JournalOffset) throws(EngineError) -> ChangedZones {
        var changed = ChangedZones()
        for zone in try zonesInFeed(since: since) where zone.capabilities.contains(.fetchChanges) {
            if !zone.isAlive {
                let name = reading.hash(try reading.zoneEntry(zone).name)
                guard
                    let last = try ZonePlace.decoded(reading.value(.zone(zone.database, name)))
                else { continue }
                if last.number != zone.number {
                    changed.former[last.number, default: []].append(zone)
                    continue
                }
            }
            changed.zones.append(zone)
        }
        return changed
    }

    private func zonesInFeed(since: JournalOffset) throws(EngineError) -> [ZonePlace] {
        let all = KeySpace.databaseFeed.key().appending(number).asPrefix
        var numbers: [UInt32] = []
        try reading.scan(IndexKey.databaseFeed(number, since.next)..<all.upperBound) { _, value in
            numbers.append(UInt32(truncatingIfNeeded: value.first))
            return true
        }
        var zones: [ZonePlace] = []
        for number in numbers {
            if let zone = try reading.zone(number) { zones.append(zone) }
        }
        return zones
    }

    /// Whether a zone of the user was purged since the state of a token, and the notifications of its
    /// records with it.
    func wasPurged(since token: NotificationToken) throws(EngineError) -> Bool {
        var last = token.head.offset
        do throws(EngineError) {
            try reading.checkHistory(has: token.head, of: token.lineage)
        } catch {
            if error.wouldBlock { throw error }
            // That state was lost.
            last = token.read
        }
        return try zonesInFeed(since: last).contains { $0.state == .purged && $0.offset > last }
    }

    /// A page of what has changed in the zones of others.
    struct SharedPage {
        var notifications: [StoreNotification] = []
        var token: ChangeToken
        var moreComing: Bool
    }

    mutating func sharedChanges(
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
                let since = start(of: subscription, since: seen)
                guard offset > since else { continue }
                let changes = SharedZoneChanges(
                    shared, ofType: subscription.entry.recordType, since: since, reading)
                var isOwn = false
                if !isGone {
                    guard try changes.hasAny(&entriesLeft) else { continue }
                    if let device { isOwn = try !changes.hasAny(notBy: device, &entriesLeft) }
                }
                page.notifications.append(
                    try notification(
                        subscription, at: offset, zone, as: id, isFromThisDevice: isOwn))
            }
        }
        return page
    }

    /// A notification of a zone or database subscription.
    func notification(
        _ subscription: StoredSubscription, at offset: JournalOffset, _ zone: ZonePlace,
        as zoneID: RecordZone.ID, isFromThisDevice: Bool
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
        notification.isFromThisDevice = isFromThisDevice
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
