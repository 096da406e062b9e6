import Stratus
import StratusEngine
import Testing

/// By which commits those are woken who wait for what others share with them.
@Suite(.timeLimit(.minutes(20))) struct SharedWaitingTests {
    /// Bob, who waits for what alice shares with him: for changes of a zone, of his shared database, and
    /// for notifications.
    private final class Bob: Sendable {
        let fixture: SharingFixture
        let share: Share
        private let tasks: [Task<Void, any Error>]

        init(_ world: (fixture: SharingFixture, share: Share)) async throws {
            (fixture, share) = world
            let (bob, zone) = (fixture.bob, fixture.zone)
            try await bob.save(Subscription(.database(recordType: nil), id: "d"))
            let (container, token) = (
                fixture.container, try await fixture.container.notificationToken(of: "bob")
            )
            let seen = try await FollowedChanges(of: bob, in: zone).token
            let all = try await bob.databaseChanges().changeToken
            tasks = [
                Task {
                    for try await _ in bob.liveRecordZoneChanges(inZoneWith: zone, since: seen) {}
                },
                Task { for try await _ in bob.liveDatabaseChanges(since: all) {} },
                Task { for try await _ in container.notifications(for: "bob", since: token) {} },
            ]
            await settle()
        }

        deinit { for task in tasks { task.cancel() } }

        /// Returns once all three wait.
        func settle() async {
            while fixture.container.waiting.waiters < 3 { await Task.yield() }
        }

        /// How many of the three a change wakes, after which they wait again.
        func woken(by change: () async throws -> Void) async throws -> Int {
            let woken = try await wokenLast(by: change)
            await settle()
            return woken
        }

        /// The same of one after which nothing is shared, so that some of them end.
        func wokenLast(by change: () async throws -> Void) async throws -> Int {
            let before = fixture.container.waiting.woken
            try await change()
            return fixture.container.waiting.woken - before
        }
    }

    @Test func `a commit outside a share wakes no participant, one inside does`() async throws {
        let bob = try await Bob(try await SharingFixture.shared())
        let alice = bob.fixture.alice
        let outside = try await bob.woken {
            for number in 0..<20 { try await alice.save(note("o\(number)")) }
            let other = try await alice.record(for: noteID("out1"))
            try await alice.deleteRecord(withID: other.recordID)
        }
        #expect(outside == 0)
        let saved = try await bob.woken {
            var record = try await alice.record(for: noteID("a1"))
            record["n"] = 9
            try await alice.save(record)
        }
        #expect(saved == 3)
        #expect(try await bob.woken { try await alice.save(child("new", of: "b")) } == 3)
        #expect(try await bob.woken { try await alice.deleteRecord(withID: noteID("new")) } == 3)
    }

    @Test func `what leaves a share and the end of a share wake its participants`() async throws {
        let bob = try await Bob(try await SharingFixture.shared())
        let alice = bob.fixture.alice
        let moved = try await bob.woken {
            var record = try await alice.record(for: noteID("a"))
            record.parent = Reference(recordID: noteID("out"))
            try await alice.save(record)
        }
        #expect(moved == 3)
        // With the record went the one below it.
        let gone = try await bob.woken {
            var record = try await alice.record(for: noteID("a1"))
            record["n"] = 10
            try await alice.save(record)
        }
        #expect(gone == 0)
        let end = try await bob.wokenLast {
            try await alice.deleteRecord(withID: bob.share.recordID)
        }
        #expect(end == 3)
    }

    @Test func `the deletion of a zone wakes the participants of its shares`() async throws {
        let bob = try await Bob(try await SharingFixture.shared())
        let woken = try await bob.wokenLast {
            try await bob.fixture.alice.deleteRecordZone(withID: notes)
        }
        #expect(woken == 3)
    }

    @Test func `a zone that is shared as a whole wakes participants with every change`()
        async throws
    {
        let bob = try await Bob(try await SharingFixture.zoneWide())
        #expect(try await bob.woken { try await bob.fixture.alice.save(note("any")) } == 3)
    }

    @Test func `another share wakes a participant once it is accepted`() async throws {
        let bob = try await Bob(try await SharingFixture.shared())
        let fixture = bob.fixture
        var share: Share?
        let offered = try await bob.woken {
            share = try await fixture.share("out", with: ["bob"])
        }
        let link = try #require(share)
        let accepted = try await bob.woken { try await fixture.accept(link, ["bob"]) }
        #expect(offered <= 3 && accepted == 3)
        let saved = try await bob.woken {
            try await fixture.alice.save(child("out2", of: "out"))
        }
        #expect(saved == 3)
    }
}
