import FoundationEssentials
import Stratus
import Support
import Testing

/// Whatever a query finds, a subscription with the same predicate is told of when it is saved,
/// under whichever of its conditions the subscription was filed; and of nothing else.
@Suite(.timeLimit(.minutes(240))) struct PredicateAnchorTests {
    /// How many runs are made: STRATUS_ANCHOR_SEEDS; each has some 100,000 pairs of a subscription
    /// and a changed record.
    private static let seeds =
        ProcessInfo.processInfo.environment["STRATUS_ANCHOR_SEEDS"].flatMap { Int($0) } ?? 3
    private static let subscriptionCount = 250
    private static let roundCount = 8
    private static let changeCount = 30
    private static let recordCount = 40

    @Test(arguments: 0..<seeds)
    func `subscriptions are told of what queries find`(seed: Int) async throws {
        var run = try await AnchorRun(seed: UInt64(seed) + 4000)
        try await run.subscribe(Self.subscriptionCount)
        for _ in 0..<Self.roundCount where run.problems.isEmpty {
            try await run.change(Self.changeCount, of: Self.recordCount)
        }
        for problem in run.problems.prefix(5) { Issue.record("seed \(seed): \(problem)") }
        #expect(run.refused < Self.subscriptionCount / 10, "seed \(seed)")
        #expect(run.told > Self.roundCount * Self.subscriptionCount, "seed \(seed)")
    }
}

/// A store whose subscriptions are compared with queries.
private struct AnchorRun {
    private struct Subscribed {
        var id: String
        var source: AnchorPredicate
        var query: Query
        var zone: RecordZone.ID?
        var options: Subscription.QueryOptions
    }

    private static let types = ["Note", "Note", "Note", "Page"]

    private let container: Container
    private let database: Database
    private let zones = [notes, RecordZone.ID(zoneName: "other")]
    private var generator: AnchorGenerator
    private var subscribed: [Subscribed] = []
    /// What each subscription's query found in each zone, after the last change of the zone.
    private var found: [RecordZone.ID: [Set<Record.ID>]] = [:]
    private var records: [Record.ID: Record] = [:]
    private var token: NotificationToken?
    private var round = 0
    private(set) var problems: [String] = []
    private(set) var refused = 0
    private(set) var told = 0

    init(seed: UInt64) async throws {
        generator = AnchorGenerator(seed: seed)
        container = try Container.inMemory()
        database = container.privateDatabase(for: "alice")
        for zone in zones { try await database.save(RecordZone(zoneID: zone)) }
        for type in ["Note", "Page"] {
            var record = note("kinds of \(type)", type: type, in: .default)
            generator.fillAll(&record)
            try await database.save(record)
        }
    }

    mutating func subscribe(_ count: Int) async throws {
        for number in 0..<count {
            let zone = generator.random.oneIn(3) ? generator.one(of: zones) : nil
            let other = generator.one(of: zones)
            let source = generator.predicate(depth: 3, in: zone ?? other)
            let query: Query
            do {
                let type = generator.one(of: Self.types)
                query = Query(recordType: type, predicate: try source.predicate)
                _ = try await database.records(matching: query, resultsLimit: 1)
            } catch {
                refused += 1
                continue
            }
            var options: Subscription.QueryOptions = .everyChange
            if generator.random.oneIn(3) { options.insert(.firesOnRecordUnmatched) }
            if generator.random.oneIn(4) { options.remove(.firesOnRecordUpdate) }
            let id = "p\(number)"
            subscribed.append(
                Subscribed(id: id, source: source, query: query, zone: zone, options: options))
        }
        let sent = subscribed.map { one in
            querySubscription(
                one.id, one.query.predicate, type: one.query.recordType, in: one.zone,
                one.options)
        }
        // What a query accepts, a subscription does.
        let result = try await database.modifySubscriptions(saving: sent, deleting: [])
        for (one, subscription) in zip(subscribed, sent) {
            // What is not a number is not equal to itself.
            let saved = try result.saveResults[one.id]?.get()
            if saved.map({ "\($0)" }) != "\(subscription)" {
                problems.append("\(one.source) came back as something else")
            }
        }
        token = try await container.notificationToken()
        for zone in zones { found[zone] = try await matches(in: zone) }
    }

