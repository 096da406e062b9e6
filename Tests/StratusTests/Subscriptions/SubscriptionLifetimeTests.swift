import FoundationEssentials
import Stratus
import Support
import Synchronization
import Testing

/// Whose subscriptions are, and how long they last.
@Suite(.timeLimit(.minutes(240))) struct SubscriptionLifetimeTests {
    /// Beside how many commits of a writer subscriptions begin and end:
    /// STRATUS_SUBSCRIPTION_COMMITS.
    private static let commits =
        ProcessInfo.processInfo.environment["STRATUS_SUBSCRIPTION_COMMITS"].flatMap { Int($0) }
        ?? 1000

    @Test func `subscriptions are of one user and one database, and of all the user's devices`()
        async throws
    {
        let container = try Container.inMemory()
        for user in ["alice", "bob"] {
            for place in [DatabaseKind.publicDatabase, .privateDatabase] {
                let predicate = try Query.Predicate("text = %@", user)
                try await place.database(of: container, for: user, device: "phone").save(
                    querySubscription("s", predicate))
            }
        }
        for user in ["alice", "bob"] {
            for place in [DatabaseKind.publicDatabase, .privateDatabase] {
                let found = try await place.database(of: container, for: user, device: "pad")
                    .allSubscriptions()
                #expect(found == [querySubscription("s", try .init("text = %@", user))])
            }
        }
        try await container.publicDatabase(as: "alice").deleteSubscription(withID: "s")
        #expect(try await container.publicDatabase(as: "alice").allSubscriptions() == [])
        #expect(try await container.publicDatabase(as: "bob").allSubscriptions().count == 1)
        #expect(try await container.privateDatabase(for: "alice").allSubscriptions().count == 1)
        #expect(try await container.publicDatabase(as: "carol").allSubscriptions() == [])
        // Each hears of what is its own.
        for user in ["alice", "bob"] {
            try await container.publicDatabase(as: "carol").save(
                note("of-\(user)", ["text": .string(user)], in: .default))
        }
        #expect(try await container.told(to: "alice") == [])
        #expect(try await container.told(to: "bob") == ["s created of-bob"])
        #expect(try await container.told(to: "carol") == [])
    }

    @Test func `an anonymous caller has no subscriptions, nor one without an account`()
        async throws
    {
        let container = try Container.inMemory()
        let anonymous = container.publicDatabase()
        let alice = container.publicDatabase(as: "alice")
        try await alice.save(querySubscription("s"))
        try await setProfile(of: "alice", in: container, accountStatus: .noAccount)
        for database in [anonymous, alice] {
            let errors = [
                await failure { try await database.save(querySubscription("t")) },
                await failure { try await database.deleteSubscription(withID: "s") },
                await failure { try await database.subscription(for: "s") },
                await failure { try await database.subscriptions(for: ["s"]) },
                await failure { try await database.allSubscriptions() },
                await failure {
                    try await database.modifySubscriptions(
                        saving: [querySubscription("t")], deleting: ["s"])
                },
            ]
            for (place, error) in errors.enumerated() {
                #expect(error.code == .notAuthenticated, "call \(place): \(error)")
            }
        }
        try await setProfile(of: "alice", in: container)
        #expect(try await alice.allSubscriptions() == [querySubscription("s")])
    }

    @Test func `all subscriptions come sorted by their identities`() async throws {
        let (_, database) = try await makeDatabase()
        for id in ["b", "a", "é", "B", "c", "10", "9"] {
            try await database.save(querySubscription(id))
        }
        let found = try await database.allSubscriptions().map { $0.subscriptionID }
        #expect(found == found.sorted() && Set(found).count == 7)
    }

    @Test func `a subscription hears of what comes after it, until it is gone`() async throws {
        let (container, database) = try await makeDatabase()
        try await database.save(note("before", ["n": 1]))
        try await database.save(querySubscription("s", try .init("n > 0")))
        try await database.save(note("amid", ["n": 1]))
        try await database.deleteSubscription(withID: "s")
        try await database.save(note("after", ["n": 1]))
        try await database.save(querySubscription("s", try .init("n > 0")))
        try await database.save(note("again", ["n": 1]))
        // What was heard while it lasted stays.
        #expect(try await container.told() == ["s created amid", "s created again"])
    }

    @Test func `a subscription that is replaced hears of what the new one says, and no more`()
        async throws
    {
        let (container, database) = try await makeDatabase()
        let other = RecordZone.ID(zoneName: "other")
        try await database.save(RecordZone(zoneID: other))
        let token = try await container.notificationToken()
        try await database.save(querySubscription("s", try .init("n = 1")))
        try await database.save(querySubscription("s", try .init("n = 2")))
        try await database.save(note("one", ["n": 1]))
        try await database.save(note("two", ["n": 2]))
        try await database.save(querySubscription("s", try .init("n = 2"), type: "Page"))
        try await database.save(note("three", ["n": 2]))
        try await database.save(note("four", ["n": 2], type: "Page"))
        try await database.save(
            querySubscription("s", try .init("n = 2"), in: other, .firesOnRecordDeletion))
        try await database.save(note("five", ["n": 2], in: other))
        try await database.deleteRecord(withID: noteID("two"))
        try await database.deleteRecord(withID: noteID("five", in: other))
        #expect(
            try await container.told(since: token)
                == ["s created two", "s created four", "s deleted five"])
        // Of another kind.
        try await database.save(Subscription(.zone(other, recordType: nil), id: "s"))
        let next = try await container.notificationToken()
        try await database.save(note("six", ["n": 2], in: other))
        try await database.deleteRecord(withID: noteID("six", in: other))
        #expect(try await container.told(since: next) == ["s zone other"])
        #expect(try await database.allSubscriptions().count == 1)
    }

    @Test func `subscriptions last, whatever becomes of the index`() async throws {
        let store = DiskStore()
        var container = try store.open()
        var database = container.privateDatabase(for: "alice")
        try await database.save(RecordZone(zoneID: notes))
        let sent = [
            querySubscription("a", try .init("text BEGINSWITH 'x'"), in: notes, info: badging),
            Subscription(.zone(notes, recordType: "Note"), id: "b"),
        ]
        for subscription in sent + [querySubscription("c"), querySubscription("d")] {
            try await database.save(subscription)
        }
        try await database.deleteSubscription(withID: "c")
        try await database.save(querySubscription("d", type: "Page"))
        let expected = sent + [querySubscription("d", type: "Page")]
        var told: [String] = []
        for round in 0..<4 {
            let record = note("r\(round)", ["text": .string(round % 2 == 0 ? "xy" : "yx")])
            try await database.save(record)
            if round % 2 == 0 { told.append("a created r\(round)") }
            if round == 1 {
                try await container.checkpoint()
                try await container.maintenance.compact()
            }
            try await container.close()
            if round == 2 { try store.deleteIndex() }
            container = try store.open()
            database = container.privateDatabase(for: "alice")
            #expect(try await database.allSubscriptions() == expected, "round \(round)")
            let items = try await FollowedNotifications(of: container).items
            #expect(items.filter { $0.kind == .query }.map { $0.told } == told, "round \(round)")
        }
        try await container.close()
        let reader = try store.openReadOnly()
        let past = reader.privateDatabase(for: "alice")
        #expect(try await past.allSubscriptions() == expected)
        let error = await failure { try await past.save(querySubscription("e")) }
        #expect(error.code == .permissionFailure)
        try await reader.close()
    }

    @Test func `saves at once of one identity leave one of them`() async throws {
        let (container, database) = try await makeDatabase()
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<20 {
                group.addTask {
                    let predicate = FieldKey<Int>("n") == number
                    _ = try? await database.save(querySubscription("s", predicate))
                }
            }
        }
        let found = try await database.allSubscriptions()
        #expect(found.count == 1)
        try await database.saveAll((0..<20).map { note("r\($0)", ["n": .int64(Int64($0))]) })
        #expect(try await container.told().count == 1)
    }

    @Test func `a save that was prepared before a subscription and comes behind it is heard of`()
        async throws
    {
        let storage = GatedStorage()
        let (container, database) = try await makeDatabase(on: storage)
        // Names and users are known: what follows needs no number, and is prepared by its caller.
        try await database.save(note("known", ["n": 1]))
        try await database.save(querySubscription("known", FieldKey<Int>("n") == 2))
        storage.shut()
        // While it waits for the disk, both are prepared against the state before it.
        let before = Task { try await database.save(note("before", ["n": 3])) }
        while !storage.isWaiting { await Task.yield() }
        let subscribing = Task {
            try await database.save(querySubscription("s", FieldKey<Int>("n") == 1))
        }
        try await Task.sleep(for: .milliseconds(20))
        let saving = Task { try await database.save(note("heard", ["n": 1])) }
        try await Task.sleep(for: .milliseconds(20))
        storage.open()
        _ = try await before.value
        _ = try await subscribing.value
        _ = try await saving.value
        let items = try await FollowedNotifications(of: container).items
        #expect(items.map { $0.recordID?.recordName } == ["heard"])
        #expect(items.map(\.subscriptionID) == ["s"])
        try await container.close()
    }

    /// When a subscription was there, beside a writer of `r0`, `r1` and so on.
    private struct Lifetime {
        /// The tag of a record that was saved before it began.
        var start: UInt64
        /// The tag of a record that was saved after it ended.
        var end: UInt64
        /// The first save that began after it.
        var first: Int
        /// The last save that was done before it ended.
        var last: Int
    }

    private static func tag(of record: Record) throws -> UInt64 {
        try #require(record.recordChangeTag.flatMap { UInt64($0) })
    }

    // Issue 20, "To be shown" 4.
    @Test func `a subscription applies to each commit after its own, and to none before`()
        async throws
    {
        let (container, database) = try await makeDatabase()
        let isDone = Mutex(false)
        let written = Mutex(0)
        let writer = Task {
            // So that a failure ends the waiting, too.
            defer { written.withLock { $0 += 1_000_000 } }
            while !isDone.withLock({ $0 }) {
                let number = written.withLock { $0 }
                try await database.save(note("r\(number)", ["n": 1]))
                written.withLock { $0 += 1 }
            }
        }
        var lifetimes: [Lifetime] = []
        var heard: [String: [String]] = [:]
        var token = try await container.notificationToken()
        while lifetimes.count < 30 || written.withLock({ $0 }) < Self.commits {
            let number = lifetimes.count
            let start = try await database.save(note("start\(number)", type: "Mark"))
            try await database.save(querySubscription("s\(number)", FieldKey<Int>("n") == 1))
            // The first of these may have begun before, the second has not.
            let first = written.withLock { $0 } + 1
            while written.withLock({ $0 }) <= first { await Task.yield() }
            let last = written.withLock { $0 } - 1
            try await database.deleteSubscription(withID: "s\(number)")
            let end = try await database.save(note("end\(number)", type: "Mark"))
            lifetimes.append(
                Lifetime(
                    start: try Self.tag(of: start), end: try Self.tag(of: end), first: first,
                    last: last))
            // All of them may be more than are kept.
            let new = try await FollowedNotifications(of: container, since: token)
            token = new.token
            for item in new.items {
                let name = try #require(item.recordID?.recordName)
                heard[item.subscriptionID, default: []].append(name)
            }
        }
        let count = written.withLock { $0 }
        isDone.withLock { $0 = true }
        try await writer.value
        #expect(count >= Self.commits)
        try await Self.check(lifetimes, heard, in: database)
    }

    private static func check(
        _ lifetimes: [Lifetime], _ heard: [String: [String]], in database: Database
    ) async throws {
        // By their tags records lie in the order of their commits.
        var written: [(name: String, tag: UInt64)] = []
        for record in try await database.allRecords(type: "Note") {
            written.append((record.recordID.recordName, try tag(of: record)))
        }
        written.sort { $0.tag < $1.tag }
        let places = Dictionary(
            uniqueKeysWithValues: written.enumerated().map { ($1.name, $0) })
        for (number, lifetime) in lifetimes.enumerated() {
            let own = try (heard["s\(number)"] ?? []).map { try #require(places[$0]) }
            let first = try #require(own.first, "s\(number)")
            // Without a gap from the first to the last.
            let between = Array(first..<first + own.count)
            try #require(own == between, "s\(number)")
            let (before, after) = (written[first].tag, written[first + own.count - 1].tag)
            #expect(before > lifetime.start && after < lifetime.end, "s\(number)")
            for name in ["r\(lifetime.first)", "r\(lifetime.last)"] {
                let place = try #require(places[name])
                #expect(own.contains(place), "s\(number), \(name)")
            }
        }
    }
}
