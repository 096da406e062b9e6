import FoundationEssentials
import Stratus
import StratusEngine
import StratusJournal
import Support
import Synchronization
import Testing

/// Notifications as they come.
@Suite(.timeLimit(.minutes(20))) struct LiveNotificationTests {
    private static func begin(
        _ subscriptions: [Subscription]
    ) async throws -> (container: Container, database: Database, token: NotificationToken) {
        let (container, database) = try await makeDatabase()
        for subscription in subscriptions { try await database.save(subscription) }
        return (container, database, try await container.notificationToken())
    }

    private static func told(_ page: NotificationPage?) -> [String] {
        (page?.notifications ?? []).map { $0.told }
    }

    @Test func `a listener that waits hears of each commit that matches`() async throws {
        let (container, database, token) = try await Self.begin([
            querySubscription("s", try .init("n > 0"))
        ])
        async let first = container.notifications(for: "alice", since: token).first { _ in true }
        try await database.save(note("no", ["n": 0]))
        try await database.save(note("a", ["n": 1]))
        let page = try #require(try await first)
        #expect(Self.told(page) == ["s created a"] && !page.hasMore)
        var pages = container.notifications(for: "alice", since: page.notificationToken)
            .makeAsyncIterator()
        for number in 0..<20 {
            try await database.save(note("r\(number)", ["n": 1]))
            #expect(try await Self.told(pages.next()) == ["s created r\(number)"])
        }
        // What there was before is there for a listener without a token, too.
        #expect(try await container.told().count == 21)
    }

    // Semantics 6.1 and 6.4.
    @Test func `the device that made a change hears nothing of it, and its collection has it`()
        async throws
    {
        let (container, _, token) = try await Self.begin([querySubscription("s")])
        let phone = container.privateDatabase(for: "alice", device: "phone")
        let pad = container.privateDatabase(for: "alice", device: "pad")
        var onPhone = container.notifications(for: "alice", device: "phone", since: token)
            .makeAsyncIterator()
        var onPad = container.notifications(for: "alice", device: "pad", since: token)
            .makeAsyncIterator()
        var onAny = container.notifications(for: "alice", since: token).makeAsyncIterator()
        try await phone.save(note("by-phone"))
        #expect(try await Self.told(onPad.next()) == ["s created by-phone"])
        #expect(try await Self.told(onAny.next()) == ["s created by-phone"])
        try await pad.save(note("by-pad"))
        #expect(try await Self.told(onPhone.next()) == ["s created by-pad"])
        try await phone.deleteRecord(withID: noteID("by-pad"))
        #expect(try await Self.told(onPad.next()) == ["s deleted by-pad"])
        // Both have all of it.
        let all = ["s created by-phone", "s created by-pad", "s deleted by-pad"]
        #expect(try await container.told(since: token) == all)
    }

    @Test func `a device of that name of another user hears of the change`() async throws {
        let container = try Container.inMemory()
        for user in ["alice", "bob"] {
            try await container.publicDatabase(as: user).save(querySubscription("s"))
        }
        let token = try await container.notificationToken(of: "bob")
        let phone = container.publicDatabase(as: "alice", device: "phone")
        try await phone.save(note("a", in: .default))
        let bobs = try await container.notifications(for: "bob", device: "phone", since: token)
            .first { _ in true }
        #expect(Self.told(bobs) == ["s created a"])
    }

    @Test func `a slow listener gets the latest of each subscription, and a note of more`()
        async throws
    {
        let (container, database, token) = try await Self.begin([
            querySubscription("s"), querySubscription("t", try .init("n > 2")),
        ])
        var pages = container.notifications(for: "alice", since: token).makeAsyncIterator()
        for number in 0..<5 {
            try await database.save(note("r\(number)", ["n": .int64(Int64(number))]))
        }
        let page = try #require(try await pages.next())
        #expect(Self.told(page).sorted() == ["s created r4", "t created r4"] && page.hasMore)
        try await database.save(note("r5", ["n": 0]))
        let next = try #require(try await pages.next())
        #expect(Self.told(next) == ["s created r5"] && !next.hasMore)
        // The collection left nothing out.
        #expect(try await container.told(since: token).count == 8)
        #expect(try await container.told(since: page.notificationToken) == ["s created r5"])
    }

    @Test func `however slow a listener is, no notification behind its token is lost`()
        async throws
    {
        let (container, database, token) = try await Self.begin([querySubscription("s")])
        let heard = Mutex<[String]>([])
        let listener = Task {
            for try await page in container.notifications(for: "alice", since: token) {
                heard.withLock { $0 += page.notifications.map { $0.told } }
                if Self.told(page).contains("s created end") { return page.notificationToken }
            }
            return token
        }
        await withTaskGroup(of: Void.self) { group in
            for writer in 0..<4 {
                group.addTask {
                    for number in 0..<50 {
                        _ = try? await database.save(note("r\(writer)-\(number)"))
                    }
                }
            }
        }
        try await database.save(note("end"))
        let last = try await listener.value
        let all = try await container.told(since: token)
        #expect(all.count == 201)
        // What it heard is a part of the collection, in its order, up to the end.
        var rest = all[...]
        for line in heard.withLock({ $0 }) {
            let place = try #require(rest.firstIndex(of: line), "\(line) twice, or out of order")
            rest = rest[(place + 1)...]
        }
        #expect(rest.isEmpty)
        #expect(try await container.told(since: last) == [])
    }

    @Test func `changes that match nothing give no page`() async throws {
        let (container, database, token) = try await Self.begin([
            querySubscription("s", type: "Page"),
            Subscription(.zone(notes, recordType: "Page"), id: "z"),
        ])
        async let page = container.notifications(for: "alice", since: token).first { _ in true }
        let bob = container.privateDatabase(for: "bob")
        try await bob.save(querySubscription("s", type: "Page"))
        for number in 0..<20 {
            try await database.save(note("r\(number)"))
            try await bob.save(note("r\(number)", type: "Page", in: .default))
        }
        try await database.save(note("page", type: "Page", in: .default))
        #expect(try await Self.told(page) == ["s created page"])
    }

    @Test func `zones and databases are heard of, and what others share`() async throws {
        let (fixture, _) = try await SharingFixture.shared()
        let container = fixture.container
        try await fixture.alice.save(Subscription(.zone(notes, recordType: nil), id: "z"))
        try await fixture.bob.save(Subscription(.database(recordType: nil), id: "d"))
        let alices = try await container.notificationToken()
        let bobs = try await container.notificationToken(of: "bob")
        async let first = container.notifications(for: "alice", since: alices).first { _ in true }
        async let second = container.notifications(for: "bob", since: bobs).first { _ in true }
        try await fixture.alice.save(note("b", ["n": 10]), savePolicy: .changedKeys)
        #expect(try await Self.told(first) == ["z zone notes"])
        #expect(try await Self.told(second) == ["d database notes"])
    }

    @Test func `a subscription that is saved while a listener waits is heard of`() async throws {
        let (container, database, token) = try await Self.begin([])
        async let page = container.notifications(for: "alice", since: token).first {
            !$0.notifications.isEmpty
        }
        try await database.save(note("before"))
        try await database.save(querySubscription("s"))
        try await database.save(note("a"))
        #expect(try await Self.told(page) == ["s created a"])
    }

    @Test func `a listener of a user who is not known yet hears of the first notification`()
        async throws
    {
        let container = try Container.inMemory()
        let token = try await container.notificationChanges(for: "alice").notificationToken
        async let page = container.notifications(for: "alice", since: token).first {
            !$0.notifications.isEmpty
        }
        // Until it waits.
        try await Task.sleep(for: .milliseconds(50))
        let database = container.privateDatabase(for: "alice")
        try await database.save(querySubscription("s"))
        try await database.save(note("a", in: .default))
        #expect(try await Self.told(page) == ["s created a"])
    }
}

