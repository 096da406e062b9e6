import FoundationEssentials
import Stratus
import Support

/// Random changes of a store whose users have subscriptions, beside a model, and readers that
/// follow the notifications at their own pace.
struct SubscriptionRun {
    private static let users = ["alice", "bob"]
    private static let zones = ["z0", "z1"]
    private static let types = ["T0", "T1"]
    private static let names = 14
    /// Page sizes, from the least to all at once.
    private static let limits: [Int?] = [1, 1, 2, 3, 7, 50, nil]
    private static let readerLimit = 10

    private let store: DiskStore
    private var container: Container
    private var queries: QueryGenerator
    private var model = SubscriptionModel()
    private var readers: [SubscriptionReader] = []
    private var marked: [String: Set<String>] = [:]
    private var counter = 0
    private(set) var step = 0
    private(set) var problems: [String] = []
    /// How many notifications readers have been given.
    private(set) var delivered = 0

    init(seed: UInt64) throws {
        queries = QueryGenerator(random: SeededGenerator(seed: seed))
        var store = DiskStore()
        store.durability = .none
        // The least there is: tables are written all the time.
        store.memoryLimit = 1 << 20
        self.store = store
        container = try store.open()
    }

    mutating func run(_ steps: Int) async throws {
        model.makeZone(RecordZone.ID.default.zoneName, in: .everyones)
        for user in Self.users {
            model.makeZone(RecordZone.ID.default.zoneName, in: .own(user))
            for zone in Self.zones { try await makeZone(zone, of: user) }
            readers.append(SubscriptionReader(of: user))
        }
        for number in 0..<steps where problems.isEmpty {
            step = number
            try await change()
            for _ in 0..<queries.random.below(3) { try await readOn() }
        }
        if problems.isEmpty { try await finish() }
    }

    private mutating func change() async throws {
        switch queries.random.below(1000) {
        case ..<420: try await saveRecords()
        case ..<540: try await deleteRecords()
        case ..<600: try await moveRecords()
        case ..<760: try await saveSubscription()
        case ..<800: try await deleteSubscription()
        case ..<830: try await setBadge()
        case ..<880: try await markRead()
        case ..<900: try await deleteOrMakeZone()
        case ..<930: try await addReader()
        case ..<960: try await check()
        default: try await maintain()
        }
    }

    private mutating func report(_ problem: String) {
        problems.append("step \(step): \(problem)")
    }

    private mutating func one<Element>(of values: [Element]) -> Element {
        values[queries.random.below(values.count)]
    }
}

// Changes of records.
extension SubscriptionRun {
    private func database(_ name: SubscriptionModel.DatabaseName, as user: String) -> Database {
        switch name {
        case .everyones: container.publicDatabase(as: user)
        case .own(let owner): container.privateDatabase(for: owner)
        }
    }

    /// A database, a zone of it that is there, and who makes a change there.
    private mutating func place() -> (
        database: SubscriptionModel.DatabaseName, zone: String, user: String
    ) {
        let user = one(of: Self.users)
        if queries.random.oneIn(3) { return (.everyones, RecordZone.ID.default.zoneName, user) }
        let zones = model.zones.keys.filter { $0.database == .own(user) }.map { $0.zone }.sorted()
        return (.own(user), one(of: zones), user)
    }

    private func records(
        in zone: String, of database: SubscriptionModel.DatabaseName
    ) async throws -> [Record] {
        try await self.database(database, as: Self.users[0]).allRecords(
            in: RecordZone.ID(zoneName: zone))
    }

    /// Tells the model what a call has made of a zone.
    private mutating func note(
        _ zones: [String], of database: SubscriptionModel.DatabaseName
    ) async throws {
        var changes: [SubscriptionModel.Change] = []
        for zone in zones {
            let records = try await records(in: zone, of: database)
            changes += model.changes(of: zone, in: database, to: records)
        }
        model.apply(changes)
    }

    private mutating func saveRecords() async throws {
        let (database, zone, user) = place()
        let zoneID = RecordZone.ID(zoneName: zone)
        let known = model.zones[SubscriptionModel.ZoneName(database: database, zone: zone)]
        var names: Set<String> = []
        var saves: [Record] = []
        for _ in 0...queries.random.below(6) {
            let name = "r\(queries.random.below(Self.names))"
            guard names.insert(name).inserted else { continue }
            let type = one(of: Self.types)
            var record =
                known?.records[name]
                ?? Record(recordType: type, recordID: noteID(name, in: zoneID))
            queries.fill(&record)
            counter += 1
            record["counter"] = .int64(Int64(counter))
            if !zoneID.isDefault { link(&record, zoneID) }
            saves.append(record)
        }
        // In an atomic zone the others fail with it.
        if queries.random.oneIn(6) {
            saves.append(
                Record(
                    recordType: "T0", recordID: noteID("unknown", in: zoneID),
                    recordChangeTag: "1"))
        }
        var deletes: [Record.ID] = []
        if queries.random.oneIn(4), let name = known?.records.keys.sorted().first,
            !names.contains(name)
        {
            deletes.append(noteID(name, in: zoneID))
        }
        _ = try await self.database(database, as: user).modifyRecords(
            saving: saves.shuffled(using: &queries.random), deleting: deletes)
        try await note([zone], of: database)
    }

