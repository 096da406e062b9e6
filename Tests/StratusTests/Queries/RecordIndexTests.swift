import FoundationEssentials
import Stratus
import Support
import Testing

/// Indexes on fields: which queries use them, and that they have what is saved.
@Suite struct RecordIndexTests {
    private static let other = RecordZone.ID(zoneName: "other")

    @Test func `an index is used by what it can answer, and by nothing else`() async throws {
        let (container, database) = try await makeDatabase()
        try await database.saveAll(
            (0..<10).map { number in
                note(
                    "r\(number)",
                    [
                        "text": .string("T\(number)"), "number": .int64(Int64(number)),
                        "size": .double(Double(number)), "tags": ["a", .string("\(number)")],
                        "data": .bytes(Data([UInt8(number)])),
                        "link": .reference(Reference(recordID: noteID("r0"))),
                    ])
            })
        let target = Reference(recordID: noteID("r0"))
        let cases: [(field: String, option: RecordIndex.Option, used: [String], not: [String])] = [
            (
                "text", .queryable,
                ["text = 't3'", "text IN {'t1', 'T2'}", "text = 'T3' AND number > 1"],
                ["text != 'T3'", "text > 'T3'", "text = 'T3' OR number = 1", "text =[d] 'T3'"]
            ),
            (
                "text", .sortable,
                [
                    "text BEGINSWITH 'T'", "text >= 't3'", "text BETWEEN {'T1', 'T3'}",
                    "text BEGINSWITH[c] 't'", "text = nil",
                ],
                ["text ENDSWITH '3'", "text <[n] 'T3'", "NOT text > 'T3'"]
            ),
            (
                "number", .queryable,
                ["number = 3", "number IN {1, 2.0}", "number > 3", "number BETWEEN {3, 1}"],
                ["number != 3", "number > 2.5", "number IN {1, 2.5}"]
            ),
            ("size", .sortable, ["size = 3", "size < 2.5"], ["size = nil OR size > 1"]),
            (
                "tags", .queryable, ["tags CONTAINS 'A'", "ANY tags IN {'1', '2'}", "'3' IN tags"],
                ["ALL tags = 'a'", "ANY tags BEGINSWITH '1'", "ANY tags CONTAINS 'a'"]
            ),
        ]
        for (field, option, used, not) in cases {
            var expected: [String: [String]] = [:]
            for text in used + not {
                let query = try noteQuery(text)
                expected[text] = try await recordNames(query, in: database)
                let before = try await database.explanation(of: query, inZoneWith: notes)
                #expect(before.index == nil)
            }
            let index = try await container.addIndex(on: field, of: "Note", option)
            #expect(index.state == .complete && index.fields == [field])
            #expect(index.options.contains(option))
            for text in used + not {
                let query = try noteQuery(text)
                let found = try await database.explanation(of: query, inZoneWith: notes)
                #expect(found.index == (used.contains(text) ? index : nil), "\(text)")
                #expect(try await recordNames(query, in: database) == expected[text], "\(text)")
            }
            try await container.removeIndex(index)
            let query = try noteQuery(used[0])
            #expect(try await database.explanation(of: query).index == nil)
            #expect(try await recordNames(query, in: database) == expected[used[0]])
        }
        try await container.addIndex(on: "data", of: "Note", .queryable)
        try await container.addIndex(on: "link", of: "Note", .queryable)
        let data = Query(
            recordType: "Note", predicate: try .init("data = %@", Data([3])))
        let link = Query(recordType: "Note", predicate: try .init("link = %@", target))
        #expect(try await database.explanation(of: data).index?.fields == ["data"])
        #expect(try await database.explanation(of: link).index?.fields == ["link"])
        #expect(try await recordNames(data, in: database) == ["r3"])
        #expect(try await recordNames(link, in: database).count == 10)
    }

