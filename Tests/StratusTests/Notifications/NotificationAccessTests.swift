import Stratus
import Support
import Testing

/// Zones and databases, and who is told what at the time of reading: semantics 6.1.
@Suite(.timeLimit(.minutes(20))) struct NotificationAccessTests {
    private static let other = RecordZone.ID(zoneName: "other")

    private static func begin() async throws -> (container: Container, database: Database) {
        let (container, database) = try await makeDatabase()
        try await database.save(RecordZone(zoneID: other))
        return (container, database)
    }

    @Test func `a zone is told once however much has changed there, and again when more does`()
        async throws
    {
        let (container, database) = try await Self.begin()
        try await database.save(Subscription(.zone(notes, recordType: nil), id: "z"))
        try await database.save(Subscription(.database(recordType: nil), id: "d"))
        var token = try await container.notificationToken()
        for number in 0..<5 {
            try await database.save(note("r\(number)"))
            try await database.save(note("r\(number)", in: Self.other))
        }
        try await database.save(note("last"))
        var page = try await FollowedNotifications(of: container, since: token)
        #expect(
            page.told.sorted() == ["d database notes", "d database other", "z zone notes"])
        #expect(page.items.allSatisfy { $0.databaseScope == .private && $0.badge == nil })
        token = page.token
        #expect(try await container.told(since: token) == [])
        try await database.deleteRecord(withID: noteID("last"))
        page = try await FollowedNotifications(of: container, since: token)
        #expect(page.told.sorted() == ["d database notes", "z zone notes"])
        token = page.token
        // The default zone takes no part, nor do others' databases.
        try await database.save(note("a", in: .default))
        try await container.privateDatabase(for: "bob").save(RecordZone(zoneID: notes))
        try await container.privateDatabase(for: "bob").save(note("b"))
        try await container.publicDatabase(as: "alice").save(note("c", in: .default))
        #expect(try await container.told(since: token) == [])
        let made = RecordZone.ID(zoneName: "made")
        try await database.save(RecordZone(zoneID: made))
        #expect(try await container.told(since: token) == ["d database made"])
    }

    @Test func `pages of zones are complete, whatever their size`() async throws {
        let (container, database) = try await makeDatabase()
        try await database.save(Subscription(.database(recordType: nil), id: "d"))
        try await database.save(querySubscription("q"))
        let token = try await container.notificationToken()
        let zones = (0..<10).map { RecordZone.ID(zoneName: "zone\($0)") }
        for zone in zones { try await database.save(RecordZone(zoneID: zone)) }
        for zone in zones.reversed() + zones {
            try await database.save(note("a", in: zone), savePolicy: .allKeys)
        }
        let all = try await container.told(since: token)
        #expect(
            all.count == 30 && Set(all).subtracting(["q created a", "q updated a"]).count == 10)
        for limit in [1, 2, 3, 7, 29, 30, 31] {
            let pages = try await FollowedNotifications(
                of: container, since: token, resultsLimit: limit)
            #expect(pages.told == all, "pages of \(limit)")
        }
    }

    @Test func `a zone or database subscription with a type tells of that type only`()
        async throws
    {
        let (container, database) = try await Self.begin()
        try await database.save(Subscription(.zone(notes, recordType: "Page"), id: "z"))
        try await database.save(Subscription(.database(recordType: "Page"), id: "d"))
        var token = try await container.notificationToken()
        try await database.save(note("a"))
        try await database.save(note("b", type: "Page", in: Self.other))
        try await database.save(note("c", in: Self.other))
        var page = try await FollowedNotifications(of: container, since: token)
        #expect(page.told == ["d database other"])
        token = page.token
        try await database.save(note("d", in: Self.other))
        #expect(try await container.told(since: token) == [])
        // A deletion counts, and so do records that are gone by now.
        try await database.save(note("e", type: "Page"))
        try await database.deleteRecord(withID: noteID("e"))
        page = try await FollowedNotifications(of: container, since: token)
        #expect(page.told.sorted() == ["d database notes", "z zone notes"])
    }

    @Test func `with a type nothing is skipped, though other records of the zone came later`()
        async throws
    {
        let (container, database) = try await Self.begin()
        try await database.save(Subscription(.zone(notes, recordType: "Page"), id: "z"))
        try await database.save(querySubscription("q", in: Self.other))
        let token = try await container.notificationToken()
        // The zone's last change lies behind the first page, and is of another type.
        try await database.save(note("page", type: "Page"))
        try await database.saveAll((0..<3).map { note("r\($0)", in: Self.other) })
        try await database.save(note("last"))
        let expected = try await container.told(since: token).sorted()
        #expect(expected == ["q created r0", "q created r1", "q created r2", "z zone notes"])
        for limit in 1...4 {
            let pages = try await FollowedNotifications(
                of: container, since: token, resultsLimit: limit)
            #expect(pages.told.sorted() == expected, "pages of \(limit)")
        }
    }

    @Test func `a zone subscription tells of what comes after it, and ends with itself`()
        async throws
    {
        let (container, database) = try await Self.begin()
        let token = try await container.notificationToken()
        try await database.save(note("a"))
        try await database.save(Subscription(.zone(notes, recordType: nil), id: "z"))
        try await database.save(Subscription(.zone(Self.other, recordType: nil), id: "y"))
        #expect(try await container.told(since: token) == [])
        try await database.save(note("b"))
        try await database.save(note("c", in: Self.other))
        #expect(try await container.told(since: token) == ["z zone notes", "y zone other"])
        // Told otherwise, of the same zone: what is pending stays.
        var info = Subscription.NotificationInfo()
        info.alertBody = "new"
        try await database.save(
            Subscription(.zone(notes, recordType: nil), id: "z", notificationInfo: info))
        #expect(try await container.told(since: token) == ["z zone notes", "y zone other"])
        try await database.deleteSubscription(withID: "z")
        let last = try await FollowedNotifications(of: container, since: token)
        #expect(last.told == ["z zone notes", "y zone other"])
        try await database.save(note("d"))
        #expect(try await container.told(since: last.token) == [])
    }

    @Test func `a zone that is deleted is told to those who watch it`() async throws {
        let (container, database) = try await Self.begin()
        try await database.save(Subscription(.database(recordType: nil), id: "d"))
        try await database.save(Subscription(.zone(notes, recordType: nil), id: "z"))
        let token = try await container.notificationToken()
        try await database.save(note("a"))
        try await database.deleteRecordZone(withID: notes)
        let page = try await FollowedNotifications(of: container, since: token)
        #expect(Set(page.told) == ["d database notes", "z zone notes"])
        #expect(page.told.count == 2)
        #expect(try await container.told(since: page.token) == [])
        // The subscription goes on with the zone of the same name.
        try await database.save(RecordZone(zoneID: notes))
        let next = try await container.notificationToken()
        try await database.save(note("b"))
        #expect(
            try await container.told(since: next).sorted() == ["d database notes", "z zone notes"])
    }
}

