internal import StratusEngine
internal import StratusIndex
internal import StratusJournal

// What subscriptions to zones have to tell that have ended: `Formats/Notification.md`, "Zones and
// databases".

/// A zone or database subscription that ended, and what it had to tell then.
struct EndedSubscription {
    /// Of the entry that says so.
    var offset: JournalOffset
    var subscription: StoredSubscription
    /// By their offsets.
    var changes: [ZoneNotificationsEntry.Change]

    var isShared: Bool { subscription.entry.scope == .shared }
}

extension NotificationReader {
    /// The user's subscriptions to zones that ended behind an offset, as far as they had anything to
    /// tell.
    func endedSubscriptions(
        since: JournalOffset
    ) throws(EngineError) -> [EndedSubscription] {
        var offsets: [JournalOffset] = []
        try reading.scan(IndexKey.zoneNotifications(of: number, from: since.next)) { _, value in
            offsets.append(JournalOffset(rawValue: value.stamp))
            return true
        }
        var ended: [EndedSubscription] = []
        for offset in offsets {
            guard let entry = try reading.keptEntry(at: offset), entry.kind == .zoneNotifications,
                let left = entry.withPayload({ try? ZoneNotificationsEntry($0) }),
                left.user == number,
                let subscription = try reading.subscription(numbered: left.subscription),
                subscription.entry.user == number
            else { throw reading.damaged(at: offset) }
            ended.append(
                EndedSubscription(
                    offset: offset, subscription: subscription, changes: left.changes))
        }
        return ended
    }

    /// What one that ended had to tell of zones of others, behind an offset.
    mutating func sharedNotifications(
        of ended: EndedSubscription, since: JournalOffset
    ) throws(EngineError) -> [StoreNotification] {
        let view = DatabaseView(reading, .shared(user: user), principal)
        let start = start(of: ended.subscription, since: since)
        var found: [StoreNotification] = []
        for change in ended.changes where change.offset > since.rawValue {
            guard let zone = try reading.zone(change.zone) else { continue }
            let shared = try SharedZone(zone, for: number, reading)
            var isOwn = false
            // Where no part of the user is known any more, nor is whose the changes were.
            if device != nil, zone.isAlive, !shared.parts.isEmpty {
                let changes = SharedZoneChanges(
                    shared, ofType: ended.subscription.entry.recordType, since: start, reading)
                isOwn = try !changes.hasAny(notBy: device, &entriesLeft)
            }
            found.append(
                try notification(
                    ended.subscription, at: JournalOffset(rawValue: change.offset), zone,
                    as: try view.sharedID(of: zone, reading), isFromThisDevice: isOwn))
        }
        return found
    }

    /// What a subscription to zones has to tell since it began.
    mutating func changes(
        toldBy subscription: StoredSubscription
    ) throws(EngineError) -> [ZoneNotificationsEntry.Change] {
        guard subscription.entry.scope == .shared else {
            let start = start(of: subscription, since: .zero)
            return try zoneChanges([subscription], since: start).map {
                ZoneNotificationsEntry.Change(offset: $0.offset.rawValue, zone: $0.zone.number)
            }
        }
        var changes: [ZoneNotificationsEntry.Change] = []
        var token = sharedStart(of: [subscription], since: .zero)
        if try isForgotten(token) { token.beginRound(at: reading.lastVersion) }
        while true {
            let page = try sharedChanges([subscription], since: token, limit: Page.usual)
            for notification in page.notifications {
                let id = notification.id
                changes.append(
                    ZoneNotificationsEntry.Change(offset: id.offset, zone: id.place))
            }
            if !page.moreComing { return changes }
            token = page.token
        }
    }
}
