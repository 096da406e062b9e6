import FoundationEssentials
import Stratus
import StratusFiles
import StratusJournal
import Synchronization
import Testing

/// System fields and local change tracking: semantics 1.7 and 1.8.
@Suite struct RecordTests {
    // C1.
    @Test func `a new record has no system fields, and a saved one has all`() async throws {
        let time = Mutex<Int64>(1_700_000_000_123_456)
        var options = JournalOptions()
        options.clock = Clock { time.withLock { $0 } }
        var store = DiskStore()
        store.options = options
        let container = try store.open()
        let alice = container.publicDatabase(as: "alice")
        let new = note("a", in: .default)
        #expect(new.recordChangeTag == nil)
        #expect(new.creationDate == nil && new.modificationDate == nil)
        #expect(new.creatorUserRecordID == nil && new.lastModifiedUserRecordID == nil)
        let first = try await alice.save(new)
        time.withLock { $0 += 5_000_000 }
        let bob = container.publicDatabase(asHost: "bob")
        try await bob.save(try await bob.record(for: new.recordID))
        let second = try await alice.record(for: new.recordID)
        #expect(first.recordChangeTag != second.recordChangeTag)
        #expect(first.creationDate == Date(timeIntervalSince1970: 1_700_000_000.123))
        #expect(first.modificationDate == first.creationDate)
        #expect(second.creationDate == first.creationDate)
        #expect(second.modificationDate == Date(timeIntervalSince1970: 1_700_000_005.123))
        let users = ["alice", "bob"].map { noteID(container.userRecordName(for: $0), in: .default) }
        #expect(first.creatorUserRecordID == users[0])
        #expect(first.lastModifiedUserRecordID == users[0])
        #expect(second.creatorUserRecordID == users[0])
        #expect(second.lastModifiedUserRecordID == users[1])
    }

    // C2.
    @Test func `a tag is a decimal string and new with every save`() async throws {
        let (_, database) = try await makeDatabase()
        var record = note("a", ["field": 0])
        var tags: Set<String> = []
        for number in 0..<50 {
            record = try await database.save(record)
            let tag = try #require(record.recordChangeTag)
            #expect(UInt64(tag).map { String($0) } == tag)
            #expect(tags.insert(tag).inserted)
            if number % 2 == 0 { record["field"] = .int64(Int64(number)) }
        }
    }

    // C126.
    @Test func `the date of modification rises with every save though the clock goes back`()
        async throws
    {
        let time = Mutex<Int64>(1_700_000_000_000_000)
        var store = DiskStore()
        store.options.clock = Clock { time.withLock { $0 } }
        let database = try store.open().privateDatabase(for: "alice")
        var record = try await database.save(note("a", in: .default))
        let created = record.creationDate
        for step: Int64 in [0, 1, -3_600_000_000, 999] {
            time.withLock { $0 += step }
            let before = try #require(record.modificationDate)
            record = try await database.save(record)
            #expect(try #require(record.modificationDate) > before)
            #expect(record.creationDate == created)
        }
    }

    @Test func `the parent is kept, changed and removed, and is a plain reference into the zone`()
        async throws
    {
        let (_, database) = try await makeDatabase()
        try await database.save(note("above"))
        var record = note("child")
        record.parent = Reference(recordID: noteID("above"))
        record = try await database.save(record)
        #expect(try await database.record(for: noteID("child")).parent == record.parent)
        record["field"] = 1
        record = try await database.save(record)
        #expect(record.parent == Reference(recordID: noteID("above")))
        record.parent = nil
        #expect(try await database.save(record).parent == nil)
        #expect(try await database.record(for: noteID("child")).parent == nil)
        for parent in [
            Reference(recordID: noteID("above"), action: .deleteSelf),
            Reference(recordID: noteID("above", in: .default)),
        ] {
            var wrong = note("wrong")
            wrong.parent = parent
            let error = await failure { try await database.save(wrong) }
            #expect(error.code == .invalidArguments)
        }
    }

    @Test func `changed keys are those set or removed since the save, sorted`() async throws {
        let (_, database) = try await makeDatabase()
        var record = note("a", ["b": 1, "a": 2])
        #expect(record.changedKeys == ["a", "b"])
        record = try await database.save(record)
        #expect(record.changedKeys == [])
        record["b"] = 3
        record["a"] = nil
        #expect(record.changedKeys == ["a", "b"])
        #expect(record.allKeys == ["b"])
        #expect(try await database.record(for: noteID("a")).changedKeys == [])
    }

