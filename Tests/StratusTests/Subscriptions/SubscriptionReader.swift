import Stratus

/// Follows a user's notifications by tokens, and compares each page with a model.
struct SubscriptionReader {
    let user: String
    /// As it was written down.
    private(set) var token: String?
    /// The commit that it is amid, and which of its items it has.
    private var group: Int
    private var seen: Set<Int> = []
    private var lastBadge = 0
    /// What happened before it began is of no concern to it.
    private let start: Int
    /// When each zone was told last, by subscription.
    private var told: [Told: Int] = [:]
    /// The same before the page that is read.
    private var toldBefore: [Told: Int] = [:]
    private(set) var delivered: [StoreNotification] = []
    private(set) var problems: [String] = []

    private struct Told: Hashable {
        var subscription: Subscription.ID
        var made: Int
        var zone: String
    }

    /// From the beginning.
    init(of user: String) {
        self.user = user
        group = 0
        start = 0
    }

    /// From a token of a user who has read all that the model knows.
    init(of user: String, since token: NotificationToken, _ model: SubscriptionModel) {
        self.user = user
        self.token = token.description
        group = model.groups[user]?.count ?? 0
        start = model.sequence
    }

    /// Reads a page. Returns whether there are more.
    mutating func read(
        _ container: Container, limit: Int?, _ model: SubscriptionModel
    ) async throws -> Bool {
        let since = token.flatMap { NotificationToken($0) }
        if (since == nil) != (token == nil) { problems.append("a token that cannot be read") }
        let page = try await container.notificationChanges(
            for: user, since: since, resultsLimit: limit)
        if page.moreComing, page.notificationToken == since {
            problems.append("a page that leads nowhere")
            return false
        }
        toldBefore = told
        for notification in page.notifications {
            switch notification.kind {
            case .zone, .database: takeZone(notification, model)
            case .query, .readMark: take(notification, model)
            }
        }
        delivered += page.notifications
        token = page.notificationToken.description
        if !page.moreComing { finish(model) }
        return page.moreComing
    }

    /// As the model writes it.
    private func line(_ notification: StoreNotification) -> String {
        guard notification.kind == .query, let id = notification.recordID else {
            return notification.told
        }
        return SubscriptionModel.line(
            notification.subscriptionID, Int(notification.reason?.rawValue ?? 0), id,
            notification.databaseScope == .public ? .everyones : .own(user))
    }

    private mutating func take(_ notification: StoreNotification, _ model: SubscriptionModel) {
        let groups = model.groups[user] ?? []
        let line = line(notification)
        while group < groups.count {
            let open = openItems(of: groups[group])
            guard !open.isEmpty else {
                leave()
                continue
            }
            guard let place = open.first(where: { groups[group].items[$0].line == line }) else {
                let expected = open.map { groups[group].items[$0].line }
                problems.append("found \(line), expected one of \(expected)")
                return
            }
            let item = groups[group].items[place]
            if notification.recordFields != item.values {
                problems.append("\(line): \(notification.recordFields), not \(item.values)")
            }
            checkBadge(notification.badge, of: item, in: groups[group])
            seen.insert(place)
            guard let once = item.once else { return }
            for other in groups[group].items.indices
            where groups[group].items[other].once == once {
                seen.insert(other)
            }
            return
        }
        problems.append("found \(line) behind the end")
    }

    private mutating func leave() {
        group += 1
        seen = []
        lastBadge = 0
    }

    private func openItems(of group: SubscriptionModel.Group) -> [Int] {
        group.items.indices.filter { !seen.contains($0) }
    }

    /// Each match that badges is one more than the last.
    private mutating func checkBadge(
        _ badge: Int?, of item: SubscriptionModel.Item, in group: SubscriptionModel.Group
    ) {
        guard item.badges else {
            if badge != nil { problems.append("\(item.line) has the badge \(badge ?? 0)") }
            return
        }
        let last = max(lastBadge, group.badge)
        if badge != last + 1 {
            problems.append("\(item.line) has the badge \(badge ?? 0) after \(last)")
        }
        lastBadge = badge ?? last
    }

    /// A zone is told where it has changed since it was told last.
    private mutating func takeZone(_ notification: StoreNotification, _ model: SubscriptionModel) {
        let line = notification.told
        if notification.badge != nil { problems.append("\(line) has a badge") }
        // Those that ended come first.
        for (held, changes) in model.zoneChanges(toldTo: user)
        where held.subscription.subscriptionID == notification.subscriptionID {
            guard let zone = notification.zoneID?.zoneName, let change = changes[zone] else {
                continue
            }
            let key = Told(
                subscription: notification.subscriptionID, made: held.made, zone: zone)
            guard change > max(start, held.made, toldBefore[key] ?? 0),
                told[key] == toldBefore[key]
            else { continue }
            told[key] = model.sequence
            return
        }
        problems.append("\(line): nothing happened that it could tell")
    }

    /// At the end nothing is left out.
    private mutating func finish(_ model: SubscriptionModel) {
        let groups = model.groups[user] ?? []
        while group < groups.count {
            let open = openItems(of: groups[group])
            if let first = open.first {
                problems.append("not told: \(groups[group].items[first].line)")
                return
            }
            leave()
        }
        for (held, changes) in model.zoneChanges(toldTo: user) {
            for (zone, change) in changes {
                let key = Told(
                    subscription: held.subscription.subscriptionID, made: held.made, zone: zone)
                if change > max(start, held.made), told[key] ?? 0 < change {
                    problems.append("\(key.subscription): not told of \(zone)")
                }
            }
        }
    }
}

extension SubscriptionModel {
    /// A user's subscriptions to zones and databases, those that ended first, and when each of their
    /// zones changed last as they are told of it.
    func zoneChanges(toldTo user: String) -> [(held: Held, changes: [String: Int])] {
        let living = held.filter {
            if case .query = $0.subscription.kind { return false }
            return $0.user == user
        }
        return ended.filter { $0.held.user == user }.map { ($0.held, $0.changes) }
            + living.map { ($0, changedZones($0)) }
    }

    private func concerns(_ held: Held, _ zone: String) -> (isConcerned: Bool, type: String?) {
        switch held.subscription.kind {
        case .query: (false, nil)
        case .zone(let id, let type): (id.zoneName == zone, type)
        case .database(let type): (zone != RecordZone.ID.default.zoneName, type)
        }
    }

    /// The zones that a subscription is about, living or not, and when they changed last as it is told
    /// of it: that a zone is made concerns no type, that it is deleted each.
    func changedZones(_ held: Held) -> [String: Int] {
        var changes: [String: Int] = [:]
        for name in Set(zones.keys).union(deletions.keys) where name.database == held.database {
            let (isConcerned, type) = concerns(held, name.zone)
            guard isConcerned else { continue }
            let zone = zones[name]
            let change =
                type.map { zone?.changedTypes[$0] ?? 0 }
                ?? max(zone?.changed ?? 0, zone?.made ?? 0)
            changes[name.zone] = max(change, deletions[name] ?? 0)
        }
        return changes
    }
}
