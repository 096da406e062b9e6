import FoundationEssentials
import Stratus
import StratusFiles
import StratusJournal
import Support
import Synchronization
import Testing

/// Calls with an operationID are done once.
@Suite struct OperationTests {
    /// A store on a simulated disk whose clock the test sets.
    private struct Timed {
        var store = DiskStore()
        let time = Mutexed(Int64(1_767_225_600_000_000))

        final class Mutexed: Sendable {
            private let value: Mutex<Int64>
            init(_ value: Int64) { self.value = Mutex(value) }
            func get() -> Int64 { value.withLock { $0 } }
            func add(hours: Int64) { value.withLock { $0 += hours * 3_600_000_000 } }
        }

        init(_ options: JournalOptions = JournalOptions()) {
            let time = time
            store.options = options
            store.options.clock = Clock { time.get() }
        }
    }

    private static func tags(_ result: ModifyRecordsResult) throws -> [String: String?] {
        var tags: [String: String?] = [:]
        for (id, saved) in result.saveResults {
            tags[id.recordName] = try saved.get().recordChangeTag
        }
        return tags
    }

    @Test func `a repeat gives the results of the first call and changes nothing`() async throws {
        let (_, database) = try await makeDatabase()
        try await database.saveAll([note("old", ["kept": 1]), note("gone")])
        var old = try await database.record(for: noteID("old"), desiredKeys: [])
        old["new"] = 2
        let call = { [old] in
            try await database.modifyRecords(
                saving: [note("a", ["key": 1]), old],
                deleting: [noteID("gone"), noteID("never")], operationID: "operation")
        }
        let first = try await call()
        let token = try await FollowedChanges(of: database).token
        let second = try await call()
        #expect(try Self.tags(second) == Self.tags(first))
        for (id, saved) in first.saveResults {
            #expect(try second.saveResults[id]?.get() == saved.get())
        }
        let merged = try second.saveResults[noteID("old")]?.get()
        #expect(merged?.allKeys == ["kept", "new"])
        #expect(second.deleteResults.count == 2 && second.partialFailure == nil)
        let since = try await FollowedChanges(of: database, since: token)
        #expect(since.modified == [] && since.deleted == [])
    }

    @Test func `a repeat gives what was saved then, not what was saved since`()
        async throws
    {
        let (_, database) = try await makeDatabase()
        let first = try await database.save(note("a", ["key": 1]), operationID: "one")
        var later = first
        later["key"] = 2
        later = try await database.save(later)
        #expect(try await database.save(note("a", ["key": 1]), operationID: "one") == first)
        #expect(try await database.record(for: noteID("a")) == later)
        try await database.deleteRecord(withID: noteID("a"), operationID: "two")
        try await database.save(note("a", ["key": 3]))
        try await database.deleteRecord(withID: noteID("a"), operationID: "two")
        #expect(try await database.record(for: noteID("a"))["key"] == 3)
        #expect(try await database.save(note("a", ["key": 1]), operationID: "one") == first)
    }

    @Test func `a caller may send the items in another order`() async throws {
        let (_, database) = try await makeDatabase()
        let records = (0..<20).map { note("r\($0)", ["key": .int64(Int64($0))]) }
        let first = try await database.modifyRecords(saving: records, operationID: "operation")
        let second = try await database.modifyRecords(
            saving: records.reversed(), operationID: "operation")
        #expect(try Self.tags(second) == Self.tags(first))
    }

    @Test(arguments: [
        "name", "value", "field", "removal", "type", "policy", "atomic", "deletion", "zone", "more",
        "tag", "token", "parent",
    ])
    func `another call under the same operationID makes no sense`(difference: String) async throws {
        let (_, database) = try await makeDatabase()
        let other = RecordZone.ID(zoneName: "other")
        try await database.save(RecordZone(zoneID: other))
        let stored = try await database.save(note("b", ["key": 1]))
        var edited = stored
        edited["key"] = 2
        _ = try await database.modifyRecords(
            saving: [note("a", ["key": 1]), edited], operationID: "operation")
        var record = note("a", ["key": 1])
        switch difference {
        case "name": record = note("c", ["key": 1])
        case "value": record["key"] = 2
        case "field": record = note("a", ["other": 1])
        case "removal": edited["key"] = nil
        case "type": record = note("a", ["key": 1], type: "Page")
        case "zone": record = note("a", ["key": 1], in: other)
        case "tag": edited = try await database.record(for: noteID("b"))
        case "parent": record.parent = Reference(recordID: noteID("b"))
        default: break
        }
        if difference == "tag" { edited["key"] = 2 }
        let token = try await FollowedChanges(of: database).token
        let error = await failure { [record, edited] in
            try await database.modifyRecords(
                saving: [record, edited] + (difference == "more" ? [note("more")] : []),
                deleting: difference == "deletion" ? [noteID("b2")] : [],
                savePolicy: difference == "policy" ? .changedKeys : .ifServerRecordUnchanged,
                atomically: difference != "atomic", operationID: "operation",
                clientChangeTokenData: difference == "token" ? Data([1]) : nil)
        }
        #expect(error.code == .invalidArguments)
        #expect(error.reason == "another operation was done under this operationID")
        #expect(try await FollowedChanges(of: database, since: token).modified == [])
        let zone = try await database.recordZoneChanges(inZoneWith: other)
        #expect(zone.modifications == [])
    }

