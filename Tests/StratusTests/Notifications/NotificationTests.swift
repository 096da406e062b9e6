import FoundationEssentials
import Stratus
import Support
import Testing

/// The notifications that are kept for a user: semantics 6.5.
@Suite(.timeLimit(.minutes(20))) struct NotificationTests {
    /// Alice's zone `notes`, and her subscriptions to it.
    private static func begin(
        _ subscriptions: [Subscription]
    ) async throws -> (container: Container, database: Database) {
        let (container, database) = try await makeDatabase()
        for subscription in subscriptions { try await database.save(subscription) }
        return (container, database)
    }

    @Test func `each brings its values, however many fields those of a change name together`()
        async throws
    {
        // More than an entry has room for.
        let count = 1400
        let (container, database) = try await makeDatabase()
        let names = (0..<count).map { number in (0..<3).map { "f\(number)n\($0)" } }
        let subscriptions = names.enumerated().map { number, keys in
            querySubscription("s\(number)", info: bringing(keys))
        }
        let saved = try await database.modifySubscriptions(saving: subscriptions, deleting: [])
        for result in saved.saveResults.values { _ = try result.get() }
        var record = note("a")
        for name in names.joined() { record[name] = .string("value of \(name)") }
        try await database.save(record)
        let items = try await FollowedNotifications(of: container).items
        #expect(items.count == count)
        #expect(Set(items.map { $0.id }).count == count)
        for item in items {
            let number = try #require(Int(item.subscriptionID.dropFirst()))
            let expected = names[number].map { ($0, RecordValue.string("value of \($0)")) }
            #expect(item.recordFields == Dictionary(uniqueKeysWithValues: expected))
        }
    }

    @Test func `notifications come in the order of commits, records and subscriptions`()
        async throws
    {
        let (container, database) = try await Self.begin([
            querySubscription("t"), querySubscription("s", try .init("n > 0")),
        ])
        try await database.saveAll([note("b", ["n": 1]), note("a", ["n": 2]), note("c")])
        try await database.save(note("a", ["n": 3]), savePolicy: .allKeys)
        try await database.deleteRecord(withID: noteID("b"))
        #expect(
            try await container.told()
                == [
                    "t created b", "s created b", "t created a", "s created a", "t created c",
                    "t updated a", "s updated a", "t deleted b", "s deleted b",
                ])
    }

    @Test func `a notification says what happened to which record, and when`() async throws {
        let (container, database) = try await Self.begin([
            querySubscription("s", info: bringing(["n", "text"]))
        ])
        let record = try await database.save(note("a", ["n": 1, "text": "x", "size": 0.5]))
        let found = try #require(try await FollowedNotifications(of: container).items.first)
        #expect(found.kind == .query && found.subscriptionID == "s")
        #expect(found.subscriptionOwner == container.userRecordID(for: "alice"))
        #expect(found.reason?.rawValue == 1 && found.recordID == noteID("a"))
        #expect(found.zoneID == nil || found.zoneID == notes)
        #expect(found.databaseScope == .private && found.recordFields == ["n": 1, "text": "x"])
        #expect(found.badge == nil && !found.isRead && found.markedID == nil)
        // Dates of records are whole milliseconds.
        let saved = try #require(record.modificationDate)
        #expect(abs(found.created.timeIntervalSince(saved)) < 60)
        #expect(NotificationIdentifier(found.id.description) == found.id)
        #expect(NotificationIdentifier("") == nil && NotificationIdentifier("AAAA") == nil)
        // Every identity is another one.
        try await database.save(record)
        let ids = try await FollowedNotifications(of: container).items.map { $0.id }
        #expect(Set(ids).count == 2 && ids[0] == found.id)
    }

    @Test func `pages of any size neither skip nor repeat, and each token leads on`()
        async throws
    {
        let (container, database) = try await Self.begin([querySubscription("s")])
        for round in 0..<5 {
            try await database.saveAll((0..<5).map { note("r\(round)\($0)") })
        }
        let all = try await container.told()
        #expect(all.count == 25)
        for limit in [1, 2, 3, 7, 24, 25, 26, 1000] {
            let pages = try await FollowedNotifications(of: container, resultsLimit: limit)
            #expect(pages.told == all, "pages of \(limit)")
            #expect(pages.pageCount >= 25 / limit, "pages of \(limit)")
        }
        var tokens: [NotificationToken?] = [nil]
        for place in 0..<25 {
            let page = try await container.notificationChanges(
                for: "alice", since: tokens[place], resultsLimit: 1)
            #expect(page.notifications.map { $0.told } == [all[place]])
            let written = NotificationToken(page.notificationToken.description)
            #expect(written == page.notificationToken)
            tokens.append(written)
            #expect(try await container.told(since: written) == Array(all.dropFirst(place + 1)))
        }
        // A reader at the end goes on from there.
        try await database.save(note("new"))
        #expect(try await container.told(since: tokens[25]) == ["s created new"])
        #expect(try await container.told(since: tokens[20]).count == 6)
    }

    /// A page reads 256 entries at a time.
    @Test func `more entries than are read at once are told, each once`() async throws {
        let (container, database) = try await Self.begin([querySubscription("s")])
        let names = (0..<300).map { "r\($0)" }
        for name in names { try await database.save(note(name)) }
        #expect(try await container.told() == names.map { "s created \($0)" })
    }

    @Test func `a token is of one user and one store, and survives a reopening`() async throws {
        let store = DiskStore()
        let container = try store.open()
        let database = container.privateDatabase(for: "alice")
        try await database.save(RecordZone(zoneID: notes))
        try await database.save(querySubscription("s"))
        try await database.save(note("a"))
        let token = try await container.notificationToken()
        try await container.privateDatabase(for: "bob").save(note("b", in: .default))
        let bobs = await failure {
            try await container.notificationChanges(for: "bob", since: token)
        }
        #expect(bobs.code == .changeTokenExpired && bobs.cause == .changeToken(.user))
        let (other, _) = try await makeDatabase()
        let others = await failure {
            try await other.notificationChanges(for: "alice", since: token)
        }
        #expect(others.code == .changeTokenExpired && others.cause == .changeToken(.store))
        try await database.save(note("c"))
        try await container.close()
        let again = try store.open()
        #expect(try await again.told(since: token) == ["s created c"])
        try await again.close()
        let reader = try store.openReadOnly()
        #expect(try await reader.told(since: token) == ["s created c"])
        #expect(try await reader.told() == ["s created a", "s created c"])
        try await reader.close()
    }

    @Test func `a token that was damaged, or is of another kind, is refused`() async throws {
        let (container, database) = try await Self.begin([querySubscription("s")])
        let token = try await container.notificationToken()
        #expect(try NotificationToken(data: token.data) == token)
        for place in token.data.indices {
            var data = token.data
            data[place] ^= 0x10
            let damaged = data
            let error = await failure { try NotificationToken(data: damaged) }
            #expect(error.code == .invalidArguments, "byte \(place)")
        }
        let short = await failure { try NotificationToken(data: token.data.dropLast()) }
        #expect(short.code == .invalidArguments)
        let change = try await database.databaseChanges().changeToken
        let error = await failure { try NotificationToken(data: change.data) }
        #expect(error.code == .invalidArguments)
        #expect(NotificationToken(change.description) == nil && NotificationToken("") == nil)
    }

    @Test func `a user who is not known has no notifications, and a token that goes on`()
        async throws
    {
        let container = try Container.inMemory()
        let page = try await container.notificationChanges(for: "alice")
        #expect(page.notifications.isEmpty && !page.moreComing)
        #expect(try await container.badge(for: "alice") == 0)
        let database = container.privateDatabase(for: "alice")
        try await database.save(querySubscription("s"))
        try await database.save(note("a", in: .default))
        #expect(try await container.told(since: page.notificationToken) == ["s created a"])
        let errors = [
            await failure { try await container.notificationChanges(for: "") },
            await failure { try await container.setBadge(1, for: "") },
            await failure { try await container.badge(for: "") },
        ]
        #expect(errors.allSatisfy { $0.code == .invalidArguments })
    }
}

