import Stratus
import Testing

/// Semantics 1.3.
@Suite struct ZoneTests {
    @Test func `a local zone can do nothing, a saved one everything`() async throws {
        let database = try Container.inMemory().privateDatabase(for: "alice")
        let local = RecordZone(zoneID: notes)
        #expect(local.capabilities == [])
        let saved = try await database.save(local)
        #expect(
            saved.capabilities == [.fetchChanges, .atomic, .sharing, .zoneWideSharing])
        #expect(try await database.recordZone(for: notes) == saved)
    }

    @Test func `the default zone is there without being saved, and can do neither`() async throws {
        let container = try Container.inMemory()
        for database in [
            container.privateDatabase(for: "alice"), container.publicDatabase(as: "alice"),
        ] {
            #expect(try await database.recordZone(for: .default).capabilities == [])
            #expect(try await database.allRecordZones() == [RecordZone(zoneID: .default)])
            let id = noteID("a", in: .default)
            #expect(try await database.deleteRecord(withID: id) == id)
            try await database.save(note("a", in: .default))
            #expect(try await database.allRecordZones() == [RecordZone(zoneID: .default)])
            let feed = await failure { try await database.recordZoneChanges(inZoneWith: .default) }
            #expect(feed.code == .invalidArguments)
        }
        let owner = container.privateDatabase(for: "alice")
        #expect(try await owner.save(RecordZone(zoneID: .default)).capabilities == [])
        let error = await failure { try await owner.deleteRecordZone(withID: .default) }
        #expect(error.code == .invalidArguments)
        #expect(try await owner.allRecords(in: .default).count == 1)
    }

    // C54.
    @Test func `saving a zone again changes nothing`() async throws {
        let (_, database) = try await makeDatabase()
        try await database.save(note("a"))
        let zoneToken = try await FollowedChanges(of: database).token
        let token = try await database.databaseChanges().changeToken
        #expect(try await database.save(RecordZone(zoneID: notes)).zoneID == notes)
        #expect(try await database.allRecords().count == 1)
        #expect(try await FollowedChanges(of: database, since: zoneToken).modified == [])
        #expect(try await database.databaseChanges(since: token).modifications == [])
    }

    // C55.
    @Test func `a deleted zone takes its records with it for good`() async throws {
        let (_, database) = try await makeDatabase()
        try await database.saveAll((0..<300).map { note("r\($0)") })
        let token = try await FollowedChanges(of: database).token
        let cursor = try await database.records(inZoneWith: notes, resultsLimit: 1).cursor
        #expect(try await database.deleteRecordZone(withID: notes) == notes)
        let errors = [
            await failure { try await database.record(for: noteID("r0")) },
            await failure { try await database.records(inZoneWith: notes) },
            await failure { try await database.recordZoneChanges(inZoneWith: notes) },
            await failure { try await database.recordZone(for: notes) },
            await failure { try await database.save(note("a")) },
            await failure { try await database.deleteRecord(withID: noteID("a")) },
            await failure { try await database.deleteRecordZone(withID: notes) },
        ]
        for error in errors {
            #expect(error.code == .zoneNotFound)
            #expect(error.zoneID == notes)
        }
        try await database.save(RecordZone(zoneID: notes))
        #expect(try await database.allRecords() == [])
        let expired = await failure {
            try await database.recordZoneChanges(inZoneWith: notes, since: token)
        }
        #expect(expired.code == .changeTokenExpired)
        let stale = await failure {
            try await database.records(inZoneWith: notes, from: cursor)
        }
        #expect(stale.code == .invalidArguments)
        try await database.save(note("r0"))
        #expect(try await FollowedChanges(of: database).modifiedNames == ["r0"])
    }

    // C56.
    @Test func `deleting a zone that is not there is zoneNotFound`() async throws {
        let database = try Container.inMemory().privateDatabase(for: "alice")
        let error = await failure { try await database.deleteRecordZone(withID: notes) }
        #expect(error.code == .zoneNotFound)
    }

    @Test func `all zones come sorted behind the default zone, without the deleted`() async throws {
        let (_, database) = try await makeDatabase()
        for name in ["b", "c", "a"] { try await database.save(RecordZone(zoneName: name)) }
        try await database.deleteRecordZone(withID: RecordZone.ID(zoneName: "b"))
        let names = try await database.allRecordZones().map(\.zoneID.zoneName)
        #expect(names == ["_defaultZone", "a", "c", "notes"])
    }

    // Semantics 1.3: both names of the owner are equal.
    @Test func `a zone is found under its owner's record name, and another's is refused`()
        async throws
    {
        let (container, database) = try await makeDatabase()
        try await database.save(note("a"))
        let alice = container.userRecordName(for: "alice")
        let own = RecordZone.ID(zoneName: "notes", ownerName: alice)
        #expect(try await database.record(for: noteID("a", in: own)).recordType == "Note")
        let bob = container.userRecordName(for: "bob")
        let foreign = RecordZone.ID(zoneName: "notes", ownerName: bob)
        let read = await failure { try await database.record(for: noteID("a", in: foreign)) }
        #expect(read.code == .badDatabase)
        let write = await failure { try await database.save(RecordZone(zoneID: foreign)) }
        #expect(write.code == .badDatabase)
    }
}