    @Test func `the same operationID of another user is another operation`() async throws {
        let (container, database) = try await makeDatabase()
        let shared = container.publicDatabase(as: "alice")
        try await database.save(note("a"), operationID: "same")
        let bob = container.privateDatabase(for: "bob")
        try await bob.save(RecordZone(zoneID: notes))
        try await bob.save(note("b"), operationID: "same")
        let error = await failure {
            try await shared.save(note("a", in: .default), operationID: "same")
        }
        #expect(error.code == .invalidArguments)
    }

    @Test func `what failed in part fails again in the same way`() async throws {
        let (_, database) = try await makeDatabase()
        let first = try await database.save(note("stale", ["key": 1]))
        let server = try await database.save(first)
        let call = {
            try await database.modifyRecords(
                saving: [note("a"), first, note("_bad")], atomically: false,
                operationID: "operation")
        }
        let done = try await call()
        try await database.deleteRecord(withID: noteID("stale"))
        let again = try await call()
        for result in [done, again] {
            #expect(result.saveResults[noteID("_bad")]?.code == .invalidArguments)
            guard case .failure(let error)? = result.saveResults[noteID("stale")] else {
                Issue.record("the stale one was saved")
                continue
            }
            #expect(error.code == .serverRecordChanged)
            #expect(error.reason == "client oplock error updating record")
            #expect(error.clientRecord == first && error.ancestorRecord == first)
            #expect(error.serverRecord == server && error.recordID == noteID("stale"))
        }
        #expect(try again.saveResults[noteID("a")]?.get() == done.saveResults[noteID("a")]?.get())
    }

    @Test func `a repeat gives a conflict with its ancestor`() async throws {
        let (_, database) = try await makeDatabase()
        let first = try await database.save(note("stale", ["key": 1]))
        try await database.save(note("old", ["key": 2]))
        let old = try await database.record(for: noteID("old"))
        try await database.saveAll([first.with("key", 3), old.with("key", 4)])
        var bare = try Record(systemFields: first.encodeSystemFields())
        bare["new"] = 1
        let items: [RecordItem] = [
            .save(bare, SaveRule(.ifServerRecordUnchanged)),
            .delete(noteID("old"), recordChangeTag: old.recordChangeTag),
            .save(note("a"), SaveRule(.ifServerRecordUnchanged)),
        ]
        let call = {
            try await database.modifyRecords(
                items, atomically: false, operationID: "operation")
        }
        let done = try await call()
        try await database.deleteRecord(withID: noteID("stale"))
        try await database.deleteRecord(withID: noteID("old"))
        #expect(try await call() == done)
        for (outcome, ancestor) in zip(done, [first, old]) {
            guard case .failure(let error) = outcome else {
                Issue.record("it was done")
                continue
            }
            #expect(error.code == .serverRecordChanged && error.ancestorRecord == ancestor)
        }
    }

    // C53.
    @Test func `a repeat says why the parent of a record was not saved`() async throws {
        let (_, database) = try await makeDatabase()
        try await database.save(note("typed", ["field": 1]))
        var records = [note("p", ["field": "text"]), note("c"), note("leaf"), note("a")]
        records[1].parent = Reference(recordID: noteID("p"))
        records[2].parent = Reference(recordID: noteID("c"))
        let call = { [records] in
            try await database.modifyRecords(
                saving: records, atomically: false, operationID: "operation")
        }
        let done = try await call()
        let again = try await call()
        guard case .failure(let error)? = done.saveResults[noteID("leaf")] else {
            Issue.record("it was saved")
            return
        }
        #expect(error.partialErrors[.record(noteID("p"))]?.code == .invalidArguments)
        #expect(error.partialErrors[.record(noteID("c"))]?.code == .referenceViolation)
        for name in ["p", "c", "leaf", "a"] {
            #expect(again.saveResults[noteID(name)] == done.saveResults[noteID(name)])
        }
    }

    @Test func `what changed nothing is not recorded and is tried again`() async throws {
        let (_, database) = try await makeDatabase()
        try await database.deleteRecord(withID: noteID("a"), operationID: "operation")
        let failed = try await database.modifyRecords(
            saving: [note("_bad"), note("b")], operationID: "atomic")
        #expect(failed.partialFailure != nil)
        try await database.save(note("a"))
        try await database.deleteRecord(withID: noteID("a"), operationID: "operation")
        #expect(try await database.allRecords() == [])
        _ = try await database.modifyRecords(saving: [note("b")], operationID: "atomic")
        #expect(try await database.allRecords().count == 1)
    }

