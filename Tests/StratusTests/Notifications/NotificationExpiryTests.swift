import FoundationEssentials
import Stratus
import StratusEngine
import StratusFiles
import StratusJournal
import Support
import Synchronization
import Testing

/// How long notifications are kept: by number and by age.
@Suite(.timeLimit(.minutes(20))) struct NotificationExpiryTests {
    private static let limit = NotificationPolicy.standard.count
    /// Those of one entry go together, and a commit of many has as many in the first one.
    private static let together = MatchesEntry.changeLimit

    private static func records(_ range: Range<Int>) -> [Record] {
        range.map { note("r\($0)", ["n": .int64(Int64($0))]) }
    }

    @Test func `a policy says how many are kept, and what went does not come back`() async throws {
        let store = DiskStore()
        var container = try store.open()
        #expect(try await container.notificationPolicy() == .standard)
        try await container.setNotificationPolicy(NotificationPolicy(count: 3))
        let alice = container.privateDatabase(for: "alice")
        try await alice.save(querySubscription("s"))
        for number in 0..<5 { try await alice.save(note("a\(number)", in: .default)) }
        #expect(try await container.told() == (2..<5).map { "s created a\($0)" })
        try await container.setNotificationPolicy(NotificationPolicy(count: 5))
        for number in 5..<9 { try await alice.save(note("a\(number)", in: .default)) }
        let told = (4..<9).map { "s created a\($0)" }
        #expect(try await container.told() == told)
        try await container.close()
        // All that is kept depends on both policies.
        try store.deleteIndex()
        container = try store.open(creating: false)
        #expect(try await container.told() == told)
        #expect(try await container.notificationPolicy() == NotificationPolicy(count: 5))
        try await container.checkpoint()
        #expect(try await StoreVerification(of: container).findings.isEmpty)
        try await container.close()
    }

    @Test func `a policy says for how long notifications are kept`() async throws {
        let time = SteppedTime()
        var store = DiskStore()
        store.options.clock = time.clock
        let container = try store.open()
        let alice = container.privateDatabase(for: "alice")
        try await container.setNotificationPolicy(NotificationPolicy(lifetime: 60))
        try await alice.save(querySubscription("s"))
        try await alice.save(note("a", in: .default))
        time.add(seconds: 50)
        try await alice.save(note("b", in: .default))
        #expect(try await container.told() == ["s created a", "s created b"])
        time.add(seconds: 20)
        try await alice.save(note("c", in: .default))
        #expect(try await container.told() == ["s created b", "s created c"])
        try await container.setNotificationPolicy(.standard)
        time.add(seconds: 29 * 86_400)
        try await alice.save(note("d", in: .default))
        #expect(try await container.told().count == 3)
    }

    @Test(arguments: [
        NotificationPolicy(lifetime: 0), NotificationPolicy(lifetime: 1 << 40 + 1),
        NotificationPolicy(count: 0), NotificationPolicy(count: 1 << 20 + 1),
    ])
    func `a policy that keeps nothing, or too much, is refused`(policy: NotificationPolicy)
        async throws
    {
        let (container, _) = try await makeDatabase()
        let error = await failure { try await container.setNotificationPolicy(policy) }
        #expect(error.code == .invalidArguments)
        #expect(try await container.notificationPolicy() == .standard)
    }

    @Test func `of too many notifications the newest stay, and tokens from before are expired`()
        async throws
    {
        let (container, database) = try await makeDatabase()
        try await database.save(querySubscription("s"))
        let start = try await container.notificationToken()
        try await database.saveAll(Self.records(0..<Self.limit - 1))
        // None is gone yet.
        let whole = try await FollowedNotifications(of: container, since: start)
        #expect(whole.items.count == Self.limit - 1)
        var page = try await container.notificationChanges(for: "alice", resultsLimit: 10)
        let behindTen = page.notificationToken
        page = try await container.notificationChanges(
            for: "alice", since: behindTen, resultsLimit: Self.together)
        let behindMore = page.notificationToken
        // One less than would take the first away.
        try await database.saveAll(Self.records(Self.limit - 1..<Self.limit + Self.together - 1))
        #expect(try await container.told().count == Self.limit + Self.together - 1)
        try await database.saveAll([note("last")])
        let left = try await FollowedNotifications(of: container)
        let numbers = Self.together..<Self.limit + Self.together - 1
        #expect(left.told == numbers.map { "s created r\($0)" } + ["s created last"])
        for token in [start, behindTen] {
            let error = await failure {
                try await container.notificationChanges(for: "alice", since: token)
            }
            #expect(error.code == .changeTokenExpired)
            #expect(error.cause == .changeToken(.compacted))
        }
        let rest = try await container.told(since: behindMore)
        #expect(rest == Array(left.told.dropFirst(10)))
        #expect(try await container.told(since: whole.token).count == Self.together + 1)
        // It is the number of each user alone.
        let bob = container.privateDatabase(for: "bob")
        try await bob.save(querySubscription("s"))
        try await bob.save(note("b", in: .default))
        #expect(try await container.told(to: "bob") == ["s created b"])
        #expect(try await container.told().count == Self.limit)
    }

    @Test func `a token from before what went is expired also when a purge has made room`()
        async throws
    {
        let (container, database) = try await makeDatabase()
        let other = RecordZone.ID(zoneName: "other")
        try await database.save(RecordZone(zoneID: other))
        try await database.save(querySubscription("s"))
        let start = try await container.notificationToken()
        try await database.saveAll(Self.records(0..<Self.limit + Self.together + 5))
        try await database.save(note("other", in: other))
        _ = try await database.modifyRecordZones(saving: [], deleting: [other], reason: .purged)
        // The first have gone by number, the last with its zone.
        let left = try await container.told()
        let numbers = Self.together..<Self.limit + Self.together + 5
        #expect(left == numbers.map { "s created r\($0)" })
        let error = await failure {
            try await container.notificationChanges(for: "alice", since: start)
        }
        #expect(error.code == .changeTokenExpired)
        #expect(error.cause == .changeToken(.compacted))
        let token = try await container.notificationToken()
        #expect(try await container.told(since: token) == [])
    }

    @Test func `read marks count, and go with what they mark`() async throws {
        let (container, database) = try await makeDatabase()
        try await database.save(querySubscription("s"))
        try await database.save(note("first"))
        try await database.save(note("second"))
        let ids = try await FollowedNotifications(of: container).items.map { $0.id }
        _ = try await container.markNotificationsRead([ids[1]], for: "alice")
        try await database.saveAll(Self.records(0..<Self.limit - 2))
        // One too many: the first is gone.
        var left = try await FollowedNotifications(of: container).items
        #expect(left.count == Self.limit && left[0].id == ids[1] && left[0].isRead)
        #expect(left[1].markedID == ids[1])
        let gone = try await container.markNotificationsRead([ids[0]], for: "alice")
        #expect(gone[ids[0]]?.code == .unknownItem)
        // The mark goes, and what it marked has gone before.
        try await database.saveAll(Self.records(Self.limit..<Self.limit + 2))
        left = try await FollowedNotifications(of: container).items
        #expect(left.count == Self.limit && left[0].told == "s created r0" && !left[0].isRead)
    }

    /// A store whose clock the test sets.
    private struct Timed {
        let time: SharedTime
        let store: DiskStore

        init() {
            let time = SharedTime()
            var store = DiskStore()
            store.options.clock = Clock { time.next() }
            self.time = time
            self.store = store
        }
    }

    private final class SharedTime: Sendable {
        private let microseconds = Mutex<Int64>(1_700_000_000_000_000)

        func next() -> Int64 {
            microseconds.withLock {
                $0 += 1000
                return $0
            }
        }

        func pass(days: Int64) { microseconds.withLock { $0 += days * 86_400_000_000 } }
    }

    @Test func `what is older than its lifetime goes with the next that comes`() async throws {
        let timed = Timed()
        let container = try timed.store.open()
        let database = container.privateDatabase(for: "alice")
        try await database.save(RecordZone(zoneID: notes))
        try await database.save(querySubscription("s", info: badging))
        let start = try await container.notificationToken()
        try await database.save(note("old"))
        let old = try await FollowedNotifications(of: container)
        _ = try await container.markNotificationsRead(old.items.map { $0.id }, for: "alice")
        timed.time.pass(days: 20)
        try await database.save(note("middle"))
        let middle = try await container.notificationToken()
        timed.time.pass(days: 20)
        // Time alone takes nothing away.
        try await database.save(note("page", type: "Page"))
        #expect(try await container.told(since: start).count == 3)
        try await database.save(note("new"))
        #expect(try await container.told() == ["s created middle", "s created new"])
        #expect(try await container.told(since: middle) == ["s created new"])
        for token in [start, old.token] {
            let error = await failure {
                try await container.notificationChanges(for: "alice", since: token)
            }
            #expect(error.code == .changeTokenExpired)
            #expect(error.cause == .changeToken(.compacted))
        }
        #expect(try await container.badge(for: "alice") == 3)
        // The same where the index is made anew, and after a compaction.
        try await container.checkpoint()
        try await container.maintenance.compact()
        #expect(try await container.told() == ["s created middle", "s created new"])
        try await container.close()
        try timed.store.deleteIndex()
        let again = try timed.store.open()
        #expect(try await again.told() == ["s created middle", "s created new"])
        let error = await failure {
            try await again.notificationChanges(for: "alice", since: start)
        }
        #expect(error.cause == .changeToken(.compacted))
        #expect(try await again.badge(for: "alice") == 3)
        try await again.close()
    }

    @Test(arguments: [false, true])
    func `a token from before what went by age is expired also when the newest went since`(
        hasNew: Bool
    ) async throws {
        let timed = Timed()
        let container = try timed.store.open()
        let database = container.privateDatabase(for: "alice")
        let other = RecordZone.ID(zoneName: "other")
        for zone in [notes, other] { try await database.save(RecordZone(zoneID: zone)) }
        try await database.save(querySubscription("s"))
        let start = try await container.notificationToken()
        try await database.save(note("old"))
        timed.time.pass(days: 20)
        try await database.save(note("middle"))
        timed.time.pass(days: 20)
        if hasNew {
            try await database.save(note("new", in: other))
            #expect(try await container.told() == ["s created middle", "s created new"])
        }
        _ = try await database.modifyRecordZones(saving: [], deleting: [other], reason: .purged)
        // Either all that is left is told, or that something is not.
        do throws(StoreError) {
            let page = try await container.notificationChanges(for: "alice", since: start)
            #expect(page.notifications.map { $0.told } == ["s created old", "s created middle"])
        } catch {
            #expect(error.code == .changeTokenExpired)
            #expect(error.cause == .changeToken(.compacted))
            #expect(try await container.told() == ["s created middle"])
        }
        try await container.close()
    }

    @Test func `a zone that is purged makes room`() async throws {
        let (container, database) = try await makeDatabase()
        let other = RecordZone.ID(zoneName: "other")
        try await database.save(RecordZone(zoneID: other))
        try await database.save(querySubscription("s"))
        let start = try await container.notificationToken()
        try await database.save(note("before", in: other))
        let count = Self.limit - 10
        try await database.saveAll(Self.records(0..<count))
        let amid = try await container.notificationChanges(for: "alice", resultsLimit: 100)
            .notificationToken
        try await database.save(note("after", in: other))
        // One that is deleted keeps what it told.
        try await database.deleteRecordZone(withID: other)
        #expect(try await container.told(since: start).count == count + 2)
        #expect(try await container.told(since: amid).last == "s created after")
        try await database.save(RecordZone(zoneID: other))
        #expect(try await container.told(since: amid).last == "s created after")
        _ = try await database.modifyRecordZones(
            saving: [], deleting: [notes], reason: .purged)
        // With those of the zone that was deleted before.
        #expect(try await container.told() == [])
        try await database.save(RecordZone(zoneID: notes))
        let last = try await container.notificationToken()
        try await database.saveAll(Self.records(0..<count))
        #expect(try await container.told(since: last).count == count)
        #expect(try await container.told().count == count)
    }
}
