import FoundationEssentials
import Stratus
import Support
import Testing

/// Fields whose strings are compared by their bytes: `// stratus: COLLATION BINARY ON Type (field)`.
@Suite struct CollationTests {
    private static let schema = """
        DEFINE SCHEMA
        RECORD TYPE Note (
            code STRING QUERYABLE SORTABLE,
            tags LIST<STRING> QUERYABLE,
            title STRING QUERYABLE SORTABLE
        );
        // stratus: COLLATION BINARY ON Note (code, tags)
        """

    /// In the order of their bytes.
    private static let codes = ["", "A", "A\u{0}", "AB", "Ab", "B", "a", "aB", "ab", "b", "é"]

    private static func makeStore() async throws -> (container: Container, database: Database) {
        let (container, database) = try await makeDatabase()
        try await container.importSchema(schema)
        try await database.saveAll(
            codes.enumerated().map { place, code in
                note(
                    "r\(place)",
                    ["code": .string(code), "title": .string(code), "tags": [.string(code)]])
            } + [note("none")])
        return (container, database)
    }

    private static func codes(
        _ text: String, _ database: Database, sort: String? = "code", ascending: Bool = true
    ) async throws -> [String] {
        let query = try noteQuery(text, sort: sort.map { ($0, ascending) })
        return try await database.allRecords(matching: query, resultsLimit: 2).map {
            $0["code"]?.stringValue ?? "-"
        }
    }

    @Test(arguments: [
        ("code = 'b'", "code"), ("code < 'b'", "code"), ("code =[n] 'b'", "code"),
        ("code =[c] 'b'", nil), ("code BEGINSWITH[c] 'b'", nil), ("code =[d] 'b'", nil),
        ("ANY tags = 'b'", "tags"), ("ALL tags = 'b'", nil), ("title =[c] 'b'", "title"),
        ("title = 'b'", "title"), ("title =[d] 'b'", nil), ("title <[n] 'b'", nil),
        ("code <[n] 'b'", "code"), ("number > 2", "number"), ("number > 2.5", nil),
        ("number IN {1, 2.5}", nil),
    ])
    func `an index is proposed where one would serve`(text: String, field: String?) async throws {
        let (container, database) = try await makeDatabase()
        try await container.importSchema(
            """
            DEFINE SCHEMA
            RECORD TYPE Note (code STRING, number INT64, tags LIST<STRING>, title STRING);
            // stratus: COLLATION BINARY ON Note (code, tags)
            """)
        let missing = try await database.explanation(of: noteQuery(text)).missing
        #expect(missing.map(\.field) == [field].compactMap(\.self))
        for index in missing {
            try await container.addIndex(on: index.field, of: "Note", index.option)
        }
        let explanation = try await database.explanation(of: noteQuery(text))
        #expect(explanation.index?.fields.first == field && explanation.missing.isEmpty)
    }

