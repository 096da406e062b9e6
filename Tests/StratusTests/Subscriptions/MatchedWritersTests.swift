import FoundationEssentials
import Stratus
import StratusFiles
import StratusJournal
import Support
import Testing

/// Subscriptions and the changes of triggers, restores, long-lived operations and participants.
@Suite(.timeLimit(.minutes(20))) struct MatchedWritersTests {
    private static let other = RecordZone.ID(zoneName: "other")

    /// Alice's database of a new container in memory, with the zone `notes`.
    private static func begin(
        _ rules: RecordRules, _ subscriptions: [Subscription]
    ) async throws -> (container: Container, database: Database) {
        let container = try Container.inMemory(rules: rules)
        let database = container.privateDatabase(for: "alice")
        try await database.save(RecordZone(zoneID: notes))
        for subscription in subscriptions { try await database.save(subscription) }
        return (container, database)
    }

    /// Refuses notes whose field `bad` is 1, and keeps a log record beside each note that has a
    /// field `log`, as long as the note is there.
    private static var logging: RecordRules {
        var rules = RecordRules()
        rules.validate("Note", named: "good") { change, _ throws(RuleRefusal) in
            guard change.new?["bad"] == 1 else { return }
            throw RuleRefusal(domain: "tests", code: 7, description: "not here")
        }
        rules.trigger("Note", named: "log") { change, _ throws(RuleRefusal) in
            let name = "log-" + change.recordID.recordName
            let zone = change.recordID.zoneID
            guard let new = change.new else {
                return [.delete(Record.ID(recordName: name, zoneID: zone))]
            }
            guard change.changedKeys.contains("log"), let text = new["log"] else { return [] }
            return [.save(note(name, ["text": text], type: "Log", in: zone), .changedKeys)]
        }
        return rules
    }

    /// Doubles the field `n` of notes in their field `double`.
    private static var doubling: RecordRules {
        var rules = RecordRules()
        rules.trigger("Note", named: "double") { change, _ throws(RuleRefusal) in
            guard var new = change.new, let number = new["n"]?.int64Value else { return [] }
            new["double"] = .int64(number * 2)
            return [.save(new)]
        }
        return rules
    }
}

// Triggers.
extension MatchedWritersTests {
    @Test func `a subscription matches records that a trigger adds to a commit`() async throws {
        let (container, database) = try await Self.begin(
            Self.logging, [querySubscription("s"), querySubscription("l", type: "Log")])
        var token = try await container.notificationToken()
        func next() async throws -> [String] {
            let page = try await FollowedNotifications(of: container, since: token)
            token = page.token
            return page.told.sorted()
        }
        try await database.save(note("a", ["log": "one"]))
        #expect(try await next() == ["l created log-a", "s created a"])
        try await database.save(note("a", ["log": "two"]), savePolicy: .changedKeys)
        #expect(try await next() == ["l updated log-a", "s updated a"])
        // The trigger adds nothing to this one.
        try await database.save(note("a", ["n": 1]), savePolicy: .changedKeys)
        #expect(try await next() == ["s updated a"])
        try await database.deleteRecord(withID: noteID("a"))
        #expect(try await next() == ["l deleted log-a", "s deleted a"])
    }

    @Test func `a predicate tests a record as triggers leave it, and notifies of its values`()
        async throws
    {
        let (container, database) = try await Self.begin(
            Self.doubling,
            [querySubscription("s", FieldKey<Int>("double") > 5, info: bringing(["double"]))])
        try await database.save(note("a", ["n": 2]))
        try await database.save(note("b", ["n": 3]))
        try await database.save(note("a", ["n": 4]), savePolicy: .changedKeys)
        try await database.save(note("b", ["n": 0]), savePolicy: .changedKeys)
        let items = try await FollowedNotifications(of: container).items
        #expect(items.map { $0.told } == ["s created b", "s updated a"])
        #expect(items.map { $0.recordFields["double"] } == [6, 8])
    }

