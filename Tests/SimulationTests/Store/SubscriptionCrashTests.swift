import FoundationEssentials
import Stratus
import StratusJournal
import Support
import Testing

/// The power goes while notifications are made, read and marked: each change that was acknowledged
/// is told exactly once.
struct SubscriptionCrashTests {
    /// What a store tells its users.
    private struct Answers: Equatable {
        /// What was told, by user.
        var told: [String: [String]] = [:]
        var payloads: [String: [Data]] = [:]
        var badges: [String: Int] = [:]
        var subscriptions: [String: [Subscription]] = [:]
        /// The names of alice's records, with their values.
        var records: [String: RecordValue] = [:]
    }

    private struct State {
        /// How many calls of the disk were made by then.
        var call: Int
        var answers: Answers
        /// What the subscription to all records was told, as the calls say.
        var expected: [String]
    }

    private struct Work {
        var states: [State] = []
        var points: [CrashPoint] = []
        /// Alice's token after all of it.
        var token = ""

        /// What may be there after a crash at a call.
        func possible(at call: Int, _ durability: Container.Durability) -> ArraySlice<State> {
            let count = states.count { $0.call <= call }
            // What was acknowledged, or one commit more; without syncs also less.
            let first = durability == .full ? count - 1 : 0
            return states[first..<min(count + 1, states.count)]
        }
    }

    private static let users = ["alice", "bob"]
    private static let zone = RecordZone.ID(zoneName: "notes")
    private static let stepCount = 40

    private static func store(
        on disk: SimulatedDisk, _ durability: Container.Durability = .full
    ) -> SmallStore {
        var store = SmallStore(on: disk, seed: Campaign.seed)
        store.durability = durability
        return store
    }

    private static func record(_ name: String, _ number: Int, in zone: RecordZone.ID) -> Record {
        var record = Record(
            recordType: "Note", recordID: Record.ID(recordName: name, zoneID: zone))
        record["n"] = .int64(Int64(number))
        record["text"] = .string(String(repeating: "x", count: 400))
        return record
    }

    private static func query(
        _ id: String, _ text: String, _ options: Subscription.QueryOptions
    ) throws -> Subscription {
        var info = Subscription.NotificationInfo()
        info.desiredKeys = ["n"]
        info.shouldBadge = true
        return Subscription(
            .query(
                try Query.Predicate(text), recordType: "Note", zoneID: nil, options: options),
            id: id, notificationInfo: info)
    }

    private static let everyChange: Subscription.QueryOptions = [
        .firesOnRecordCreation, .firesOnRecordUpdate, .firesOnRecordDeletion,
    ]

    private static func line(_ notification: StoreNotification) -> String {
        let name = notification.recordID?.recordName ?? notification.zoneID?.zoneName ?? ""
        let reason = notification.reason?.rawValue ?? 0
        return "\(notification.subscriptionID) \(notification.kind) \(reason) \(name)"
    }

    private static func items(
        of user: String, _ container: Container
    ) async throws -> [StoreNotification] {
        var items: [StoreNotification] = []
        var token: NotificationToken?
        var moreComing = true
        while moreComing {
            let page = try await container.notificationChanges(
                for: user, since: token, resultsLimit: 7)
            items += page.notifications
            token = page.notificationToken
            moreComing = page.moreComing
        }
        return items
    }

    private static func answers(_ container: Container) async throws -> Answers {
        var answers = Answers()
        for user in users {
            let items = try await items(of: user, container)
            answers.told[user] = items.map { line($0) + ($0.isRead ? " read" : "") }
            answers.payloads[user] = items.map { $0.payload() }
            answers.badges[user] = try await container.badge(for: user)
            answers.subscriptions[user] =
                try await container.privateDatabase(for: user).allSubscriptions()
                + container.publicDatabase(as: user).allSubscriptions()
        }
        var cursor: RecordPage.Cursor?
        repeat {
            let page = try await container.privateDatabase(for: "alice").records(
                inZoneWith: zone, from: cursor)
            for record in page.records {
                answers.records[record.recordID.recordName] = record["n"]
            }
            cursor = page.cursor
        } while cursor != nil
        return answers
    }
}