    @Test(arguments: [
        ("code = 'ab'", ["ab"]), ("code != 'ab'", codes.filter { $0 != "ab" }),
        ("code < 'B'", ["", "A", "A\u{0}", "AB", "Ab"]), ("code >= 'aB'", ["aB", "ab", "b", "é"]),
        ("code BETWEEN {'Ab', 'aB'}", ["Ab", "B", "a", "aB"]),
        ("code IN {'a', 'x', 'B'}", ["B", "a"]),
        ("code BEGINSWITH 'A'", ["A", "A\u{0}", "AB", "Ab"]),
        ("code BEGINSWITH[n] 'a'", ["a", "aB", "ab"]),
        ("code =[n] 'Ab'", ["Ab"]), ("tags CONTAINS 'aB'", ["aB"]), ("ANY tags = 'A'", ["A"]),
        ("code > 'A' AND code <= 'Ab'", ["A\u{0}", "AB", "Ab"]),
        // What the options say of case counts.
        ("code =[c] 'ab'", ["AB", "Ab", "aB", "ab"]),
        ("code BEGINSWITH[c] 'aB'", ["AB", "Ab", "aB", "ab"]),
        ("ANY tags IN[c] {'B', 'É'}", ["B", "b", "é"]), ("code =[d] 'e'", ["é"]),
        ("code =[d] 'E'", []),
        ("code =[cd] 'E'", ["é"]),
        ("code =[cn] 'ab'", ["ab"]),
        // Of another field it does not.
        ("title = 'ab'", ["AB", "Ab", "aB", "ab"]),
        ("title BEGINSWITH 'A'", ["A", "A\u{0}", "AB", "Ab"]),
    ])
    func `case counts unless options say otherwise, with indexes and without`(
        text: String, expected: [String]
    ) async throws {
        let (container, database) = try await Self.makeStore()
        for _ in 0..<2 {
            #expect(try await Self.codes(text, database) == expected)
            let reversed = try await Self.codes(text, database, ascending: false)
            #expect(reversed == expected.reversed())
            let totals = try await database.totals(
                of: "code", matching: try noteQuery(text), inZoneWith: notes)
            #expect(totals.count == expected.count)
            #expect(totals.minimum?.stringValue == expected.first)
            #expect(totals.maximum?.stringValue == expected.last)
            for index in try await container.indexes() { try await container.removeIndex(index) }
        }
    }

    @Test func `rows tell how many texts there are, also of long ones that begin alike`()
        async throws
    {
        let (container, database) = try await Self.makeStore()
        let long = ["", "x", "X", "\u{0}", "\u{0}x"].map { String(repeating: "a", count: 19) + $0 }
        try await database.saveAll(
            long.enumerated().map {
                note("long\($0)", ["code": .string($1), "title": .string($1)])
            })
        var asked: [Query] = []
        for field in ["code", "title"] {
            for text in Self.codes + long {
                for form in [
                    "= %@", "< %@", "<= %@", "> %@", ">= %@", "BEGINSWITH %@", "BEGINSWITH[c] %@",
                ] {
                    let predicate = try Query.Predicate(
                        "\(field) \(form)", arguments: [.string(text)])
                    asked.append(Query(recordType: "Note", predicate: predicate))
                }
            }
        }
        var counts: [Int] = []
        for query in asked {
            counts.append(try await database.totals(matching: query, inZoneWith: notes).count)
        }
        for index in try await container.indexes() { try await container.removeIndex(index) }
        for (query, count) in zip(asked, counts) {
            let found = try await database.allRecords(matching: query)
            #expect(found.count == count, "\(query.predicate)")
        }
        #expect(Set(counts).count > 10)
    }

    @Test func `it can be changed, with the indexes and what is unique`() async throws {
        let (container, database) = try await Self.makeStore()
        try await container.addUniqueIndex(on: ["code"], of: "Note")
        let same = await failure { try await database.save(note("same", ["code": "ab"])) }
        #expect(same.cause == .duplicate(fields: ["code"], of: noteID("r8")))
        try await database.save(note("other", ["code": "aBc"]))
        try await database.save(note("another", ["code": "abc"]))
        let type = try #require(try await container.recordTypes().first { $0.name == "Note" })
        #expect(type.fields.map(\.collation) == [.binary, .binary, .folded])

        // What was different is the same then, which the index that is unique does not stand.
        let error = await failure {
            try await container.setCollation(.folded, of: "code", ofRecordType: "Note")
        }
        #expect(error.code == .constraintViolation)
        #expect(try await container.indexes().allSatisfy { !$0.isUnique && $0.state == .complete })
        #expect(try await Self.codes("code = 'ab'", database).count == 4)
        #expect(
            try await database.explanation(of: noteQuery("code < 'b'")).index?.fields == ["code"])
        #expect(try await container.schema().contains("COLLATION BINARY ON Note (tags)"))

