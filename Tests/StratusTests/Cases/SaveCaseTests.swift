import Stratus
import StratusFiles
import StratusJournal
import Synchronization
import Testing

/// Behaviour cases 1a: saving one record. Most of them are in SavePolicyTests.
@Suite struct SaveCaseTests {
    /// The zone `notes` in a store whose clock ticks with every look at it.
    private func makeTickingDatabase() async throws -> Database {
        let time = Mutex<Int64>(1_700_000_000_000_000)
        var store = DiskStore()
        store.options.clock = Clock {
            time.withLock {
                $0 += 1_000_000
                return $0
            }
        }
        let database = try store.open().privateDatabase(for: "alice")
        try await database.save(RecordZone(zoneID: notes))
        return database
    }

    // C6.
    @Test func `a record made again after its deletion has a creation date of its own`()
        async throws
    {
        let database = try await makeTickingDatabase()
        let first = try await database.save(note("a", ["field": 1]))
        try await database.save(first)
        try await database.deleteRecord(withID: noteID("a"))
        let again = try await database.save(note("a", ["field": 1]))
        let created = try #require(again.creationDate)
        #expect(created > first.creationDate ?? created)
        #expect(again.creationDate == again.modificationDate)
    }

    // C8.
    @Test func `a record saved into its zone made again is a new one, and others see it`()
        async throws
    {
        let database = try await makeTickingDatabase()
        let first = try await database.save(note("a", ["field": 1]))
        try await database.deleteRecordZone(withID: notes)
        var late = first
        late["field"] = 2
        let missing = await failure { try await database.save(late) }
        #expect(missing.code == .zoneNotFound && missing.zoneID == notes)
        let zone = try await database.save(RecordZone(zoneID: notes))
        let gone = await failure { try await database.save(late) }
        #expect(gone.code == .unknownItem)
        let fresh = try await database.save(note("a", ["field": 2]))
        #expect(fresh.recordChangeTag != first.recordChangeTag)
        #expect(fresh.creationDate != first.creationDate)
        let seen = try await FollowedChanges(of: database, in: zone.zoneID)
        #expect(seen.modified == [fresh])
    }

    // C10.
    @Test func `fetching changes while edits wait leaves the server's copy as it is`()
        async throws
    {
        let (_, database) = try await makeDatabase()
        let stored = try await database.save(note("a", ["field": 1]))
        let token = try await FollowedChanges(of: database).token
        var edited = stored
        edited["field"] = 2
        #expect(try await FollowedChanges(of: database, since: token).modified == [])
        #expect(try await database.record(for: noteID("a")) == stored)
        #expect(try await database.save(edited)["field"] == 2)
    }

    // C17.
    @Test
    func `a deletion and an insertion of one name may not be one call, and the last one wins`()
        async throws
    {
        let (_, database) = try await makeDatabase()
        let old = try await database.save(note("a", ["field": 1]))
        let error = await failure {
            try await database.modifyRecords(saving: [note("a")], deleting: [noteID("a")])
        }
        #expect(error.code == .invalidArguments && error.recordID == noteID("a"))
        #expect(try await database.record(for: noteID("a")) == old)
        try await database.deleteRecord(withID: noteID("a"))
        try await database.save(note("a", ["field": 2]))
        #expect(try await FollowedChanges(of: database).modified.map { $0["field"] } == [2])
    }

    // C18.
    @Test func `a reader late to a deletion is told of the record that was made again`()
        async throws
    {
        let (_, database) = try await makeDatabase()
        try await database.save(note("a", ["field": 1]))
        let late = try await FollowedChanges(of: database).token
        try await database.deleteRecord(withID: noteID("a"))
        let soon = try await FollowedChanges(of: database, since: late)
        #expect(soon.deletedNames == ["a"])
        let again = try await database.save(note("a", ["field": 2]))
        for token in [late, soon.token] {
            let changes = try await FollowedChanges(of: database, since: token)
            #expect(changes.modified == [again])
            #expect(changes.deleted == [])
        }
    }
}
