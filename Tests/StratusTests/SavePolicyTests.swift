import Stratus
import Testing

/// What a save does about changes that others made: semantics 2.2 and 2.5.
@Suite struct SavePolicyTests {
    // C2.
    @Test func `a save with the current tag succeeds`() async throws {
        let (_, database) = try await makeDatabase()
        var record = try await database.save(note("a", ["field": 1]))
        record["field"] = 2
        let second = try await database.save(record)
        #expect(second["field"] == 2)
        #expect(second.recordChangeTag != record.recordChangeTag)
        #expect(try await database.record(for: noteID("a")) == second)
    }

    @Test func `fields that are set in any order take the places of those that are there`()
        async throws
    {
        let (_, database) = try await makeDatabase()
        var record = try await database.save(note("a", ["one": 1, "three": 3, "two": 2]))
        record["two"] = 20
        record["one"] = 10
        _ = try await database.save(record)
        let saved = try await database.record(for: noteID("a"))
        #expect(saved.allKeys == ["one", "three", "two"])
        #expect(saved["one"] == 10 && saved["two"] == 20 && saved["three"] == 3)
    }

    // C3.
    @Test func `a save with an older tag stores nothing`() async throws {
        let (_, database) = try await makeDatabase()
        let first = try await database.save(note("a", ["field": 1]))
        var winner = first
        winner["field"] = 2
        winner = try await database.save(winner)
        var late = first
        late["field"] = 3
        let error = await failure { try await database.save(late) }
        #expect(error.code == .serverRecordChanged)
        #expect(error.reason == "client oplock error updating record")
        #expect(error.recordID == noteID("a"))
        #expect(error.clientRecord == late)
        #expect(error.serverRecord == winner)
        #expect(error.ancestorRecord == first)
        #expect(try await database.record(for: noteID("a")) == winner)
    }

    // C4.
    @Test func `a record from scratch over an existing one is a conflict without ancestor`()
        async throws
    {
        let (_, database) = try await makeDatabase()
        let stored = try await database.save(note("a", ["field": 1]))
        let error = await failure { try await database.save(note("a", ["field": 2])) }
        #expect(error.code == .serverRecordChanged)
        #expect(error.reason == "record to insert already exists")
        #expect(error.serverRecord == stored)
        #expect(error.ancestorRecord == nil)
        #expect(try await database.record(for: noteID("a")) == stored)
    }

    // C5, C6.
    @Test
    func `a tagged save of a deleted record is refused, and one from scratch makes a new one`()
        async throws
    {
        let (_, database) = try await makeDatabase()
        var record = try await database.save(note("a", ["field": 1]))
        try await database.deleteRecord(withID: noteID("a"))
        record["field"] = 2
        let error = await failure { try await database.save(record) }
        #expect(error.code == .unknownItem)
        #expect(error.reason == "recordChangeTag specified, but record not found")
        #expect(try await database.allRecords() == [])
        let again = try await database.save(note("a", ["field": 2]))
        #expect(again.recordChangeTag != record.recordChangeTag)
        // Not of the same type either: the old record is gone.
        try await database.deleteRecord(withID: noteID("a"))
        #expect(try await database.save(note("a", type: "Page")).recordType == "Page")
    }

    // C7, C8.
    @Test func `a save into a missing zone fails until the zone is saved`() async throws {
        let database = try Container.inMemory().privateDatabase(for: "alice")
        let error = await failure { try await database.save(note("a")) }
        #expect(error.code == .zoneNotFound)
        #expect(error.zoneID == notes)
        try await database.save(RecordZone(zoneID: notes))
        try await database.save(note("a"))
        #expect(try await database.allRecords().count == 1)
    }

    // C13.
    @Test func `changed keys are written over whatever there is, and nothing else`() async throws {
        let (_, database) = try await makeDatabase()
        let first = try await database.save(note("a", ["key1": "value1", "key2": "value2"]))
        let fresh = try await database.save(
            note("a", ["key1": "new"]), savePolicy: .changedKeys)
        #expect(fresh["key1"] == "new" && fresh["key2"] == "value2")
        #expect(fresh.creationDate == first.creationDate)
        var late = first
        late["key2"] = "late"
        let saved = try await database.save(late, savePolicy: .changedKeys)
        #expect(saved["key1"] == "new" && saved["key2"] == "late")
    }