    /// What each subscription's query finds in a zone.
    private func matches(in zone: RecordZone.ID) async throws -> [Set<Record.ID>] {
        var sets: [Set<Record.ID>] = []
        for one in subscribed {
            if let only = one.zone, only != zone {
                sets.append([])
                continue
            }
            let records = try await database.allRecords(matching: one.query, in: zone)
            sets.append(Set(records.map { $0.recordID }))
        }
        return sets
    }

    /// Saves and deletes records of one zone in one call, and compares what is told of it.
    mutating func change(_ count: Int, of names: Int) async throws {
        round += 1
        let zone = generator.one(of: zones)
        var saves: [Record] = []
        var deletes: [Record.ID] = []
        for name in (0..<names).shuffled(using: &generator.random).prefix(count) {
            let id = noteID("r\(name)", in: zone)
            if let known = records[id], generator.random.oneIn(4) {
                deletes.append(known.recordID)
                continue
            }
            let type = generator.one(of: Self.types)
            var record = records[id] ?? note(id.recordName, type: type, in: zone)
            generator.fill(&record)
            saves.append(record)
        }
        let result = try await database.modifyRecords(saving: saves, deleting: deletes)
        if let failure = result.partialFailure {
            problems.append("\(failure.partialErrors.values.map { $0.description })")
            return
        }
        let before = found[zone] ?? []
        let after = try await matches(in: zone)
        var expected: Set<String> = []
        for (index, one) in subscribed.enumerated() {
            for record in saves {
                let id = record.recordID
                let isMatch = after[index].contains(id)
                let wasMatch = before[index].contains(id)
                if records[id] == nil {
                    guard isMatch, one.options.contains(.firesOnRecordCreation) else { continue }
                    expected.insert("\(one.id) created \(id.recordName)")
                } else {
                    let option: Subscription.QueryOptions =
                        isMatch ? .firesOnRecordUpdate : .firesOnRecordUnmatched
                    guard isMatch || wasMatch, one.options.contains(option) else { continue }
                    expected.insert("\(one.id) updated \(id.recordName)")
                }
            }
            guard one.options.contains(.firesOnRecordDeletion) else { continue }
            for id in deletes where before[index].contains(id) {
                expected.insert("\(one.id) deleted \(id.recordName)")
            }
        }
        let all = try await FollowedNotifications(of: container, since: token)
        compare(all.told, with: expected)
        token = all.token
        told += all.told.count
        found[zone] = after
        for record in saves {
            records[record.recordID] = try result.saveResults[record.recordID]?.get()
        }
        for id in deletes { records[id] = nil }
    }

    private mutating func compare(_ told: [String], with expected: Set<String>) {
        let set = Set(told)
        for line in expected.subtracting(set).sorted() { report(line, "not told") }
        for line in set.subtracting(expected).sorted() { report(line, "told") }
        if set.count != told.count { problems.append("round \(round): something is told twice") }
    }

    private mutating func report(_ line: String, _ problem: String) {
        let one = subscribed.first { line.hasPrefix($0.id + " ") }
        let source = one.map { "\($0.source)" } ?? "of no subscription"
        problems.append("round \(round), \(problem): \(line): \(source)")
    }
}

/// Predicates and values at the edges of what subscriptions are filed under.
extension PredicateAnchorTests {
    struct Edge: Sendable, CustomTestStringConvertible {
        var text: String
        var arguments: [RecordValue?] = []
        var field = "f"
        /// Values of the field that match, and others; nil for none.
        var matching: [RecordValue?]
        var others: [RecordValue?]

