import Stratus
import StratusEngine
import StratusJournal
import Testing

// What others share.
extension EndedSubscriptionTests {
    @Test func `what it had to tell of shared zones is told`() async throws {
        let (fixture, _) = try await SharingFixture.shared()
        let container = fixture.container
        try await fixture.bob.save(Subscription(.database(recordType: nil), id: "d"))
        let token = try await container.notificationToken(of: "bob")
        try await fixture.alice.save(note("b", ["n": 10]), savePolicy: .changedKeys)
        try await fixture.bob.deleteSubscription(withID: "d")
        try await fixture.alice.save(note("b", ["n": 11]), savePolicy: .changedKeys)
        for limit in [1, 1000] {
            let page = try await FollowedNotifications(
                of: container, for: "bob", since: token, resultsLimit: limit)
            #expect(page.told == ["d database notes"])
            #expect(page.items.first?.databaseScope == .shared)
            #expect(page.items.first?.zoneID == fixture.zone)
            #expect(try await container.told(to: "bob", since: page.token) == [])
        }
        #expect(try await container.told(to: "bob") == ["d database notes"])
    }

    @Test func `beside another one each zone is told to both`() async throws {
        let (fixture, _) = try await SharingFixture.shared()
        let container = fixture.container
        let bobs = container.privateDatabase(for: "bob")
        try await bobs.save(querySubscription("q"))
        try await fixture.bob.save(Subscription(.database(recordType: nil), id: "d"))
        try await fixture.bob.save(Subscription(.database(recordType: nil), id: "e"))
        let token = try await container.notificationToken(of: "bob")
        try await bobs.save(note("own", in: .default))
        try await fixture.alice.save(note("b", ["n": 10]), savePolicy: .changedKeys)
        // Which page of one has no room for what is shared.
        let first = try await container.notificationChanges(
            for: "bob", since: token, resultsLimit: 1)
        #expect(first.notifications.map { $0.told } == ["q created own"] && first.moreComing)
        try await fixture.bob.deleteSubscription(withID: "d")
        for start in [token, first.notificationToken] {
            for limit in [1, 2, 1000] {
                let page = try await FollowedNotifications(
                    of: container, for: "bob", since: start, resultsLimit: limit)
                let shared = page.told.filter { $0 != "q created own" }
                #expect(shared.sorted() == ["d database notes", "e database notes"])
                #expect(try await container.told(to: "bob", since: page.token) == [])
            }
        }
    }

    @Test func `it may have ended while a page had no room for it`() async throws {
        let (fixture, _) = try await SharingFixture.shared()
        let container = fixture.container
        let bobs = container.privateDatabase(for: "bob")
        try await bobs.save(querySubscription("q"))
        try await fixture.bob.save(Subscription(.database(recordType: nil), id: "d"))
        let token = try await container.notificationToken(of: "bob")
        try await fixture.alice.save(note("b", ["n": 10]), savePolicy: .changedKeys)
        for number in 0..<3 {
            try await bobs.save(note("own\(number)", in: .default))
            // Between notifications that pages end with.
            if number == 0 { try await fixture.bob.deleteSubscription(withID: "d") }
        }
        let page = try await FollowedNotifications(
            of: container, for: "bob", since: token, resultsLimit: 1)
        let own = (0..<3).map { "q created own\($0)" }
        #expect(page.told == [own[0], "d database notes"] + own[1...])
        #expect(try await container.told(to: "bob", since: page.token) == [])
    }

