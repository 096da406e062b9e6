import FoundationEssentials
import Stratus
import StratusEngine
import StratusJournal
import Support
import Testing

/// What zone and database subscriptions tell that have ended: `Formats/Notification.md`, "Zones and
/// databases", 6.
@Suite(.timeLimit(.minutes(20))) struct EndedSubscriptionTests {
    static let other = RecordZone.ID(zoneName: "other")

    private static func begin() async throws -> (container: Container, database: Database) {
        let (container, database) = try await makeDatabase()
        try await database.save(RecordZone(zoneID: other))
        return (container, database)
    }

    /// What the first page has of a listener of one of alice's devices.
    private static func heard(
        on device: String, in container: Container, since token: NotificationToken
    ) async throws -> [String] {
        let pages = container.notifications(for: "alice", device: device, since: token)
        let page = try await pages.first { _ in true }
        return (page?.notifications ?? []).map { $0.told }
    }

    /// How a subscription ends.
    enum End: CaseIterable {
        case deleted, ofAnotherType, ofAnotherZone, ofTheDatabase, ofQueries

        func end(_ id: Subscription.ID, in database: Database) async throws {
            switch self {
            case .deleted: try await database.deleteSubscription(withID: id)
            case .ofAnotherType:
                try await database.save(Subscription(.zone(notes, recordType: "Page"), id: id))
            case .ofAnotherZone:
                try await database.save(Subscription(.zone(other, recordType: nil), id: id))
            case .ofTheDatabase:
                try await database.save(Subscription(.database(recordType: "Page"), id: id))
            case .ofQueries: try await database.save(querySubscription(id, type: "Page"))
            }
        }
    }

    @Test(arguments: End.allCases)
    func `what it had to tell is told, and no later change`(end: End) async throws {
        let (container, database) = try await Self.begin()
        let token = try await container.notificationToken()
        try await database.save(Subscription(.zone(notes, recordType: nil), id: "z"))
        try await database.save(note("a"))
        try await end.end("z", in: database)
        try await database.save(note("b"))
        var page = try await FollowedNotifications(of: container, since: token)
        #expect(page.told == ["z zone notes"])
        #expect(page.items.first?.zoneID == notes && page.items.first?.databaseScope == .private)
        // Once.
        page = try await FollowedNotifications(of: container, since: page.token)
        #expect(page.told == [])
        // Without a token all is told that is kept.
        #expect(try await container.told() == ["z zone notes"])
        let id = try #require(try await FollowedNotifications(of: container).items.first).id
        let result = try await container.markNotificationsRead([id], for: "alice")
        #expect(result[id]?.code == nil && result.count == 1)
        let items = try await FollowedNotifications(of: container).items
        #expect(items.first { $0.id == id }?.isRead == true)
    }

    @Test func `what was told before it ended is not told again`() async throws {
        let (container, database) = try await Self.begin()
        try await database.save(Subscription(.database(recordType: nil), id: "d"))
        try await database.save(note("a"))
        let page = try await FollowedNotifications(of: container)
        #expect(page.told == ["d database notes"])
        try await database.save(note("b", in: Self.other))
        try await database.deleteSubscription(withID: "d")
        #expect(try await container.told(since: page.token) == ["d database other"])
        // One that never had anything to tell leaves nothing.
        try await database.save(Subscription(.database(recordType: nil), id: "e"))
        try await database.deleteSubscription(withID: "e")
        #expect(try await container.told(since: page.token) == ["d database other"])
    }

    @Test func `it stands in pages where the zones changed, whatever their size`() async throws {
        let (container, database) = try await Self.begin()
        try await database.save(querySubscription("q"))
        try await database.save(Subscription(.database(recordType: nil), id: "d"))
        try await database.save(Subscription(.database(recordType: "Note"), id: "n"))
        let token = try await container.notificationToken()
        try await database.save(note("a", in: Self.other))
        try await database.save(note("b"))
        try await database.save(note("c", in: .default))
        let living = try await container.told(since: token)
        #expect(living.count == 7)
        let first = try await container.notificationChanges(
            for: "alice", since: token, resultsLimit: 3)
        for id in ["d", "n"] { try await database.deleteSubscription(withID: id) }
        for limit in [1, 2, 3, 7, 8] {
            let page = try await FollowedNotifications(
                of: container, since: token, resultsLimit: limit)
            #expect(page.told == living, "pages of \(limit)")
        }
        // Who had read some gets the others.
        let rest = try await FollowedNotifications(
            of: container, since: first.notificationToken, resultsLimit: 1)
        #expect(first.notifications.map { $0.told } + rest.told == living)
    }

    @Test func `what a deletion of the zone had to tell stays, too`() async throws {
        let (container, database) = try await Self.begin()
        try await database.save(Subscription(.zone(notes, recordType: "Note"), id: "z"))
        try await database.save(Subscription(.database(recordType: nil), id: "d"))
        let token = try await container.notificationToken()
        try await database.deleteRecordZone(withID: notes)
        for id in ["z", "d"] { try await database.deleteSubscription(withID: id) }
        #expect(
            try await container.told(since: token).sorted() == ["d database notes", "z zone notes"])
        try await database.save(RecordZone(zoneID: notes))
        #expect(
            try await container.told(since: token).sorted() == ["d database notes", "z zone notes"])
    }

    @Test func `it lasts, whatever becomes of the index, and as long as others`() async throws {
        let time = SteppedTime()
        var store = DiskStore()
        store.options.clock = time.clock
        var container = try store.open()
        var alice = container.privateDatabase(for: "alice")
        try await alice.save(RecordZone(zoneID: notes))
        let start = try await container.notificationToken()
        try await alice.save(Subscription(.zone(notes, recordType: nil), id: "z"))
        try await alice.save(note("a"))
        try await alice.deleteSubscription(withID: "z")
        for _ in 0..<2 {
            #expect(try await container.told(since: start) == ["z zone notes"])
            try await container.maintenance.compact()
            try await container.checkpoint()
            #expect(try await StoreVerification(of: container).findings.isEmpty)
            try await container.close()
            try store.deleteIndex()
            container = try store.open(creating: false)
        }
        alice = container.privateDatabase(for: "alice")
        time.add(seconds: 31 * 86_400)
        try await alice.save(querySubscription("q"))
        try await alice.save(note("b"))
        #expect(try await container.told() == ["q created b"])
        let error = await failure {
            try await container.notificationChanges(for: "alice", since: start)
        }
        #expect(error.cause == .changeToken(.compacted))
        try await container.maintenance.compact()
        try await container.checkpoint()
        #expect(try await StoreVerification(of: container).findings.isEmpty)
        try await container.close()
    }

    @Test func `of more zones than an entry holds each is told once`() async throws {
        let (container, database) = try await makeDatabase()
        try await database.save(Subscription(.database(recordType: nil), id: "d"))
        let token = try await container.notificationToken()
        let count = ZoneNotificationsEntry.limit + 100
        for begin in stride(from: 0, to: count, by: 400) {
            let zones = (begin..<min(begin + 400, count)).map {
                RecordZone(zoneID: RecordZone.ID(zoneName: "zone\($0)"))
            }
            _ = try await database.modifyRecordZones(saving: zones, deleting: [])
        }
        let living = try await container.told(since: token)
        #expect(living.count == count)
        try await database.deleteSubscription(withID: "d")
        #expect(try await container.told(since: token) == living)
        // An entry counts as one, however much it tells.
        try await container.setNotificationPolicy(NotificationPolicy(count: 2))
        try await database.save(querySubscription("q"))
        try await database.save(note("a"))
        // The oldest went, and so the token from before them is good no more.
        let kept = try await container.told()
        #expect(kept.count == 101 && kept.last == "q created a")
        let error = await failure {
            try await container.notificationChanges(for: "alice", since: token)
        }
        #expect(error.cause == .changeToken(.compacted))
    }

    @Test func `the device that made the changes hears nothing of them`() async throws {
        let (container, pad) = try await Self.begin()
        let phone = container.privateDatabase(for: "alice", device: "phone")
        let token = try await container.notificationToken()
        try await pad.save(Subscription(.database(recordType: nil), id: "d"))
        try await pad.save(querySubscription("q", type: "End"))
        try await phone.save(note("b", in: Self.other))
        try await pad.save(note("c", in: Self.other))
        try await phone.save(note("a"))
        try await pad.deleteSubscription(withID: "d")
        try await pad.save(note("end", type: "End", in: .default))
        var heard = try await Self.heard(on: "phone", in: container, since: token)
        #expect(heard == ["d database other", "q created end"])
        // The latest of each subscription.
        heard = try await Self.heard(on: "tablet", in: container, since: token)
        #expect(heard == ["d database notes", "q created end"])
        #expect(
            try await container.told(since: token)
                == ["d database other", "d database notes", "q created end"])
    }

    @Test func `a zone that was made anew is told to other devices than the one that did it`()
        async throws
    {
        let (container, pad) = try await Self.begin()
        let phone = container.privateDatabase(for: "alice", device: "phone")
        let token = try await container.notificationToken()
        try await pad.save(Subscription(.zone(notes, recordType: "Note"), id: "z"))
        try await pad.save(querySubscription("q", type: "End"))
        try await phone.deleteRecordZone(withID: notes)
        try await phone.save(RecordZone(zoneID: notes))
        try await pad.deleteSubscription(withID: "z")
        try await pad.save(note("end", type: "End", in: .default))
        for (device, lines) in [
            ("phone", ["q created end"]), ("tablet", ["z zone notes", "q created end"]),
        ] {
            let heard = try await Self.heard(on: device, in: container, since: token)
            #expect(heard == lines, "\(device)")
        }
    }

    @Test func `one that goes on, whatever it says, ends with all that it had to tell`()
        async throws
    {
        let (container, database) = try await Self.begin()
        let token = try await container.notificationToken()
        try await database.save(Subscription(.database(recordType: nil), id: "d"))
        try await database.save(note("a"))
        for text in ["one", "two", "three"] {
            var subscription = Subscription(.database(recordType: nil), id: "d")
            var info = Subscription.NotificationInfo()
            info.alertBody = text
            subscription.notificationInfo = info
            try await database.save(subscription)
        }
        try await database.save(note("b", in: Self.other))
        #expect(try await container.told(since: token) == ["d database notes", "d database other"])
        try await database.deleteSubscription(withID: "d")
        #expect(try await container.told(since: token) == ["d database notes", "d database other"])
    }

    /// The commit before it in its group is not in the feed yet.
    @Test(arguments: [false, true])
    func `what is committed in the moment when it ends is told`(isShared: Bool) async throws {
        let storage = GatedStorage()
        let (container, alice) = try await makeDatabase(on: storage)
        var database = alice
        if isShared {
            var share = Share(recordZoneID: notes)
            share.publicPermission = .readWrite
            let result = try await alice.modifyRecords(saving: [share.record])
            let saved = Share(try #require(try result.saveResults[share.recordID]?.get()))
            try await container.acceptShare(try #require(saved?.shortGUID), as: "bob")
            database = container.sharedDatabase(for: "bob")
        }
        try await database.save(Subscription(.database(recordType: nil), id: "d"))
        try await alice.save(note("blocking", in: .default))
        let user = isShared ? "bob" : "alice"
        let token = try await container.notificationToken(of: user)
        storage.shut()
        let blocking = Task {
            try await alice.save(
                note("blocking", ["n": 1], in: .default), savePolicy: .changedKeys)
        }
        while !storage.isWaiting { await Task.yield() }
        let save = Task { try await alice.save(note("a")) }
        try await Task.sleep(for: .milliseconds(20))
        let end = Task { [database] in try await database.deleteSubscription(withID: "d") }
        try await Task.sleep(for: .milliseconds(20))
        storage.open()
        _ = try await (blocking.value, save.value, end.value)
        #expect(try await container.told(to: user, since: token) == ["d database notes"])
        try await container.close()
    }
}
