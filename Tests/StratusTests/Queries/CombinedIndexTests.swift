import FoundationEssentials
import Stratus
import Support
import Testing

/// Indexes on several fields.
@Suite struct CombinedIndexTests {
    /// Of `count` records one in ten has the state "open", in the order of none of the fields.
    private static func makeTasks(_ count: Int) async throws -> (Container, Database) {
        let (container, database) = try await makeDatabase()
        for start in stride(from: 0, to: count, by: 5000) {
            try await database.saveAll(
                (start..<min(start + 5000, count)).map { number in
                    var task = note("r\(number)")
                    task["state"] = .string(number % 10 == 3 ? "Open" : "done")
                    task["due"] = .int64(Int64(number * 7919 % count))
                    task["title"] = .string("A title that is long: \(number * 31 % count)")
                    if number % 5 == 3 {
                        task["owner"] = .reference(
                            Reference(recordID: noteID("u\(number % 3)")))
                    }
                    return task
                })
        }
        return (container, database)
    }

    @Test func `it is used where all columns but the last are given, and by nothing else`()
        async throws
    {
        let (container, database) = try await Self.makeTasks(200)
        let cases: [(fields: [String], used: [String], not: [String])] = [
            (
                ["state", "due"],
                [
                    "state = 'open'", "state = 'OPEN' AND due = 137", "state = 'open' AND due > 50",
                    "state = 'open' AND due > 50 AND due <= 150", "due < 90 AND state IN {'open'}",
                    "state IN {'open', 'done', 'x'} AND due BETWEEN {10, 20}",
                    "state = 'open' AND title BEGINSWITH 'A'", "state = NULL",
                    "state = 'open' AND due = NULL", "state = 'open' AND due IN {137, 1, 2}",
                ],
                ["due > 50", "state != 'open'", "state BEGINSWITH 'o'", "state =[d] 'open'"]
            ),
            (
                ["due", "title"],
                [
                    "due = 137 AND title BEGINSWITH 'A title that is long: 1'", "due = 137",
                    "due IN {1, 2, 3} AND title >= 'a TITLE that is long: 2'",
                    "due = 137.0 AND title < 'b'",
                ],
                ["title BEGINSWITH 'A'", "due > 1 AND title = 'x'"]
            ),
            (
                ["state", "owner"], ["state = 'open' AND owner = %@"],
                ["state = 'open'", "owner = %@", "state = 'open' AND owner = NULL"]
            ),
            (
                ["owner", "state", "due"],
                [
                    "owner = %@ AND state = 'open' AND due > 3",
                    "owner = NULL AND state = 'done' AND due < 100",
                ],
                ["owner = %@ AND due > 3", "owner = %@"]
            ),
        ]
        let owner = RecordValue.reference(Reference(recordID: noteID("u1")))
        for (fields, used, not) in cases {
            var expected: [String: [String]] = [:]
            func ask(_ text: String) async throws -> (RecordIndex?, [String]) {
                let predicate = try Query.Predicate(
                    text, arguments: text.contains("%@") ? [owner] : [])
                let query = Query(recordType: "Note", predicate: predicate)
                let found = try await database.explanation(of: query)
                return (found.index, try await recordNames(query, in: database))
            }
            for text in used + not { expected[text] = try await ask(text).1 }
            let index = try await container.addIndex(on: fields, of: "Note")
            #expect(index.fields == fields && !index.isUnique && index.state == .complete)
            for text in used + not {
                let (found, names) = try await ask(text)
                #expect(found == (used.contains(text) ? index : nil), "\(text)")
                #expect(names == expected[text], "\(text)")
            }
            try await container.removeIndex(index)
        }
    }

    @Test(arguments: [true, false])
    func `records come in the order of the last column, a page at a time`(
        ascending: Bool
    ) async throws {
        let (container, database) = try await Self.makeTasks(12_000)
        let index = try await container.addIndex(on: ["state", "due"], of: "Note")
        try await container.addIndex(on: "due", of: "Note", .sortable)
        for text in ["state = 'done'", "state = 'open'", "state = 'done' AND due > 3000"] {
            let query = try noteQuery(text, sort: ("due", ascending))
            let explanation = try await database.explanation(of: query)
            #expect(explanation.index == index && explanation.isInOrder, "\(text)")
            let all = try await database.allRecords(matching: query, resultsLimit: 700)
            let due = all.compactMap { $0["due"]?.int64Value }
            #expect(due == (ascending ? due.sorted() : due.sorted(by: >)), "\(text)")
            let expected = (0..<12_000).count { number in
                let isOpen = number % 10 == 3
                if text == "state = 'open'" { return isOpen }
                return !isOpen && (!text.contains("due") || number * 7919 % 12_000 > 3000)
            }
            #expect(due.count == expected, "\(text)")
        }
    }

    @Test func `it follows what is saved and deleted, of each of its columns`() async throws {
        let (container, database) = try await Self.makeTasks(50)
        let index = try await container.addIndex(on: ["state", "due"], of: "Note")
        let query = try noteQuery("state = 'open' AND due < 1000")
        func names() async throws -> [String] {
            #expect(try await database.explanation(of: query).index == index)
            return try await recordNames(query, in: database)
        }
        #expect(try await names() == ["r13", "r23", "r3", "r33", "r43"])
        var record = try await database.record(for: noteID("r4"))
        record["state"] = "OPEN"
        record = try await database.save(record)
        #expect(try await names().contains("r4"))
        record["due"] = 1000
        record = try await database.save(record)
        #expect(try await !names().contains("r4"))
        record["due"] = 7
        record["title"] = "other"
        record = try await database.save(record)
        #expect(try await names().contains("r4"))
        record["state"] = nil
        try await database.save(record)
        #expect(try await !names().contains("r4"))
        try await database.deleteRecord(withID: noteID("r13"))
        #expect(try await names() == ["r23", "r3", "r33", "r43"])
        #expect(
            try await recordNames(try noteQuery("state = NULL AND due = 7"), in: database) == ["r4"]
        )
    }

    @Test func `what cannot be a column is refused`() async throws {
        let (container, database) = try await makeDatabase()
        try await database.save(
            note(
                "a",
                [
                    "text": "x", "number": 1, "tags": ["a"],
                    "place": .location(Location(latitude: 1, longitude: 2)),
                ]))
        for fields in [
            ["text", "tags"], ["place", "text"], ["text", "place"], ["text", "text"],
            ["text", "missing"], ["text"], [], ["text", "recordID"],
        ] {
            let error = await failure { try await container.addIndex(on: fields, of: "Note") }
            #expect(error.code == .invalidArguments, "\(fields)")
        }
        let many = (0..<9).map { "f\($0)" }
        try await database.save(
            note("b", Dictionary(uniqueKeysWithValues: many.map { ($0, RecordValue.int64(1)) })))
        let error = await failure { try await container.addIndex(on: many, of: "Note") }
        #expect(error.code == .invalidArguments)
        let index = try await container.addIndex(on: Array(many.dropLast()), of: "Note")
        #expect(index.fields.count == 8)
    }
}
