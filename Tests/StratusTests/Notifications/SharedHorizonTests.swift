import FoundationEssentials
import Stratus
import Synchronization
import Testing

/// Notifications of shared zones after compaction forgot that participations of the user ended:
/// `Formats/README.md`, "The shared database", 9.
@Suite(.timeLimit(.minutes(20))) struct SharedHorizonTests {
    /// Bob has a subscription to his shared database and one to notes of his own. Three of his
    /// participations ended after that and are forgotten. Three zones are still shared with him:
    /// `still` has not changed since the subscription, `quiet` changed before the others ended,
    /// `living` changed after they were forgotten.
    private struct Story {
        var world: ParticipationWorld
        /// Bob's token from before participations ended.
        let before: NotificationToken
        /// Bob's token from after they ended.
        let after: NotificationToken

        var container: Container { world.container }
    }

    private static func begin() async throws -> Story {
        var world = try await ParticipationWorld(others: ["still", "quiet"])
        try await world.container.sharedDatabase(for: "bob").save(
            Subscription(.database(recordType: nil), id: "d"))
        try await world.container.privateDatabase(for: "bob").save(querySubscription("q"))
        try await world.alice.save(querySubscription("a", type: "Page"))
        try await world.container.registerDevice(pushDevice("mac"), for: "alice")
        // The phone has a position from before, the pad was sent nothing yet.
        try await world.container.registerDevice(pushDevice("phone"), for: "bob")
        try await world.change("quiet", to: 1)
        try await world.reopen(steppedByCaller: false)
        try await sendFirst(in: world.container)
        try await world.container.registerDevice(pushDevice("pad"), for: "bob")
        try await world.reopen(steppedByCaller: true)
        let before = try await world.container.notificationToken(of: "bob")
        let seen = try await world.token(of: "bob")
        try await world.change("quiet", to: 2)
        try await world.end()
        let after = try await world.container.notificationToken(of: "bob")
        try await world.container.setDeletionPolicy(.none)
        // What a round forgets the next one may compact.
        for _ in 0..<2 { try await world.compact() }
        let bob = world.container.sharedDatabase(for: "bob")
        let error = await failure { try await bob.databaseChanges(since: seen) }
        #expect(error.cause == .changeToken(.compacted), "no participation is forgotten")
        try await world.change("living", to: 1)
        try await world.container.privateDatabase(for: "bob").save(note("own", in: .default))
        try await world.reopen(steppedByCaller: false)
        return Story(world: world, before: before, after: after)
    }

    private static func positions(in container: Container) async throws -> [UInt64] {
        try await container.deviceStates(for: "bob").map { $0.position }
    }

    /// Delivers until the position of bob's device is behind what it was sent.
    private static func sendFirst(in container: Container) async throws {
        let start = try await positions(in: container)
        let sender = TestSender()
        try await delivering(container, through: sender) {
            while try await positions(in: container) == start { await Task.yield() }
        }
        #expect(sender.lines() == ["d database quiet"])
    }

    @Test func `without a token each zone is told that changed and is still shared`()
        async throws
    {
        let story = try await Self.begin()
        // Of two of his own a page of one is full before it comes to what is shared.
        try await story.container.privateDatabase(for: "bob").save(note("more", in: .default))
        let due = ["d database living", "d database quiet", "q created more", "q created own"]
        for limit in [1, 2, 1000] {
            let pages = try await FollowedNotifications(
                of: story.container, for: "bob", resultsLimit: limit)
            #expect(pages.told.sorted() == due, "pages of \(limit)")
            #expect(try await story.container.told(to: "bob", since: pages.token) == [])
        }
        try await story.container.close()
    }

    @Test func `a token from before the forgotten participations is expired, a later one is not`()
        async throws
    {
        let story = try await Self.begin()
        let error = await failure {
            try await story.container.notificationChanges(for: "bob", since: story.before)
        }
        #expect(error.code == .changeTokenExpired && error.cause == .changeToken(.compacted))
        let told = try await story.container.told(to: "bob", since: story.after)
        #expect(told == ["q created own", "d database living"])
        try await story.container.close()
    }

    @Test func `a listener with an older token continues and says that there is more`()
        async throws
    {
        let story = try await Self.begin()
        var pages = story.container.notifications(for: "bob", since: story.before)
            .makeAsyncIterator()
        let page = try #require(try await pages.next())
        // Of the zones of a subscription the one that changed last.
        let told = page.notifications.map { $0.told }
        #expect(told == ["q created own", "d database living"] && page.hasMore)
        try await story.world.change("quiet", to: 3)
        let next = try #require(try await pages.next())
        let more = next.notifications.map { $0.told }
        #expect(more == ["d database quiet"] && !next.hasMore)
        try await story.container.close()
    }

    @Test func `pushes continue to devices registered before, and to other users`() async throws {
        let story = try await Self.begin()
        let container = story.container
        let living = "d database living"
        let sender = TestSender()
        let hasEnded = Mutex(false)
        let delivery = Task {
            // A delivery that fails ends the waiting, too.
            defer { hasEnded.withLock { $0 = true } }
            try await container.deliverPushes(through: sender)
        }
        for round in 1...3 {
            let page = note("page\(round)", type: "Page", in: .default)
            try await story.world.alice.save(page)
            let due = [
                ("phone", living, round), ("pad", living, round),
                ("mac", "a created page\(round)", 1),
            ]
            for (device, line, count) in due {
                while sender.lines(device).count(where: { $0 == line }) < count,
                    !hasEnded.withLock({ $0 })
                {
                    await Task.yield()
                }
            }
            if round < 3 { try await story.world.change("living", to: round + 1) }
        }
        delivery.cancel()
        try await delivery.value
        for device in ["phone", "pad"] {
            let lines = sender.lines(device)
            #expect(lines == ["q created own"] + Array(repeating: living, count: 3), "\(device)")
        }
        #expect(sender.lines("mac") == (1...3).map { "a created page\($0)" })
        // The position of the phone is older than what is forgotten.
        let first = sender.sent.first { $0.device.name == "phone" }
        #expect(first?.hasMore == true)
        try await container.close()
    }
}