        var testDescription: String { "\(text) \(arguments)" }
    }

    private static func place(_ latitude: Double, _ longitude: Double) -> RecordValue {
        .location(Location(latitude: latitude, longitude: longitude))
    }

    private static let exact: Int64 = 1 << 53

    static let edges: [Edge] = [
        // Numbers: an integer and a real are compared by value.
        Edge(text: "f = 1.0", matching: [1], others: [2, 0, nil]),
        Edge(
            text: "f = 9007199254740992.0", matching: [.int64(exact)],
            others: [.int64(exact + 1), .int64(exact - 1)]),
        Edge(
            text: "f = %@", arguments: [.int64(exact + 1)], matching: [.int64(exact + 1)],
            others: [.int64(exact), .int64(exact + 2)]),
        Edge(
            text: "f > %@", arguments: [.int64(exact)],
            matching: [.int64(exact + 1), .int64(.max)],
            others: [.int64(exact), 0]),
        Edge(
            text: "f >= %@ AND f <= %@", arguments: [.int64(exact + 1), .int64(exact + 1)],
            matching: [.int64(exact + 1)], others: [.int64(exact), .int64(exact + 2)]),
        Edge(
            text: "f BETWEEN {%@, %@}", arguments: [.int64(.max), .int64(.max)],
            matching: [.int64(.max)], others: [.int64(.max - 1), .int64(.min)]),
        Edge(text: "f = 0", matching: [.double(0), .double(-0.0)], others: [1.5]),
        Edge(
            text: "f BETWEEN {-1, 1}", matching: [.double(-0.0), -1.0, 1.0], others: [1.25, -2.0]),
        Edge(
            text: "f >= %@", arguments: [.double(-.infinity)],
            matching: [.double(-.infinity), .double(.infinity), .double(-0.0)],
            others: [.double(.nan), nil]),
        Edge(
            text: "f < %@", arguments: [.double(.leastNonzeroMagnitude)],
            matching: [.double(0), .double(-1)],
            others: [.double(.leastNonzeroMagnitude), .double(1)]),
        Edge(text: "f IN {1, 2.0, 3}", matching: [1, 2, 3], others: [0, 4]),
        // Strings: without regard to case, of which a prefix is not.
        Edge(
            text: "f = 'STRASSE'", matching: ["Straße", "strasse"], others: ["Strase", "strass"]),
        Edge(text: "f BEGINSWITH 'Ab'", matching: ["Ab", "Abc"], others: ["ab", "A", ""]),
        Edge(text: "f BEGINSWITH[c] 'strass'", matching: ["Straße", "STRASS"], others: ["Stras"]),
        Edge(text: "f BEGINSWITH[cd] 'etage'", matching: ["Étages", "etage"], others: ["tage"]),
        Edge(text: "f BEGINSWITH ''", matching: ["", "x"], others: [nil]),
        Edge(
            text: "f BEGINSWITH 'ééééééééé'", matching: ["ééééééééé", "éééééééééé"],
            others: ["éééééééé", "éééééééée"]),
        Edge(
            text: "f BEGINSWITH 'sixteen bytes abc'", matching: ["sixteen bytes abcd"],
            others: ["sixteen bytes ab", "sixteen bytes abd"]),
        Edge(text: "f =[n] 'Ab'", matching: ["Ab"], others: ["ab"]),
        Edge(text: "f IN[d] {'etage'}", matching: ["étage", "ETAGE"], others: ["etag"]),
        Edge(text: "f CONTAINS 'b'", matching: ["abc", "b"], others: ["B", ""]),
        Edge(text: "f LIKE 'a*c'", matching: ["ac", "abc"], others: ["ab"]),
        Edge(text: "f != 'a'", matching: ["b"], others: ["a", "A", nil]),
        Edge(text: "f = NULL", matching: [nil], others: ["a"]),
        Edge(text: "NOT f = NULL", matching: ["a"], others: [nil]),
        // Lists.
        Edge(text: "f CONTAINS 'X'", matching: [["x"], ["a", "X"]], others: [["a"], nil]),
        Edge(text: "ANY f IN {'a', 'b'}", matching: [["c", "B"]], others: [["c"]]),
        Edge(text: "ANY f BEGINSWITH 'a'", matching: [["b", "ab"]], others: [["b"]]),
        Edge(
            text: "ALL f = 'a'", matching: [["a"], ["A", "a"], .list([])],
            others: [["a", "b"]]),
        Edge(text: "ANY f > 5", matching: [[1, 6]], others: [[1, 5]]),
        Edge(text: "ANY f BETWEEN {2, 3}", matching: [[1, 3]], others: [[1, 4]]),
        // Words.
        Edge(
            text: "SELF CONTAINS 'red boat'", matching: ["a RED car", "the boat"],
            others: ["redder", ""]),
        Edge(
            text: "SELF TOKENMATCHES 'red boat'", matching: ["boat, réd"],
            others: ["red", "boat"]),
        Edge(text: "NOT SELF CONTAINS 'red'", matching: ["blue", nil], others: ["red"]),
        // Places: at the poles, at the meridian of 180 degrees, and all around the earth.
        Edge(
            text: "distanceToLocation:fromLocation:(f, %@) < 20", arguments: [place(89.99, 0)],
            matching: [place(89.99, 180), place(90, 45), place(89.99, -90)],
            others: [place(89.7, 180), place(-89.99, 0)]),
        Edge(
            text: "distanceToLocation:fromLocation:(f, %@) < 20", arguments: [place(0, 179.95)],
            matching: [place(0, -179.95), place(0.1, 180), place(0, 179.9)],
            others: [place(0, 179.7), place(0, 0)]),
        Edge(
            text: "distanceToLocation:fromLocation:(f, %@) < 30000", arguments: [place(10, 10)],
            matching: [place(-90, 0), place(-10, -170), place(10, 10)], others: [nil]),
        Edge(
            text: "distanceToLocation:fromLocation:(f, %@) < 0.001", arguments: [place(45, 45)],
            matching: [place(45, 45), place(45, 405)], others: [place(45.001, 45)]),
        // Dates are of a kind of their own.
        Edge(
            text: "f >= %@ AND f < %@",
            arguments: [
                .date(Date(timeIntervalSinceReferenceDate: -0.5)),
                .date(Date(timeIntervalSinceReferenceDate: 0.5)),
            ],
            matching: [
                .date(Date(timeIntervalSinceReferenceDate: 0)),
                .date(Date(timeIntervalSinceReferenceDate: -0.5)),
            ],
            others: [.date(Date(timeIntervalSinceReferenceDate: 0.5))]),
        // Branches.
        Edge(text: "f = 1 OR f > 5", matching: [1, 6], others: [5, 0]),
        Edge(text: "f = 1 OR NOT f = 2", matching: [1, 3], others: [2, nil]),
        Edge(text: "(f = 1 OR f = 2) AND f > 1", matching: [2], others: [1, 3]),
        Edge(text: "f = 1 AND FALSEPREDICATE", matching: [], others: [1, 2]),
        Edge(text: "f = 1 OR TRUEPREDICATE", matching: [1, 2, nil], others: []),
    ]

