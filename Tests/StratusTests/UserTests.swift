import Stratus
import StratusFiles
import StratusJournal
import Support
import Synchronization
import Testing

// Users, as far as records need them: semantics 1.2, 1.5, 1.7.

struct UserTests {
    @Test func `records name their creator and their last modifier`() async throws {
        let container = try Container.inMemory()
        var record = try await container.publicDatabase(as: "alice").save(
            note("a", ["field": 1], in: .default))
        #expect(record.creatorUserRecordID == container.userRecordID(for: "alice"))
        #expect(record.lastModifiedUserRecordID == container.userRecordID(for: "alice"))
        record["field"] = 2
        record = try await container.publicDatabase(as: "bob").save(record)
        #expect(record.creatorUserRecordID == container.userRecordID(for: "alice"))
        #expect(record.lastModifiedUserRecordID == container.userRecordID(for: "bob"))
    }

    @Test func `a user's record is there once the user was first used`() async throws {
        let container = try Container.inMemory()
        let id = container.userRecordID(for: "alice")
        let bobs = container.publicDatabase(as: "bob")
        let before = await failure { try await bobs.record(for: id) }
        #expect(before.code == .unknownItem)
        // One's own is there at once; looking at it writes nothing.
        let own = try await container.publicDatabase(as: "alice").record(for: id)
        #expect(own.recordType == Record.userRecordType && own.recordID == id)
        #expect(own.recordChangeTag == nil && own.allKeys == [])
        #expect(container.information.userCount == 0)

        try await container.privateDatabase(for: "alice").save(note("a", in: .default))
        let record = try await bobs.record(for: id)
        #expect(record.recordType == "Users")
        #expect(record.recordChangeTag != nil && record.creationDate != nil)
        #expect(record.creatorUserRecordID == id && record.lastModifiedUserRecordID == id)
        #expect(try await container.publicDatabase().record(for: id) == record)
        #expect(try await bobs.records(for: [id])[id]?.code == nil)
    }

    @Test func `a user adds fields to their own record, and nobody else does`() async throws {
        let container = try Container.inMemory()
        let id = container.userRecordID(for: "alice")
        let alices = container.publicDatabase(as: "alice")
        let bobs = container.publicDatabase(as: "bob")
        try await alices.save(note("a", in: .default))
        var record = try await alices.record(for: id)
        let stale = record
        record["nickname"] = "Al"
        let saved = try await alices.save(record)
        #expect(saved.recordChangeTag != stale.recordChangeTag)
        #expect(try await bobs.record(for: id)["nickname"] == "Al")
        record = stale
        record["nickname"] = "Ally"
        let conflict = await failure { try await alices.save(record) }
        #expect(conflict.code == .serverRecordChanged)
        #expect(conflict.serverRecord?["nickname"] == "Al")

        record = try await bobs.record(for: id)
        record["nickname"] = "Bob was here"
        for policy in [SavePolicy.ifServerRecordUnchanged, .changedKeys, .allKeys] {
            let error = await failure { try await bobs.save(record, savePolicy: policy) }
            #expect(error.code == .permissionFailure)
        }
        let none = container.publicDatabase()
        #expect(await failure { try await none.save(record) }.code == .notAuthenticated)
        for database in [alices, bobs] {
            let error = await failure { try await database.deleteRecord(withID: id) }
            #expect(error.code == .permissionFailure)
        }
        #expect(try await alices.record(for: id)["nickname"] == "Al")
    }

    @Test func `the first save of a user's fields leaves the creation date as it was`()
        async throws
    {
        let clock = Mutex(Int64(1_767_225_600_000_000))
        var store = DiskStore()
        store.options.clock = Clock { clock.withLock { $0 } }
        let container = try store.open()
        let database = container.publicDatabase(as: "alice")
        try await database.save(note("a", in: .default))
        let before = try await database.record(for: container.userRecordID(for: "alice"))
        // The clock goes back: the modification date rises all the same.
        clock.withLock { $0 -= 1_000_000 }
        var record = before
        for value in 1...3 {
            record["n"] = .int64(Int64(value))
            record = try await database.save(record)
            #expect(record.creationDate == before.creationDate)
            #expect(record.creatorUserRecordID == before.creatorUserRecordID)
            #expect(
                try #require(record.modificationDate) > #require(before.modificationDate))
        }
        try await container.close()
        try store.deleteIndex()
        let again = try store.open(creating: false).publicDatabase(as: "bob")
        #expect(try await again.record(for: before.recordID) == record)
        #expect(try await again.usage().recordCount == 2)
    }

    @Test func `a user may fill in their record before anything else`() async throws {
        let container = try Container.inMemory()
        let database = container.publicDatabase(as: "alice")
        var record = try await database.record(for: container.userRecordID(for: "alice"))
        record["nickname"] = "Al"
        record = try await database.save(record)
        #expect(record.recordChangeTag != nil)
        #expect(try await database.record(for: record.recordID)["nickname"] == "Al")
    }

