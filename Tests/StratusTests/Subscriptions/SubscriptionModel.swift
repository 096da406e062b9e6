import FoundationEssentials
import Stratus
import Support

/// What users must be told, found by judging each change by every subscription.
struct SubscriptionModel {
    /// One of the databases: the public one, or a user's own.
    enum DatabaseName: Hashable {
        case everyones
        case own(String)
    }

    struct Zone {
        var made: Int
        var records: [String: Record] = [:]
        /// When records were changed last, and those of each type.
        var changed = 0
        var changedTypes: [String: Int] = [:]
    }

    /// A subscription that is there.
    struct Held {
        var subscription: Subscription
        /// Of a query; nil: every record.
        var condition: Condition?
        var user: String
        var database: DatabaseName
        /// When it was saved; of one that watches a zone or database, when it was saved first.
        var made: Int
    }

    /// A change of a record.
    struct Change {
        var database: DatabaseName
        var zone: String
        var old: Record?
        var new: Record?
    }

    /// A notification of a query, or that one was read.
    struct Item {
        var line: String
        var values: [String: RecordValue] = [:]
        var badges = false
        /// Of a subscription that fires once: of the items with this identity there is one.
        var once: String?
    }

    /// A subscription to zones that ended, and when each of them had changed last by then.
    struct Ended {
        var held: Held
        var changes: [String: Int]
    }

    struct ZoneName: Hashable {
        var database: DatabaseName
        var zone: String
    }

    /// What one commit told a user.
    struct Group {
        var items: [Item] = []
        /// The badge before.
        var badge = 0
    }

    private(set) var zones: [ZoneName: Zone] = [:]
    private(set) var held: [Held] = []
    private(set) var ended: [Ended] = []
    private(set) var groups: [String: [Group]] = [:]
    private(set) var badges: [String: Int] = [:]
    /// Counts all that happened.
    private(set) var sequence = 0
    /// When a zone of the name was deleted last.
    private(set) var deletions: [ZoneName: Int] = [:]

    static func line(
        _ subscription: String, _ reason: Int, _ id: Record.ID, _ database: DatabaseName
    ) -> String {
        "\(subscription) \(reason) \(id.recordName) in \(id.zoneID.zoneName) of \(database)"
    }
}

// Zones and subscriptions.
extension SubscriptionModel {
    mutating func makeZone(_ zone: String, in database: DatabaseName) {
        sequence += 1
        let name = ZoneName(database: database, zone: zone)
        zones[name] = Zone(made: sequence)
    }

    mutating func deleteZone(_ zone: String, of database: DatabaseName) {
        sequence += 1
        let name = ZoneName(database: database, zone: zone)
        zones[name] = nil
        deletions[name] = sequence
    }

    /// What one to zones had to tell stays.
    private mutating func end(_ old: Held) {
        if case .query = old.subscription.kind { return }
        ended.append(Ended(held: old, changes: changedZones(old)))
    }

    func place(
        of id: Subscription.ID, _ user: String, _ database: DatabaseName
    ) -> Int? {
        held.firstIndex {
            $0.subscription.subscriptionID == id && $0.user == user && $0.database == database
        }
    }

    mutating func save(
        _ subscription: Subscription, _ condition: Condition?, _ user: String,
        _ database: DatabaseName
    ) {
        sequence += 1
        let place = place(of: subscription.subscriptionID, user, database)
        // Equal content changes nothing.
        if let place, held[place].subscription == subscription { return }
        var made = sequence
        if let place {
            // One that watches the same goes on where the other was.
            let old = held.remove(at: place)
            if case .query = subscription.kind {
                end(old)
            } else if old.subscription.kind == subscription.kind {
                made = old.made
            } else {
                end(old)
            }
        }
        held.append(
            Held(
                subscription: subscription, condition: condition, user: user,
                database: database, made: made))
    }

    mutating func remove(_ id: Subscription.ID, _ user: String, _ database: DatabaseName) {
        sequence += 1
        if let place = place(of: id, user, database) { end(held.remove(at: place)) }
    }

    mutating func setBadge(_ value: Int, of user: String) {
        sequence += 1
        badges[user] = value
    }

    mutating func markRead(_ ids: [NotificationIdentifier], by user: String) {
        sequence += 1
        let items = ids.map { Item(line: "read \($0)") }
        groups[user, default: []].append(Group(items: items, badge: badges[user] ?? 0))
    }
}

