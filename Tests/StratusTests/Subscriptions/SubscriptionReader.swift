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
        group.items.indices.filter { !group.items[$0].isGone && !seen.contains($0) }
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
        let isWhole = !group.items.contains { $0.isGone }
        let isNext = isWhole ? badge == last + 1 : (badge ?? 0) > last
        if !isNext { problems.append("\(item.line) has the badge \(badge ?? 0) after \(last)") }
        lastBadge = badge ?? last
    }

    /// A zone is told where it has changed since it was told last.
    private mutating func takeZone(_ notification: StoreNotification, _ model: SubscriptionModel) {
        let line = notification.told
        guard let zone = notification.zoneID?.zoneName,
            let held = model.zoneSubscriptions(of: user).first(where: {
                $0.subscription.subscriptionID == notification.subscriptionID
            })
        else { return problems.append("\(line): of no subscription") }
        if notification.badge != nil { problems.append("\(line) has a badge") }
        let key = Told(
            subscription: notification.subscriptionID, made: held.made, zone: zone)
        let since = max(start, held.made, toldBefore[key] ?? 0)
        let (change, deletion) = model.lastChanges(of: zone, held)
        // One that was deleted and made anew may be told as two.
        guard max(change, deletion) > since, told[key] == toldBefore[key] || deletion > since else {
            return problems.append("\(line): nothing happened since \(since)")
        }
        told[key] = model.sequence
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
        for held in model.zoneSubscriptions(of: user) {
            for (zone, change) in model.changedZones(held) {
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
    /// A user's subscriptions to zones and databases.
    func zoneSubscriptions(of user: String) -> [Held] {
        held.filter {
            if case .query = $0.subscription.kind { return false }
            return $0.user == user && $0.database == .own(user)
        }
    }

    private func concerns(_ held: Held, _ zone: String) -> (isConcerned: Bool, type: String?) {
        switch held.subscription.kind {
        case .query: (false, nil)
        case .zone(let id, let type): (id.zoneName == zone, type)
        case .database(let type): (zone != RecordZone.ID.default.zoneName, type)
        }
    }

    /// When a zone was last changed as a subscription is told of it, and when one of the name was
    /// deleted last.
    func lastChanges(of zone: String, _ held: Held) -> (change: Int, deletion: Int) {
        let (isConcerned, type) = concerns(held, zone)
        guard isConcerned else { return (0, 0) }
        let name = ZoneName(database: held.database, zone: zone)
        let place = zones[name]
        let change =
            type.map { place?.changedTypes[$0] ?? 0 }
            ?? max(place?.changed ?? 0, place?.made ?? 0)
        return (change, deletions[name] ?? 0)
    }

    /// The living zones that a subscription is about, and when records there changed last.
    func changedZones(_ held: Held) -> [(zone: String, change: Int)] {
        zones.compactMap { name, zone in
            let (isConcerned, type) = concerns(held, name.zone)
            guard isConcerned, name.database == held.database else { return nil }
            let change = type.map { zone.changedTypes[$0] ?? 0 } ?? zone.changed
            return (name.zone, change)
        }
    }
}
