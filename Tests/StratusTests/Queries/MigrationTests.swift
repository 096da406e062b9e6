import FoundationEssentials
import Stratus
import Support
import Synchronization
import Testing

/// Other names and types of fields, with the records that are there.
@Suite struct MigrationTests {
    /// Two zones of alice and the default one of the public database.
    private static func fill(
        _ container: Container, _ count: Int, _ values: [String: RecordValue]
    ) async throws -> [(Database, RecordZone.ID)] {
        let alice = container.privateDatabase(for: "alice")
        let other = RecordZone.ID(zoneName: "other")
        let places = [
            (alice, notes), (alice, other), (container.publicDatabase(as: "bob"), .default),
        ]
        for (database, zone) in places {
            if zone != .default { try await database.save(RecordZone(zoneID: zone)) }
            _ = try await database.modifyRecords(
                saving: (0..<count).map { note("r\($0)", values, in: zone) })
        }
        return places
    }

    private static func records(
        _ places: [(Database, RecordZone.ID)]
    ) async throws -> [Record] {
        var found: [Record] = []
        for (database, zone) in places {
            found += try await database.allRecords(matching: Query(recordType: "Note"), in: zone)
        }
        return found
    }

    @Test func `a field has another name in records, indexes, schema and feeds`() async throws {
        let container = try Container.inMemory()
        // More than a step looks at.
        let places = try await Self.fill(container, 450, ["titel": "one", "n": 1])
        try await container.addIndex(on: "titel", of: "Note", .queryable)
        try await container.addIndex(on: ["titel", "n"], of: "Note")
        let token = try await places[0].0.recordZoneChanges(inZoneWith: notes, since: nil)
            .changeToken
        let steps = [FieldMigration.rename("titel", to: "title")]
        #expect(try await container.migrate("Note", steps, asHost: "host") == 1350)
        let records = try await Self.records(places)
        #expect(records.count == 1350)
        #expect(records.allSatisfy { $0.allKeys == ["n", "title"] })
        #expect(records.allSatisfy { $0["title"]?.stringValue == "one" })
        let changes = try await places[0].0.recordZoneChanges(inZoneWith: notes, since: token)
        #expect(changes.modifications.allSatisfy { $0["title"] != nil && $0["titel"] == nil })
        #expect(!changes.modifications.isEmpty)

        let type = try #require(try await container.recordTypes().first { $0.name == "Note" })
        #expect(type.fields.map(\.name) == ["n", "title"])
        #expect(type.fields.map(\.type) == [.int64, .string])
        #expect(type.indexes.map(\.fields) == [["title"], ["title", "n"]])
        #expect(type.indexes.allSatisfy { $0.state == .complete })
        #expect(type.migratingFields.isEmpty)
        let text = try await container.schema()
        #expect(text.contains(/title +STRING QUERYABLE/) && !text.contains("titel"), "\(text)")
        #expect(!text.contains("MIGRATION"))
        let query = try noteQuery("title = 'one'")
        #expect(
            try await places[0].0.allRecords(matching: query, in: notes).count == 450)
        let plan = try await places[0].0.explanation(of: query, inZoneWith: notes)
        #expect(plan.index?.fields.first == "title")
        #expect(try await container.migrate("Note", steps, asHost: "host") == 0)
    }

    @Test func `values get another type, and so does what an index has of them`() async throws {
        let container = try Container.inMemory()
        let places = try await Self.fill(container, 3, ["n": "17"])
        try await container.addIndex(on: "n", of: "Note", .sortable)
        let changed = try await container.migrate(
            "Note",
            [
                .change("n", to: .int64) { value in
                    value.stringValue.flatMap { Int64($0) }.map { .int64($0) }
                }
            ], asHost: "host")
        #expect(changed == 9)
        #expect(try await Self.records(places).allSatisfy { $0["n"] == .int64(17) })
        let query = try noteQuery("n > 16")
        #expect(try await places[1].0.allRecords(matching: query, in: places[1].1).count == 3)
        let wrong = await failure { try await places[0].0.save(note("new", ["n": "a text"])) }
        #expect(wrong.code == .invalidArguments)
        try await places[0].0.save(note("new", ["n": 18]))
        #expect(try await places[0].0.allRecords(matching: query, in: notes).count == 4)
    }

    @Test func `a conversion may take a field away, and an empty list is one of any type`()
        async throws
    {
        let container = try Container.inMemory()
        let places = try await Self.fill(container, 2, ["tags": .list([.string("a")])])
        var empty = note("empty")
        empty["tags"] = .list([])
        try await places[0].0.save(empty)
        let steps = [
            FieldMigration.change("tags", to: .list(of: .int64)) { value in
                value == .list([.string("a")]) ? nil : .list([])
            }
        ]
        #expect(try await container.migrate("Note", steps, asHost: "host") == 6)
        let records = try await Self.records(places)
        #expect(records.count { $0["tags"] == nil } == 6)
        #expect(records.count { $0["tags"] == .list([]) } == 1)
    }

    @Test func `a new field has a value in the records that lack it`() async throws {
        let container = try Container.inMemory()
        let places = try await Self.fill(container, 2, ["n": 1])
        let steps = [
            FieldMigration.add("stars", .int64, value: 3), .add("seen", .timestamp),
        ]
        #expect(try await container.migrate("Note", steps, asHost: "host") == 6)
        #expect(try await Self.records(places).allSatisfy { $0["stars"] == 3 })
        let type = try #require(try await container.recordTypes().first { $0.name == "Note" })
        #expect(type.fields.map(\.name) == ["n", "seen", "stars"])
        var without = note("without")
        without["n"] = 2
        try await places[0].0.save(without)
        #expect(try await container.migrate("Note", steps, asHost: "host") == 0)
        #expect(try await places[0].0.record(for: noteID("without"))["stars"] == nil)
        // Of a type that no record has yet.
        let made = try await container.migrate("Other", [.add("x", .string)], asHost: "host")
        #expect(made == 0)
        #expect(try await container.recordTypes().contains { $0.name == "Other" })
    }

    @Test func `what is encrypted stays so, and what is not becomes so`() async throws {
        let container = try Container.inMemory()
        let database = container.privateDatabase(for: "alice")
        try await database.save(RecordZone(zoneID: notes))
        var record = note("a", ["plain": "p"])
        record.encryptedValues["secret"] = "s"
        try await database.save(record)
        let steps = [
            FieldMigration.rename("secret", to: "hidden"),
            .change("plain", to: Record.FieldType(.string, isEncrypted: true)) { $0 },
        ]
        #expect(try await container.migrate("Note", steps, asHost: "host") == 1)
        let saved = try await database.record(for: noteID("a"))
        #expect(saved.encryptedValues.allKeys == ["hidden", "plain"])
        #expect(saved["hidden"]?.stringValue == "s")
        #expect(saved["plain"]?.stringValue == "p")
    }

    @Test func `what an error leaves undone the next call does, after a reopening too`()
        async throws
    {
        let folder = try TemporaryFolder()
        defer { withExtendedLifetime(folder) {} }
        let path = folder.path + "/store"
        var container = try await Container.open(at: path, creating: true)
        _ = try await Self.fill(container, 3, ["n": "1"])
        let alice = container.privateDatabase(for: "alice")
        try await alice.save(note("bad", ["n": "none"]))
        try await container.addIndex(on: "n", of: "Note", .queryable)
        struct NoNumber: Error {}
        func steps(_ other: Int64?) -> [FieldMigration] {
            [
                .change("n", to: .int64) { value in
                    guard let number = value.stringValue.flatMap({ Int64($0) }) ?? other else {
                        throw NoNumber()
                    }
                    return .int64(number)
                }
            ]
        }
        let asked = steps(nil)
        let target = container
        let error = await failure {
            try await target.migrate("Note", asked, asHost: "host")
        }
        #expect(error.code == .invalidArguments && error.recordID == noteID("bad"))
        #expect("\(error)".contains("NoNumber"), "\(error)")
        // A text that is imported neither ends nor forgets it.
        let text = try await container.schema()
        #expect(text.contains("// stratus: MIGRATION ON Note (n)"), "\(text)")
        try await container.importSchema(
            text.replacing("// stratus: MIGRATION ON Note (n)", with: ""))
        try await container.close()

        container = try await Container.open(at: path)
        var type = try #require(try await container.recordTypes().first { $0.name == "Note" })
        #expect(type.migratingFields == ["n"])
        let bad = try await container.privateDatabase(for: "alice").record(for: noteID("bad"))
        #expect(bad["n"]?.stringValue == "none")
        #expect(try await container.migrate("Note", steps(0), asHost: "host") > 0)
        type = try #require(try await container.recordTypes().first { $0.name == "Note" })
        #expect(type.migratingFields.isEmpty && type.indexes.allSatisfy { $0.state == .complete })
        let database = container.privateDatabase(for: "alice")
        let query = try noteQuery("n = 0")
        #expect(
            try await database.allRecords(matching: query, in: notes).map(\.recordID)
                == [noteID("bad")])
        try await container.close()
        container = try await Container.reindex(at: path)
        #expect(
            try await container.privateDatabase(for: "alice").allRecords(
                matching: query, in: notes
            ).count == 1)
        try await container.close()
    }

    private final class Beside: Sendable {
        let saved = Mutex(0)
        let isDone = Mutex(false)
    }

    @Test func `saves beside a migration are converted or refused, and none is lost`()
        async throws
    {
        let container = try Container.inMemory()
        let places = try await Self.fill(container, 300, ["n": "1"])
        let state = Beside()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for writer in 0..<4 {
                group.addTask {
                    let database = container.privateDatabase(for: "alice")
                    var isRefused = false
                    var number = 0
                    while !state.isDone.withLock({ $0 }) {
                        if !isRefused {
                            do throws(StoreError) {
                                try await database.save(note("w\(writer)-\(number)", ["n": "2"]))
                                state.saved.withLock { $0 += 1 }
                            } catch {
                                #expect(error.code == .invalidArguments, "\(error)")
                                isRefused = true
                            }
                        }
                        // One that the migration may be at.
                        _ = try await database.modifyRecords(
                            saving: [note("r\(number % 300)", ["other": .int64(Int64(number))])],
                            savePolicy: .changedKeys)
                        number += 1
                    }
                }
            }
            group.addTask {
                defer { state.isDone.withLock { $0 = true } }
                while state.saved.withLock({ $0 }) < 40 { await Task.yield() }
                let steps = [
                    FieldMigration.change("n", to: .double) { value in
                        value.stringValue.flatMap { Double($0) }.map { .double($0) }
                    }
                ]
                try await container.migrate("Note", steps, asHost: "host")
            }
            try await group.waitForAll()
        }
        let records = try await Self.records(places)
        #expect(records.count == 900 + state.saved.withLock { $0 })
        for record in records {
            #expect(
                record["n"] == (record.recordID.recordName.hasPrefix("w") ? 2.0 : 1.0),
                "\(record.recordID)")
        }
    }

    /// The steps of four releases, of which a store may have made any number.
    private static let releases: [FieldMigration] = [
        .add("count", .string, value: "5"),
        .change("count", to: .int64) { value in
            value.stringValue.flatMap { Int64($0) }.map { .int64($0) }
        },
        .rename("count", to: "amount"),
        .change("amount", to: .double) { value in
            value.int64Value.map { .double(Double($0) * 2) }
        },
    ]

    @Test(arguments: 0...4)
    func `the steps of all releases lead from any of them to the last`(
        made: Int
    ) async throws {
        let container = try Container.inMemory()
        let places = try await Self.fill(container, 2, ["n": 1])
        try await container.migrate("Note", Array(Self.releases[..<made]), asHost: "host")
        let count = try await container.migrate("Note", Self.releases, asHost: "host")
        #expect(count == (made == 4 ? 0 : 6))
        let records = try await Self.records(places)
        #expect(records.allSatisfy { $0["amount"] == 10.0 && $0["count"] == nil })
        let type = try #require(try await container.recordTypes().first { $0.name == "Note" })
        #expect(type.fields.map(\.name) == ["amount", "n"])
    }

    @Test func `a save that was prepared before a migration does not bring the old type after it`()
        async throws
    {
        let storage = GatedStorage()
        let (container, database) = try await makeDatabase(on: storage)
        try await database.saveAll([note("a", ["n": "1"]), note("blocking")])
        storage.shut()
        let blocking = Task {
            try await database.save(note("blocking", ["x": 1]), savePolicy: .changedKeys)
        }
        while !storage.isWaiting { await Task.yield() }
        let migration = Task {
            try await container.migrate(
                "Note", [.change("n", to: .double) { _ in .double(1) }], asHost: "host")
        }
        try await Task.sleep(for: .milliseconds(20))
        let late = Task { await failure { try await database.save(note("late", ["n": "2"])) } }
        try await Task.sleep(for: .milliseconds(20))
        storage.open()
        _ = try await (blocking.value, migration.value)
        #expect(await late.value.code == .invalidArguments)
        #expect(try await database.names() == ["a", "blocking"])
        #expect(try await database.record(for: noteID("a"))["n"] == 1.0)
        try await container.close()
    }

    @Test func `a value that has the last type already is left alone by the steps before it`()
        async throws
    {
        let container = try Container.inMemory()
        let places = try await Self.fill(container, 2, ["n": "4"])
        try await places[0].0.save(note("bad", ["n": "none"]))
        struct NoNumber: Error {}
        func steps(_ other: Int64?) -> [FieldMigration] {
            [
                .change("n", to: .int64) { value in
                    let number = value.stringValue.flatMap { Int64($0) } ?? other
                    guard let number else { throw NoNumber() }
                    return .int64(number)
                },
                .change("n", to: .double) { value in
                    value.int64Value.map { .double(Double($0) / 2) }
                },
            ]
        }
        let asked = steps(nil)
        let error = await failure { try await container.migrate("Note", asked, asHost: "host") }
        #expect(error.recordID == noteID("bad"))
        // From then on saves bring the last type, though the migration is not done.
        try await places[0].0.save(note("late", ["n": 7.5]))
        try await container.migrate("Note", steps(1), asHost: "host")
        #expect(try await places[0].0.record(for: noteID("late"))["n"] == 7.5)
        #expect(try await places[0].0.record(for: noteID("bad"))["n"] == 0.5)
        #expect(try await places[1].0.record(for: noteID("r0", in: places[1].1))["n"] == 2.0)
    }

    @Test func `steps that are ambiguous, and steps that lose data, are refused`() async throws {
        let container = try Container.inMemory()
        _ = try await Self.fill(container, 1, ["n": 1, "title": "one"])
        let text = try await container.schema()
        let same: FieldMigration.Conversion = { $0 }
        let refused: [[FieldMigration]] = [
            [.rename("n", to: "title")],
            [.rename("n", to: "n")],
            [.rename("n", to: "m"), .add("n", .int64)],
            [.rename("n", to: "m"), .rename("m", to: "n")],
            [.change("n", to: .string, same), .change("n", to: .string, same)],
            [
                .change("n", to: .string, same), .rename("n", to: "m"),
                .change("m", to: .string, same),
            ],
            [.add("title", .int64)],
            [.add("secret", Record.FieldType(.asset, isEncrypted: true))],
            [.add("no name", .int64)],
        ]
        for steps in refused {
            let error = await failure {
                try await container.migrate("Note", steps, asHost: "host")
            }
            #expect(error.code == .invalidArguments, "\(steps): \(error)")
        }
        #expect(try await container.schema() == text)
        let production = try Container.inMemory(environment: .production)
        let error = await failure {
            try await production.migrate("Note", [.add("n", .int64)], asHost: "host")
        }
        #expect(error.code == .invalidArguments)
    }

    @Test func `a value of a wrong type ends the migration where it is`() async throws {
        let container = try Container.inMemory()
        _ = try await Self.fill(container, 1, ["n": 1])
        let error = await failure {
            try await container.migrate(
                "Note", [.change("n", to: .string) { _ in .double(1) }], asHost: "host")
        }
        #expect(error.code == .invalidArguments && error.recordID != nil)
        #expect("\(error)".contains("STRING"), "\(error)")
    }
}