// Access is decided when the notifications are read.
extension NotificationAccessTests {
    private static func declare(_ grants: String, in container: Container) async throws {
        try await container.importSchema(
            "DEFINE SCHEMA CREATE ROLE Curator; RECORD TYPE Note (n INT64\(grants));")
    }

    @Test func `a grant that is taken away takes the notifications along, until it is back`()
        async throws
    {
        let container = try Container.inMemory()
        let open = #", GRANT CREATE TO "_icloud", GRANT READ TO "_world""#
        try await Self.declare(open, in: container)
        for user in ["alice", "bob", "carol"] {
            try await container.publicDatabase(as: user).save(querySubscription("s"))
        }
        try await container.setRoles(["Curator"], of: "carol")
        let alice = container.publicDatabase(as: "alice")
        try await alice.save(note("a", ["n": 1], in: .default))
        func told() async throws -> [[String]] {
            var told: [[String]] = []
            for user in ["alice", "bob", "carol"] {
                told.append(try await container.told(to: user))
            }
            return told
        }
        #expect(try await told() == [["s created a"], ["s created a"], ["s created a"]])
        let own = #", GRANT CREATE TO "_icloud", GRANT READ TO "_creator", GRANT READ TO Curator"#
        try await Self.declare(own, in: container)
        #expect(try await told() == [["s created a"], [], ["s created a"]])
        // What is made meanwhile is for those who may read it when it is made, and when it is told.
        try await alice.save(note("b", ["n": 1], in: .default))
        try await container.setRoles([], of: "carol")
        #expect(try await told() == [["s created a", "s created b"], [], []])
        try await Self.declare(open, in: container)
        let all = ["s created a", "s created b"]
        #expect(try await told() == [all, ["s created a"], all])
    }