    @Test(arguments: edges)
    func `at the edges a subscription is told of what satisfies its predicate`(
        edge: Edge
    ) async throws {
        let (container, database) = try await makeDatabase()
        // So that the field has a kind.
        let first = try #require((edge.matching + edge.others).compactMap { $0 }.first)
        try await database.save(note("kind", [edge.field: first]))
        let predicate = try Query.Predicate(edge.text, arguments: edge.arguments)
        try await database.save(querySubscription("s", predicate))
        var expected: [String] = []
        let values = edge.matching.map { ($0, true) } + edge.others.map { ($0, false) }
        for (number, (value, isMatch)) in values.enumerated() {
            var record = note("r\(number)")
            record[edge.field] = value
            try await database.save(record)
            if isMatch { expected.append("s created r\(number)") }
        }
        #expect(try await container.told() == expected)
        let found = try await database.allRecords(
            matching: Query(recordType: "Note", predicate: predicate))
        let names = Set(found.map { $0.recordID.recordName }).subtracting(["kind"])
        #expect(names == Set(expected.map { String($0.dropFirst("s created ".count)) }))
    }

    @Test func `wherever a text has a capital letter it is told of to whom waits for small ones`()
        async throws
    {
        let (container, database) = try await makeDatabase()
        let lengths = 1...20
        let predicates = try lengths.map {
            try Query.Predicate("f = %@", arguments: [.string(String(repeating: "k", count: $0))])
        }
        let subscriptions = zip(lengths, predicates).map { querySubscription("s\($0)", $1) }
        _ = try await database.modifySubscriptions(saving: subscriptions, deleting: [])
        var records: [Record] = []
        var expected: [String] = []
        // The last is the sign of a unit, which folds to the letter, in three bytes.
        for (letter, isEqual) in [("K", true), ("A", false), ("Z", false), ("\u{212a}", true)] {
            for length in lengths {
                for place in 0..<length {
                    let name = "\(letter.unicodeScalars.first?.value ?? 0) \(length) \(place)"
                    let (before, behind) = (place, length - place - 1)
                    let text =
                        String(repeating: "k", count: before) + letter
                        + String(repeating: "k", count: behind)
                    records.append(note(name, ["f": .string(text)]))
                    if isEqual { expected.append("s\(length) created \(name)") }
                }
            }
        }
        try await database.saveAll(records)
        #expect(try await container.told() == expected)
    }