// Its end.
extension LiveNotificationTests {
    @Test(arguments: [false, true])
    func `a listener ends when its task is cancelled or the container closed`(
        closes: Bool
    ) async throws {
        let (container, database, token) = try await Self.begin([querySubscription("s")])
        try await database.save(note("a"))
        let hasBegun = Mutex(false)
        let listener = Task {
            var told: [String] = []
            for try await page in container.notifications(for: "alice", since: token) {
                told += Self.told(page)
                hasBegun.withLock { $0 = true }
            }
            return told
        }
        while !hasBegun.withLock({ $0 }) { await Task.yield() }
        if closes { try await container.close() } else { listener.cancel() }
        #expect(try await listener.value == ["s created a"])
    }

    @Test func `what was committed before the closing still comes`() async throws {
        let (container, database, token) = try await Self.begin([querySubscription("s")])
        var pages = container.notifications(for: "alice", since: token).makeAsyncIterator()
        try await database.save(note("a"))
        try await container.close()
        #expect(try await Self.told(pages.next()) == ["s created a"])
        #expect(try await pages.next() == nil)
        #expect(try await pages.next() == nil)
    }

    @Test func `a token that is expired fails the listener, and so does an empty name`()
        async throws
    {
        let (container, database, token) = try await Self.begin([querySubscription("s")])
        try await database.save(note("a"))
        let errors = [
            await failure {
                try await container.notifications(for: "bob", since: token).first { _ in true }
            },
            await failure { try await container.notifications(for: "").first { _ in true } },
        ]
        #expect(errors.map { $0.code } == [.changeTokenExpired, .invalidArguments])
    }

