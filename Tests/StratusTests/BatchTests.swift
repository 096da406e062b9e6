import Stratus
import StratusJournal
import Testing

/// Saves and deletes of several records in one call: semantics 2.6.
@Suite struct BatchTests {
    private let second = RecordZone.ID(zoneName: "second")

    /// With `fresh` to save, `stale` whose tag is old, and `stored` to delete.
    private func prepare(_ database: Database, in zone: RecordZone.ID = notes) async throws
        -> (stale: Record, server: Record)
    {
        let stale = try await database.save(note("stale", ["field": 1], in: zone))
        let server = try await database.save(stale)
        try await database.save(note("stored", ["field": 1], in: zone))
        return (stale, server)
    }

    // C28, C32.
    @Test func `one failure fails all of an atomic batch, and the merged batch succeeds`()
        async throws
    {
        let (_, database) = try await makeDatabase()
        let (stale, server) = try await prepare(database)
        let result = try await database.modifyRecords(saving: [note("fresh"), stale])
        #expect(result.saveResults[noteID("fresh")]?.code == .batchRequestFailed)
        #expect(result.saveResults[noteID("stale")]?.code == .serverRecordChanged)
        #expect(try await database.record(for: noteID("stale")) == server)
        #expect(try await database.allRecords().count == 2)
        guard case .failure(let error)? = result.saveResults[noteID("stale")] else { return }
        let merged = try #require(error.serverRecord)
        let again = try await database.modifyRecords(saving: [note("fresh"), merged])
        #expect(again.partialFailure == nil)
        #expect(try await database.allRecords().count == 3)
    }

    // C29.
    @Test func `a failing save keeps a delete of the same batch from being done`() async throws {
        let (_, database) = try await makeDatabase()
        let (stale, _) = try await prepare(database)
        let result = try await database.modifyRecords(
            saving: [stale], deleting: [noteID("stored"), noteID("missing")])
        #expect(result.saveResults[noteID("stale")]?.code == .serverRecordChanged)
        #expect(result.deleteResults[noteID("stored")]?.code == .batchRequestFailed)
        #expect(result.deleteResults[noteID("missing")]?.code == .batchRequestFailed)
        #expect(try await database.record(for: noteID("stored"))["field"] == 1)
        let failure = try #require(result.partialFailure)
        #expect(failure.code == .partialFailure)
        #expect(failure.partialErrors.count == 3)
    }

    // C30.
    @Test func `a failure in one zone leaves the other zones of the call alone`() async throws {
        let (_, database) = try await makeDatabase()
        try await database.save(RecordZone(zoneID: second))
        let (stale, _) = try await prepare(database)
        let missing = RecordZone.ID(zoneName: "missing")
        let result = try await database.modifyRecords(
            saving: [
                note("a", in: second), stale, note("a", in: missing), note("a"),
                note("b", in: second),
            ])
        #expect(result.saveResults[noteID("a", in: second)]?.code == nil)
        #expect(result.saveResults[noteID("b", in: second)]?.code == nil)
        #expect(result.saveResults[noteID("a")]?.code == .batchRequestFailed)
        #expect(result.saveResults[noteID("stale")]?.code == .serverRecordChanged)
        #expect(result.saveResults[noteID("a", in: missing)]?.code == .zoneNotFound)
        #expect(try await database.allRecords(in: second).count == 2)
        #expect(try await database.allRecords().count == 2)
    }

    // C31.
    @Test func `without atomicity each item has its own result`() async throws {
        let (_, database) = try await makeDatabase()
        let (stale, server) = try await prepare(database)
        let result = try await database.modifyRecords(
            saving: [note("fresh"), stale, note("_bad")], deleting: [noteID("stored")],
            atomically: false)
        #expect(try result.saveResults[noteID("fresh")]?.get().recordChangeTag != nil)
        #expect(result.saveResults[noteID("stale")]?.code == .serverRecordChanged)
        #expect(result.saveResults[noteID("_bad")]?.code == .invalidArguments)
        #expect(result.deleteResults[noteID("stored")]?.code == nil)
        let left = try await database.allRecords()
        #expect(Set(left.map(\.recordID)) == [noteID("fresh"), noteID("stale")])
        #expect(try await database.record(for: noteID("stale")) == server)
    }