    @Test func `neither a badge nor the end of a subscription tells of what may not be read`()
        async throws
    {
        let container = try Container.inMemory()
        let own = #", GRANT CREATE TO "_icloud", GRANT READ TO "_creator""#
        try await Self.declare(own, in: container)
        let mallory = container.publicDatabase(as: "mallory")
        try await mallory.save(querySubscription("badge", info: badging))
        let once: Subscription.QueryOptions = [.firesOnRecordCreation, .firesOnce]
        try await mallory.save(querySubscription("once", .all, once))
        let alice = container.publicDatabase(as: "alice")
        try await alice.save(querySubscription("own", info: badging))
        try await alice.save(note("a", ["n": 1], in: .default))
        #expect(try await container.badge(for: "mallory") == 0)
        #expect(
            try await mallory.allSubscriptions().map { $0.subscriptionID } == ["badge", "once"])
        #expect(try await container.told(to: "mallory") == [])
        #expect(try await container.badge(for: "alice") == 1)
        try await mallory.save(note("b", ["n": 1], in: .default))
        #expect(try await container.badge(for: "mallory") == 1)
        #expect(try await mallory.allSubscriptions().map { $0.subscriptionID } == ["badge"])
    }

    @Test func `pages lead past what may not be read`() async throws {
        let container = try Container.inMemory()
        let own = #", GRANT CREATE TO "_icloud", GRANT READ TO "_creator""#
        try await Self.declare(own, in: container)
        let bob = container.publicDatabase(as: "bob")
        try await bob.save(querySubscription("s", type: "Page"))
        try await container.importSchema(
            """
            DEFINE SCHEMA CREATE ROLE Curator; RECORD TYPE Note (n INT64\(own));
            RECORD TYPE Page (n INT64, GRANT CREATE TO "_icloud", GRANT READ TO "_creator");
            """)
        let alice = container.publicDatabase(as: "alice")
        for number in 0..<40 {
            try await alice.save(note("a\(number)", ["n": 1], type: "Page", in: .default))
        }
        try await bob.save(note("b", ["n": 1], type: "Page", in: .default))
        for limit in [1, 7, 1000] {
            let pages = try await FollowedNotifications(
                of: container, for: "bob", resultsLimit: limit)
            #expect(pages.told == ["s created b"], "pages of \(limit)")
        }
    }

    @Test func `a zone that is purged takes its notifications along, and the tokens before it`()
        async throws
    {
        let store = DiskStore()
        var container = try store.open()
        var database = container.privateDatabase(for: "alice")
        for zone in [notes, Self.other] { try await database.save(RecordZone(zoneID: zone)) }
        try await database.save(querySubscription("s"))
        try await container.publicDatabase(as: "alice").save(querySubscription("p"))
        let token = try await container.notificationToken()
        let bobs = try await container.notificationToken(of: "bob")
        try await database.save(note("a"))
        try await container.publicDatabase(as: "bob").save(note("b", in: .default))
        try await database.save(note("c", in: Self.other))
        // One that was deleted before leaves nothing either.
        try await database.deleteRecordZone(withID: Self.other)
        try await container.purge(user: "alice")
        // The subscriptions stay.
        try await database.save(RecordZone(zoneID: notes))
        let between = try await container.notificationToken()
        try await database.save(note("d"))
        // An index that is made anew, also of a compacted journal, says the same.
        for _ in 0..<3 {
            #expect(try await container.told() == ["p created b", "s created d"])
            // Who begins behind the purge is not refused on the way.
            let pages = try await FollowedNotifications(of: container, resultsLimit: 1)
            #expect(pages.told == ["p created b", "s created d"] && pages.pageCount > 1)
            let error = await failure {
                try await container.notificationChanges(for: "alice", since: token)
            }
            #expect(error.code == .changeTokenExpired)
            #expect(error.cause == .changeToken(.compacted))
            #expect(try await container.told(since: between) == ["s created d"])
            #expect(try await container.told(to: "bob", since: bobs) == [])
            try await container.maintenance.compact()
            try await container.checkpoint()
            #expect(try await StoreVerification(of: container).findings.isEmpty)
            try await container.close()
            try store.deleteIndex()
            container = try store.open(creating: false)
            database = container.privateDatabase(for: "alice")
        }
        // A listener goes on, and is told that there was more.
        let page = try await container.notifications(for: "alice", since: token)
            .first { _ in true }
        #expect(page?.hasMore == true)
        try await container.close()
    }

    @Test func `a purge leaves nothing, though no zone was left`() async throws {
        let (container, database) = try await Self.begin()
        try await database.save(querySubscription("s"))
        try await container.publicDatabase(as: "alice").save(querySubscription("p"))
        let token = try await container.notificationToken()
        try await database.save(note("a"))
        try await container.publicDatabase(as: "bob").save(note("b", in: .default))
        for zone in try await database.allRecordZones() where !zone.zoneID.isDefault {
            try await database.deleteRecordZone(withID: zone.zoneID)
        }
        #expect(try await container.told().contains("s created a"))
        try await container.purge(user: "alice")
        #expect(try await container.told() == ["p created b"])
        let error = await failure {
            try await container.notificationChanges(for: "alice", since: token)
        }
        #expect(error.cause == .changeToken(.compacted))
        // Nor does another one find anything to purge.
        let after = try await container.notificationToken()
        try await container.purge(user: "alice")
        #expect(try await container.told(since: after) == [])
        #expect(try await StoreVerification(of: container).findings.isEmpty)
    }

    @Test(arguments: [nil, "Note"])
    func `a zone that is deleted and made anew is told as changed`(type: String?) async throws {
        let (container, database) = try await Self.begin()
        let phone = container.privateDatabase(for: "alice", device: "phone")
        try await database.save(Subscription(.zone(notes, recordType: type), id: "z"))
        try await database.save(Subscription(.database(recordType: type), id: "d"))
        try await database.save(querySubscription("q", type: "End"))
        let told = ["d database notes", "z zone notes"]
        var token = try await container.notificationToken()
        for number in 0..<3 {
            // More than once is once.
            for _ in 0...number {
                try await database.deleteRecordZone(withID: notes)
                try await phone.save(RecordZone(zoneID: notes))
            }
            let page = try await FollowedNotifications(of: container, since: token)
            #expect(page.told.sorted() == told)
            #expect(page.items.allSatisfy { $0.zoneID == notes })
            // The phone did not delete it.
            try await database.save(note("end\(number)", type: "End", in: .default))
            let heard = try await container.notifications(
                for: "alice", device: "phone", since: token
            ).first { _ in true }
            #expect(heard?.notifications.map { $0.told }.sorted().prefix(1) == ["d database notes"])
            token = try await container.notificationToken()
            #expect(try await container.told(since: token) == [])
        }
        // What it deleted and made itself it does not hear of.
        try await phone.deleteRecordZone(withID: notes)
        try await phone.save(RecordZone(zoneID: notes))
        try await database.save(note("end", type: "End", in: .default))
        let heard = try await container.notifications(for: "alice", device: "phone", since: token)
            .first { _ in true }
        #expect(heard?.notifications.map { $0.told } == ["q created end"])
    }
}