    @Test func `a batch that is prepared again without its refused items notifies once`()
        async throws
    {
        let (container, database) = try await Self.begin(
            Self.logging,
            [
                querySubscription("s", info: badging),
                querySubscription("l", type: "Log", info: badging),
            ])
        let errors = try await database.outcome(
            saving: [
                note("a", ["log": "x"]), note("b", ["log": "x", "bad": 1]),
                note("c", ["log": "x"]),
            ], atomically: false)
        #expect(codes(errors) == ["b": .serverRejectedRequest])
        #expect(
            try await container.told().sorted()
                == ["l created log-a", "l created log-c", "s created a", "s created c"])
        #expect(try await container.badge(for: "alice") == 4)
    }

    @Test func `a refused batch notifies of nothing, and ends no subscription`() async throws {
        let once = querySubscription(
            "once", type: "Log", [.firesOnRecordCreation, .firesOnce], info: badging)
        let (container, database) = try await Self.begin(Self.logging, [once])
        let errors = try await database.outcome(
            saving: [note("a", ["log": "x"]), note("b", ["bad": 1])])
        #expect(errors.count == 2)
        #expect(try await container.told() == [])
        #expect(try await container.badge(for: "alice") == 0)
        #expect(try await database.allSubscriptions() == [once])
        // The triggers of this batch add two records, of which the first one fires.
        try await database.saveAll([note("c", ["log": "x"]), note("d", ["log": "x"])])
        #expect(try await container.told() == ["once created log-c"])
        #expect(try await container.badge(for: "alice") == 1)
        #expect(try await database.allSubscriptions() == [])
    }
}

// Restores.
extension MatchedWritersTests {
    /// Three notes as they were, of which one is gone, one was changed, and a new one came; and the
    /// token of a user who was told of all that.
    private static func changed() async throws -> (
        container: Container, database: Database, before: DatabaseSnapshot,
        token: NotificationToken
    ) {
        let (container, database) = try await begin(.none, [])
        try await container.setHistoryPolicy(.everything)
        try await database.saveAll(["a", "b", "c"].map { note($0, ["n": 1]) })
        let end = container.snapshot().offset
        try await database.deleteRecord(withID: noteID("a"))
        try await database.save(note("b", ["n": 2]), savePolicy: .changedKeys)
        try await database.save(note("d", ["n": 1]))
        let before = try await container.snapshot(at: .offset(end - 1))
            .privateDatabase(for: "alice")
        try await database.save(querySubscription("s", try .init("n = 1"), info: bringing(["n"])))
        return (container, database, before, try await container.notificationToken())
    }

    @Test func `a restore notifies of each record that it changes, and of no other`()
        async throws
    {
        let (container, database, before, token) = try await Self.changed()
        try await database.restore(notes, from: before, mode: .mirror, dryRun: true)
        #expect(try await container.told(since: token) == [])
        try await database.restore(notes, from: before, mode: .mirror)
        let items = try await FollowedNotifications(of: container, since: token).items
        #expect(
            items.map { $0.told }.sorted() == ["s created a", "s deleted d", "s updated b"])
        #expect(items.allSatisfy { $0.recordFields["n"] == 1 })
        // Done again it changes nothing.
        let next = try await container.notificationToken()
        try await database.restore(notes, from: before, mode: .mirror)
        #expect(try await container.told(since: next) == [])
    }

    @Test func `a restore notifies of records in a zone that it makes`() async throws {
        let (container, database, before, token) = try await Self.changed()
        try await database.restore(notes, from: before, to: Self.other)
        let items = try await FollowedNotifications(of: container, since: token).items
        #expect(
            items.map { $0.told }.sorted() == ["s created a", "s created b", "s created c"])
        #expect(items.allSatisfy { $0.zoneID == Self.other })
    }
}

