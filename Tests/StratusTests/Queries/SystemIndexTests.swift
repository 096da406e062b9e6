import FoundationEssentials
import Stratus
import Support
import Testing

/// Indexes on the system fields of records, and records that a query names.
@Suite struct SystemIndexTests {
    /// Three users have saved 90 notes in the public database, of which every fourth was saved by another
    /// one once more.
    private static func makeForum() async throws -> (Container, Database) {
        let container = try Container.inMemory()
        let users = ["alice", "bob", "carol"]
        try await container.importSchema(
            """
            DEFINE SCHEMA RECORD TYPE Note (
                n INT64, topic STRING, GRANT READ TO "_world",
                GRANT CREATE, WRITE TO "_icloud");
            """)
        for number in 0..<90 {
            var record = Record(recordType: "Note", recordID: Record.ID(recordName: "r\(number)"))
            record["n"] = .int64(Int64(number))
            record["topic"] = .string(number % 2 == 0 ? "Boats" : "trains")
            // The one in the middle has a date of its own.
            if number == 40 || number == 41 { try await Task.sleep(for: .milliseconds(2)) }
            try await container.publicDatabase(as: users[number % 3]).save(record)
        }
        for number in stride(from: 0, to: 90, by: 4) {
            let database = container.publicDatabase(as: users[(number + 1) % 3])
            var record = try await database.record(for: Record.ID(recordName: "r\(number)"))
            record["n"] = .int64(Int64(number + 1000))
            try await database.save(record)
            if number == 40 { try await Task.sleep(for: .milliseconds(2)) }
        }
        return (container, container.publicDatabase(as: "alice"))
    }