// What others share.
extension NotificationAccessTests {
    /// Bob, with a subscription to what is shared with him.
    private static func shared(
        zoneWide: Bool = false
    ) async throws -> (fixture: SharingFixture, share: Share) {
        let (fixture, share) =
            try await zoneWide ? SharingFixture.zoneWide() : SharingFixture.shared()
        try await fixture.bob.save(Subscription(.database(recordType: nil), id: "d"))
        return (fixture, share)
    }

    @Test(arguments: [false, true])
    func `a participant is told of the zones where what is shared has changed`(
        zoneWide: Bool
    ) async throws {
        let (fixture, _) = try await Self.shared(zoneWide: zoneWide)
        let container = fixture.container
        var token = try await container.notificationToken(of: "bob")
        try await fixture.alice.save(note("b", ["n": 10]), savePolicy: .changedKeys)
        try await fixture.alice.save(note("a", ["n": 11]), savePolicy: .changedKeys)
        var page = try await FollowedNotifications(of: container, for: "bob", since: token)
        #expect(page.told == ["d database notes"])
        let told = try #require(page.items.first)
        #expect(told.databaseScope == .shared && told.zoneID == fixture.zone)
        token = page.token
        #expect(try await container.told(to: "bob", since: token) == [])
        // What is not shared is told where all of the zone is.
        try await fixture.alice.save(note("out", ["n": 12]), savePolicy: .changedKeys)
        page = try await FollowedNotifications(of: container, for: "bob", since: token)
        #expect(page.told == (zoneWide ? ["d database notes"] : []))
        let written = NotificationToken(page.token.description)
        token = try #require(written)
        // A participant's own change is in the participant's collection, too.
        try await fixture.bob.save(fixture.newNote("new", under: "a"))
        page = try await FollowedNotifications(of: container, for: "bob", since: token)
        #expect(page.told == ["d database notes"])
        // The owner and others have no subscription.
        #expect(try await container.told(to: "alice") == [])
        #expect(try await container.told(to: "carol") == [])
    }

