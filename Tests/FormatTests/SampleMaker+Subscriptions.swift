import FoundationEssentials
import Stratus

// Stores with subscriptions. Both have a checkpoint that readers can use, so that a verification
// compares its rows with the journal.
extension SampleMaker {
    /// Subscriptions of all kinds in all databases, and what they tell of; behind the checkpoint
    /// some more.
    static func subscriptions() async throws -> StoreFiles {
        let story = try SubscriptionStory(seed: 92)
        try await story.begin()
        try await story.expire()
        try await story.subscribe()
        try await story.replaceSubscriptions()
        try await story.changeRecords()
        try await story.changePublicRecords()
        try await story.deleteZone()
        try await story.endSubscriptions()
        try await story.container.checkpoint()
        try await story.goOn()
        try await story.container.close()
        return story.maker.files
    }

    /// The same with compacted segments: a mark at which there was more; matches that are needed,
    /// and those of a zone that is gone or was purged; badges that were replaced; what a subscription to
    /// a zone left.
    static func compactedSubscriptions() async throws -> StoreFiles {
        let story = try SubscriptionStory(seed: 93)
        let (maker, container, alice) = (story.maker, story.container, story.alice)
        try await maker.fill(alice, saves: 14, length: 600)
        try await story.subscribeToNumbers()
        try await maker.replaceAll(alice, text: "first ")
        try await container.mark("told")
        try await story.readNumbers()
        for text in ["second ", "third "] { try await maker.replaceAll(alice, text: text) }
        try await container.maintenance.compact()
        try await story.subscribeToNumbersAgain()
        for text in ["fourth ", "fifth "] { try await maker.replaceAll(alice, text: text) }
        try await container.maintenance.compact()
        try await container.checkpoint()
        try await story.change("note-1", ["text": "behind the checkpoint"])
        try await container.close()
        return maker.files
    }
}

// What happens in the first store.
extension SubscriptionStory {
    func begin() async throws {
        for id in [Self.zone, Self.other, Self.gone] {
            try await alice.save(RecordZone(zoneID: id))
        }
        // Makes the fields known, so that predicates can name them.
        try await alice.save(note("full", fullFields))
        try await container.publicDatabase(as: "bob").save(
            note("first", in: .default, ["text": "public", "n": 1]))
    }

    /// Notifications and a read mark that go for their age. Dave has none afterwards.
    func expire() async throws {
        try await save([query("early", "n > 0", info: Self.badging)])
        let everyones = container.publicDatabase(as: "dave")
        try await everyones.save(query("early", "n > 0", on: .firesOnRecordUpdate))
        for number: Int64 in 2...4 { try await change("full", ["n": .int64(number)]) }
        try await change(
            "first", in: .default, by: container.publicDatabase(as: "bob"), ["n": 2])
        try await read(as: "alice") { $0.kind == .query }
        maker.wait(days: 31)
        try await alice.deleteSubscription(withID: "early")
        try await everyones.deleteSubscription(withID: "early")
    }

    /// Queries that wait at anchors of every kind, and at none; and subscriptions that are none.
    func subscribe() async throws {
        let day = RecordValue.date(Date(timeIntervalSinceReferenceDate: 788_918_401))
        let place = RecordValue.location(Location(latitude: 52.5, longitude: 13.4))
        let queries: [Subscription] = try [
            query("equal", "n IN {1, 2}", in: Self.zone, info: Self.bringing),
            query("prefix", "text BEGINSWITH 'Seven'", info: Self.badging),
            query("block", "n BETWEEN {3, 9}", on: .firesOnRecordUpdate),
            query("above", "size > 1.5", info: Self.badging),
            query("below", "day < %@", [day]),
            query("word", "SELF CONTAINS 'red'"),
            query("cell", "distanceToLocation:fromLocation:(place, %@) < 5", [place]),
            query("always", "n != 7", on: [.firesOnRecordUpdate, .firesOnRecordUnmatched]),
            query("once", "n = 5", on: [.firesOnRecordCreation, .firesOnce], info: Self.badging),
            query("never", "FALSEPREDICATE"),
        ]
        try await save(queries)
        try await save([
            Subscription(.zone(Self.zone, recordType: nil), id: "zone"),
            Subscription(
                .zone(Self.other, recordType: "Note"), id: "typed zone",
                notificationInfo: Self.badging),
            Subscription(.database(recordType: nil), id: "database"),
        ])
        try await container.privateDatabase(for: "bob").save(
            Subscription(.database(recordType: "Note"), id: "database"))
        try await container.sharedDatabase(for: "bob").save(
            Subscription(.database(recordType: nil), id: "shared"))
        for user in ["alice", "bob"] {
            try await container.publicDatabase(as: user).save(
                query("equal", "text = 'public'", info: Self.badging))
        }
        try await container.publicDatabase(as: "carol").save(query("above", "n > 1"))
    }

    /// By another predicate, by another kind, by what goes on with other words, and by what is the same,
    /// which changes nothing.
    func replaceSubscriptions() async throws {
        try await save([query("equal", "n IN {1, 2, 3}", in: Self.zone, info: Self.bringing)])
        try await save([Subscription(.zone(Self.gone, recordType: nil), id: "below")])
        try await save([query("typed zone", "n = 2", in: Self.other)])
        for info in [Self.badging, Self.bringing] {
            try await save([
                Subscription(.database(recordType: nil), id: "database", notificationInfo: info)
            ])
        }
        try await save([query("never", "FALSEPREDICATE")])
    }