// Which changes are told.
extension NotificationTests {
    @Test func `nothing is told of what was not done, and once of what was asked for twice`()
        async throws
    {
        let (container, database) = try await Self.begin([querySubscription("s")])
        let stale = Record(
            recordType: "Note", recordID: noteID("stale"), recordChangeTag: "1")
        let atomic = try await database.modifyRecords(saving: [note("a"), stale])
        #expect(atomic.partialFailure != nil)
        #expect(try await container.told() == [])
        let other = Record(
            recordType: "Note", recordID: noteID("stale", in: .default), recordChangeTag: "1")
        _ = try await database.modifyRecords(saving: [note("a", in: .default), other])
        #expect(try await container.told() == ["s created a"])
        for _ in 0..<2 {
            _ = try await database.modifyRecords(saving: [note("b")], operationID: "once")
        }
        _ = await failure { try await database.save(note("b")) }
        try await database.deleteRecord(withID: noteID("missing"))
        #expect(try await container.told() == ["s created a", "s created b"])
    }

    @Test func `what goes along with a deletion is told, too`() async throws {
        let (container, database) = try await Self.begin([
            querySubscription("s", try .init("n > 0"), .firesOnRecordDeletion)
        ])
        var records = [note("root", ["n": 1])]
        for number in 0..<5 {
            var record = note("r\(number)", ["n": .int64(Int64(number))])
            let target = Reference(
                recordID: noteID(number < 3 ? "root" : "r0"), action: .deleteSelf)
            record["target"] = .reference(target)
            records.append(record)
        }
        try await database.saveAll(records)
        try await database.deleteRecord(withID: noteID("root"))
        #expect(
            try await container.told().sorted()
                == [
                    "s deleted r1", "s deleted r2", "s deleted r3", "s deleted r4",
                    "s deleted root",
                ])
    }

    @Test func `more goes along than one part holds, and each is told once`() async throws {
        let (container, database) = try await Self.begin([
            querySubscription("s", .all, .firesOnRecordDeletion)
        ])
        let count = 9000
        try await database.save(note("root"))
        let target = RecordValue.reference(
            Reference(recordID: noteID("root"), action: .deleteSelf))
        try await database.saveAll((0..<count).map { note("r\($0)", ["target": target]) })
        try await database.deleteRecord(withID: noteID("root"))
        #expect(try await database.recordCount(inZoneWith: notes) == 0)
        let told = try await container.told()
        #expect(told.count == count + 1 && Set(told).count == count + 1)
    }

    @Test func `a move is a deletion there and a creation here`() async throws {
        let other = RecordZone.ID(zoneName: "other")
        let (container, database) = try await makeDatabase()
        try await database.save(RecordZone(zoneID: other))
        try await database.save(querySubscription("all"))
        try await database.save(querySubscription("here", in: other))
        try await database.save(note("a", ["n": 1]))
        try await database.moveRecords([noteID("a")], to: other)
        let items = try await FollowedNotifications(of: container).items
        let lines = items.map { "\($0.told) \($0.recordID?.zoneID.zoneName ?? "")" }
        #expect(
            lines.sorted()
                == [
                    "all created a notes", "all created a other", "all deleted a notes",
                    "here created a other",
                ])
        #expect(lines.first == "all created a notes")
    }

    @Test func `of many records that are moved each is told to be gone before it is there`()
        async throws
    {
        let other = RecordZone.ID(zoneName: "other")
        let (container, database) = try await makeDatabase()
        try await database.save(RecordZone(zoneID: other))
        let names = (0..<300).map { "r\($0)" }
        try await database.saveAll(names.map { note($0) })
        try await database.save(querySubscription("all"))
        try await database.moveRecords(names.map { noteID($0) }, to: other)
        let told = try await container.told()
        #expect(told.count == 2 * names.count)
        for name in names {
            let gone = try #require(told.firstIndex(of: "all deleted \(name)"))
            let there = try #require(told.firstIndex(of: "all created \(name)"))
            #expect(gone < there)
        }
    }

    @Test func `a record whose end takes an entry of its own is not told to be there before`()
        async throws
    {
        let other = RecordZone.ID(zoneName: "other")
        let (container, database) = try await makeDatabase()
        try await database.save(RecordZone(zoneID: other))
        let keys = (0..<99).map { "k\($0)" }
        let text = RecordValue.string(String(repeating: "\u{1F600}", count: 100))
        let large = Dictionary(uniqueKeysWithValues: keys.map { ($0, text) })
        try await database.saveAll([note("a"), note("b", large)])
        try await database.save(querySubscription("all"))
        for (number, first) in stride(from: 0, to: keys.count, by: 3).enumerated() {
            try await database.save(
                querySubscription(
                    "s\(number)", in: notes, info: bringing(Array(keys[first..<first + 3]))))
        }
        try await database.moveRecords([noteID("a"), noteID("b")], to: other)
        let told = try await container.told().filter { $0.hasPrefix("all") }
        for name in ["a", "b"] {
            let gone = try #require(told.firstIndex(of: "all deleted \(name)"))
            let there = try #require(told.firstIndex(of: "all created \(name)"))
            #expect(gone < there)
        }
    }

    @Test func `a subscription that fires once does so for one record, though a call has more`()
        async throws
    {
        let options: Subscription.QueryOptions = [.firesOnRecordCreation, .firesOnce]
        let (container, database) = try await Self.begin([
            querySubscription("once", try .init("n > 0"), options), querySubscription("s"),
        ])
        try await database.save(note("none"))
        try await database.saveAll((0..<5).map { note("r\($0)", ["n": 1]) })
        try await database.save(note("later", ["n": 1]))
        let told = try await container.told()
        #expect(told.filter { $0.hasPrefix("once") } == ["once created r0"])
        #expect(told.count == 8)
        #expect(try await database.allSubscriptions() == [querySubscription("s")])
        // It can be made anew.
        try await database.save(querySubscription("once", .all, options))
        try await database.save(note("again"))
        #expect(try await container.told().suffix(2).contains("once created again"))
    }

    @Test func `many subscriptions of one value are all told, each once`() async throws {
        let (container, database) = try await makeDatabase()
        let count = 6000
        let predicate: Query.Predicate = FieldKey<Int>("n") == 1
        for first in stride(from: 0, to: count, by: 1000) {
            let sent = (first..<first + 1000).map { querySubscription("s\($0)", predicate) }
            let result = try await database.modifySubscriptions(saving: sent, deleting: [])
            #expect(result.saveResults.values.allSatisfy { $0.code == nil })
        }
        try await database.save(note("a", ["n": 1]))
        try await database.save(note("b", ["n": 2]))
        for limit in [10, 100_000] {
            let told = try await FollowedNotifications(of: container, resultsLimit: limit).told
            #expect(told.count == count)
            #expect(Set(told) == Set((0..<count).map { "s\($0) created a" }))
        }
    }
}