    // Semantics 2.6: zones without the capability ignore it.
    @Test func `the default zone and the public database do what they can`() async throws {
        let container = try Container.inMemory()
        for database in [
            container.privateDatabase(for: "alice"), container.publicDatabase(as: "alice"),
        ] {
            let (stale, _) = try await prepare(database, in: .default)
            let fresh = note("fresh", in: .default)
            let result = try await database.modifyRecords(saving: [stale, fresh])
            #expect(result.saveResults[stale.recordID]?.code == .serverRecordChanged)
            #expect(result.saveResults[fresh.recordID]?.code == nil)
            #expect(try await database.record(for: fresh.recordID).recordID == fresh.recordID)
        }
    }

    // Semantics 2.4, check 3.
    @Test(arguments: [(2, 0), (1, 1), (0, 2)])
    func `a record named twice fails the whole call`(saves: Int, deletes: Int) async throws {
        let (_, database) = try await makeDatabase()
        try await database.save(RecordZone(zoneID: second))
        let error = await failure {
            try await database.modifyRecords(
                saving: [note("a", in: second)] + Array(repeating: note("a"), count: saves),
                deleting: Array(repeating: noteID("a"), count: deletes))
        }
        #expect(error.code == .invalidArguments)
        #expect(error.recordID == noteID("a"))
        #expect(try await database.allRecords(in: second) == [])
    }

    @Test func `a record is the same under both names of its owner`() async throws {
        let (container, database) = try await makeDatabase()
        let owner = container.userRecordName(for: "alice")
        let named = RecordZone.ID(zoneName: "notes", ownerName: owner)
        let saved = try await database.save(note("a", ["field": 1], in: named))
        #expect(try await database.record(for: noteID("a"))["field"] == 1)
        #expect(saved.recordID.recordName == "a")
        let error = await failure {
            try await database.modifyRecords(saving: [note("b"), note("b", in: named)])
        }
        #expect(error.code == .invalidArguments)
    }

    @Test func `an empty call succeeds with nothing`() async throws {
        let (_, database) = try await makeDatabase()
        let result = try await database.modifyRecords(saving: [])
        #expect(result.saveResults.isEmpty && result.deleteResults.isEmpty)
        #expect(result.partialFailure == nil)
    }

    @Test func `a batch is one commit: readers see all of it or nothing`() async throws {
        let (_, database) = try await makeDatabase()
        try await database.saveAll((0..<20).map { note("r\($0)", ["round": 0]) })
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                for round in 1...50 {
                    try await database.saveAll(
                        (0..<20).map { note("r\($0)", ["round": .int64(Int64(round))]) },
                        savePolicy: .changedKeys)
                }
            }
            group.addTask {
                var seen: Set<Int64> = []
                repeat {
                    let page = try await database.records(inZoneWith: notes)
                    let rounds = Set(page.records.compactMap { $0["round"]?.int64Value })
                    #expect(page.records.count == 20)
                    #expect(rounds.count == 1)
                    seen.formUnion(rounds)
                    await Task.yield()
                } while !seen.contains(50)
            }
            try await group.waitForAll()
        }
    }

    // C35.
    @Test
    func `an entry that is too long fails with limitExceeded and takes an atomic batch along`()
        async throws
    {
        var store = DiskStore()
        store.options.segmentLength = 64 << 10
        let database = try store.open().privateDatabase(for: "alice")
        try await database.save(RecordZone(zoneID: notes))
        let long = note("long", ["field": .string(String(repeating: "x", count: 20 << 10))])
        let result = try await database.modifyRecords(saving: [note("short"), long])
        #expect(result.saveResults[noteID("long")]?.code == .limitExceeded)
        #expect(result.saveResults[noteID("short")]?.code == .batchRequestFailed)
        #expect(try await database.allRecords() == [])
        let error = await failure { try await database.save(long) }
        #expect(error.code == .limitExceeded)
        #expect(error.recordID == noteID("long"))
    }

    @Test func `what a long batch reports as saved is saved though its last item failed`()
        async throws
    {
        var store = DiskStore()
        store.options.segmentLength = 64 << 10
        store.options.groupLimit = 16 << 10
        let database = try store.open().privateDatabase(for: "alice")
        try await database.save(RecordZone(zoneID: notes))
        let medium = RecordValue.string(String(repeating: "x", count: 1000))
        for count in 10...20 {
            let records = (0..<count).map { note("\(count)-\($0)", ["field": medium]) }
            let long = note(
                "long\(count)", ["field": .string(String(repeating: "x", count: 20 << 10))])
            let result = try await database.modifyRecords(
                saving: records + [long], atomically: false)
            #expect(result.saveResults[long.recordID]?.code == .limitExceeded)
            for record in records {
                let saved = try #require(try result.saveResults[record.recordID]?.get())
                #expect(saved.recordChangeTag != nil)
                #expect(
                    try await database.records(for: [record.recordID])[record.recordID]?.code == nil
                )
            }
        }
    }
}