// The work.
extension SubscriptionCrashTests {
    private static func begin(_ container: Container) async throws {
        let database = container.privateDatabase(for: "alice")
        try await database.save(RecordZone(zoneID: zone))
        try await database.save(try query("all", "TRUEPREDICATE", everyChange))
        try await database.save(try query("some", "n > 20", everyChange))
        try await database.save(
            try query("once", "n = 9", [.firesOnRecordCreation, .firesOnRecordUpdate, .firesOnce]))
        try await database.save(Subscription(.zone(zone, recordType: nil), id: "zone"))
        try await container.publicDatabase(as: "bob").save(
            try query("public", "n != 3", everyChange))
    }

    /// One commit. Returns what it tells the subscription to all records.
    private static func change(
        _ container: Container, _ number: Int, _ known: inout Set<String>
    ) async throws -> [String] {
        let database = container.privateDatabase(for: "alice")
        switch number % 8 {
        case 3:
            let name = "p\(number)"
            try await container.publicDatabase(as: "alice").save(
                record(name, number, in: .default))
            return []
        case 4:
            try await database.save(try query("some", "n > \(number)", everyChange))
            return []
        case 5:
            try await container.setBadge(number, for: "alice")
            return []
        case 6:
            let items = try await items(of: "alice", container)
            let unread = items.filter { $0.kind == .query && !$0.isRead }.prefix(2)
            _ = try await container.markNotificationsRead(unread.map { $0.id }, for: "alice")
            return []
        default:
            let names = (0..<4).map { "r\((number * 3 + $0) % 14)" }
            let gone = "r\((number * 3 + 7) % 14)"
            let result = try await database.modifyRecords(
                saving: names.map { record($0, number, in: zone) },
                deleting: [Record.ID(recordName: gone, zoneID: zone)], savePolicy: .allKeys)
            if let failure = result.partialFailure { throw failure }
            var told: [String] = []
            for name in names {
                told.append("all query \(known.insert(name).inserted ? 1 : 2) \(name)")
            }
            if known.remove(gone) != nil { told.append("all query 3 \(gone)") }
            return told
        }
    }

    private static func work(_ durability: Container.Durability) async throws -> Work {
        let disk = SimulatedDisk()
        let store = store(on: disk, durability)
        let first = try store.open()
        try await begin(first)
        try await first.close()
        disk.killProcesses()
        disk.keepsCrashPoints = true
        let container = try store.open()
        var work = Work()
        work.states.append(State(call: 0, answers: try await answers(container), expected: []))
        var known: Set<String> = []
        var expected: [String] = []
        for number in 0..<stepCount {
            expected += try await change(container, number, &known)
            // Reading makes no call that changes the disk.
            let call = disk.callCount
            work.states.append(
                State(call: call, answers: try await answers(container), expected: expected))
            if number % 7 == 6 { try await container.checkpoint() }
            if number % 13 == 12 { try await container.maintenance.compact() }
        }
        work.token = try await container.notificationChanges(for: "alice").notificationToken
            .description
        work.points = disk.crashPoints
        try await container.close()
        return work
    }

    /// Opens the store after a crash at `point` and looks at it. Returns what is wrong.
    private static func problem(
        after point: CrashPoint, seed: UInt64, of work: Work,
        _ durability: Container.Durability, isThorough: Bool
    ) async throws -> String? {
        let store = store(on: point.crashed(seed: seed), durability)
        var container = try store.open()
        let found = try await answers(container)
        let possible = work.possible(at: point.call, durability)
        guard let state = possible.first(where: { $0.answers == found }) else {
            return "another state"
        }
        let told = found.told["alice"]?.filter { $0.hasPrefix("all ") } ?? []
        let lines = told.map { $0.hasSuffix(" read") ? String($0.dropLast(5)) : $0 }
        guard lines == state.expected else { return "told \(lines), not \(state.expected)" }
        // It goes on from there, and a token from what was lost is refused or leads there.
        let names = ["new0", "new1"]
        for name in names {
            try await container.privateDatabase(for: "alice").save(record(name, 12, in: zone))
        }
        do throws(StoreError) {
            let page = try await container.notificationChanges(
                for: "alice", since: NotificationToken(work.token))
            let lines = page.notifications.map(line)
            let isComplete = names.allSatisfy { lines.contains("all query 1 \($0)") }
            if !isComplete { return "a token from before skips: \(lines)" }
        } catch {
            guard error.code == .changeTokenExpired else { throw error }
        }
        let next = try await answers(container)
        let more = (next.told["alice"] ?? []).filter { $0.hasPrefix("all ") }
        guard Array(more.prefix(told.count)) == told, more.count == told.count + names.count else {
            return "goes on with \(more)"
        }
        guard isThorough else { return nil }
        try await container.close()
        let findings = try store.verification().findings.filter { $0.severity == .damage }
        if !findings.isEmpty { return "\(findings)" }
        try store.loseIndex()
        container = try store.open()
        let rebuilt = try await answers(container)
        try await container.close()
        return rebuilt == next ? nil : "another state with an index made anew"
    }