// What a notification brings.
extension NotificationTests {
    // Semantics 6.2: String, Number, CLLocation, Date, Reference; strings cut at 100.
    @Test func `values are those of the moment, of the kinds that are allowed, and short`()
        async throws
    {
        let (container, database) = try await makeDatabase()
        let keys = ["text", "n", "size", "day", "place", "friend", "list", "raw", "secret"]
        for (number, key) in (keys + ["missing"]).enumerated() {
            try await database.save(querySubscription("s\(number)", info: bringing([key])))
        }
        let long = String(repeating: "é", count: 99) + "\u{1F600}" + "x"
        var record = note("a")
        record["text"] = .string(long)
        record["n"] = .int64(.min)
        record["size"] = .double(0.1)
        record["day"] = .date(Date(timeIntervalSinceReferenceDate: 0.25))
        record["place"] = .location(Location(latitude: 1, longitude: -2, altitude: 3))
        record["friend"] = .reference(Reference(recordID: noteID("b")))
        record["list"] = ["x"]
        record["raw"] = .bytes(Data([1, 2]))
        record.encryptedValues["secret"] = "s"
        let saved = try await database.save(record)
        var items = try await FollowedNotifications(of: container).items
        #expect(items.count == keys.count + 1)
        for (item, key) in zip(items, keys) {
            var expected: [String: RecordValue] = [:]
            if !["list", "raw", "secret"].contains(key) { expected[key] = record[key] }
            if key == "text" { expected[key] = .string(String(long.dropLast())) }
            #expect(item.recordFields == expected, "\(key)")
        }
        #expect(items.last?.recordFields == [:])
        // Later values change nothing of it, and a deletion brings the last ones.
        var edited = saved
        edited["n"] = 7
        try await database.save(edited)
        try await database.deleteRecord(withID: noteID("a"))
        items = try await FollowedNotifications(of: container).items
        let numbers = items.filter { $0.subscriptionID == "s1" }.map { $0.recordFields["n"] }
        #expect(numbers == [.int64(.min), 7, 7])
        let missing = items.filter { $0.subscriptionID == "s9" }.map { $0.recordFields }
        #expect(missing == [[:], [:], [:]])
    }

