import Stratus
import StratusEngine
import StratusFiles
import StratusJournal
import Testing

/// Notifications that are not kept any more: a listener continues behind them, and a token is
/// expired only if a notification of its user behind it was removed.
@Suite(.timeLimit(.minutes(20))) struct ListenerGapTests {
    private static let limit = NotificationPolicy.standard.count
    /// Longer than notifications are kept.
    private static let hours: Int64 = 31 * 24

    private static func told(_ page: NotificationPage) -> [String] {
        page.notifications.map { $0.told }
    }

    @Test func `a listener that misses more than is kept gets the latest of each subscription`()
        async throws
    {
        let (container, database) = try await makeDatabase()
        let subscriptions = [
            querySubscription("s"), querySubscription("gone", FieldKey<Int>("n") == 1),
            querySubscription("kept", FieldKey<Int>("n") == 9000),
        ]
        for subscription in subscriptions { try await database.save(subscription) }
        let start = try await container.notificationToken()
        var pages = container.notifications(for: "alice", since: start).makeAsyncIterator()
        try await database.save(note("first", ["n": 0]))
        let first = try #require(try await pages.next())
        #expect(Self.told(first) == ["s created first"] && !first.hasMore)
        // The listener is caught up. One commit now brings more than are kept of a user.
        let count = Self.limit + 1000
        let records = (0..<count).map { note("r\($0)", ["n": .int64(Int64($0))]) }
        try await database.saveAll(records)
        let error = await failure {
            try await container.notificationChanges(
                for: "alice", since: first.notificationToken)
        }
        #expect(error.code == .changeTokenExpired && error.cause == .changeToken(.compacted))
        let page = try #require(try await pages.next())
        #expect(Self.told(page) == ["kept created r9000", "s created r\(count - 1)"])
        #expect(page.hasMore)
        #expect(try await container.told(since: page.notificationToken) == [])
        try await database.save(note("next", ["n": 0]))
        let next = try #require(try await pages.next())
        #expect(Self.told(next) == ["s created next"] && !next.hasMore)
    }

    @Test func `a listener is told that there was more, though of what is kept it is told nothing`()
        async throws
    {
        let (container, pad) = try await makeDatabase()
        try await pad.save(querySubscription("s"))
        let token = try await container.notificationToken()
        try await Self.forget(by: pad, "phone", in: container)
        var pages = container.notifications(for: "alice", device: "phone", since: token)
            .makeAsyncIterator()
        let page = try #require(try await pages.next())
        #expect(page.notifications.isEmpty && page.hasMore)
        try await pad.save(note("next"))
        let next = try #require(try await pages.next())
        #expect(Self.told(next) == ["s created next"] && !next.hasMore)
    }

    @Test func `so is a device, with the next push`() async throws {
        let (container, pad) = try await makeDatabase()
        try await pad.save(querySubscription("s"))
        try await container.registerDevice(pushDevice(), for: "alice")
        try await Self.forget(by: pad, "phone", in: container)
        let sender = TestSender()
        try await delivering(container, through: sender) {
            // The page without pushes may come first.
            try await Task.sleep(for: .milliseconds(50))
            try await pad.save(note("next"))
            await sender.wait(for: "s created next")
        }
        #expect(sender.lines() == ["s created next"] && sender.sent.allSatisfy { $0.hasMore })
    }

    /// A notification for a device is not kept any more, since the device itself changed something.
    private static func forget(
        by database: Database, _ device: String, in container: Container
    ) async throws {
        try await database.save(note("forgotten"))
        try await container.setNotificationPolicy(NotificationPolicy(count: 1))
        try await container.privateDatabase(for: "alice", device: device).save(note("own"))
    }

    /// A store whose clock the test sets.
    private static func open() throws -> (container: Container, time: SteppedTime) {
        let time = SteppedTime()
        var store = DiskStore()
        store.options.clock = time.clock
        return (try store.open(), time)
    }

    /// The first page of a new listener.
    private static func firstPage(
        of container: Container, for user: String, since token: NotificationToken
    ) async throws -> NotificationPage {
        var pages = container.notifications(for: user, since: token).makeAsyncIterator()
        return try #require(try await pages.next())
    }

    @Test(arguments: [false, true])
    func `the token of a user who has read everything outlives the lifetime of notifications`(
        hasOld: Bool
    ) async throws {
        let (container, time) = try Self.open()
        let database = container.privateDatabase(for: "alice")
        try await database.save(querySubscription("s"))
        let start = try await container.notificationToken()
        if hasOld { try await database.save(note("old", in: .default)) }
        let read = try await container.notificationToken()
        time.add(hours: Self.hours)
        try await database.save(note("new", in: .default))
        #expect(try await container.told(since: read) == ["s created new"])
        let page = try await Self.firstPage(of: container, for: "alice", since: read)
        #expect(Self.told(page) == ["s created new"] && !page.hasMore)
        // The old notification was removed, so that only a token from before it is expired.
        #expect(try await container.told() == ["s created new"])
        if hasOld {
            let error = await failure {
                try await container.notificationChanges(for: "alice", since: start)
            }
            #expect(error.code == .changeTokenExpired && error.cause == .changeToken(.compacted))
            let late = try await Self.firstPage(of: container, for: "alice", since: start)
            #expect(Self.told(late) == ["s created new"] && late.hasMore)
        }
        try await container.close()
    }

    @Test func `removed notifications of another user do not expire a token`() async throws {
        let (container, time) = try Self.open()
        let alice = container.privateDatabase(for: "alice")
        let bob = container.privateDatabase(for: "bob")
        for database in [alice, bob] { try await database.save(querySubscription("s")) }
        let bobs = try await container.notificationToken(of: "bob")
        try await alice.save(note("of-alice", in: .default))
        let read = try await container.notificationToken()
        // Alice has read everything. The commit below removes the old notifications of both users.
        try await bob.save(note("of-bob", in: .default))
        time.add(hours: Self.hours)
        try await bob.save(note("new-of-bob", in: .default))
        #expect(try await container.told() == [])
        #expect(try await container.told(since: read) == [])
        try await alice.save(note("new", in: .default))
        #expect(try await container.told(since: read) == ["s created new"])
        let page = try await Self.firstPage(of: container, for: "alice", since: read)
        #expect(Self.told(page) == ["s created new"] && !page.hasMore)
        let error = await failure {
            try await container.notificationChanges(for: "bob", since: bobs)
        }
        #expect(error.code == .changeTokenExpired && error.cause == .changeToken(.compacted))
        #expect(try await container.told(to: "bob") == ["s created new-of-bob"])
        try await container.close()
    }
}