/// Semantics 2.7.
@Suite struct DeleteTests {
    // C43, C44.
    @Test func `deleting a missing record succeeds, in a missing zone it does not`() async throws {
        let (_, database) = try await makeDatabase()
        #expect(try await database.deleteRecord(withID: noteID("a")) == noteID("a"))
        let changes = try await FollowedChanges(of: database)
        #expect(changes.deletedNames == [])
        let missing = noteID("a", in: RecordZone.ID(zoneName: "missing"))
        let error = await failure { try await database.deleteRecord(withID: missing) }
        #expect(error.code == .zoneNotFound)
    }

    @Test func `a delete needs no tag and is done whatever the record is now`() async throws {
        let (_, database) = try await makeDatabase()
        try await database.save(try await database.save(note("a")))
        try await database.deleteRecord(withID: noteID("a"))
        let error = await failure { try await database.record(for: noteID("a")) }
        #expect(error.code == .unknownItem)
        #expect(error.recordID == noteID("a"))
        #expect(try await database.allRecords() == [])
        #expect(try await database.allRecords(type: "Note") == [])
    }

    // C6, C17.
    @Test func `a name can be used again, with a fresh tag and date`() async throws {
        let (_, database) = try await makeDatabase()
        let first = try await database.save(note("a", ["old": 1]))
        try await database.deleteRecord(withID: noteID("a"))
        let second = try await database.save(note("a", ["new": 1]))
        #expect(second.recordChangeTag != first.recordChangeTag)
        #expect(second.creationDate == second.modificationDate)
        #expect(try await database.record(for: noteID("a")).allKeys == ["new"])
    }

    // C19, C20, C21.
    @Test func `a missing record is unknownItem, a missing zone zoneNotFound, each by itself`()
        async throws
    {
        let (_, database) = try await makeDatabase()
        try await database.save(note("a"))
        let elsewhere = noteID("a", in: RecordZone.ID(zoneName: "missing"))
        let results = try await database.records(for: [noteID("a"), noteID("b"), elsewhere])
        #expect(results.count == 3)
        #expect(results[noteID("a")]?.code == nil)
        #expect(results[noteID("b")]?.code == .unknownItem)
        #expect(results[elsewhere]?.code == .zoneNotFound)
    }

    // Semantics 1.3: the default zone is there from the beginning.
    @Test func `in a default zone that was never used a record is unknown`() async throws {
        let container = try Container.inMemory()
        for database in [
            container.privateDatabase(for: "alice"), container.publicDatabase(),
        ] {
            let error = await failure { try await database.record(for: noteID("a", in: .default)) }
            #expect(error.code == .unknownItem)
            let id = noteID("b", in: .default)
            #expect(try await database.records(for: [id])[id]?.code == .unknownItem)
            #expect(try await database.allRecords(in: .default) == [])
        }
    }
}