// Long-lived operations.
extension MatchedWritersTests {
    @Test func `a long-lived operation notifies once, however often it is asked for`()
        async throws
    {
        let (container, database) = try await Self.begin(
            .none, [querySubscription("s", info: badging)])
        try await database.save(RecordZone(zoneID: Self.other))
        let saving = try await database.submit(
            .modify(
                LongLivedRequest.Modification(saving: [note("a"), note("b", in: Self.other)])),
            operationID: "saving")
        #expect(try await container.told() == [])
        for _ in 0..<2 { _ = try await saving.answer() }
        #expect(try await container.told() == ["s created a", "s created b"])
        let moving = try await database.submit(
            .move([noteID("a")], to: Self.other), operationID: "moving")
        for _ in 0..<2 { _ = try await moving.answer() }
        try await container.continueLongLivedOperations()
        _ = try await saving.outcome()
        _ = try await moving.outcome()
        #expect(
            try await container.told().sorted()
                == ["s created a", "s created a", "s created b", "s deleted a"])
        #expect(try await container.badge(for: "alice") == 4)
        // An operation that never runs notifies of nothing.
        let cancelled = try await database.submit(
            .modify(LongLivedRequest.Modification(saving: [note("c")])), operationID: "cancelled")
        try await cancelled.cancel()
        try await container.continueLongLivedOperations()
        #expect(try await container.told().count == 4)
    }

    @Test func `a long-lived operation is a change by the device that submitted it`()
        async throws
    {
        let (container, database) = try await Self.begin(
            .none, [querySubscription("s"), querySubscription("end", type: "End")])
        let token = try await container.notificationToken()
        let phone = container.privateDatabase(for: "alice", device: "phone")
        try await phone.submit(
            .modify(LongLivedRequest.Modification(saving: [note("a")])), operationID: "one")
        // The container runs it, and not the device.
        try await container.continueLongLivedOperations()
        try await database.save(note("end", type: "End"))
        func heard(on device: String) async throws -> [String] {
            let page = try await container.notifications(
                for: "alice", device: device, since: token
            ).first { _ in true }
            return (page?.notifications ?? []).map { $0.told }.sorted()
        }
        #expect(try await heard(on: "phone") == ["end created end"])
        #expect(try await heard(on: "pad") == ["end created end", "s created a"])
    }
}

// Participants.
extension MatchedWritersTests {
    @Test(arguments: [false, true])
    func `a participant's saves and deletions notify the owner, and not the participant`(
        isZoneWide: Bool
    ) async throws {
        let (fixture, _) =
            try await isZoneWide ? SharingFixture.zoneWide() : SharingFixture.shared()
        let container = fixture.container
        try await fixture.alice.save(querySubscription("s", info: bringing(["n"])))
        try await container.privateDatabase(for: "bob").save(querySubscription("s"))
        let token = try await container.notificationToken()
        let bobs = try await container.notificationToken(of: "bob")
        let new = fixture.newNote("new", under: isZoneWide ? nil : "a")
        try await fixture.bob.save(new)
        try await fixture.bob.save(fixture.newNote("b", ["n": 9]), savePolicy: .changedKeys)
        try await fixture.bob.deleteRecord(withID: fixture.id("a1"))
        let items = try await FollowedNotifications(of: container, since: token).items
        #expect(items.map { $0.told } == ["s created new", "s updated b", "s deleted a1"])
        #expect(items.map { $0.recordFields["n"] } == [nil, 9, 3])
        // As the owner names them.
        #expect(items.allSatisfy { $0.databaseScope == .private && $0.zoneID == notes })
        #expect(items.allSatisfy { $0.recordID?.zoneID == notes })
        #expect(try await container.told(to: "bob", since: bobs) == [])
    }

    // Semantics 6.1: the device is excluded that made the change, not one of its name.
    @Test func `a device is sent changes by a participant's device of the same name`()
        async throws
    {
        let (fixture, _) = try await SharingFixture.shared()
        let container = fixture.container
        for subscription in [
            querySubscription("s"), Subscription(.zone(notes, recordType: nil), id: "z"),
            Subscription(.database(recordType: nil), id: "d"),
            querySubscription("end", type: "End"),
        ] {
            try await fixture.alice.save(subscription)
        }
        try await container.registerDevice(pushDevice("phone"), for: "alice")
        let sender = TestSender()
        let lines = ["d database notes", "s created new", "z zone notes"]
        try await delivering(container, through: sender) {
            let bobs = container.sharedDatabase(for: "bob", device: "phone")
            try await bobs.save(fixture.newNote("new", under: "a"))
            for line in lines { await sender.wait(for: line) }
            // Her phone is not sent its own changes.
            let own = container.privateDatabase(for: "alice", device: "phone")
            try await own.save(note("own"))
            // Of the default zone zone and database subscriptions say nothing.
            try await fixture.alice.save(note("end", type: "End", in: .default))
            await sender.wait(for: "end created end")
        }
        #expect(sender.lines("phone").sorted() == (lines + ["end created end"]).sorted())
        #expect(sender.lines("phone").last == "end created end")
    }