    @Test func `what ends before the first page is told, too`() async throws {
        let fixture = try await SharingFixture.family()
        let container = fixture.container
        let token = try await container.notificationToken(of: "bob")
        let share = try await fixture.share("root", with: ["bob"])
        try await fixture.accept(share, ["bob"])
        try await fixture.bob.save(Subscription(.database(recordType: nil), id: "d"))
        try await fixture.alice.deleteRecordZone(withID: notes)
        #expect(try await container.told(to: "bob", since: token) == ["d database notes"])
        #expect(try await container.told(to: "bob") == ["d database notes"])
    }

    @Test func `what a replaced subscription had to tell can be marked as read`() async throws {
        let (container, database) = try await Self.begin()
        try await database.save(Subscription(.zone(notes, recordType: nil), id: "z"))
        try await database.save(note("a"))
        var info = Subscription.NotificationInfo()
        info.alertBody = "new"
        try await database.save(
            Subscription(.zone(notes, recordType: nil), id: "z", notificationInfo: info))
        let told = try await container.notificationChanges(for: "alice").notifications
        #expect(told.count == 1)
        let id = try #require(told.first).id
        let result = try await container.markNotificationsRead([id], for: "alice")
        #expect(result[id]?.code == nil && result.count == 1)
        let again = try await container.notificationChanges(for: "alice").notifications
        #expect(again.first { $0.id == id }?.isRead == true)
    }

    @Test func `what becomes shared, and what ends, is told once`() async throws {
        let fixture = try await SharingFixture.family()
        let container = fixture.container
        try await fixture.bob.save(Subscription(.database(recordType: nil), id: "d"))
        var token = try await container.notificationToken(of: "bob")
        let share = try await fixture.share("root", with: ["bob"])
        // An invitation is no part yet.
        #expect(try await container.told(to: "bob", since: token) == [])
        try await fixture.accept(share, ["bob"])
        var page = try await FollowedNotifications(of: container, for: "bob", since: token)
        #expect(page.told == ["d database notes"])
        token = page.token
        try await fixture.alice.save(note("b", ["n": 10]), savePolicy: .changedKeys)
        let amid = token
        try await fixture.end(share)
        page = try await FollowedNotifications(of: container, for: "bob", since: amid)
        #expect(page.told == ["d database notes"])
        token = page.token
        try await fixture.alice.save(note("b", ["n": 11]), savePolicy: .changedKeys)
        #expect(try await container.told(to: "bob", since: token) == [])
    }

    @Test func `pages of what is shared are complete beside a user's own zones`() async throws {
        let (fixture, _) = try await Self.shared()
        let container = fixture.container
        let database = container.privateDatabase(for: "bob")
        try await database.save(RecordZone(zoneID: Self.other))
        try await database.save(Subscription(.database(recordType: nil), id: "own"))
        try await database.save(querySubscription("q"))
        let token = try await container.notificationToken(of: "bob")
        try await fixture.alice.save(note("a", ["n": 10]), savePolicy: .changedKeys)
        try await database.saveAll((0..<5).map { note("r\($0)", in: Self.other) })
        try await fixture.alice.save(note("b", ["n": 11]), savePolicy: .changedKeys)
        let all = try await container.told(to: "bob", since: token)
        let queries = (0..<5).map { "q created r\($0)" }
        #expect(all.sorted() == (queries + ["d database notes", "own database other"]).sorted())
        for limit in 1...8 {
            let pages = try await FollowedNotifications(
                of: container, for: "bob", since: token, resultsLimit: limit)
            #expect(pages.told.sorted() == all.sorted(), "pages of \(limit)")
            #expect(try await container.told(to: "bob", since: pages.token) == [])
        }
    }
}