    private static func date(_ record: Record, _ path: KeyPath<Record, Date?>) throws -> RecordValue
    {
        .date(try #require(record[keyPath: path]))
    }

    @Test func `dates and users are found in their indexes, as without them`() async throws {
        let (container, database) = try await Self.makeForum()
        func names(_ query: Query) async throws -> [String] {
            try await database.allRecords(matching: query, in: nil).map(\.recordID.recordName)
                .sorted()
        }
        let middle = try await database.record(for: Record.ID(recordName: "r40"))
        let created = try Self.date(middle, \.creationDate)
        let modified = try Self.date(middle, \.modificationDate)
        let me = RecordValue.reference(
            Reference(recordID: try #require(middle.creatorUserRecordID)))
        let other = RecordValue.reference(
            Reference(recordID: try #require(middle.lastModifiedUserRecordID)))
        let unknown = RecordValue.reference(
            Reference(recordID: Record.ID(recordName: "_0123456789abcdef0123456789abcdef")))
        #expect(me != other)
        let cases: [(fields: [String], text: String, arguments: [RecordValue?])] = [
            (["creationDate"], "creationDate > %@", [created]),
            (["creationDate"], "creationDate = %@", [created]),
            (["creationDate"], "creationDate BETWEEN {%@, %@}", [created, modified]),
            (["modificationDate"], "___modTime <= %@", [modified]),
            (["modificationDate"], "modificationDate >= %@ AND n > 3", [modified]),
            (["creatorUserRecordID"], "creatorUserRecordID = %@", [me]),
            (["creatorUserRecordID"], "creatorUserRecordID IN {%@, %@}", [me, unknown]),
            (["creatorUserRecordID"], "creatorUserRecordID = %@", [unknown]),
            (["___modifiedBy"], "lastModifiedUserRecordID = %@", [other]),
            (
                ["creatorUserRecordID", "modificationDate"],
                "creatorUserRecordID = %@ AND modificationDate < %@", [me, modified]
            ),
            (["topic", "creationDate"], "topic = 'boats' AND creationDate > %@", [created]),
            (
                ["lastModifiedUserRecordID", "creatorUserRecordID"],
                "creatorUserRecordID = %@ AND lastModifiedUserRecordID = %@", [me, other]
            ),
        ]
        for (fields, text, arguments) in cases {
            let query = Query(
                recordType: "Note", predicate: try Query.Predicate(text, arguments: arguments))
            let expected = try await names(query)
            #expect(try await database.explanation(of: query).index == nil)
            let isUnknown = arguments.count == 1 && arguments[0] == unknown
            #expect(expected.isEmpty == isUnknown && expected.count < 90, "\(text)")
            let index =
                fields.count == 1
                ? try await container.addIndex(on: fields[0], of: "Note", .queryable)
                : try await container.addIndex(on: fields, of: "Note")
            #expect(try await database.explanation(of: query).index == index, "\(text)")
            #expect(try await names(query) == expected, "\(text)")
            let totals = try await database.totals(matching: query)
            #expect(totals.count == expected.count, "\(text)")
            try await container.removeIndex(index)
        }
    }

    @Test func `the newest come first, page by page, and each save moves its record there`()
        async throws
    {
        let (container, database) = try await makeDatabase()
        try await database.saveAll(
            (0..<6000).map { number in
                var record = note("r\(number)")
                record["state"] = .string(number % 2 == 0 ? "open" : "done")
                return record
            })
        for number in [7, 4000, 12] {
            var record = try await database.record(for: noteID("r\(number)"))
            record["state"] = "open"
            // Each has a date of its own.
            try await Task.sleep(for: .milliseconds(2))
            try await database.save(record)
        }
        let newest = try noteQuery("TRUEPREDICATE", sort: ("modificationDate", false))
        let open = try noteQuery("state = 'open'", sort: ("modificationDate", false))
        let expected = [
            try await database.allRecords(matching: newest),
            try await database.allRecords(matching: open),
        ]
        #expect(expected.map(\.count) == [6000, 3001])
        let indexes = [
            try await container.addIndex(on: "modificationDate", of: "Note", .sortable),
            try await container.addIndex(on: ["state", "modificationDate"], of: "Note"),
        ]
        for (query, (index, expected)) in zip([newest, open], zip(indexes, expected)) {
            let explanation = try await database.explanation(of: query)
            #expect(explanation.index == index && explanation.isInOrder)
            let found = try await database.allRecords(matching: query, resultsLimit: 400)
            #expect(found.map(\.recordID) == expected.map(\.recordID))
            #expect(found.prefix(3).map(\.recordID.recordName) == ["r12", "r4000", "r7"])
        }
        var record = try await database.record(for: noteID("r2000"))
        record["other"] = 1
        try await Task.sleep(for: .milliseconds(2))
        try await database.save(record)
        try await database.deleteRecord(withID: noteID("r12"))
        for query in [newest, open] {
            let page = try await database.records(matching: query, resultsLimit: 3)
            #expect(page.records.map(\.recordID.recordName) == ["r2000", "r4000", "r7"])
        }
    }

    @Test func `what is written again for a share, or moved, has the rows of its new dates`()
        async throws
    {
        let fixture = try await SharingFixture.family(profile: Profile(touchesParents: true))
        let (container, database) = (fixture.container, fixture.alice)
        let index = try await container.addIndex(on: "modificationDate", of: "Note", .sortable)
        func check(in zone: RecordZone.ID, _ count: Int) async throws {
            let query = Query(
                recordType: "Note",
                predicate: try Query.Predicate(
                    "modificationDate > %@", arguments: [.date(Date(timeIntervalSince1970: 0))]),
                sortDescriptors: [.init(key: "modificationDate", ascending: true)])
            #expect(try await database.explanation(of: query, inZoneWith: zone).index == index)
            let found = try await database.allRecords(matching: query, in: zone)
            let all = try await database.allRecords(in: zone, type: "Note")
            let expected = all.sorted {
                ($0.modificationDate ?? .now) < ($1.modificationDate ?? .now)
            }
            #expect(found.map(\.modificationDate) == expected.map(\.modificationDate))
            #expect(found.count == count)
            for record in all {
                let date = RecordValue.date(try #require(record.modificationDate))
                let same = Query(
                    recordType: "Note",
                    predicate: try Query.Predicate("modificationDate = %@", arguments: [date]))
                let records = try await database.allRecords(matching: same, in: zone)
                #expect(records.contains { $0.recordID == record.recordID })
            }
        }
        try await check(in: notes, 7)
        // The root is written again, and so is a parent whose child is saved.
        let share = try await fixture.share("root", with: ["bob"])
        try await check(in: notes, 7)
        var child = try await database.record(for: noteID("a1"))
        child["n"] = 30
        try await database.save(child)
        try await check(in: notes, 7)
        try await database.deleteRecord(withID: share.record.recordID)
        try await check(in: notes, 7)
        let other = RecordZone.ID(zoneName: "other")
        try await database.save(RecordZone(zoneID: other))
        _ = try await database.moveRecords([noteID("out")], to: other)
        try await check(in: other, 2)
        try await check(in: notes, 5)
    }

    @Test func `what each save changes is no column of a unique index, and users have no order`()
        async throws
    {
        let (container, database) = try await makeDatabase()
        try await database.save(note("a"))
        for fields in [["modificationDate"], ["___createdBy", "lastModifiedUserRecordID"]] {
            await #expect(throws: StoreError.self) {
                try await container.addUniqueIndex(on: fields, of: "Note")
            }
        }
        for field in ["creatorUserRecordID", "recordID", "___etag", "parent", "share"] {
            await #expect(throws: StoreError.self, "\(field)") {
                try await container.addIndex(on: field, of: "Note", .sortable)
            }
        }
        await #expect(throws: StoreError.self) {
            try await container.addIndex(on: ["creationDate", "___createTime"], of: "Note")
        }
        #expect(try await container.indexes().isEmpty)
        // In no order of an index, which would be that of their numbers.
        let users = try await container.addIndex(on: "creatorUserRecordID", of: "Note", .queryable)
        #expect(users.fields == ["___createdBy"] && users.options == [.queryable])
        let sorted = try noteQuery("TRUEPREDICATE", sort: ("creatorUserRecordID", true))
        let explanation = try await database.explanation(of: sorted)
        #expect(explanation.index == nil && explanation.missing.isEmpty)
    }

    @Test func `each user may have one record of a value`() async throws {
        let (container, _) = try await Self.makeForum()
        try await container.addUniqueIndex(on: ["___createdBy", "n"], of: "Note")
        for user in ["alice", "bob"] {
            var record = Record(recordType: "Note")
            record["n"] = 5000
            try await container.publicDatabase(as: user).save(record)
        }
        var record = Record(recordType: "Note")
        record["n"] = 5000
        let third = record
        let error = await #expect(throws: StoreError.self) {
            try await container.publicDatabase(as: "bob").save(third)
        }
        #expect(error?.code == .constraintViolation)
    }

    @Test func `the schema lists system fields that have an index`() async throws {
        let (container, database) = try await makeDatabase()
        var first = note("a")
        first["n"] = 1
        try await database.save(first)
        try await container.addIndex(on: "creationDate", of: "Note", .sortable)
        try await container.addIndex(on: ["n", "___modTime"], of: "Note")
        let text = try await container.schema()
        #expect(text.contains(#""___createTime" TIMESTAMP QUERYABLE SORTABLE"#), "\(text)")
        #expect(text.contains(#"(n, "___modTime")"#), "\(text)")
        #expect(try await container.importSchema(text) == [])
        // What a text lists no more is removed, and what it lists anew is built.
        let other = text.replacing(
            #""___createTime" TIMESTAMP QUERYABLE SORTABLE"#,
            with: #""___createdBy" REFERENCE QUERYABLE, "___recordID" REFERENCE QUERYABLE"#)
        try await container.importSchema(other)
        let indexes = try await container.indexes()
        #expect(Set(indexes.map(\.fields)) == [["n", "___modTime"], ["___createdBy"]])
        #expect(indexes.allSatisfy { $0.state == .complete })
        let exported = try await container.schema()
        #expect(exported.contains(#""___createdBy" REFERENCE QUERYABLE"#), "\(exported)")
        #expect(exported.contains(#""___recordID"  REFERENCE QUERYABLE"#), "\(exported)")
        #expect(!exported.contains("___createTime"), "\(exported)")
    }

    @Test func `the schema lists a type without fields that has an index`() async throws {
        let (container, database) = try await makeDatabase()
        try await database.save(note("a"))
        let index = try await container.addIndex(on: "creationDate", of: "Note", .sortable)
        let text = try await container.schema()
        #expect(text.contains(#""___createTime" TIMESTAMP QUERYABLE SORTABLE"#), "\(text)")
        #expect(try await container.importSchema(text) == [])
        #expect(try await container.indexes() == [index])
    }

    @Test func `records that a query names are looked up`() async throws {
        let (_, database) = try await makeDatabase()
        let zones = [notes, RecordZone.ID(zoneName: "other")]
        try await database.save(RecordZone(zoneID: zones[1]))
        for zone in zones {
            for number in 0..<300 {
                var record = note("r\(number)", in: zone)
                record["n"] = .int64(Int64(number % 7))
                try await database.save(record)
            }
        }
        try await database.save(
            Record(recordType: "Other", recordID: Record.ID(recordName: "x", zoneID: notes)))
        func reference(_ name: String) -> RecordValue {
            .reference(Reference(recordID: noteID(name)))
        }
        let cases: [(String, [RecordValue?], [String])] = [
            ("recordID = %@", [reference("r7")], ["r7"]),
            ("recordID = %@ AND n = 1", [reference("r7")], []),
            (
                "recordID IN {%@, %@, %@}", ["r9", "r7", "x"].map { reference($0) },
                ["r7", "r9"]
            ),
            (
                "n < 3 AND ___recordID IN {%@, %@}", [reference("r9"), reference("r6")],
                ["r9"]
            ),
        ]
        for (text, arguments, expected) in cases {
            let query = Query(
                recordType: "Note", predicate: try Query.Predicate(text, arguments: arguments))
            let explanation = try await database.explanation(of: query)
            #expect(explanation.isByName && explanation.index == nil, "\(text)")
            for limit in [1, 3, 100] {
                let found = try await database.allRecords(
                    matching: query, in: nil, resultsLimit: limit)
                #expect(found.map(\.recordID.recordName).sorted() == expected, "\(text)")
            }
        }
        // Anything else looks at all records.
        let query = Query(
            recordType: "Note",
            predicate: try Query.Predicate("recordID != %@", arguments: [reference("r7")]))
        #expect(try await !database.explanation(of: query).isByName)
        #expect(try await database.allRecords(matching: query, in: nil).count == 599)
    }
}
