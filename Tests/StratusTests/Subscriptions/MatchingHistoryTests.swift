import FoundationEssentials
import Stratus
import Support
import Testing

/// Matching and its fold, in many short histories: each has a record type and subscriptions of its
/// own, and one call takes a step of all of them, so that a history costs little beside them.
@Suite(.timeLimit(.minutes(240))) struct MatchingHistoryTests {
    /// How many histories are run: STRATUS_MATCHING_HISTORIES.
    private static let count =
        ProcessInfo.processInfo.environment["STRATUS_MATCHING_HISTORIES"].flatMap { Int($0) }
        ?? 10_000
    /// So many share a store.
    private static let storeSize = 500
    private static let stores = (count + storeSize - 1) / storeSize
    /// So many stores at the same time, one after the other each.
    private static let groups = min(stores, 32)

    @Test(arguments: 0..<groups)
    func `each history is told what its own subscriptions match, and is again from the journal`(
        group: Int
    ) async throws {
        for seed in stride(from: group, to: Self.stores, by: Self.groups) {
            var run = try MatchingRun(Self.storeSize, seed: UInt64(seed) + 12_000)
            do {
                try await run.run()
            } catch {
                Issue.record("seed \(seed): \(error)")
            }
            for problem in run.problems.prefix(3) { Issue.record("seed \(seed), \(problem)") }
            #expect(run.told.count > 2 * Self.storeSize, "seed \(seed)")
        }
    }
}

/// A store of histories that go on together, each beside a model of its own.
private struct MatchingRun {
    private static let steps = 10
    private static let zones = ["z0", "z1"]
    private static let names = 3
    private static let ids = 3
    private static let alices = SubscriptionModel.DatabaseName.own("alice")

    private let store: DiskStore
    private var container: Container
    private var queries: QueryGenerator
    private var histories: [SubscriptionModel]
    /// How many commits of each were compared.
    private var compared: [Int]
    private var token: NotificationToken?
    private var step = 0
    private(set) var told: [String] = []
    private(set) var problems: [String] = []

    init(_ count: Int, seed: UInt64) throws {
        queries = QueryGenerator(random: SeededGenerator(seed: seed))
        histories = Array(repeating: SubscriptionModel(), count: count)
        compared = Array(repeating: 0, count: count)
        var store = DiskStore()
        store.durability = .none
        self.store = store
        container = try store.open()
    }

    private var database: Database { container.privateDatabase(for: "alice") }

    mutating func run() async throws {
        for zone in Self.zones {
            try await database.save(RecordZone(zoneName: zone))
            for history in histories.indices { histories[history].makeZone(zone, in: Self.alices) }
        }
        for number in 0..<Self.steps where problems.isEmpty {
            step = number
            try await changeSubscriptions()
            try await changeRecords(in: Self.zones[queries.random.below(Self.zones.count)])
            try await compare()
        }
        try await container.close()
        try store.deleteIndex()
        container = try store.open()
        let again = try await container.told()
        if again != told { report("the journal tells \(again.count), not \(told.count)") }
        try await container.close()
    }

    private mutating func report(_ problem: String) {
        problems.append("step \(step): \(problem)")
    }
}

extension MatchingRun {
    private mutating func changeSubscriptions() async throws {
        var saves: [Subscription] = []
        var deletes: [Subscription.ID] = []
        for history in histories.indices where step == 0 || queries.random.oneIn(3) {
            let id = "\(history)-s\(queries.random.below(Self.ids))"
            if queries.random.oneIn(5) {
                guard histories[history].place(of: id, "alice", Self.alices) != nil else {
                    continue
                }
                histories[history].remove(id, "alice", Self.alices)
                deletes.append(id)
            } else {
                let zone = RecordZone.ID(
                    zoneName: Self.zones[queries.random.below(Self.zones.count)])
                let (subscription, condition) = try queries.subscription(
                    id, type: "T\(history)", in: zone)
                histories[history].save(subscription, condition, "alice", Self.alices)
                saves.append(subscription)
            }
        }
        let result = try await database.modifySubscriptions(saving: saves, deleting: deletes)
        for saved in result.saveResults.values { _ = try saved.get() }
        for deleted in result.deleteResults.values { try deleted.get() }
    }

    private mutating func changeRecords(in zone: String) async throws {
        let zoneID = RecordZone.ID(zoneName: zone)
        let place = SubscriptionModel.ZoneName(database: Self.alices, zone: zone)
        var saves: [Record] = []
        var deletes: [Record.ID] = []
        var former: [Record.ID: Record] = [:]
        for history in histories.indices {
            for name in (0..<Self.names).shuffled(using: &queries.random).prefix(2) {
                let id = noteID("\(history)-r\(name)", in: zoneID)
                former[id] = histories[history].zones[place]?.records[id.recordName]
                if former[id] != nil, queries.random.oneIn(4) {
                    deletes.append(id)
                } else {
                    var record = former[id] ?? Record(recordType: "T\(history)", recordID: id)
                    queries.fill(&record)
                    saves.append(record)
                }
            }
        }
        let result = try await database.modifyRecords(saving: saves, deleting: deletes)
        var changes: [[SubscriptionModel.Change]] = Array(repeating: [], count: histories.count)
        for record in saves {
            let saved = try result.saveResults[record.recordID]?.get()
            changes[Self.history(of: record.recordID.recordName)].append(
                SubscriptionModel.Change(
                    database: Self.alices, zone: zone, old: former[record.recordID], new: saved))
        }
        for id in deletes {
            try result.deleteResults[id]?.get()
            changes[Self.history(of: id.recordName)].append(
                SubscriptionModel.Change(
                    database: Self.alices, zone: zone, old: former[id], new: nil))
        }
        for (history, changes) in changes.enumerated() { histories[history].apply(changes) }
    }

    /// Of the name of a record or the ID of a subscription.
    private static func history(of name: String) -> Int {
        name.split(separator: "-").first.flatMap { Int($0) } ?? 0
    }

    /// What the last step tells, beside what the models say of it.
    private mutating func compare() async throws {
        let followed = try await FollowedNotifications(of: container, since: token)
        token = followed.token
        told += followed.told
        var found: [[StoreNotification]] = Array(repeating: [], count: histories.count)
        for notification in followed.items {
            found[Self.history(of: notification.subscriptionID)].append(notification)
        }
        for (history, notifications) in found.enumerated() {
            let groups = histories[history].groups["alice"] ?? []
            var open = groups.dropFirst(compared[history]).flatMap { $0.items }
            compared[history] = groups.count
            for notification in notifications {
                guard let id = notification.recordID else { return report("of no record") }
                let line = SubscriptionModel.line(
                    notification.subscriptionID, Int(notification.reason?.rawValue ?? 0), id,
                    Self.alices)
                guard let place = open.firstIndex(where: { $0.line == line }) else {
                    report("told: \(line)")
                    continue
                }
                let item = open.remove(at: place)
                if notification.recordFields != item.values {
                    report("\(line): \(notification.recordFields), not \(item.values)")
                }
                if let once = item.once { open.removeAll { $0.once == once } }
            }
            for item in open { report("not told: \(item.line)") }
        }
    }
}