    @Test func `the badge counts from the value that was set, one for each match that badges`()
        async throws
    {
        let (container, database) = try await Self.begin([
            querySubscription("s", info: badging), querySubscription("silent"),
            querySubscription("t", try .init("n > 0"), info: badging),
        ])
        func badges() async throws -> [Int?] {
            try await FollowedNotifications(of: container).items.map { $0.badge }
        }
        #expect(try await container.badge(for: "alice") == 0)
        try await database.save(note("a", ["n": 1]))
        #expect(try await badges() == [1, nil, 2])
        try await container.setBadge(10, for: "alice")
        #expect(try await container.badge(for: "alice") == 10)
        try await database.saveAll([note("b", ["n": 1]), note("c", ["n": 0])])
        #expect(try await badges() == [1, nil, 2, 11, nil, 12, 13, nil])
        #expect(try await container.badge(for: "alice") == 13)
        try await container.setBadge(0, for: "alice")
        try await database.save(note("d"))
        #expect(try await badges() == [1, nil, 2, 11, nil, 12, 13, nil, 1, nil])
        #expect(try await container.badge(for: "alice") == 1)
        #expect(try await container.badge(for: "bob") == 0)
        let error = await failure { try await container.setBadge(-1, for: "alice") }
        #expect(error.code == .invalidArguments)
        #expect(try await container.badge(for: "alice") == 1)
    }

