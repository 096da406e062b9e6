import FoundationEssentials
import Stratus
import Support
import Testing

/// Which subscriptions there may be, and how they are kept: semantics 6.1 and 6.2.
@Suite struct SubscriptionTests {
    /// A kind of subscription, and where the table of 6.1 allows it.
    struct Row: Sendable, CustomTestStringConvertible {
        var kind: Subscription.Kind
        var places: Set<DatabaseKind>

        var testDescription: String { "\(kind)" }
    }

    static let rows = [
        Row(
            kind: .query(
                .all, recordType: "Note", zoneID: nil, options: .firesOnRecordCreation),
            places: [.publicDatabase, .privateDatabase]),
        Row(kind: .zone(notes, recordType: nil), places: [.privateDatabase]),
        Row(kind: .zone(notes, recordType: "Note"), places: [.privateDatabase]),
        Row(kind: .database(recordType: nil), places: [.privateDatabase, .sharedDatabase]),
        Row(kind: .database(recordType: "Note"), places: [.privateDatabase, .sharedDatabase]),
    ]

    @Test(arguments: rows, DatabaseKind.allCases)
    func `a subscription is saved where its kind may be, and nowhere else`(
        row: Row, place: DatabaseKind
    ) async throws {
        let (container, _) = try await makeDatabase()
        let database = place.database(of: container)
        let sent = Subscription(row.kind, id: "s")
        if row.places.contains(place) {
            #expect(try await database.save(sent) == sent)
            #expect(try await database.subscription(for: "s") == sent)
            #expect(try await database.allSubscriptions() == [sent])
        } else {
            let error = await failure { try await database.save(sent) }
            #expect(error.code == .badDatabase)
            let result = try await database.modifySubscriptions(saving: [sent], deleting: [])
            #expect(result.saveResults["s"]?.code == .badDatabase)
            #expect(try await database.allSubscriptions() == [])
        }
        for other in DatabaseKind.allCases where other != place {
            #expect(try await other.database(of: container).allSubscriptions() == [])
        }
    }

    // Semantics 6.1: at least one of them is required.
    @Test(arguments: 0..<32)
    func `a subscription fires on what its options name, and needs one that names anything`(
        bits: Int
    ) async throws {
        let (container, database) = try await makeDatabase()
        let options = Subscription.QueryOptions(rawValue: .init(bits))
        let sent = querySubscription("s", try .init("n > 0"), options)
        let names: Subscription.QueryOptions = [.everyChange, .firesOnRecordUnmatched]
        guard !options.isDisjoint(with: names) else {
            let error = await failure { try await database.save(sent) }
            #expect(error.code == .invalidArguments)
            return
        }
        try await database.save(sent)
        try await database.save(note("a", ["n": 1]))
        try await database.save(note("a", ["n": 2]), savePolicy: .allKeys)
        try await database.save(note("a", ["n": 0]), savePolicy: .allKeys)
        try await database.save(note("a", ["n": -1]), savePolicy: .allKeys)
        // It did not match before, either, and did not come to exist.
        try await database.save(note("a", ["n": 3]), savePolicy: .allKeys)
        try await database.deleteRecord(withID: noteID("a"))
        try await database.save(note("b", ["n": 0]))
        try await database.deleteRecord(withID: noteID("b"))
        var expected: [String] = []
        if options.contains(.firesOnRecordCreation) { expected.append("s created a") }
        if options.contains(.firesOnRecordUpdate) { expected.append("s updated a") }
        if options.contains(.firesOnRecordUnmatched) { expected.append("s updated a") }
        if options.contains(.firesOnRecordUpdate) { expected.append("s updated a") }
        if options.contains(.firesOnRecordDeletion) { expected.append("s deleted a") }
        // After the first one it is gone.
        let isOnce = options.contains(.firesOnce)
        if isOnce { expected = Array(expected.prefix(1)) }
        #expect(try await container.told() == expected)
        #expect(try await database.allSubscriptions() == (isOnce ? [] : [sent]))
    }