    @Test(arguments: [Container.Durability.full, .none])
    func `after a crash at any call each change that is there is told exactly once`(
        durability: Container.Durability
    ) async throws {
        let work = try await Self.work(durability)
        #expect(work.points.count > Self.stepCount)
        let last = try #require(work.states.last)
        #expect(last.expected.count > 80)
        let told = last.answers.told["alice"] ?? []
        #expect(told.contains { $0.hasPrefix("once ") } && told.contains { $0.hasSuffix(" read") })
        #expect(last.answers.told["bob"]?.isEmpty == false)
        var problems: [String] = []
        var random = SeededGenerator(seed: Campaign.seed)
        for number in 0..<Campaign.subscriptionCrashes where problems.count < 5 {
            let point = work.points[random.below(work.points.count)]
            let seed = random.next()
            do {
                let problem = try await Self.problem(
                    after: point, seed: seed, of: work, durability, isThorough: number % 10 == 0)
                if let problem { problems.append("call \(point.call), seed \(seed): \(problem)") }
            } catch {
                problems.append("call \(point.call), seed \(seed): \(error)")
            }
        }
        #expect(problems == [])
    }
}

// Commits of several parts.
extension SubscriptionCrashTests {
    /// More than two parts.
    private static let longCount = 9000

    private static func longStore(on disk: SimulatedDisk) -> SmallStore {
        var store = store(on: disk)
        store.options.segmentLength = 1 << 20
        return store
    }

    /// How many records there are, and how often each was told.
    private static func counts(_ store: SmallStore) async throws -> (records: Int, told: [Int]) {
        let container = try store.open()
        let records = try await container.privateDatabase(for: "alice").recordCount(
            inZoneWith: zone)
        var told: [String: Int] = [:]
        var token: NotificationToken?
        var moreComing = true
        while moreComing {
            let page = try await container.notificationChanges(
                for: "alice", since: token, resultsLimit: 1000)
            for notification in page.notifications { told[line(notification), default: 0] += 1 }
            token = page.notificationToken
            moreComing = page.moreComing
        }
        try await container.close()
        return (records, Array(told.values))
    }

    @Test func `a long commit is told whole or not at all, wherever the power goes`()
        async throws
    {
        let disk = SimulatedDisk()
        let first = try Self.longStore(on: disk).open()
        let database = first.privateDatabase(for: "alice")
        try await database.save(RecordZone(zoneID: Self.zone))
        try await database.save(try Self.query("all", "TRUEPREDICATE", .firesOnRecordCreation))
        try await first.close()
        disk.killProcesses()
        disk.keepsCrashPoints = true
        let container = try Self.longStore(on: disk).open()
        let records = (0..<Self.longCount).map { number in
            var record = Record(
                recordType: "Note",
                recordID: Record.ID(recordName: "r\(number)", zoneID: Self.zone))
            record["n"] = .int64(Int64(number))
            return record
        }
        let result = try await container.privateDatabase(for: "alice").modifyRecords(
            saving: records)
        if let failure = result.partialFailure { throw failure }
        let points = disk.crashPoints
        #expect(!points.isEmpty)
        var outcomes: Set<Int> = []
        let stride = max(1, points.count / 12)
        for (number, point) in points.enumerated()
        where number % stride == 0 || number == points.count - 1 {
            let crashed = Self.longStore(
                on: point.crashed(seed: Campaign.seed &+ UInt64(number)))
            let (count, told) = try await Self.counts(crashed)
            outcomes.insert(count)
            #expect(told.count == count && told.allSatisfy { $0 == 1 }, "call \(point.call)")
        }
        #expect(outcomes.isSubset(of: [0, Self.longCount]) && outcomes.contains(Self.longCount))
        try await container.close()
    }
}