    @Test func `a field set and taken away on a new record was never there`() async throws {
        let (_, database) = try await makeDatabase()
        var record = note("a", ["kept": 1])
        record["field"] = 1
        record["field"] = nil
        record["other"] = nil
        #expect(record.changedKeys == ["kept"])
        #expect(record.allKeys == ["kept"])
        #expect(try await database.save(record).allKeys == ["kept"])
    }

    // C12.
    @Test(arguments: [SavePolicy.ifServerRecordUnchanged, .changedKeys, .allKeys])
    func `nil on a stored field removes it at the save and no other`(
        policy: SavePolicy
    ) async throws {
        let (_, database) = try await makeDatabase()
        var record = try await database.save(note("a", ["key1": 1, "key2": 2]))
        record["key2"] = nil
        #expect(record.changedKeys == ["key2"])
        #expect(try await database.record(for: noteID("a")).allKeys == ["key1", "key2"])
        let saved = try await database.save(record, savePolicy: policy)
        #expect(saved.allKeys == ["key1"])
        #expect(try await database.record(for: noteID("a")).allKeys == ["key1"])
    }

    // C26.
    @Test(arguments: [SavePolicy.ifServerRecordUnchanged, .changedKeys, .allKeys])
    func `a record fetched with desired keys shows those, and a save keeps the others`(
        policy: SavePolicy
    ) async throws {
        let (_, database) = try await makeDatabase()
        try await database.save(note("a", ["key1": 1, "key2": 2, "key3": 3]))
        var record = try await database.record(
            for: noteID("a"), desiredKeys: ["key1", "key2", "unknown"])
        #expect(record.allKeys == ["key1", "key2"])
        #expect(record["key3"] == nil)
        record["key1"] = 10
        record["key2"] = nil
        record["key4"] = 4
        try await database.save(record, savePolicy: policy)
        let fetched = try await database.record(for: noteID("a"))
        #expect(fetched.allKeys == ["key1", "key3", "key4"])
        #expect(fetched["key1"] == 10 && fetched["key3"] == 3)
        let none = try await database.record(for: noteID("a"), desiredKeys: [])
        #expect(none.allKeys == [])
        try await database.save(none, savePolicy: policy)
        #expect(try await database.record(for: noteID("a")).allKeys == fetched.allKeys)
    }

    @Test func `desired keys hold for pages and feeds too`() async throws {
        let (_, database) = try await makeDatabase()
        try await database.save(note("a", ["key1": 1, "key2": 2]))
        let page = try await database.records(inZoneWith: notes, desiredKeys: ["key2"])
        #expect(page.records.map(\.allKeys) == [["key2"]])
        let many = try await database.records(for: [noteID("a")], desiredKeys: ["key2"])
        #expect(try many[noteID("a")]?.get().allKeys == ["key2"])
        let changes = try await database.recordZoneChanges(
            inZoneWith: notes, desiredKeys: ["key2"])
        #expect(changes.modifications.map(\.allKeys) == [["key2"]])
    }

    // C9.
    @Test func `copies are independent of each other and of the store`() async throws {
        let (_, database) = try await makeDatabase()
        var record = note("a", ["field": 1])
        let copy = record
        let saved = try await database.save(record)
        record["field"] = 2
        var fetched = try await database.record(for: noteID("a"))
        fetched["field"] = 3
        #expect(copy["field"] == 1)
        #expect(saved["field"] == 1)
        #expect(try await database.record(for: noteID("a"))["field"] == 1)
    }

    @Test func `tokens are the words of all text fields`() async throws {
        let (_, database) = try await makeDatabase()
        let record = note("a", ["a": "two  words\n", "b": 3, "c": "third"])
        #expect(record.allTokens == ["two", "words", "third"])
        #expect(try await database.save(record).allTokens == record.allTokens)
    }

    // C127.
    @Test func `identities with the same names are equal and hash alike`() {
        let left = noteID("a", in: RecordZone.ID(zoneName: "z", ownerName: "_x"))
        let right = noteID("a", in: RecordZone.ID(zoneName: "z", ownerName: "_x"))
        #expect(Set([left, right, noteID("a", in: RecordZone.ID(zoneName: "z"))]).count == 2)
        #expect(AnyHashable(left) == AnyHashable(right))
    }
}