    /// Records are created, changed, deleted and moved; one ceases to match.
    func changeRecords() async throws {
        let phone = container.privateDatabase(for: "alice", device: "phone")
        try await phone.save(note("one", fullFields))
        for number: Int64 in [4, 7] { try await change("one", ["n": .int64(number)]) }
        try await alice.deleteRecord(withID: id("one"))
        let saved = try await alice.modifyRecords(saving: [
            note("two", ["n": 2]), note("five", ["n": 5]), note("six", ["n": 5]),
        ])
        if let failure = saved.partialFailure { throw failure }
        _ = try await alice.moveRecords([id("two")], to: Self.other)
        try await container.setBadge(0, for: "alice")
        try await change("six", ["n": 1, "size": 9.5])
        try await read(as: "alice") { $0.subscriptionID == "equal" && $0.kind == .query }
        try await read(as: "alice") { $0.kind == .zone }
    }

    /// Several users have notifications of one change.
    func changePublicRecords() async throws {
        try await container.setNotificationPolicy(
            NotificationPolicy(lifetime: 45 * 86_400, count: 4))
        try await container.setBadge(7, for: "bob")
        let carol = container.publicDatabase(as: "carol")
        try await carol.save(note("by carol", in: .default, ["text": "Public", "n": 2]))
        try await change("by carol", in: .default, by: carol, ["n": 3])
        try await change("by carol", in: .default, by: carol, ["text": "other"])
        try await read(as: "bob") { $0.reason == .recordCreated }
        try await read(as: "carol") { $0.kind == .query }
        try await carol.deleteRecord(withID: id("by carol", in: .default))
    }

    /// With matches, some of which were read.
    func deleteZone() async throws {
        for name in ["a", "b"] {
            try await alice.save(note(name, in: Self.gone, ["size": 3.5, "n": 3]))
        }
        try await read(as: "alice") { $0.recordID == id("a", in: Self.gone) }
        try await alice.deleteRecordZone(withID: Self.gone)
        // What is told of the first one stays, what of the second one goes.
        try await alice.save(RecordZone(zoneID: Self.gone))
        try await alice.save(note("c", in: Self.gone, ["size": 4.5, "n": 3]))
        _ = try await alice.modifyRecordZones(
            saving: [], deleting: [Self.gone], reason: .purged)
    }

    func endSubscriptions() async throws {
        for name in ["prefix", "zone", "typed zone"] {
            try await alice.deleteSubscription(withID: name)
        }
        try await container.sharedDatabase(for: "bob").deleteSubscription(withID: "shared")
        try await container.publicDatabase(as: "bob").deleteSubscription(withID: "equal")
    }

    /// Behind the checkpoint.
    func goOn() async throws {
        try await change("five", ["n": 1, "size": 4.5])
        try await read(as: "alice") { $0.recordID == id("five") && $0.reason == .recordUpdated }
        try await save([query("always", "n != 8")])
        try await alice.deleteSubscription(withID: "above")
        try await container.setBadge(3, for: "carol")
        try await alice.deleteRecord(withID: id("six"))
    }
}

// What happens in the second store, to the records of ``SampleMaker/fill(_:saves:from:length:)``.
extension SubscriptionStory {
    func subscribeToNumbers() async throws {
        try await alice.save(RecordZone(zoneID: Self.gone))
        var info = Self.badging
        info.desiredKeys = ["number", "text"]
        try await save([
            query("few", "number < 3", in: Self.zone, info: info),
            query("many", "number > 4", in: Self.zone),
            query("gone", "TRUEPREDICATE", in: Self.gone, info: Self.badging),
            query("once", "number = 5", on: [.firesOnRecordUpdate, .firesOnce]),
            query("ended", "number = 6"),
        ])
        try await container.publicDatabase(as: "bob").save(
            query("public", "number > 0", info: Self.badging))
        for number: Int64 in 0..<3 {
            try await alice.save(
                note("gone-\(number)", in: Self.gone, ["number": .int64(number)]))
            try await container.publicDatabase(as: "carol").save(
                note("public-\(number)", in: .default, ["number": .int64(number)]))
        }
    }

    /// Marks notifications as read, also of a zone that is deleted then, and ends subscriptions.
    func readNumbers() async throws {
        try await read(as: "alice") { $0.recordID == id("note-1") }
        try await read(as: "alice") { $0.recordID == id("gone-1", in: Self.gone) }
        try await read(as: "bob") { $0.recordID == id("public-2", in: .default) }
        try await container.setBadge(40, for: "bob")
        // Its matches are in no state that is kept.
        try await alice.save(note("gone-3", in: Self.gone, ["number": 3]))
        _ = try await alice.modifyRecordZones(
            saving: [], deleting: [Self.gone], reason: .purged)
        try await save([Subscription(.zone(Self.zone, recordType: nil), id: "zone")])
        try await save([query("few", "number < 2", in: Self.zone, info: Self.badging)])
        try await alice.deleteSubscription(withID: "ended")
    }

    func subscribeToNumbersAgain() async throws {
        try await read(as: "alice") { $0.recordID == id("note-7") }
        try await container.setNotificationPolicy(NotificationPolicy(count: 9))
        try await container.setBadge(41, for: "bob")
        for id in ["few", "zone"] { try await alice.deleteSubscription(withID: id) }
        try await save([
            query("few", "number BETWEEN {0, 2}", info: Self.bringing),
            Subscription(.zone(Self.zone, recordType: nil), id: "many"),
        ])
    }
}