        try await container.importSchema(Self.schema)
        #expect(try await Self.codes("code = 'ab'", database) == ["ab"])
        #expect(
            try await database.explanation(of: noteQuery("code < 'b'")).index?.fields == ["code"])
        // Without an index that tells what is equal without case, all are looked at.
        #expect(try await database.explanation(of: noteQuery("code =[c] 'b'")).index == nil)
        #expect(try await container.importSchema(Self.schema) == [])
        for field in ["n", "missing"] {
            let error = await failure {
                try await container.setCollation(.binary, of: field, ofRecordType: "Note")
            }
            #expect(error.code == .invalidArguments)
        }
    }

    @Test func `pages, live queries and subscriptions go by what holds now`() async throws {
        let (container, database) = try await Self.makeStore()
        let query = try noteQuery("code >= 'a'", sort: ("code", true))
        let page = try await database.records(matching: query, inZoneWith: notes, resultsLimit: 1)
        var live = database.liveRecords(matching: query, inZoneWith: notes).makeAsyncIterator()
        let first = try #require(try await live.next())
        #expect(first.added.map { $0.record["code"]?.stringValue } == ["a", "aB", "ab", "b", "é"])
        try await database.save(querySubscription("s", try .init("code = 'AB'")))
        try await database.save(note("new", ["code": "ab"]))
        #expect(try await container.told(to: "alice") == [])

        try await container.setCollation(.folded, of: "code", ofRecordType: "Note")
        let stale = await failure {
            try await database.records(
                matching: query, inZoneWith: notes, resultsLimit: 1, from: page.cursor)
        }
        #expect(stale.code == .invalidArguments)
        try await database.save(note("new", ["code": "aB"]), savePolicy: .allKeys)
        #expect(try await container.told(to: "alice") == ["s updated new"])
        let second = try #require(try await live.next())
        #expect(second.added.count > 5)
    }

    @Test func `it follows a field that gets another name, and ends with the strings`() async throws
    {
        let (container, database) = try await Self.makeStore()
        try await container.migrate("Note", [.rename("code", to: "key")], asHost: "host")
        #expect(try await recordNames(noteQuery("key = 'ab'"), in: database) == ["r8"])
        #expect(try await database.explanation(of: noteQuery("key < 'b'")).index?.fields == ["key"])
        #expect(try await container.schema().contains("COLLATION BINARY ON Note (key, tags)"))
        try await container.migrate(
            "Note",
            [
                .rename("code", to: "key"),
                .change("key", to: .int64) { .int64(Int64($0.stringValue?.utf8.count ?? 0)) },
            ], asHost: "host")
        #expect(try await container.schema().contains("COLLATION BINARY ON Note (tags)"))
        #expect(
            try await recordNames(noteQuery("key = 1"), in: database) == ["r1", "r5", "r6", "r9"])
        try Container.validateSchema(try await container.schema())
    }

    @Test func `a field that was there keeps its own when another one becomes it`() async throws {
        let (container, database) = try await Self.makeStore()
        try await container.migrate("Note", [.rename("code", to: "title")], asHost: "host")
        #expect(try await recordNames(noteQuery("title = 'ab'"), in: database).count == 4)
        let schema = try await container.schema()
        #expect(schema.contains("COLLATION BINARY ON Note (tags)"))
        try Container.validateSchema(schema)
        try await container.setCollation(.binary, of: "title", ofRecordType: "Note")
        #expect(try await recordNames(noteQuery("title = 'ab'"), in: database) == ["r8"])
    }

    @Test func `it is there after a reopening`() async throws {
        let path = FileManager.default.temporaryDirectory.path + "/" + UUID().uuidString
        defer { try? FileManager.default.removeItem(atPath: path) }
        let container = try await Container.open(at: path, creating: true, durability: .none)
        let database = container.privateDatabase(for: "alice")
        try await database.save(RecordZone(zoneID: notes))
        try await container.importSchema(Self.schema)
        try await database.saveAll([note("a", ["code": "a"]), note("A", ["code": "A"])])
        try await container.close()

        let second = try await Container.open(at: path)
        let same = second.privateDatabase(for: "alice")
        #expect(try await recordNames(noteQuery("code = 'a'"), in: same) == ["a"])
        #expect(try await same.explanation(of: noteQuery("code < 'b'")).index != nil)
        try await second.close()
    }
}