/// Databases and users: semantics 1.2.
@Suite struct DatabaseTests {
    @Test func `the public database refuses zones and feeds`() async throws {
        let database = try Container.inMemory().publicDatabase(as: "alice")
        try await database.save(note("a", in: .default))
        let save = await failure { try await database.save(RecordZone(zoneID: notes)) }
        #expect(save.code == .badDatabase)
        let delete = await failure { try await database.deleteRecordZone(withID: notes) }
        #expect(delete.code == .badDatabase)
        let changes = await failure { try await database.databaseChanges() }
        #expect(changes.code == .badDatabase)
        let feed = await failure { try await database.recordZoneChanges(inZoneWith: .default) }
        #expect(feed.code == .invalidArguments)
        let record = await failure { try await database.save(note("a")) }
        #expect(record.code == .zoneNotFound)
    }

    @Test func `an anonymous caller reads the public database and does not write`() async throws {
        let container = try Container.inMemory()
        let id = noteID("a", in: .default)
        try await container.publicDatabase(as: "alice").save(note("a", ["field": 1], in: .default))
        let anonymous = container.publicDatabase()
        #expect(try await anonymous.record(for: id)["field"] == 1)
        #expect(try await anonymous.allRecords(in: .default).count == 1)
        #expect(try await anonymous.allRecordZones().map(\.zoneID) == [.default])
        let errors = [
            await failure { try await anonymous.save(note("b", in: .default)) },
            await failure { try await anonymous.deleteRecord(withID: id) },
            await failure { try await anonymous.save(RecordZone(zoneID: notes)) },
            await failure {
                try await anonymous.modifyRecords(saving: [note("b", in: .default)])
            },
        ]
        for error in errors { #expect(error.code == .notAuthenticated) }
        #expect(try await anonymous.allRecords(in: .default).count == 1)
    }

    @Test func `databases are apart: of each user, and the public one`() async throws {
        let container = try Container.inMemory()
        let databases = [
            container.privateDatabase(for: "alice"), container.privateDatabase(for: "bob"),
            container.publicDatabase(as: "alice"),
        ]
        for (number, database) in databases.enumerated() {
            try await database.save(
                note("a", ["field": .int64(Int64(number))], in: .default))
        }
        for (number, database) in databases.enumerated() {
            let record = try await database.record(for: noteID("a", in: .default))
            #expect(record["field"] == .int64(Int64(number)))
            #expect(try await database.allRecords(in: .default).count == 1)
        }
        #expect(
            try await container.publicDatabase(as: "bob").record(
                for: noteID("a", in: .default))["field"] == 2)
    }

    @Test(arguments: [
        "alice", "é", "_short", "__defaultOwner__", String(repeating: "u", count: 999),
    ])
    func `a user's name always stands for the same user of a store`(name: String) async throws {
        let store = DiskStore()
        let container = try store.open()
        let recordName = container.userRecordName(for: name)
        #expect(recordName.utf8.count == 33 && recordName.hasPrefix("_"))
        #expect(recordName.dropFirst().allSatisfy { "0123456789abcdef".contains($0) })
        // The record name stands for the same user.
        #expect(container.userRecordName(for: recordName) == recordName)
        try await container.privateDatabase(for: name).save(note("a", in: .default))
        try await container.close()
        let again = try store.open(creating: false)
        #expect(again.userRecordName(for: name) == recordName)
        let database = again.privateDatabase(for: recordName)
        #expect(try await database.allRecords(in: .default).count == 1)
        let other = try Container.inMemory()
        #expect(other.userRecordName(for: name) != recordName)
    }

    @Test func `different names stand for different users`() throws {
        let container = try Container.inMemory()
        let hex = "_" + String(repeating: "A", count: 32)
        let names = ["alice", "Alice", "alice ", "", "e\u{301}", "\u{e9}", hex, hex.lowercased()]
        #expect(Set(names.map { container.userRecordName(for: $0) }).count == names.count)
    }
}