    @Test func `a search reads the rows of its words, where all that it looks into has an index`()
        async throws
    {
        let (container, database) = try await makeDatabase()
        try await database.saveAll(
            (0..<300).map { number in
                note(
                    "r\(number)",
                    [
                        "text": .string("The Boat \(number), near Øresund"),
                        "tags": [.string(number % 2 == 0 ? "even boat" : "odd"), "x"],
                    ])
            })
        let used = [
            "self CONTAINS 'even'", "self CONTAINS '17 18'",
            "allTokens TOKENMATCHES[cdl] 'BOAT 17'",
            "self CONTAINS 'oresund' AND self CONTAINS '44'", "self CONTAINS 'the'",
            "self CONTAINS 'nothing'",
        ]
        let ofText = ["text TOKENMATCHES[cdl] '17'", "text TOKENMATCHES[cdl] 'boat 44'"]
        let not = ["NOT self CONTAINS '17'", "self CONTAINS '17' OR text = 'x'"]
        var expected: [String: [String]] = [:]
        for text in used + ofText + not {
            expected[text] = try await recordNames(noteQuery(text), in: database)
        }
        #expect(expected["self CONTAINS 'even'"]?.count == 150)
        #expect(expected["self CONTAINS '17 18'"] == ["r17", "r18"])
        #expect(expected["self CONTAINS 'the'"] == [])
        let missing = try await database.explanation(of: noteQuery(used[0])).missing
        #expect(Set(missing.map(\.field)) == ["text", "tags"])
        #expect(missing.allSatisfy { $0.option == .searchable })
        let first = try await container.addIndex(on: "text", of: "Note", .searchable)
        #expect(first.options == [.searchable])
        for text in used {
            let found = try await database.explanation(of: noteQuery(text), inZoneWith: notes)
            #expect(found.index == nil, "\(text)")
        }
        for text in ofText {
            let found = try await database.explanation(of: noteQuery(text), inZoneWith: notes)
            #expect(found.index == first, "\(text)")
        }
        try await container.addIndex(on: "tags", of: "Note", .searchable)
        for text in used + ofText + not {
            let query = try noteQuery(text)
            let found = try await database.explanation(of: query, inZoneWith: notes)
            #expect((found.index == nil) == not.contains(text), "\(text)")
            #expect(found.missing.isEmpty || not.contains(text))
            #expect(try await recordNames(query, in: database) == expected[text], "\(text)")
        }
    }

    @Test func `a record of very many words is found by each of them`() async throws {
        let (container, database) = try await makeDatabase()
        try await database.save(note("few", ["text": "one two"]))
        try await container.addIndex(on: "text", of: "Note", .searchable)
        let words = (0..<5000).map { "word\($0)" }
        var record = try await database.save(
            note("many", ["text": .string(words.joined(separator: " "))]))
        for word in ["word0", "word4999", "two"] {
            let query = try noteQuery("self CONTAINS '\(word)'")
            #expect(try await database.explanation(of: query).index != nil)
            let expected = word == "two" ? "few" : "many"
            #expect(try await recordNames(query, in: database) == [expected])
        }
        record["text"] = "word7"
        try await database.save(record)
        #expect(try await recordNames(noteQuery("self CONTAINS 'word7'"), in: database) == ["many"])
        #expect(try await recordNames(noteQuery("self CONTAINS 'word8'"), in: database) == [])
    }