    @Test func `it is told though its zone changed again before the end of the round`() async throws
    {
        let (fixture, _) = try await SharingFixture.shared()
        let (container, alice) = (fixture.container, fixture.alice)
        try await alice.save(RecordZone(zoneID: Self.other))
        let root = note("x", in: Self.other)
        var share = Share(rootRecord: root)
        try share.addParticipant(fixture.participant("bob"))
        share = try await fixture.save(share, with: [root])
        try await fixture.accept(share, ["bob"])
        for id in ["a", "b"] {
            try await fixture.bob.save(Subscription(.database(recordType: nil), id: id))
        }
        let token = try await container.notificationToken(of: "bob")
        func change(to number: Int64) async throws {
            let fields = ["n": RecordValue.int64(number)]
            for record in [note("b", fields), note("x", fields, in: Self.other)] {
                try await alice.save(record, savePolicy: .changedKeys)
            }
        }
        try await change(to: 1)
        let first = try await container.notificationChanges(
            for: "bob", since: token, resultsLimit: 1)
        #expect(first.moreComing)
        let known = first.notifications.first { $0.subscriptionID == "a" }
        #expect(known?.zoneID == fixture.zone && first.notifications.count == 2)
        try await fixture.bob.deleteSubscription(withID: "a")
        try await change(to: 2)
        let rest = try await FollowedNotifications(
            of: container, for: "bob", since: first.notificationToken, resultsLimit: 1)
        // What the first page told is told again, since the round had not ended.
        #expect(rest.told.filter { $0.hasPrefix("a") } == ["a database notes", "a database other"])
        let again = rest.items.filter { $0.subscriptionID == "a" && $0.zoneID == fixture.zone }
        #expect(again.map { $0.id } == [known?.id])
        #expect(
            Set(rest.told.filter { $0.hasPrefix("b") }) == ["b database notes", "b database other"])
        #expect(try await container.told(to: "bob", since: rest.token) == [])
    }

    /// Formats/Record.md, "Zone notifications": other commits wait while it ends.
    @Test(arguments: [1000, 5000])
    func `of which type many changes were is not looked up`(count: Int) async throws {
        let (fixture, _) = try await SharingFixture.zoneWide()
        try await fixture.alice.save(note("page", type: "Page", in: .default))
        try await fixture.bob.save(Subscription(.database(recordType: "Page"), id: "d"))
        let token = try await fixture.container.notificationToken(of: "bob")
        try await fixture.alice.saveAll((0..<count).map { note("r\($0)") })
        #expect(try await fixture.container.told(to: "bob", since: token) == [])
        try await fixture.bob.deleteSubscription(withID: "d")
        #expect(
            try await fixture.container.told(to: "bob", since: token)
                == (count < 4096 ? [] : ["d database notes"]))
    }

    @Test func `it is told, too, of a zone in which no part of the user is known any more`()
        async throws
    {
        var world = try await ParticipationWorld()
        let bob = world.container.sharedDatabase(for: "bob")
        try await world.container.registerDevice(pushDevice(), for: "bob")
        let token = try await world.container.notificationToken(of: "bob")
        try await bob.save(Subscription(.database(recordType: nil), id: "d"))
        for zone in ["living", "ended"] { try await world.change(zone, to: 1) }
        try await bob.deleteSubscription(withID: "d")
        try await world.end()
        try await world.container.setDeletionPolicy(.none)
        for _ in 0..<2 { try await world.compact() }
        #expect(try await !world.zones(of: "bob").contains("ended"))
        let page = try await FollowedNotifications(
            of: world.container, for: "bob", since: token)
        #expect(page.told == ["d database living", "d database ended"])
        let marked = try await world.container.markNotificationsRead(
            page.items.map { $0.id }, for: "bob")
        #expect(marked.values.allSatisfy { $0.code == nil })
        try await world.reopen(steppedByCaller: false)
        let container = world.container
        let sender = TestSender { [alice = world.alice] _, _ in
            // Another commit, behind which it is asked again whether it may be sent.
            _ = try? await alice.save(note("beside", in: .default), savePolicy: .allKeys)
            return .delivered
        }
        try await delivering(container, through: sender) {
            await sender.wait(for: "d database ended")
        }
        #expect(sender.lines() == ["d database ended"])
        try await container.close()
    }
}