// Changes.
extension SubscriptionModel {
    /// The changes that make a zone what it is now.
    func changes(
        of zone: String, in database: DatabaseName, to records: [Record]
    ) -> [Change] {
        let old = zones[ZoneName(database: database, zone: zone)]?.records ?? [:]
        var new: [String: Record] = [:]
        for record in records { new[record.recordID.recordName] = record }
        var changes: [Change] = []
        for name in Set(old.keys).union(new.keys).sorted()
        where old[name]?.recordChangeTag != new[name]?.recordChangeTag {
            changes.append(
                Change(database: database, zone: zone, old: old[name], new: new[name]))
        }
        return changes
    }

    /// A commit with these changes.
    mutating func apply(_ changes: [Change]) {
        guard !changes.isEmpty else { return }
        sequence += 1
        var told: [String: [Item]] = [:]
        var ended: Set<Int> = []
        for change in changes {
            let name = ZoneName(database: change.database, zone: change.zone)
            for (index, held) in held.enumerated() {
                guard let item = item(of: held, index, change) else { continue }
                told[held.user, default: []].append(item)
                if item.once != nil { ended.insert(index) }
            }
            guard let id = (change.new ?? change.old)?.recordID else { continue }
            zones[name]?.records[id.recordName] = change.new
            zones[name]?.changed = sequence
            for type in [change.old, change.new].compactMap({ $0?.recordType }) {
                zones[name]?.changedTypes[type] = sequence
            }
        }
        for index in ended.sorted().reversed() { held.remove(at: index) }
        for (user, items) in told {
            let badge = badges[user] ?? 0
            groups[user, default: []].append(Group(items: items, badge: badge))
            var once: Set<String> = []
            for item in items where item.badges {
                if let identity = item.once, !once.insert(identity).inserted { continue }
                badges[user, default: 0] += 1
            }
        }
    }

    private func item(of held: Held, _ index: Int, _ change: Change) -> Item? {
        guard held.database == change.database,
            case .query(_, let type, let zone, let options) = held.subscription.kind,
            zone.map({ $0.zoneName == change.zone }) ?? true
        else { return nil }
        func matches(_ record: Record?) -> Bool {
            guard let record, record.recordType == type else { return false }
            return held.condition.map { $0.holds(record) == true } ?? true
        }
        let (isMatch, wasMatch) = (matches(change.new), matches(change.old))
        let reason: Int
        switch (change.old, change.new) {
        case (nil, _):
            guard isMatch, options.contains(.firesOnRecordCreation) else { return nil }
            reason = 1
        case (_, nil):
            guard wasMatch, options.contains(.firesOnRecordDeletion) else { return nil }
            reason = 3
        default:
            let fires =
                isMatch
                ? options.contains(.firesOnRecordUpdate)
                : wasMatch && options.contains(.firesOnRecordUnmatched)
            guard fires else { return nil }
            reason = 2
        }
        guard let record = change.new ?? change.old else { return nil }
        let info = held.subscription.notificationInfo
        var item = Item(
            line: Self.line(
                held.subscription.subscriptionID, reason, record.recordID, change.database))
        for key in info?.desiredKeys ?? [] { item.values[key] = record[key] }
        item.badges = info?.shouldBadge ?? false
        item.once = options.contains(.firesOnce) ? "\(index)" : nil
        return item
    }
}

extension QueryGenerator {
    /// A query subscription, and what it asks; nil: nothing.
    ///
    /// - Parameter zone: the only one whose records it is to, at times.
    mutating func subscription(
        _ id: Subscription.ID, type: String, in zone: RecordZone.ID
    ) throws -> (Subscription, Condition?) {
        let condition =
            random.oneIn(8) ? nil : condition(depth: random.below(3), in: zone)
        var arguments: [RecordValue?] = []
        let text = condition?.text(&arguments) ?? "TRUEPREDICATE"
        var options = Subscription.QueryOptions.everyChange
        if random.oneIn(4) { options.remove(.firesOnRecordUpdate) }
        if random.oneIn(4) { options.remove(.firesOnRecordDeletion) }
        if random.oneIn(3) { options.insert(.firesOnRecordUnmatched) }
        let firesOnce = random.oneIn(5)
        if firesOnce { options.insert(.firesOnce) }
        var info: Subscription.NotificationInfo?
        if !random.oneIn(3) {
            info = bringing(
                ["counter", "text", "count", "size", "day", "place", "friend"].filter { _ in
                    random.oneIn(3)
                }.prefix(3).map { $0 })
            info?.shouldBadge = random.oneIn(2)
        }
        let subscription = Subscription(
            .query(
                try Query.Predicate(text, arguments: arguments), recordType: type,
                zoneID: firesOnce || random.oneIn(2) ? zone : nil, options: options),
            id: id, notificationInfo: info)
        return (subscription, condition)
    }
}