    @Test func `beside a writer a listener goes on with every refresh`() async throws {
        let store = DiskStore()
        let writer = try store.open()
        let database = writer.privateDatabase(for: "alice")
        try await database.save(RecordZone(zoneID: notes))
        try await database.save(querySubscription("s"))
        let token = try await writer.notificationToken()
        try await database.save(note("a"))
        try await writer.close()
        let reader = try store.openReadOnly()
        var pages = reader.notifications(for: "alice", since: token).makeAsyncIterator()
        #expect(try await Self.told(pages.next()) == ["s created a"])
        let again = try store.open()
        try await again.privateDatabase(for: "alice").save(note("b"))
        try await again.close()
        try await reader.refresh()
        #expect(try await Self.told(pages.next()) == ["s created b"])
        try await reader.close()
        #expect(try await pages.next() == nil)
    }
}

// Who is woken.
extension LiveNotificationTests {
    @Test func `of 10,000 listeners to other zones and users a change wakes none`() async {
        let (waiters, head) = (ChangeWaiters(since: .zero), JournalOffset(rawValue: 512))
        let count: UInt32 = 10_000
        await withTaskGroup(of: Bool.self) { group in
            for number in 0..<count {
                group.addTask {
                    // A user's notifications, and what is shared with that user.
                    await waiters.wait(
                        for: [.database(number), .zone(count + number)], since: .zero
                    ) { nil }
                }
            }
            while waiters.counts.waiters < Int(count) { await Task.yield() }
            waiters.wake(for: [.zone(5 * count), .database(5 * count)], at: head)
            #expect(waiters.counts.waiters == Int(count))
            #expect(waiters.counts.watched == 2 * Int(count))
            // One of the two things that it watches is enough, and takes it off the other.
            waiters.wake(for: [.zone(count + 7), .database(5 * count)], at: head)
            let first = await group.next()
            #expect(first == true)
            #expect(waiters.counts.waiters == Int(count) - 1)
            #expect(waiters.counts.watched == 2 * Int(count) - 2)
            waiters.wakeAll(returning: false)
            var woken = 0
            for await isWoken in group where isWoken { woken += 1 }
            #expect(woken == 0)
        }
    }
}