    @Test func `an identity is 1 to 255 bytes, by default a new UUID`() async throws {
        let (_, database) = try await makeDatabase()
        let accepted = [
            "s", String(repeating: "x", count: 255), String(repeating: "é", count: 127),
        ]
        for id in accepted { try await database.save(querySubscription(id)) }
        for id in ["", String(repeating: "x", count: 256), String(repeating: "é", count: 128)] {
            let error = await failure { try await database.save(querySubscription(id)) }
            #expect(error.code == .invalidArguments, "\(id.utf8.count) bytes")
        }
        let found = try await database.allSubscriptions().map { $0.subscriptionID }
        #expect(found == accepted.sorted())
        let first = Subscription(.database(recordType: nil))
        let second = Subscription(.database(recordType: nil))
        #expect(UUID(uuidString: first.subscriptionID) != nil)
        #expect(first.subscriptionID != second.subscriptionID)
    }

    /// Query subscriptions that make no sense.
    static let refused: [(name: String, subscription: Subscription)] = {
        let long = String(repeating: "?", count: 1025)
        let shallow: Query.Predicate = FieldKey<Int>("n") == 1
        let deep = (0..<70).reduce(shallow) { predicate, _ in !predicate }
        let four = bringing(["n", "text", "size", "day"])
        return [
            ("no type", querySubscription("s", type: "")),
            ("a type that is no name", querySubscription("s", type: "no type")),
            ("users", querySubscription("s", type: "Users")),
            ("a long pattern", querySubscription("s", FieldKey<String>("text").isLike(long))),
            ("a deep predicate", querySubscription("s", deep)),
            ("no field", querySubscription("s", FieldKey<Int>("no field") == 1)),
            ("another kind", querySubscription("s", FieldKey<String>("n") == "one")),
            ("an encrypted field", querySubscription("s", FieldKey<String>("secret") == "s")),
            ("four desired keys", querySubscription("s", info: four)),
            ("a key that is no field", querySubscription("s", info: bringing(["no field"]))),
            ("a reserved key", querySubscription("s", info: bringing(["recordID"]))),
            (
                "a zone of another user",
                querySubscription("s", in: RecordZone.ID(zoneName: "notes", ownerName: "_bob"))
            ),
            ("a zone that is no name", querySubscription("s", in: RecordZone.ID(zoneName: ""))),
        ]
    }()

    @Test(arguments: refused.indices)
    func `a subscription that makes no sense is refused, and an earlier one stays`(
        index: Int
    ) async throws {
        let (name, subscription) = Self.refused[index]
        let (_, database) = try await makeDatabase()
        var record = note("a", ["n": 1, "text": "a"])
        record.encryptedValues["secret"] = "s"
        try await database.save(record)
        let before = querySubscription("s", try .init("n = 7"))
        try await database.save(before)
        let error = await failure { try await database.save(subscription) }
        let codes: Set<StoreError.Code> =
            name == "a zone of another user"
            ? [.badDatabase, .invalidArguments] : [.invalidArguments]
        #expect(codes.contains(error.code), "\(name): \(error)")
        #expect(try await database.allSubscriptions() == [before], "\(name)")
    }

    @Test func `three desired keys are accepted, and all else of the info comes back`()
        async throws
    {
        let (container, database) = try await makeDatabase()
        var info = Subscription.NotificationInfo()
        info.alertBody = "body"
        info.alertLocalizationKey = "alert.key"
        info.alertLocalizationArgs = ["n", "text"]
        info.title = "title"
        info.titleLocalizationKey = "title.key"
        info.titleLocalizationArgs = ["text"]
        info.subtitle = "subtitle"
        info.subtitleLocalizationKey = "subtitle.key"
        info.subtitleLocalizationArgs = []
        info.alertActionLocalizationKey = "action.key"
        info.alertLaunchImage = "launch.png"
        info.soundName = "default"
        info.desiredKeys = ["n", "text", "day"]
        info.shouldBadge = true
        info.shouldSendMutableContent = true
        info.category = "category"
        info.collapseIDKey = "collapse"
        let predicate = try Query.Predicate(
            "n BETWEEN {1, 2} OR text BEGINSWITH[c] %@ OR day > %@ OR NOT size = 0.1", "É'\"\\",
            Date(timeIntervalSinceReferenceDate: 0.1))
        let sent = [
            querySubscription("a", predicate, in: notes, .firesOnRecordUpdate, info: info),
            Subscription(.zone(notes, recordType: "Note"), id: "b", notificationInfo: info),
            Subscription(.database(recordType: nil), id: "c", notificationInfo: .init()),
            querySubscription("d", in: .default),
        ]
        let result = try await database.modifySubscriptions(saving: sent, deleting: [])
        for subscription in sent {
            #expect(try result.saveResults[subscription.subscriptionID]?.get() == subscription)
        }
        #expect(try await database.allSubscriptions() == sent)
        let device = container.privateDatabase(for: "alice", device: "pad")
        #expect(try await device.allSubscriptions() == sent)
    }
}

