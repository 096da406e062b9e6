import FoundationEssentials
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
        record = try await container.publicDatabase(asHost: "bob").save(record)
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

    @Test func `a user adds fields to their own record, and no other user can`() async throws {
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

    @Test func `a user cannot make the record of another user, nor one that only looks like it`()
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
            (database, Record(recordType: "Users", recordID: others.recordID)),
            (shared, note(id.recordName.uppercased(), in: .default)),
            (shared, note("_short", in: .default)),
        ]
        for (database, record) in wrong {
            let error = await failure { try await database.save(record) }
            #expect(error.code == .invalidArguments, "\(record.recordType) \(record.recordID)")
        }
    }

    @Test func `before its first save a user's record is saved with its own tag or none`()
        async throws
    {
        let (container, own) = try await makeDatabase()
        let shared = container.publicDatabase(as: "alice")
        let id = container.userRecordID(for: "alice")
        let other = try await own.save(note("other", in: .default))
        for database in [shared, own] {
            let unsaved = try await database.record(for: id)
            let tag = try #require(other.recordChangeTag)
            #expect(tag != unsaved.recordChangeTag)
            for tag in [tag, "1", "0"] {
                var wrong = Record(
                    recordType: Record.userRecordType, recordID: id, recordChangeTag: tag)
                wrong["nickname"] = "Wrong"
                let error = await failure { [wrong] in try await database.save(wrong) }
                #expect(error.code == .serverRecordChanged && error.serverRecord == unsaved)
            }
            #expect(try await database.record(for: id) == unsaved)
            var record = unsaved
            record["nickname"] = "Al"
            record = try await database.save(record)
            // The tag of before is an old one now.
            var stale = unsaved
            stale["nickname"] = "Old"
            let conflict = await failure { [stale] in try await database.save(stale) }
            #expect(conflict.code == .serverRecordChanged && conflict.serverRecord == record)
        }
        // Nothing is there yet of a user who is not known.
        let bobs = container.publicDatabase(as: "bob")
        let bob = container.userRecordID(for: "bob")
        var early = Record(
            recordType: Record.userRecordType, recordID: bob, recordChangeTag: "1")
        early["nickname"] = "Bob"
        let tooEarly = await failure { [early] in try await bobs.save(early) }
        #expect(tooEarly.code == .unknownItem)
        try await bobs.save(note("b", in: .default))
        let untagged = Record(recordType: Record.userRecordType, recordID: bob)
        #expect(try await bobs.save(untagged).recordChangeTag != nil)
    }

    // Semantics 7: one in the private and one in the public default zone, with the same ID.
    @Test func `a user has a record in the private database too, with fields of its own`()
        async throws
    {
        let (container, database) = try await makeDatabase()
        try await database.save(note("a"))
        let shared = container.publicDatabase(as: "alice")
        let id = container.userRecordID(for: "alice")
        var record = try await database.record(for: id)
        #expect(record.recordType == Record.userRecordType && record.allKeys == [])
        #expect(record.recordChangeTag != nil && record.creatorUserRecordID == id)
        record["secret"] = "mine"
        record = try await database.save(record)
        #expect(try await database.record(for: id)["secret"] == "mine")
        #expect(try await shared.record(for: id).allKeys == [])
        // It holds no other user's record, and this one stays where it is.
        let bob = container.userRecordID(for: "bob")
        try await container.privateDatabase(for: "bob").save(note("b", in: .default))
        #expect(await failure { try await database.record(for: bob) }.code == .unknownItem)
        let others = Record(recordType: Record.userRecordType, recordID: bob)
        #expect(await failure { try await database.save(others) }.code == .invalidArguments)
        let delete = await failure { try await database.deleteRecord(withID: id) }
        let move = await failure { try await database.moveRecords([id], to: notes) }
        #expect(delete.code == .permissionFailure && move.code == .permissionFailure)
        #expect(move.recordID == id)
        #expect(try await database.record(for: id) == record)
        // A purge leaves it as it was before its first save.
        try await container.purge(user: "alice")
        let purged = try await database.record(for: id)
        #expect(purged.recordChangeTag != record.recordChangeTag && purged.allKeys == [])
        let stale = await failure { [record] in try await database.save(record) }
        #expect(stale.code == .serverRecordChanged)
    }

    @Test func `a user's own private record is there before the user is known`() async throws {
        let container = try Container.inMemory()
        let database = container.privateDatabase(for: "alice")
        let id = container.userRecordID(for: "alice")
        var record = try await database.record(for: id)
        #expect(record.recordChangeTag == nil && container.information.userCount == 0)
        record["secret"] = "mine"
        try await database.save(record)
        #expect(try await database.record(for: id)["secret"] == "mine")
        #expect(container.information.userCount == 1)
    }

    @Test func `the host changes the record of a user who is known, and it stays the user's`()
        async throws
    {
        let container = try Container.inMemory()
        let host = container.publicDatabase(asHost: "moderator")
        let id = container.userRecordID(for: "alice")
        var record = Record(recordType: Record.userRecordType, recordID: id)
        record["nickname"] = "Al"
        let unknown = await failure { [record] in try await host.save(record) }
        #expect(unknown.code == .unknownItem)
        let alice = container.publicDatabase(as: "alice")
        try await alice.save(note("a", in: .default))
        var saved = try await host.save(record)
        #expect(saved.creatorUserRecordID == id)
        #expect(saved.lastModifiedUserRecordID == container.userRecordID(for: "moderator"))
        saved["nickname"] = "Alice"
        try await alice.save(saved)
        #expect(
            await failure { try await host.deleteRecord(withID: id) }.code == .permissionFailure)
    }

    @Test func `an empty user name is refused at the first use, and makes no user`() async throws {
        let (container, _) = try await makeDatabase()
        let snapshot = container.snapshot()
        let users = container.information.userCount
        let id = noteID("a", in: .default)
        for database in [
            container.privateDatabase(for: ""), container.publicDatabase(as: ""),
            container.publicDatabase(asHost: ""),
        ] {
            let errors = [
                await failure { try await database.save(note("a", in: .default)) },
                await failure { try await database.deleteRecord(withID: id) },
                await failure { try await database.save(RecordZone(zoneID: notes)) },
                await failure { try await database.moveRecords([id], to: notes) },
                await failure { try await database.record(for: id) },
                await failure { try await database.records(for: [id]) },
                await failure { try await database.allRecordZones() },
                await failure { try await database.allRecords(in: .default) },
                await failure { try await database.usage() },
                await failure { try await database.contentHash() },
                await failure { try await database.store(Asset(data: Data("a".utf8))) },
            ]
            for error in errors {
                #expect(error.code == .invalidArguments)
                #expect(error.reason == "expected the name of a user, found an empty one")
            }
        }
        for database in [snapshot.privateDatabase(for: ""), snapshot.publicDatabase(as: "")] {
            let error = await failure { try database.record(for: id) }
            #expect(error.code == .invalidArguments)
        }
        #expect(await failure { try await container.purge(user: "") }.code == .invalidArguments)
        #expect(container.information.userCount == users)
    }

    /// The first once made the process trap: its `_` is one character together with the accent.
    @Test(arguments: [
        "_\u{301}" + String(repeating: "0", count: 30), "_" + String(repeating: "A", count: 32),
        "_" + String(repeating: "0", count: 31) + "g", "_" + String(repeating: "0", count: 31),
        "_" + String(repeating: "0", count: 33), "_", "alice",
    ])
    func `a name that is not quite a user record name is a plain one`(name: String) throws {
        let container = try Container.inMemory()
        let given = container.userRecordName(for: name)
        #expect(given.utf8.count == 33 && given != name)
        #expect(given == container.userRecordName(for: name))
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
    @Test func `an encryption flag stays with the field`() async throws {
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
        // However it is assigned, it keeps its encryption flag.
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

    @Test func `a field is flagged by its first save and never afterwards`() async throws {
        let (_, database) = try await makeDatabase()
        var record = note("a", ["plain": "open"])
        record.encryptedValues["secret"] = "hidden"
        try await database.save(record)
        var flagged = note("b")
        flagged.encryptedValues["plain"] = "hidden"
        #expect(await failure { try await database.save(flagged) }.code == .invalidArguments)
        let plain = note("c", ["secret": "open"])
        #expect(await failure { try await database.save(plain) }.code == .invalidArguments)
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

    @Test func `an encryption flag is part of what a record holds`() async throws {
        var hashes: [ContentHash] = []
        var records: [Record] = []
        for isFlagged in [true, false] {
            let (_, database) = try await makeDatabase()
            var record = note("a")
            if isFlagged { record.encryptedValues["f"] = 1 } else { record["f"] = 1 }
            records.append(record)
            try await database.save(record)
            hashes.append(try await database.contentHash())
        }
        #expect(hashes[0] != hashes[1])
        #expect(records[0] != records[1])
    }
}