    // C14.
    @Test func `all keys writes every field that is here, and absence is no removal`() async throws
    {
        let (_, database) = try await makeDatabase()
        let first = try await database.save(note("a", ["key1": 1, "key2": 2]))
        var other = first
        other["key1"] = 10
        other["key3"] = 30
        try await database.save(other)
        let saved = try await database.save(first, savePolicy: .allKeys)
        #expect(saved.allKeys == ["key1", "key2", "key3"])
        #expect(saved["key1"] == 1 && saved["key3"] == 30)
        let fresh = try await database.save(note("a", ["key2": 20]), savePolicy: .allKeys)
        #expect(fresh["key1"] == 1 && fresh["key2"] == 20 && fresh["key3"] == 30)
    }

    // Semantics 2.2: "re-created".
    @Test(arguments: [SavePolicy.changedKeys, .allKeys])
    func `without a comparison of tags a deleted record is made again with all that is here`(
        policy: SavePolicy
    ) async throws {
        let (_, database) = try await makeDatabase()
        var record = try await database.save(note("a", ["key1": 1, "key2": 2, "key3": 3]))
        try await database.deleteRecord(withID: noteID("a"))
        record["key2"] = 20
        record["key3"] = nil
        let saved = try await database.save(record, savePolicy: policy)
        #expect(saved.allKeys == ["key1", "key2"])
        #expect(saved["key1"] == 1 && saved["key2"] == 20)
        #expect(saved.recordChangeTag != record.recordChangeTag)
        #expect(saved.creationDate == saved.modificationDate)
    }

    @Test(arguments: [SavePolicy.ifServerRecordUnchanged, .changedKeys, .allKeys])
    func `a free name is taken whatever the policy`(policy: SavePolicy) async throws {
        let (_, database) = try await makeDatabase()
        let saved = try await database.save(note("a", ["field": 1]), savePolicy: policy)
        #expect(try await database.record(for: noteID("a")) == saved)
    }

    // C11.
    @Test func `fields that a client does not know survive its save`() async throws {
        let (_, database) = try await makeDatabase()
        try await database.save(note("a", ["known": 1, "unknown": 2]))
        var fetched = try await database.record(for: noteID("a"))
        fetched["known"] = 10
        try await database.save(fetched)
        #expect(try await database.record(for: noteID("a"))["unknown"] == 2)
    }

    // C15.
    @Test func `a conflict is solved in the server's record and never in the client's`()
        async throws
    {
        let (_, database) = try await makeDatabase()
        let first = try await database.save(note("a", ["field": 1]))
        try await database.save(first)
        for _ in 0..<2 {
            let error = await failure { try await database.save(first) }
            #expect(error.code == .serverRecordChanged)
        }
        var late = first
        late["field"] = 2
        let error = await failure { try await database.save(late) }
        var server = try #require(error.serverRecord)
        server["field"] = late["field"]
        #expect(try await database.save(server)["field"] == 2)
    }

    // C16, C10.
    @Test func `an edit made while a save was on its way is saved by the next one`() async throws {
        let (_, database) = try await makeDatabase()
        var local = note("a", ["field": 1])
        var saved = try await database.save(local)
        local["field"] = 2
        saved["field"] = local["field"]
        #expect(try await database.record(for: noteID("a"))["field"] == 1)
        try await database.save(saved)
        #expect(try await database.record(for: noteID("a"))["field"] == 2)
    }

    @Test func `the ancestor of a partial record is the whole version of its tag`() async throws {
        let (_, database) = try await makeDatabase()
        let first = try await database.save(note("a", ["key1": 1, "key2": 2]))
        let partial = try await database.record(for: noteID("a"), desiredKeys: ["key1"])
        try await database.save(first)
        let error = await failure { try await database.save(partial) }
        #expect(error.code == .serverRecordChanged)
        #expect(error.ancestorRecord?.allKeys == ["key1", "key2"])
        #expect(error.serverRecord?.allKeys == ["key1", "key2"])
    }
}