    @Test func `nobody makes a record for somebody else, nor one that only looks like it`()
        async throws
    {
        let (container, database) = try await makeDatabase()
        let shared = container.publicDatabase(as: "alice")
        let id = container.userRecordID(for: "alice")
        let others = Record(
            recordType: "Users", recordID: container.userRecordID(for: "bob"))
        #expect(await failure { try await shared.save(others) }.code == .permissionFailure)
        let wrong = [
            (shared, Record(recordType: "Users", recordID: noteID("a", in: .default))),
            (shared, Record(recordType: "Note", recordID: id)),
            (database, Record(recordType: "Users", recordID: noteID(id.recordName))),
            (database, Record(recordType: "Users", recordID: noteID("a"))),
            (database, Record(recordType: "Users", recordID: id)),
            (shared, note(id.recordName.uppercased(), in: .default)),
            (shared, note("_short", in: .default)),
        ]
        for (database, record) in wrong {
            let error = await failure { try await database.save(record) }
            #expect(error.code == .invalidArguments, "\(record.recordType) \(record.recordID)")
        }
    }

    // Semantics 1.2, 2.4 row 1: public reads only.
    @Test func `a call that writes without a user fails as a whole`() async throws {
        let container = try Container.inMemory()
        let database = container.publicDatabase()
        let error = await failure {
            try await database.modifyRecords(saving: [note("a", in: .default)])
        }
        #expect(error.code == .notAuthenticated && error.item == nil)
        #expect(error.remedy == .signIn)
    }
}

// C122, semantics 1.10
struct EncryptedValueTests {
    // C122.
    @Test func `a mark stays with the field`() async throws {
        let store = DiskStore()
        var container = try store.open()
        var database = container.privateDatabase(for: "alice")
        try await database.save(RecordZone(zoneID: notes))
        var record = note("a", ["title": "open"])
        record.encryptedValues["secret"] = "hidden"
        record.encryptedValues["numbers"] = [1, 2]
        #expect(record.allKeys == ["numbers", "secret", "title"])
        #expect(record.encryptedValues.allKeys == ["numbers", "secret"])
        #expect(record.encryptedValues["title"] == nil)
        let saved = try await database.save(record)
        #expect(saved.encryptedValues.allKeys == ["numbers", "secret"])
        try await container.close()

        container = try store.open()
        database = container.privateDatabase(for: "alice")
        record = try await database.record(for: noteID("a"))
        #expect(record == saved)
        #expect(record.encryptedValues["secret"] == "hidden")
        #expect(record["secret"] == "hidden" && record["title"] == "open")
        // However it is assigned, it keeps its mark.
        record["secret"] = "changed"
        #expect(record.encryptedValues["secret"] == "changed")
        #expect(record.encryptedValues.changedKeys == ["secret"])
        record = try await database.save(record)
        record.encryptedValues["numbers"] = []
        record = try await database.save(record, savePolicy: .allKeys)
        #expect(record.encryptedValues.allKeys == ["numbers", "secret"])
        #expect(record["numbers"] == [])
    }

    // C122.
    @Test func `assigning nil through either view removes the field`() async throws {
        let (_, database) = try await makeDatabase()
        var record = note("a")
        record.encryptedValues["one"] = 1
        record.encryptedValues["two"] = 2
        record["three"] = 3
        record = try await database.save(record)
        record["one"] = nil
        record.encryptedValues["two"] = nil
        record = try await database.save(record)
        #expect(record.allKeys == ["three"])
        record.encryptedValues["new"] = 1
        record["new"] = nil
        #expect(record["new"] == nil && record.encryptedValues["new"] == nil)
    }

    @Test func `a field is marked by its first save and never afterwards`() async throws {
        let (_, database) = try await makeDatabase()
        var record = note("a", ["plain": "open"])
        record.encryptedValues["secret"] = "hidden"
        try await database.save(record)
        var marked = note("b")
        marked.encryptedValues["plain"] = "hidden"
        #expect(await failure { try await database.save(marked) }.code == .invalidArguments)
        let unmarked = note("c", ["secret": "open"])
        #expect(await failure { try await database.save(unmarked) }.code == .invalidArguments)
        var other = note("d")
        other.encryptedValues["secret"] = 1
        #expect(await failure { try await database.save(other) }.code == .invalidArguments)
        // Of another type the field is another.
        try await database.save(note("c", ["secret": "open"], type: "Other"))
    }

    @Test func `references and the public database have no encrypted fields`() async throws {
        let (container, database) = try await makeDatabase()
        let link = RecordValue.reference(Reference(recordID: noteID("b")))
        for value in [link, .list([link])] {
            var record = note("a")
            record.encryptedValues["link"] = value
            #expect(await failure { try await database.save(record) }.code == .invalidArguments)
        }
        var record = note("a", in: .default)
        record.encryptedValues["secret"] = "hidden"
        let shared = container.publicDatabase(as: "alice")
        #expect(await failure { try await shared.save(record) }.code == .invalidArguments)
        try await database.save(record)
    }

    @Test func `a mark is part of what a record holds`() async throws {
        var hashes: [ContentHash] = []
        var records: [Record] = []
        for isMarked in [true, false] {
            let (_, database) = try await makeDatabase()
            var record = note("a")
            if isMarked { record.encryptedValues["f"] = 1 } else { record["f"] = 1 }
            records.append(record)
            try await database.save(record)
            hashes.append(try await database.contentHash())
        }
        #expect(hashes[0] != hashes[1])
        #expect(records[0] != records[1])
    }
}