    /// Gives a record something to go along with, or takes it away.
    private mutating func link(_ record: inout Record, _ zone: RecordZone.ID) {
        switch queries.random.below(6) {
        case 0:
            let target = noteID("r\(queries.random.below(Self.names))", in: zone)
            record["target"] = .reference(Reference(recordID: target, action: .deleteSelf))
        case 1: record["target"] = nil
        default: break
        }
    }

    private mutating func deleteRecords() async throws {
        let (database, zone, user) = place()
        let zoneID = RecordZone.ID(zoneName: zone)
        let ids = Set((0...queries.random.below(3)).map { _ in queries.random.below(Self.names) })
            .sorted().map { noteID("r\($0)", in: zoneID) }
        _ = try await self.database(database, as: user).modifyRecords(saving: [], deleting: ids)
        try await note([zone], of: database)
    }

    private mutating func moveRecords() async throws {
        let user = one(of: Self.users)
        let zones = Self.zones.filter { zone in
            model.zones[SubscriptionModel.ZoneName(database: .own(user), zone: zone)] != nil
        }.shuffled(using: &queries.random)
        guard zones.count == 2 else { return }
        let ids = Set((0...queries.random.below(3)).map { _ in queries.random.below(Self.names) })
            .sorted().map { noteID("r\($0)", in: RecordZone.ID(zoneName: zones[0])) }
        do throws(StoreError) {
            try await container.privateDatabase(for: user).moveRecords(
                ids, to: RecordZone.ID(zoneName: zones[1]))
        } catch {
            // It is not there, its name is taken there, or what it is linked to would stay.
            let codes: Set<StoreError.Code> = [
                .unknownItem, .serverRecordChanged, .referenceViolation,
            ]
            guard codes.contains(error.code) else { throw error }
        }
        try await note(zones, of: .own(user))
    }

    private mutating func makeZone(_ zone: String, of user: String) async throws {
        try await container.privateDatabase(for: user).save(RecordZone(zoneName: zone))
        model.makeZone(zone, in: .own(user))
    }

    private mutating func deleteOrMakeZone() async throws {
        let user = one(of: Self.users)
        let zone = one(of: Self.zones)
        let name = SubscriptionModel.ZoneName(database: .own(user), zone: zone)
        guard model.zones[name] != nil else { return try await makeZone(zone, of: user) }
        try await container.privateDatabase(for: user).deleteRecordZone(
            withID: RecordZone.ID(zoneName: zone))
        model.deleteZone(zone, of: .own(user))
        if queries.random.oneIn(2) { try await makeZone(zone, of: user) }
    }
}

// Subscriptions, badges and marks.
extension SubscriptionRun {
    private mutating func saveSubscription() async throws {
        let (database, zone, user) = place()
        let id = "s\(queries.random.below(8))"
        var (subscription, condition) = try queries.subscription(
            id, type: one(of: Self.types), in: RecordZone.ID(zoneName: zone))
        if database != .everyones, queries.random.oneIn(3) {
            condition = nil
            let type = queries.random.oneIn(2) ? one(of: Self.types) : nil
            let isZone = queries.random.oneIn(2) && zone != RecordZone.ID.default.zoneName
            subscription.kind =
                isZone
                ? .zone(RecordZone.ID(zoneName: zone), recordType: type)
                : .database(recordType: type)
        }
        try await self.database(database, as: user).save(subscription)
        model.save(subscription, condition, user, database)
    }

    private mutating func deleteSubscription() async throws {
        let (database, _, user) = place()
        let id = "s\(queries.random.below(8))"
        try await self.database(database, as: user).deleteSubscription(withID: id)
        model.remove(id, user, database)
    }

    private mutating func setBadge() async throws {
        let user = one(of: Self.users)
        let value = queries.random.below(5)
        try await container.setBadge(value, for: user)
        model.setBadge(value, of: user)
    }

