internal import StratusEngine
internal import StratusIndex
internal import StratusJournal

// What subscriptions to zones have to tell that have ended: `Formats/Notification.md`, "Zones and
// databases".

/// A zone or database subscription that ended, and what it had to tell then.
struct EndedSubscription {
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
            ended.append(EndedSubscription(subscription: subscription, changes: left.changes))
        }
        return ended
    }

    /// What one that ended had to tell of zones of the user's own, behind an offset.
    func zoneChanges(
        of ended: EndedSubscription, since: JournalOffset
    ) throws(EngineError) -> [ZoneChange] {
        var found: [ZoneChange] = []
        for change in ended.changes where change.offset > since.rawValue {
            guard let zone = try reading.zone(change.zone) else { continue }
            var told = ZoneChange(
                offset: JournalOffset(rawValue: change.offset), zone: zone,
                subscription: ended.subscription)
            if let device {
                let type = ended.subscription.entry.recordType
                let changes = ZoneChanges(
                    zone: zone, type: type.isEmpty ? nil : type,
                    since: try start(of: ended.subscription, since: since), reading)
                // What has changed since then counts, too: a push too many says nothing wrong.
                told.isFromThisDevice = try changes.last(notBy: device) == nil
            }
            found.append(told)
        }
        return found
    }

    /// What one that ended had to tell of zones of others, behind an offset.
    func sharedNotifications(
        of ended: EndedSubscription, since: JournalOffset
    ) throws(EngineError) -> [StoreNotification] {
        let view = DatabaseView(reading, .shared(user: user), principal)
        var found: [StoreNotification] = []
        for change in ended.changes where change.offset > since.rawValue {
            guard let zone = try reading.zone(change.zone) else { continue }
            let shared = try SharedZone(zone, for: number, reading)
            var isOwn = false
            if let device, zone.isAlive {
                let changes = SharedZoneChanges(
                    shared, ofType: ended.subscription.entry.recordType,
                    since: try start(of: ended.subscription, since: since), reading)
                isOwn = try !changes.hasAny(notBy: device)
            }
            found.append(
                try notification(
                    ended.subscription, at: JournalOffset(rawValue: change.offset), zone,
                    as: try view.sharedID(of: zone, reading), isFromThisDevice: isOwn))
        }
        return found
    }

    /// What a subscription to zones has to tell since it began.
    func changes(
        toldBy subscription: StoredSubscription
    ) throws(EngineError) -> [ZoneNotificationsEntry.Change] {
        guard subscription.entry.scope == .shared else {
            let start = try start(of: subscription, since: .zero)
            return try zoneChanges([subscription], since: start).map {
                ZoneNotificationsEntry.Change(offset: $0.offset.rawValue, zone: $0.zone.number)
            }
        }
        var changes: [ZoneNotificationsEntry.Change] = []
        var token = try sharedStart(of: [subscription], since: .zero)
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