// Cases of missing things, and of the same twice.
extension SubscriptionTests {
    // C134.
    @Test func `a subscription to a missing zone is zoneNotFound, and names the zone`()
        async throws
    {
        let (container, database) = try await makeDatabase()
        let missing = RecordZone.ID(zoneName: "missing")
        let sent = [
            Subscription(.zone(missing, recordType: nil), id: "zone"),
            querySubscription("query", in: missing),
        ]
        for subscription in sent {
            let error = await failure { try await database.save(subscription) }
            #expect(error.code == .zoneNotFound && error.zoneID == missing)
            #expect(error.retryAfter == .milliseconds(200))
        }
        let other = Subscription(.zone(notes, recordType: nil), id: "other")
        let result = try await database.modifySubscriptions(saving: sent + [other], deleting: [])
        #expect(result.saveResults["zone"]?.code == .zoneNotFound)
        #expect(result.saveResults["query"]?.code == .zoneNotFound)
        #expect(try result.saveResults["other"]?.get() == other)
        let partial = try #require(result.partialFailure)
        #expect(partial.code == .partialFailure && partial.retryAfter == .milliseconds(200))
        #expect(partial.partialErrors.mapValues(\.code) == [.zone(missing): .zoneNotFound])
        #expect(try await database.allSubscriptions() == [other])
        try await database.save(RecordZone(zoneID: missing))
        for subscription in sent { try await database.save(subscription) }
        #expect(try await database.allSubscriptions().count == 3)
        // In the public database there is the default zone only.
        let shared = container.publicDatabase(as: "alice")
        let error = await failure { try await shared.save(querySubscription("q", in: notes)) }
        #expect(error.code == .zoneNotFound)
        try await shared.save(querySubscription("q", in: .default))
    }

    // Semantics 6.1: the private default zone does not take part.
    @Test func `the default zone has no subscription of its own`() async throws {
        let (_, database) = try await makeDatabase()
        let sent = Subscription(.zone(.default, recordType: nil), id: "s")
        let error = await failure { try await database.save(sent) }
        #expect(error.code == .invalidArguments)
    }

    // C135.
    @Test func `deleting a subscription that is not there succeeds`() async throws {
        let (container, database) = try await makeDatabase()
        try await database.save(querySubscription("s"))
        for place in DatabaseKind.allCases {
            try await place.database(of: container).deleteSubscription(withID: "unknown")
        }
        let result = try await database.modifySubscriptions(
            saving: [], deleting: ["unknown", "s", "S"])
        for id in ["unknown", "s", "S"] {
            let outcome = try #require(result.deleteResults[id])
            #expect(outcome.code == nil)
        }
        try await database.deleteSubscription(withID: "s")
        #expect(try await database.allSubscriptions() == [])
    }

    @Test func `what cannot be kept is refused, and keeps nobody from saving`() async throws {
        let (_, database) = try await makeDatabase()
        let long = FieldKey<Int>(String(repeating: "f", count: 256))
        let nested = FieldKey<[Int]>("x")
        for predicate in [long == 1, nested.isIn([[1, 2]]), nested.isBetween([1], [2])] {
            let error = await failure { try await database.save(querySubscription("s", predicate)) }
            #expect(error.code == .invalidArguments)
        }
        try await database.save(
            querySubscription("s", FieldKey<Int>(long.name.dropLast() + "") == 1))
        try await database.save(note("a"))
    }

    @Test func `identities are told apart by their bytes`() async throws {
        let (_, database) = try await makeDatabase()
        let (composed, decomposed) = ("\u{e9}", "e\u{301}")
        try await database.save(querySubscription(composed))
        try await database.save(querySubscription(decomposed))
        #expect(try await database.allSubscriptions().count == 2)
        _ = try await database.modifySubscriptions(saving: [], deleting: [composed, decomposed])
        #expect(try await database.allSubscriptions() == [])
    }

    // C136.
    @Test func `fetching a subscription that is not there is unknownItem, and others are found`()
        async throws
    {
        let (_, database) = try await makeDatabase()
        let saved = try await database.save(querySubscription("s"))
        let error = await failure { try await database.subscription(for: "unknown") }
        #expect(error.code == .unknownItem)
        let found = try await database.subscriptions(for: ["s", "unknown", "S"])
        #expect(found.count == 3)
        #expect(try found["s"]?.get() == saved)
        #expect(found["unknown"]?.code == .unknownItem && found["S"]?.code == .unknownItem)
    }