    /// Marks some of what a reader was given, and what was not marked yet.
    private mutating func markRead() async throws {
        let reader = one(of: readers)
        let user = reader.user
        let page = try await container.notificationChanges(for: user)
        let living = Set(page.notifications.map { $0.id.description })
        let open = reader.delivered.filter {
            $0.kind == .query && living.contains($0.id.description)
                && marked[user]?.contains($0.id.description) != true
        }
        var ids: [NotificationIdentifier] = []
        for notification in open.shuffled(using: &queries.random).prefix(3)
        where !ids.contains(notification.id) {
            ids.append(notification.id)
        }
        guard !ids.isEmpty else { return }
        let results = try await container.markNotificationsRead(ids, for: user)
        for id in ids where results[id]?.code != nil || results[id] == nil {
            report("\(id) cannot be marked")
        }
        marked[user, default: []].formUnion(ids.map { $0.description })
        model.markRead(ids, by: user)
    }
}

// Reading.
extension SubscriptionRun {
    private mutating func addReader() async throws {
        let user = one(of: Self.users)
        if readers.count >= Self.readerLimit {
            // The first ones stay, so that each user has one.
            let first = Self.users.count
            readers.remove(at: first + queries.random.below(readers.count - first))
        }
        if queries.random.oneIn(2) {
            readers.append(SubscriptionReader(of: user))
        } else {
            let token = try await container.notificationToken(of: user)
            readers.append(SubscriptionReader(of: user, since: token, model))
        }
    }

    /// Lets a reader read some pages; at times the copy of one, which goes on from the same token.
    private mutating func readOn() async throws {
        let place = queries.random.below(readers.count)
        if readers.count < Self.readerLimit, queries.random.oneIn(8) {
            readers.append(readers[place])
        }
        let pages = queries.random.oneIn(3) ? Int.max : 1 + queries.random.below(3)
        try await read(place, pages)
    }

    private mutating func read(_ place: Int, _ pages: Int) async throws {
        var left = pages
        while left > 0, problems.isEmpty {
            left -= 1
            let limit = one(of: Self.limits)
            var reader = readers[place]
            let before = reader.delivered.count
            let hasMore = try await reader.read(container, limit: limit, model)
            readers[place] = reader
            delivered += reader.delivered.count - before
            for problem in reader.problems { report("\(reader.user): \(problem)") }
            if !hasMore { return }
        }
    }

    /// What there is of a user besides the notifications.
    private mutating func check() async throws {
        for user in Self.users {
            for database in [SubscriptionModel.DatabaseName.everyones, .own(user)] {
                let found = try await self.database(database, as: user).allSubscriptions()
                let expected = model.held.filter { $0.user == user && $0.database == database }
                    .map { $0.subscription }.sorted { $0.subscriptionID < $1.subscriptionID }
                if found != expected { report("\(user) has \(found), not \(expected)") }
            }
            let badge = try await container.badge(for: user)
            if badge != model.badges[user] ?? 0 {
                report("\(user) has the badge \(badge), not \(model.badges[user] ?? 0)")
            }
        }
    }

    /// Reads the collection of a user from the beginning.
    private mutating func checkFromTheBeginning() async throws {
        for user in Self.users {
            var reader = SubscriptionReader(of: user)
            let limit = one(of: Self.limits)
            while try await reader.read(container, limit: limit, model) {}
            for problem in reader.problems { report("\(user), from the beginning: \(problem)") }
            for notification in reader.delivered where notification.kind == .query {
                let isRead = marked[user]?.contains(notification.id.description) ?? false
                if notification.isRead != isRead { report("\(notification.told): \(!isRead)") }
            }
        }
    }

    /// All come to the end, and so do new ones, also where the index was made anew.
    private mutating func finish() async throws {
        for round in 0..<2 {
            for place in readers.indices { try await read(place, .max) }
            try await check()
            try await checkFromTheBeginning()
            if round == 0 { try await reopen(deletesIndex: true) }
        }
        try await container.close()
    }
}

// The store itself.
extension SubscriptionRun {
    private mutating func maintain() async throws {
        switch queries.random.below(10) {
        case ..<3: try await container.checkpoint()
        case ..<6: try await compact()
        case 6: try await checkFromTheBeginning()
        case 7: try await reopen(deletesIndex: true)
        default: try await reopen(deletesIndex: false)
        }
    }

    private func compact() async throws {
        do throws(StoreError) {
            try await container.maintenance.compact()
        } catch {
            // The store does it by itself at the time.
            guard error.code == .serviceUnavailable else { throw error }
        }
    }

    private mutating func reopen(deletesIndex: Bool) async throws {
        try await container.close()
        if deletesIndex { try store.deleteIndex() }
        container = try store.open()
        try await check()
    }
}