    @Test func `a predicate of more than 1,024 conditions is filed and told all the same`()
        async throws
    {
        let (container, database) = try await makeDatabase()
        let values = (0..<1500).map { RecordValue.int64(Int64($0) * 2) }
        let isEven = FieldKey<RecordValue>("n").isIn(values)
        try await database.save(querySubscription("s", isEven))
        try await database.saveAll(
            [0, 1, 2, 1024, 2047, 2048, 2998, 3000].map {
                note("r\($0)", ["n": .int64($0)])
            })
        #expect(
            try await container.told()
                == [0, 2, 1024, 2048, 2998].map { "s created r\($0)" })
    }

    @Test func `subscriptions of other types, zones and databases are not told`() async throws {
        let (container, database) = try await makeDatabase()
        let other = RecordZone.ID(zoneName: "other")
        try await database.save(RecordZone(zoneID: other))
        let predicate: Query.Predicate = FieldKey<Int>("n") == 1
        for place in [database, container.publicDatabase(as: "alice")] {
            try await place.save(querySubscription("any", predicate))
            try await place.save(querySubscription("page", predicate, type: "Page"))
        }
        try await database.save(querySubscription("notes", predicate, in: notes))
        try await database.save(querySubscription("other", predicate, in: other))
        try await database.save(note("a", ["n": 1]))
        try await database.save(note("b", ["n": 1], in: other))
        try await database.save(note("c", ["n": 1], in: .default))
        try await container.publicDatabase(as: "bob").save(note("d", ["n": 1], in: .default))
        try await container.privateDatabase(for: "bob").save(note("e", ["n": 1], in: .default))
        #expect(
            try await container.told().sorted()
                == [
                    "any created a", "any created b", "any created c", "any created d",
                    "notes created a", "other created b",
                ])
        let scopes = try await FollowedNotifications(of: container).items.map {
            "\($0.recordID?.recordName ?? "") \($0.databaseScope?.rawValue ?? 0)"
        }
        #expect(Set(scopes).count == 4)
    }
}