    // C137.
    @Test func `the same identity twice succeeds, and equal content writes nothing`()
        async throws
    {
        let (container, database) = try await makeDatabase()
        let first = querySubscription("s", try .init("n > 1"), info: badging)
        try await database.save(first)
        let head = container.information.head
        // Another spelling of the same predicate.
        let again = querySubscription("s", FieldKey<Int>("n") > 1, info: badging)
        #expect(try await database.save(again) == first)
        #expect(container.information.head == head)
        var changed = first
        changed.notificationInfo = nil
        #expect(try await database.save(changed) == changed)
        #expect(container.information.head > head)
        #expect(try await database.allSubscriptions() == [changed])
        // Under another identity it is another subscription.
        try await database.save(querySubscription("t", try .init("n > 1")))
        #expect(try await database.allSubscriptions().count == 2)
    }

    // C137, semantics 6.1.
    @Test func `in CloudKit's profile equal content under another identity is refused`()
        async throws
    {
        let container = try Container.inMemory(profile: .cloudKit)
        let database = container.privateDatabase(for: "alice")
        try await database.save(RecordZone(zoneID: notes))
        let sent = [
            querySubscription("a", try .init("n > 1")),
            Subscription(.zone(notes, recordType: nil), id: "b"),
            Subscription(.database(recordType: nil), id: "c"),
        ]
        for subscription in sent { try await database.save(subscription) }
        for (place, subscription) in sent.enumerated() {
            let copy = Subscription(subscription.kind, id: "copy\(place)")
            let error = await failure { try await database.save(copy) }
            #expect(error.code == .serverRejectedRequest)
            let sentence = "subscription is duplicate of '\(subscription.subscriptionID)'"
            #expect(error.reason.contains(sentence), "\(error.reason)")
            #expect(error.cause == .duplicateSubscription(of: subscription.subscriptionID))
            // The same identity is no duplicate of itself.
            try await database.save(subscription)
        }
        // What differs, another user's, and what is gone are none either.
        try await database.save(querySubscription("d", try .init("n > 2")))
        let bob = container.privateDatabase(for: "bob")
        try await bob.save(querySubscription("e", try .init("n > 1")))
        try await database.deleteSubscription(withID: "a")
        try await database.save(querySubscription("f", try .init("n > 1")))
    }

    // Semantics 6.2: UI keys together with content-available.
    @Test func `an alert with content-available is refused in CloudKit's profile only`()
        async throws
    {
        var info = Subscription.NotificationInfo()
        info.shouldSendContentAvailable = true
        let silent = querySubscription("silent", info: info)
        info.alertBody = "body"
        let visible = querySubscription("visible", info: info)
        for profile in [Profile.unlimited, .cloudKit] {
            let database = try Container.inMemory(profile: profile).privateDatabase(for: "alice")
            try await database.save(silent)
            if profile == .unlimited {
                #expect(try await database.save(visible) == visible)
            } else {
                let error = await failure { try await database.save(visible) }
                #expect(error.code == .invalidArguments)
            }
        }
    }

    @Test func `service predicates hold for subscriptions, too`() async throws {
        let database = try Container.inMemory(profile: .cloudKit).privateDatabase(for: "alice")
        let sent = querySubscription("s", try .init("n = 1 OR n = 2"))
        let error = await failure { try await database.save(sent) }
        #expect(error.code == .invalidArguments)
    }

    // Semantics 6.1: a type that was not deployed is refused in production.
    @Test func `in production a type that the schema does not have is refused`() async throws {
        let container = try Container.inMemory(environment: .production)
        try await container.deploySchema("DEFINE SCHEMA RECORD TYPE Note (n INT64);")
        let database = container.privateDatabase(for: "alice")
        try await database.save(querySubscription("s", try .init("n > 1")))
        let error = await failure {
            try await database.save(querySubscription("t", type: "Page"))
        }
        #expect(error.code == .invalidArguments || error.code == .unknownItem)
        #expect(try await database.allSubscriptions().count == 1)
        try await database.save(note("a", ["n": 2], in: .default))
        #expect(try await container.told() == ["s created a"])
    }
}
