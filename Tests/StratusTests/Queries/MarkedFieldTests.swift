import FoundationEssentials
import Stratus
import Support
import Testing

/// Queries as CloudKit's service answers them: only what fields are marked as (C128).
@Suite struct MarkedFieldTests {
    /// With a record of all kinds of fields.
    private static func makeMarked() async throws -> (Container, Database) {
        let container = try Container.inMemory(profile: .cloudKit)
        let database = container.privateDatabase(for: "alice")
        try await database.save(RecordZone(zoneID: notes))
        var first = note("a")
        first["n"] = 1
        first["title"] = "A boat"
        first["tags"] = ["x", "y"]
        first["place"] = .location(Location(latitude: 1, longitude: 2))
        first["friend"] = .reference(Reference(recordID: noteID("b")))
        try await database.save(first)
        return (container, database)
    }

    private func refusal(_ query: Query, _ database: Database) async throws -> String? {
        do {
            let found = try await database.allRecords(matching: query)
            #expect(found.map(\.recordID.recordName) == ["a"])
            return nil
        } catch {
            let error = try #require(error as? StoreError)
            #expect(error.code == .invalidArguments)
            return error.reason
        }
    }

    @Test func `fields that saves make have all indexes, complete at once`() async throws {
        let (container, database) = try await Self.makeMarked()
        let indexes = try await container.indexes()
        #expect(indexes.allSatisfy { $0.state == .complete })
        let found = indexes.map { "\($0.fields[0]) \($0.options.map(\.rawValue).sorted())" }
        #expect(
            found.sorted() == [
                #"friend ["QUERYABLE"]"#, #"n ["QUERYABLE", "SORTABLE"]"#,
                #"place ["QUERYABLE"]"#, #"tags ["QUERYABLE"]"#, #"tags ["SEARCHABLE"]"#,
                #"title ["QUERYABLE"]"#, #"title ["SEARCHABLE"]"#, #"title ["SORTABLE"]"#,
            ])
        // The record that brought them has its rows.
        for text in ["n = 1", "title = 'A BOAT'", "title BEGINSWITH 'A'", "tags CONTAINS 'y'"] {
            let query = try noteQuery(text)
            #expect(try await database.explanation(of: query).index != nil, "\(text)")
            #expect(try await refusal(query, database) == nil, "\(text)")
        }
        let text = try await container.schema()
        #expect(text.contains("title  STRING QUERYABLE SEARCHABLE SORTABLE"), "\(text)")
    }

    @Test func `a field of a type that has records is built, and those without it are found`()
        async throws
    {
        let (container, database) = try await Self.makeMarked()
        var second = note("b")
        second["late"] = 7
        try await database.save(second)
        let late = try #require(try await container.indexes().last)
        #expect(late.fields == ["late"] && late.state == .complete)
        let sorted = try noteQuery("n = 1", sort: ("late", true))
        #expect(try await refusal(sorted, database) == nil)
        let totals = try await database.totals(of: "late", matching: try noteQuery("late > 0"))
        #expect(totals.count == 1 && totals.sum?.int64Value == 7)
    }

    @Test func `an index that a save has declared has the records that lack the field`()
        async throws
    {
        let container = try Container.inMemory(profile: Profile(indexing: .service))
        let database = container.privateDatabase(for: "alice")
        try await database.save(RecordZone(zoneID: notes))
        try await database.save(note("a", ["n": 1]))
        try await database.save(note("b", ["late": 7]))
        let query = try noteQuery("late = NULL")
        #expect(try await database.explanation(of: query).index?.fields == ["late"])
        #expect(try await recordNames(query, in: database) == ["a"])
    }

    @Test func `a blocking save declares them, too`() async throws {
        let container = try Container.inMemory(profile: .cloudKit)
        let database = container.privateDatabase(for: "alice")
        try await database.save(RecordZone(zoneID: notes))
        try await onThreads(1) { _ in
            for field in ["n", "late"] {
                var record = note(field)
                record[field] = 1
                _ = try? database.saveAndWait(record)
            }
        }
        try await container.buildIndexes()
        let indexes = try await container.indexes()
        #expect(indexes.map(\.fields) == [["n"], ["late"]])
        #expect(indexes.allSatisfy { $0.state == .complete })
    }

    @Test func `what is not marked is not asked`() async throws {
        let (container, database) = try await Self.makeMarked()
        let location = Location(latitude: 1, longitude: 2)
        func ask(
            _ text: String, _ arguments: [RecordValue?] = [], sort: String? = nil
        ) async throws -> String? {
            let query = Query(
                recordType: "Note", predicate: try Query.Predicate(text, arguments: arguments),
                sortDescriptors: sort.map { [.init(key: $0, ascending: true)] } ?? [])
            return try await refusal(query, database)
        }
        let near = "distanceToLocation:fromLocation:(place, %@) < 10"
        let friend = RecordValue.reference(Reference(recordID: noteID("b")))
        let all: [(text: String, arguments: [RecordValue?], sort: String?)] = [
            ("n = 1", [], "title"), ("n > 0 AND title = 'a boat'", [], "n"),
            ("title BEGINSWITH 'A'", [], nil), ("tags CONTAINS 'x'", [], nil),
            ("friend = %@", [friend], nil), (near, [.location(location)], nil),
            ("self CONTAINS 'boat'", [], nil), ("NOT (n = 2)", [], nil),
        ]
        for (text, arguments, sort) in all {
            #expect(try await ask(text, arguments, sort: sort) == nil, "\(text)")
        }
        // System fields are marked by the schema alone.
        #expect(try await ask("TRUEPREDICATE") == "Field 'recordName' is not marked queryable")
        let date = RecordValue.date(Date(timeIntervalSince1970: 0))
        #expect(
            try await ask("creationDate > %@", [date])
                == "Field '___createTime' is not marked queryable")
        #expect(
            try await ask("n = 1", sort: "modificationDate")
                == "Field '___modTime' is not marked sortable")

        let marked = """
            "___recordID" REFERENCE QUERYABLE, "___createTime" TIMESTAMP QUERYABLE,
            "___modTime" TIMESTAMP QUERYABLE SORTABLE, n INT64, title STRING QUERYABLE,
            tags LIST<STRING>, place LOCATION, friend REFERENCE
            """
        try await container.importSchema("DEFINE SCHEMA RECORD TYPE Note (\(marked));")
        #expect(try await ask("TRUEPREDICATE", sort: "___modTime") == nil)
        #expect(try await ask("creationDate > %@", [date]) != nil)
        #expect(try await ask("creationDate = %@ OR n = 1", [date]) != nil)
        #expect(try await ask("title = 'a boat' AND modificationDate > %@", [date]) == nil)
        let refused: [(text: String, arguments: [RecordValue?], sort: String?, reason: String)] = [
            ("n = 1", [], nil, "Field 'n' is not marked queryable"),
            ("n > 0", [], nil, "Field 'n' is not marked queryable"),
            ("title = 'a boat' AND n != 4", [], nil, "Field 'n' is not marked queryable"),
            ("NOT (n = 4)", [], nil, "Field 'n' is not marked queryable"),
            ("title BEGINSWITH 'A'", [], nil, "Field 'title' is not marked sortable"),
            ("title = 'a boat'", [], "title", "Field 'title' is not marked sortable"),
            ("tags CONTAINS 'x'", [], nil, "Field 'tags' is not marked queryable"),
            ("friend = %@", [friend], nil, "Field 'friend' is not marked queryable"),
            (near, [.location(location)], nil, "Field 'place' is not marked queryable"),
            (
                "self CONTAINS 'boat'", [], nil,
                "no field of the type 'Note' is marked searchable"
            ),
            ("unknown = 1", [], nil, "Field 'unknown' is not marked queryable"),
        ]
        for (text, arguments, sort, reason) in refused {
            #expect(try await ask(text, arguments, sort: sort) == reason, "\(text)")
        }
        do {
            _ = try await database.allRecords(matching: Query(recordType: "Nothing"))
            Issue.record("a type that is not there was queried")
        } catch {
            #expect((error as? StoreError)?.code == .unknownItem)
        }
    }

    @Test func `a search looks into what is marked searchable`() async throws {
        let container = try Container.inMemory(profile: .cloudKit)
        let database = container.privateDatabase(for: "alice")
        try await database.save(RecordZone(zoneID: notes))
        try await container.importSchema(
            "DEFINE SCHEMA RECORD TYPE Note (title STRING SEARCHABLE, body STRING QUERYABLE);")
        for (name, field) in [("a", "title"), ("b", "body")] {
            var record = note(name)
            record[field] = "boat"
            try await database.save(record)
        }
        let found = try await database.allRecords(matching: try noteQuery("self CONTAINS 'boat'"))
        #expect(found.map(\.recordID.recordName) == ["a"])
    }

    @Test func `other profiles declare nothing and look at all records`() async throws {
        let (container, database) = try await makeDatabase()
        var first = note("a")
        first["n"] = 1
        try await database.save(first)
        #expect(try await container.indexes().isEmpty)
        #expect(
            try await refusal(try noteQuery("TRUEPREDICATE", sort: ("n", true)), database) == nil)
    }
}