    @Test func `badges are of one user, of all the user's databases`() async throws {
        let container = try Container.inMemory()
        for user in ["alice", "bob"] {
            try await container.publicDatabase(as: user).save(
                querySubscription("p", info: badging))
        }
        let database = container.privateDatabase(for: "alice")
        try await database.save(querySubscription("q", info: badging))
        try await container.publicDatabase(as: "carol").save(note("a", in: .default))
        try await database.save(note("b", in: .default))
        try await container.setBadge(5, for: "bob")
        try await container.publicDatabase(as: "carol").save(note("c", in: .default))
        let alices = try await FollowedNotifications(of: container, for: "alice").items
        #expect(alices.map { $0.badge } == [1, 2, 3])
        let bobs = try await FollowedNotifications(of: container, for: "bob").items
        #expect(bobs.map { $0.badge } == [1, 6])
    }

    @Test func `saves at once count every badge`() async throws {
        let (container, database) = try await Self.begin([querySubscription("s", info: badging)])
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<50 {
                group.addTask { _ = try? await database.save(note("r\(number)")) }
            }
        }
        let badges = try await FollowedNotifications(of: container).items.map { $0.badge }
        #expect(badges == Array(1...50))
        #expect(try await container.badge(for: "alice") == 50)
    }
}

// Read marks: semantics 6.5.
extension NotificationTests {
    @Test func `a mark is a notification of its own, and says so of what is marked`()
        async throws
    {
        let (container, database) = try await Self.begin([querySubscription("s")])
        try await database.saveAll([note("a"), note("b"), note("c")])
        let first = try await FollowedNotifications(of: container)
        let ids = first.items.map { $0.id }
        let results = try await container.markNotificationsRead([ids[2], ids[0]], for: "alice")
        #expect(results.count == 2 && results.values.allSatisfy { $0.code == nil })
        // Other devices learn of it by their tokens.
        let marks = try await FollowedNotifications(of: container, since: first.token)
        #expect(marks.items.map { $0.kind } == [.readMark, .readMark])
        #expect(marks.items.map { $0.markedID } == [ids[2], ids[0]])
        #expect(marks.items.allSatisfy { $0.recordID == nil && $0.recordFields.isEmpty })
        let all = try await FollowedNotifications(of: container)
        #expect(all.told == first.told + marks.told)
        #expect(all.items.prefix(3).map { $0.isRead } == [true, false, true])
        #expect(Set(all.items.map { $0.id }).count == 5)
        #expect(try await container.badge(for: "alice") == 0)
    }

    @Test func `what a user was not told cannot be marked`() async throws {
        let (container, database) = try await Self.begin([querySubscription("s")])
        let bob = container.privateDatabase(for: "bob")
        try await bob.save(querySubscription("s"))
        try await bob.save(note("b", in: .default))
        try await database.save(note("a"))
        let bobs = try await FollowedNotifications(of: container, for: "bob")
        let token = try await container.notificationToken()
        let id = try #require(bobs.items.first?.id)
        let own = try #require(try await FollowedNotifications(of: container).items.first?.id)
        let results = try await container.markNotificationsRead([id, own], for: "alice")
        #expect(results[id]?.code == .unknownItem)
        #expect(results[own] != nil && results[own]?.code == nil)
        #expect(try await container.told(since: token) == ["read \(own)"])
        #expect(try await container.told(to: "bob", since: bobs.token) == [])
        let empty = try await container.markNotificationsRead([], for: "alice")
        #expect(empty.isEmpty)
    }
}