    @Test func `a participant's device is sent changes by the owner's of the same name`()
        async throws
    {
        let (fixture, _) = try await SharingFixture.shared()
        let container = fixture.container
        try await fixture.bob.save(Subscription(.database(recordType: nil), id: "d"))
        try await container.privateDatabase(for: "bob").save(querySubscription("end", type: "End"))
        try await container.registerDevice(pushDevice("phone"), for: "bob")
        let sender = TestSender()
        try await delivering(container, through: sender) {
            let alices = container.privateDatabase(for: "alice", device: "phone")
            try await alices.save(note("b", ["n": 10]), savePolicy: .changedKeys)
            await sender.wait(for: "d database notes")
            let own = container.sharedDatabase(for: "bob", device: "phone")
            try await own.save(fixture.newNote("new", under: "a"))
            try await container.privateDatabase(for: "bob").save(
                note("end", type: "End", in: .default))
            await sender.wait(for: "end created end")
        }
        #expect(sender.lines("phone") == ["d database notes", "end created end"])
    }
}

// The journal.
extension MatchedWritersTests {
    /// The part of the journal that a change has added.
    private struct Written: Equatable {
        var bytes: UInt64
        /// Of its entries, in their order.
        var kinds: [UInt8] = []
    }

    private static func written(
        in container: Container, by change: () async throws -> Void
    ) async throws -> Written {
        let head = container.information.head
        try await change()
        var written = Written(bytes: container.information.head - head)
        var log = container.log(from: head)
        while let entry = try log.nextLine()?.entry {
            if entry.kind.isEntry { written.kinds.append(entry.kind.rawValue) }
        }
        return written
    }

    /// The parts that the creation, the update and the deletion of a note add.
    private static func writtenForNote(
        _ name: String, in container: Container
    ) async throws -> [Written] {
        let database = container.privateDatabase(for: "alice")
        return [
            try await written(in: container) { try await database.save(note(name, ["n": 1])) },
            try await written(in: container) {
                try await database.saveAll([note(name, ["n": 2])], savePolicy: .allKeys)
            },
            try await written(in: container) {
                try await database.deleteRecord(withID: noteID(name))
            },
        ]
    }

    // Formats/Notification.md, "Zones and databases".
    @Test func `zone and database subscriptions add nothing to a commit that they tell of`()
        async throws
    {
        var options = JournalOptions()
        options.clock = SteppedTime().clock
        let container = try Container(
            writing: MemoryStorage(), creating: true, durability: .none, options: options,
            steppedByCaller: true)
        let database = container.privateDatabase(for: "alice")
        try await database.save(RecordZone(zoneID: notes))
        // Offsets between 64 and 128 KiB are varints of the same length.
        var generator = SeededGenerator(seed: 1)
        let filler = RecordValue.bytes(Data(generator.bytes(64 << 10)))
        try await database.save(note("filler", ["n": 0, "data": filler]))
        let before = try await Self.writtenForNote("a", in: container)
        #expect(before.map { $0.kinds.isEmpty } == [false, false, false])
        let token = try await container.notificationToken()
        let subscriptions = (0..<50).flatMap { number in
            [
                Subscription(.zone(notes, recordType: nil), id: "z\(number)"),
                Subscription(.database(recordType: nil), id: "d\(number)"),
            ]
        }
        let saved = try await database.modifySubscriptions(saving: subscriptions)
        #expect(saved.saveResults.values.allSatisfy { $0.code == nil })
        #expect(container.information.head < 128 << 10)
        #expect(try await Self.writtenForNote("b", in: container) == before)
        // All of them tell of it.
        #expect(try await container.told(since: token).count == 100)
        // A query subscription does write its matches.
        try await database.save(querySubscription("q"))
        let watched = try await Self.writtenForNote("c", in: container)
        #expect(watched.allSatisfy { $0.kinds.contains(56) })
        #expect(zip(watched, before).allSatisfy { $0.bytes > $1.bytes })
    }
}
