import FoundationEssentials
import Stratus
import Support
import Testing

/// The end of all records and of the schema, in the development environment.
@Suite struct SchemaResetTests {
    /// Records in private zones, the default zone, the public database and a share.
    private static func fill(_ container: Container) async throws -> Database {
        let database = container.privateDatabase(for: "alice")
        try await database.save(RecordZone(zoneID: notes))
        try await database.save(note("a", ["n": 1, "title": "one"]))
        var share = Share(recordZoneID: notes)
        share.publicPermission = .readOnly
        _ = try await database.modifyRecords(saving: [share.record])
        for database in [database, container.publicDatabase(as: "bob")] {
            var record = Record(
                recordType: "Note", recordID: Record.ID(recordName: "plain"))
            record["n"] = 2
            try await database.save(record)
        }
        try await container.addIndex(on: "n", of: "Note", .queryable)
        try await container.addUniqueIndex(on: ["title"], of: "Note")
        return database
    }

    @Test func `all records, zones, kinds and indexes go, and users stay`() async throws {
        let container = try Container.inMemory()
        let database = try await Self.fill(container)
        let token = try await database.databaseChanges().changeToken
        try await container.resetSchema()
        #expect(try await container.indexes().isEmpty)
        #expect(try await container.schema() == Container.inMemory().schema())
        #expect(try await database.allRecordZones().map(\.zoneID) == [.default])
        #expect(try await database.databaseChanges(since: token).deletions.map(\.zoneID) == [notes])
        for database in [database, container.publicDatabase(as: "bob")] {
            let query = Query(recordType: "Note")
            #expect(try await database.allRecords(matching: query, in: .default).isEmpty)
        }
        #expect(Set(try await container.users().users.map(\.userName)) == ["alice", "bob"])
        // A field may have another kind now, in the same zones made anew.
        try await database.save(RecordZone(zoneID: notes))
        let saved = try await database.save(note("a", ["n": "a text", "title": 1]))
        #expect(try await database.record(for: noteID("a"))["n"]?.stringValue == "a text")
        #expect(saved.recordChangeTag != nil)
        let wrong = await failure { try await database.save(note("b", ["n": 1])) }
        #expect(wrong.code == .invalidArguments)
    }

    @Test func `what was reset stays so when the index is made anew, and after a compaction`()
        async throws
    {
        let folder = try TemporaryFolder()
        defer { withExtendedLifetime(folder) {} }
        let path = folder.path + "/store"
        var container = try await Container.open(at: path, creating: true)
        let database = try await Self.fill(container)
        try await container.resetSchema()
        try await database.save(RecordZone(zoneID: notes))
        try await database.save(note("a", ["n": "a text"]))
        try await container.importSchema(try await container.schema())
        let text = try await container.schema()
        #expect(text.contains(/n +STRING/) && !text.contains("title"), "\(text)")
        try await container.maintenance.compact()
        try await container.close()
        for isRebuilt in [false, true] {
            container =
                isRebuilt
                ? try await Container.reindex(at: path) : try await Container.open(at: path)
            #expect(try await container.schema() == text)
            #expect(try await container.indexes().isEmpty)
            #expect(try await container.privateDatabase(for: "alice").allRecords().count == 1)
            try await container.close()
        }
    }

    @Test func `a store of production is not reset`() async throws {
        let container = try Container.inMemory(environment: .production)
        let error = await failure { try await container.resetSchema() }
        #expect(error.code == .invalidArguments)
    }
}