    @Test func `places near a point are found among the cells around it`() async throws {
        let (container, database) = try await makeDatabase()
        // A grid over the whole earth, with its poles.
        var records: [Record] = []
        for latitude in stride(from: -90.0, through: 90, by: 10) {
            for longitude in stride(from: -180.0, through: 180, by: 10) {
                let place = Location(latitude: latitude, longitude: longitude)
                records.append(note("\(latitude) \(longitude)", ["place": .location(place)]))
            }
        }
        records.append(note("nowhere", ["number": 1]))
        records.append(note("beyond", ["place": .location(.init(latitude: 91, longitude: 0))]))
        records.append(
            note("turned", ["place": .location(.init(latitude: 0, longitude: 360_000_010))]))
        try await database.saveAll(records)
        func query(_ latitude: Double, _ longitude: Double, _ kilometres: Double) throws -> Query {
            Query(
                recordType: "Note",
                predicate: try .init(
                    "distanceToLocation:fromLocation:(place, %@) < %@",
                    Location(latitude: latitude, longitude: longitude), kilometres))
        }
        let queries = [
            try query(0, 0, 100), try query(0, 179.9, 1200), try query(89, 40, 3000),
            try query(-90, 0, 500), try query(50, 9, 900), try query(0, 0, 30_000),
            try query(0, 10, 1),
        ]
        var expected: [[String]] = []
        for query in queries { expected.append(try await recordNames(query, in: database)) }
        #expect(expected[1].contains("0.0 180.0") && expected[1].contains("0.0 -180.0"))
        #expect(expected[6].contains("turned"))
        #expect(
            try await database.explanation(of: queries[0]).missing.map(\.option) == [.queryable])
        let index = try await container.addIndex(on: "place", of: "Note", .queryable)
        for (query, names) in zip(queries, expected) {
            #expect(try await recordNames(query, in: database) == names)
        }
        for query in queries.prefix(2) {
            #expect(
                try await database.explanation(of: query, inZoneWith: notes).index == index)
        }
    }

    /// In pages of any size; and of more records than are read in one step, which has each once in any
    /// case.
    @Test(arguments: [(10, [1, 3, 9, 100]), (1500, [400, 1000, 10_000])])
    func `a record with several of the values that are asked for is found and counts once`(
        count: Int, limits: [Int]
    ) async throws {
        let (container, database) = try await makeDatabase()
        try await database.saveAll(
            (0..<count).map { number in
                note("r\(number)", ["tags": ["a", "b", .string("\(number)")], "number": 2])
            })
        let index = try await container.addIndex(on: "tags", of: "Note", .queryable)
        let query = try noteQuery("ANY tags IN {'A', 'b', '3'}")
        #expect(try await database.explanation(of: query, inZoneWith: notes).index == index)
        for limit in limits {
            let found = try await database.allRecords(matching: query, resultsLimit: limit)
            #expect(Set(found.map(\.recordID)).count == count, "\(limit)")
            #expect(found.count == count, "\(limit)")
        }
        let totals = try await database.totals(of: "number", matching: query, inZoneWith: notes)
        #expect(totals.count == count && totals.valueCount == count)
    }

    @Test func `an explanation names the indexes that would help`() async throws {
        let (container, database) = try await makeDatabase()
        try await database.save(note("a", ["text": "A", "number": 1]))
        let query = try noteQuery(
            "text BEGINSWITH 'a' AND number = 1 AND text ENDSWITH 'x'", sort: ("text", true))
        let missing = try await database.explanation(of: query).missing
        #expect(missing.map(\.field) == ["text", "number"])
        #expect(missing.map(\.option) == [.sortable, .queryable])
        try await container.addIndex(on: "text", of: "Note", .sortable)
        #expect(try await database.explanation(of: query).missing.map(\.field) == ["number"])
    }

    @Test func `an index is declared once, and only on what it can have`() async throws {
        let (container, database) = try await makeDatabase()
        var record = note("a", ["text": "A", "place": .location(.init(latitude: 1, longitude: 1))])
        record["data"] = .bytes(Data())
        record["tags"] = ["a"]
        record.encryptedValues["secret"] = "s"
        try await database.save(record)
        let first = try await container.addIndex(on: "text", of: "Note", .queryable)
        #expect(try await container.addIndex(on: "text", of: "Note", .queryable) == first)
        let second = try await container.addIndex(on: "text", of: "Note", .sortable)
        #expect(try await container.indexes() == [first, second])
        for (field, option) in [
            ("place", RecordIndex.Option.sortable), ("data", .sortable), ("tags", .sortable),
            ("secret", .queryable), ("nothing", .queryable), ("place", .searchable),
            ("data", .searchable), ("secret", .searchable),
        ] {
            let error = await failure {
                try await container.addIndex(on: field, of: "Note", option)
            }
            #expect(error.code == .invalidArguments, "\(field)")
        }
        try await container.removeIndex(first)
        let gone = await failure { try await container.removeIndex(first) }
        #expect(gone.code == .unknownItem)
        #expect(try await container.indexes() == [second])
        let again = try await container.addIndex(on: "text", of: "Note", .queryable)
        #expect(again != first)
    }

    @Test func `the rows of an index that is removed go with the next merge`() async throws {
        let store = DiskStore()
        var container = try store.open()
        let database = container.privateDatabase(for: "alice")
        try await database.save(RecordZone(zoneID: notes))
        func save(_ numbers: Range<Int64>) async throws {
            let records = numbers.map { number in
                note("r\(number)", ["number": .int64(number), "size": .int64(number)])
            }
            try await database.saveAll(records)
        }
        try await save(0..<300)
        let index = try await container.addIndex(on: "number", of: "Note", .sortable)
        try await container.addIndex(on: "size", of: "Note", .sortable)
        func rows() async throws -> Int {
            let keyspaces = try await container.indexStatistics().keyspaces
            return keyspaces.first { $0.name == "declared" }?.entries ?? 0
        }
        try await container.maintenance.erase()
        #expect(try await rows() == 600)
        let snapshot = container.snapshot()
        let query = try noteQuery("number > 250")
        try await container.removeIndex(index)
        try await save(300..<310)
        try await container.maintenance.erase()
        #expect(try await rows() == 310)
        // A state from before it is asked without it, too.
        let before = snapshot.privateDatabase(for: "alice")
        #expect(try before.explanation(of: query, inZoneWith: notes).index == nil)
        #expect(try before.records(matching: query, inZoneWith: notes).records.count == 49)
        #expect(try await database.allRecords(matching: query, in: notes).count == 59)
        // After an opening it is known yet which was.
        let again = try await container.addIndex(on: "number", of: "Note", .sortable)
        #expect(try await database.explanation(of: query, inZoneWith: notes).index == again)
        try await container.removeIndex(again)
        try await container.checkpoint()
        try await container.close()
        container = try store.open(creating: false)
        #expect(try await rows() > 310)
        try await container.maintenance.erase()
        #expect(try await rows() == 310)
        #expect(try await StoreVerification(of: container).findings.isEmpty)
        try await container.close()
    }

    @Test
    func `an index gets each record of its type once, many or few of all, also saved meanwhile`()
        async throws
    {
        let (container, database) = try await makeDatabase()
        func memo(_ number: Int) -> Record {
            var record = Record(recordType: "Memo", recordID: noteID("m\(number)"))
            record["number"] = .int64(Int64(number))
            return record
        }
        func save(_ numbers: Range<Int>, _ text: String) async throws {
            for start in stride(from: numbers.lowerBound, to: numbers.upperBound, by: 100) {
                let records = (start..<min(start + 100, numbers.upperBound)).map { number in
                    note("r\(number)", ["number": .int64(Int64(number)), "text": .string(text)])
                }
                try await database.saveAll(records, savePolicy: .allKeys)
            }
        }
        try await save(0..<3000, "before")
        try await database.saveAll((0..<40).map(memo))
        // So that it can be told which records are many.
        try await container.checkpoint()
        async let building = container.addIndex(on: "number", of: "Note", .queryable)
        // Those that were there keep their rows, new ones state theirs.
        for round in 0..<10 {
            try await save(round * 300..<round * 300 + 100, "meanwhile \(round)")
            try await save(3000 + round * 50..<3050 + round * 50, "new")
        }
        _ = try await building
        try await container.addIndex(on: "number", of: "Memo", .queryable)
        let all = try await database.allRecords(matching: noteQuery("number >= 0"))
        #expect(all.count == 3500)
        let memos = Query(recordType: "Memo", predicate: try .init("number BETWEEN {10, 19}"))
        #expect(try await database.explanation(of: memos).index != nil)
        #expect(try await recordNames(memos, in: database) == (10..<20).map { "m\($0)" })
        try await container.maintenance.erase()
        let keyspaces = try await container.indexStatistics().keyspaces
        #expect(keyspaces.first { $0.name == "declared" }?.entries == 3540)
        try await container.close()
    }

    @Test(arguments: [true, false])
    func `a page of an order is read from its index, ties and missing values too`(
        ascending: Bool
    ) async throws {
        let (container, database) = try await makeDatabase()
        try await database.save(RecordZone(zoneID: Self.other))
        var random = SeededGenerator(seed: 7)
        let long = String(repeating: "Long", count: 10)
        for zone in [notes, Self.other] {
            for start in stride(from: 0, to: 1200, by: 200) {
                try await database.saveAll(
                    (start..<start + 200).map { number in
                        var record = note("r\(number)", in: zone)
                        if !random.oneIn(10) {
                            record["text"] = .string(
                                random.oneIn(2)
                                    ? long + "\(random.below(30))" : "\(random.below(300))\u{0}")
                        }
                        if !random.oneIn(10) { record["number"] = .int64(Int64(random.below(40))) }
                        return record
                    })
            }
        }
        for key in ["text", "number"] {
            let query = Query(
                recordType: "Note",
                sortDescriptors: [
                    .init(key: key, ascending: ascending),
                    .init(key: key == "text" ? "number" : "text", ascending: true),
                ])
            for zone in [notes, nil] {
                let expected = try await database.allRecords(matching: query, in: zone)
                    .map(\.recordID)
                #expect(expected.count == (zone == nil ? 2400 : 1200))
                let index = try await container.addIndex(on: key, of: "Note", .sortable)
                let found = try await database.explanation(of: query, inZoneWith: zone)
                #expect(found.index == index && found.isInOrder)
                for limit in [70, 1000] {
                    let records = try await database.allRecords(
                        matching: query, in: zone, resultsLimit: limit)
                    #expect(records.map(\.recordID) == expected, "\(key), \(limit)")
                }
                try await container.removeIndex(index)
            }
        }
    }

    @Test func `what is saved, moved and deleted while an index is built is in it as it is`()
        async throws
    {
        let (container, database) = try await makeDatabase()
        try await database.save(RecordZone(zoneID: Self.other))
        for start in stride(from: 0, to: 2000, by: 200) {
            try await database.saveAll(
                (start..<start + 200).map { note("r\($0)", ["number": .int64(Int64($0 % 50))]) })
        }
        async let changes: Void = {
            for number in 0..<400 {
                let id = noteID("r\(number * 5)")
                switch number % 4 {
                case 0: try await database.deleteRecord(withID: id)
                case 1:
                    _ = try await database.moveRecords([id], to: Self.other)
                case 2:
                    var record = try await database.record(for: id)
                    record["number"] = .int64(Int64(number % 7))
                    try await database.save(record)
                default:
                    var record = try await database.record(for: id)
                    record["text"] = "x"
                    try await database.save(record)
                }
            }
        }()
        let index = try await container.addIndex(on: "number", of: "Note", .queryable)
        try await changes
        for zone in [notes, Self.other] {
            let all = try await database.allRecords(in: zone, type: "Note")
            for value in 0..<50 {
                let query = try noteQuery("number = \(value)")
                #expect(try await database.explanation(of: query).index == index)
                let found = try await database.allRecords(matching: query, in: zone)
                let expected = all.filter { $0["number"] == .int64(Int64(value)) }
                #expect(Set(found.map(\.recordID)) == Set(expected.map(\.recordID)), "\(value)")
                let count = try await database.totals(matching: query, inZoneWith: zone).count
                #expect(count == expected.count)
            }
        }
    }

    @Test func `an index that a death left unfinished is used once it is built`() async throws {
        let store = DiskStore()
        let container = try store.open()
        let database = container.privateDatabase(for: "alice")
        try await database.save(RecordZone(zoneID: notes))
        for start in stride(from: 0, to: 1000, by: 200) {
            try await database.saveAll(
                (start..<start + 200).map { note("r\($0)", ["number": .int64(Int64($0 % 50))]) })
        }
        _ = try await interruptedIndex(of: container, stop: store.disk.killProcesses) {
            try await container.addIndex(on: "number", of: "Note", .queryable)
        }
        let second = try store.open()
        let reopened = second.privateDatabase(for: "alice")
        let index = try #require(try await second.indexes().first)
        let query = try noteQuery("number = 7")
        var record = try await reopened.record(for: noteID("r7"))
        record["number"] = 8
        try await reopened.save(record)
        #expect(try await reopened.allRecords(matching: query).count == 19)
        try await second.buildIndexes()
        let built = try #require(try await second.indexes().first)
        #expect(built.state == .complete && built.fields == index.fields)
        #expect(try await reopened.explanation(of: query).index == built)
        #expect(try await reopened.allRecords(matching: query).count == 19)
        try await second.close()
        let reader = try store.openReadOnly().privateDatabase(for: "alice")
        #expect(try await reader.explanation(of: query).index == built)
        #expect(try await reader.allRecords(matching: query).count == 19)
    }

    @Test func `an opening builds on what was left unfinished`() async throws {
        let path = FileManager.default.temporaryDirectory.path + "/" + UUID().uuidString
        defer { try? FileManager.default.removeItem(atPath: path) }
        let container = try await Container.open(at: path, creating: true, durability: .none)
        let database = container.privateDatabase(for: "alice")
        try await database.save(RecordZone(zoneID: notes))
        try await database.saveAll(
            (0..<2000).map { note("r\($0)", ["number": .int64(Int64($0 % 50))]) })
        _ = try await interruptedIndex(of: container) {
            try await container.addIndex(on: "number", of: "Note", .queryable)
        }
        try await container.close()
        let second = try await Container.open(at: path)
        var index = try #require(try await second.indexes().first)
        while index.state != .complete {
            try await Task.sleep(for: .milliseconds(5))
            index = try #require(try await second.indexes().first)
        }
        let query = try noteQuery("number = 7")
        let reopened = second.privateDatabase(for: "alice")
        #expect(try await reopened.explanation(of: query).index == index)
        #expect(try await reopened.allRecords(matching: query).count == 40)
        try await second.close()
    }

    @Test func `a state from before an index is asked without it`() async throws {
        let (container, database) = try await makeDatabase()
        try await database.saveAll((0..<20).map { note("r\($0)", ["number": .int64(Int64($0))]) })
        let snapshot = container.snapshot()
        try await container.addIndex(on: "number", of: "Note", .queryable)
        try await database.deleteRecord(withID: noteID("r3"))
        let query = try noteQuery("number = 3")
        #expect(try await database.allRecords(matching: query).isEmpty)
        let past = try snapshot.privateDatabase(for: "alice").records(
            matching: query, inZoneWith: notes)
        #expect(past.records.map(\.recordID.recordName) == ["r3"])
        let later = container.snapshot()
        try await database.save(note("r3", ["number": 3]))
        #expect(
            try later.privateDatabase(for: "alice").records(matching: query, inZoneWith: notes)
                .records.isEmpty)
    }
    @Test func `an index of a number is not asked of a field that a save made a text`() async throws
    {
        let (container, database) = try await makeDatabase()
        try await container.importSchema(
            "DEFINE SCHEMA RECORD TYPE Note (size NUMBER QUERYABLE SORTABLE);")
        try await database.saveAll((0..<20).map { note("r\($0)", ["size": .string("s\($0)")]) })
        for text in ["size = 's3'", "size > 's3'", "size BEGINSWITH 's1'"] {
            let query = try noteQuery(text, sort: ("size", false))
            #expect(try await database.explanation(of: query).index == nil)
            #expect(try await !database.allRecords(matching: query).isEmpty)
        }
        #expect(try await container.schema().contains("size STRING"))
    }

    @Test func `a long list in an index is saved in linear time`() async throws {
        let (container, database) = try await makeDatabase()
        func list(_ range: Range<Int>) -> RecordValue {
            .list(range.map { .int64(Int64($0)) })
        }
        var record = try await database.save(note("a", ["numbers": list(0..<40_000)]))
        try await container.addIndex(on: "numbers", of: "Note", .queryable)
        record["numbers"] = list(1..<40_001)
        try await database.save(record)
        for (number, count) in [(0, 0), (1, 1), (40_000, 1)] {
            let query = try noteQuery("numbers CONTAINS \(number)")
            #expect(try await database.allRecords(matching: query).count == count)
        }
    }
}