    @Test func `zones that were not done yet are done by the repeat`() async throws {
        let (_, database) = try await makeDatabase()
        let second = RecordZone.ID(zoneName: "second")
        let call = {
            try await database.modifyRecords(
                saving: [note("a"), note("b", in: second)], operationID: "operation")
        }
        let first = try await call()
        #expect(first.saveResults[noteID("b", in: second)]?.code == .zoneNotFound)
        let done = try first.saveResults[noteID("a")]?.get()
        try await database.save(RecordZone(zoneID: second))
        try await database.deleteRecord(withID: noteID("a"))
        let again = try await call()
        #expect(try again.saveResults[noteID("a")]?.get() == done)
        #expect(try await database.allRecords() == [])
        #expect(try await database.allRecords(in: second).count == 1)
    }

    @Test func `of repeats at the same time one is done, and all get its results`() async throws {
        let (_, database) = try await makeDatabase()
        for round in 0..<20 {
            let saved = try await withThrowingTaskGroup(of: Record.self) { group in
                for _ in 0..<8 {
                    group.addTask {
                        try await database.save(
                            note("r\(round)", ["key": 1]), operationID: "operation \(round)")
                    }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(saved.count == 8 && saved.allSatisfy { $0 == saved[0] })
        }
    }

    @Test func `a repeat is known after a crash, a reopening, and an index made anew`()
        async throws
    {
        let store = DiskStore()
        let call = { (container: Container) in
            try await container.privateDatabase(for: "alice").modifyRecords(
                saving: [note("a", ["key": 1]), note("b")], operationID: "operation")
        }
        var container = try store.open()
        try await container.privateDatabase(for: "alice").save(RecordZone(zoneID: notes))
        let first = try Self.tags(try await call(container))
        store.disk.crash(seed: 1)
        container = try store.open()
        #expect(try Self.tags(try await call(container)) == first)
        try await container.close()
        container = try store.open()
        #expect(try Self.tags(try await call(container)) == first)
        try await container.close()
        try store.deleteIndex()
        container = try store.open()
        #expect(try Self.tags(try await call(container)) == first)
    }

    @Test func `a repeat is known for 24 hours between commits`() async throws {
        let timed = Timed()
        let database = try timed.store.open().privateDatabase(for: "alice")
        try await database.save(RecordZone(zoneID: notes))
        let call = {
            try await database.save(
                note("a", ["key": 1]), savePolicy: .changedKeys, operationID: "operation")
        }
        let first = try await call()
        timed.time.add(hours: 12)
        try await database.save(note("b"), operationID: "another")
        timed.time.add(hours: 12)
        #expect(try await call() == first)
        timed.time.add(hours: 1)
        let second = try await call()
        #expect(second.recordChangeTag != first.recordChangeTag)
        #expect(try await call() == second)
        timed.time.add(hours: 24)
        try await database.save(note("c"), operationID: "third")
        #expect(try await call() == second)
    }

    @Test func `what was forgotten leaves nothing behind`() async throws {
        let timed = Timed()
        let container = try timed.store.open()
        let database = container.privateDatabase(for: "alice")
        try await database.save(RecordZone(zoneID: notes))
        for round in 0..<100 {
            try await database.save(
                note("a"), savePolicy: .changedKeys, operationID: "operation \(round)")
            timed.time.add(hours: 1)
        }
        try await container.close()
        var container2 = try timed.store.open()
        // Known are those of the last day; what is rebuilt says the same.
        for _ in 0..<2 {
            let database = container2.privateDatabase(for: "alice")
            let token = try await FollowedChanges(of: database).token
            for round in 77..<100 {
                try await database.save(
                    note("a"), savePolicy: .changedKeys, operationID: "operation \(round)")
            }
            #expect(try await FollowedChanges(of: database, since: token).modified == [])
            try await container2.close()
            try timed.store.deleteIndex()
            container2 = try timed.store.open()
        }
    }

    @Test func `a batch longer than a group is one operation too`() async throws {
        var options = JournalOptions()
        options.segmentLength = 64 << 10
        options.groupLimit = 8 << 10
        var store = DiskStore()
        store.options = options
        let container = try store.open()
        let database = container.privateDatabase(for: "alice")
        try await database.save(RecordZone(zoneID: notes))
        try await database.saveAll((0..<50).map { note("old\($0)", ["kept": 1]) })
        let records = (0..<300).map { number in
            note(number < 50 ? "old\(number)" : "r\(number)", ["key": .int64(Int64(number))])
        }
        let call = { (database: Database) in
            try await database.modifyRecords(
                saving: records, deleting: [noteID("old7x"), noteID("never")],
                savePolicy: .changedKeys, operationID: "operation")
        }
        let first = try await call(database)
        #expect(first.partialFailure == nil)
        try await container.close()
        let again = try await call(try store.open().privateDatabase(for: "alice"))
        for (id, saved) in first.saveResults {
            #expect(try again.saveResults[id]?.get() == saved.get())
        }
        #expect(try again.saveResults[noteID("old3")]?.get()["kept"] == 1)
    }

    @Test func `an operationID has 1 to 255 bytes`() async throws {
        let (_, database) = try await makeDatabase()
        for id in ["", String(repeating: "x", count: 256)] {
            let error = await failure { try await database.save(note("a"), operationID: id) }
            #expect(error.code == .invalidArguments)
        }
        try await database.save(note("a"), operationID: String(repeating: "ü", count: 127))
    }
}
