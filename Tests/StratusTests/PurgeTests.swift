import Stratus
import StratusJournal
import Support
import Testing

// What becomes of a user's data when they are removed as a whole: semantics 5.4.

struct PurgeTests {
    private let lists = RecordZone.ID(zoneName: "lists")

    // C57, C59
    @Test func `a purge takes all zones of a user, and says so until they are made again`()
        async throws
    {
        let (container, database) = try await makeDatabase()
        try await database.save(RecordZone(zoneID: lists))
        try await database.saveAll([note("a"), note("b"), note("c", in: lists)])
        try await database.save(note("d", in: .default))
        let token = try await database.databaseChanges().changeToken
        let zoneToken = try await database.recordZoneChanges(inZoneWith: notes).changeToken

        try await container.purge(user: "alice")
        let changes = try await database.databaseChanges(since: token)
        #expect(Set(changes.deletions.map(\.zoneID)) == [notes, lists])
        #expect(changes.deletions.allSatisfy { $0.reason == .purged })
        #expect(changes.modifications == [])
        #expect(try await database.allRecordZones().map(\.zoneID) == [.default])
        #expect(try await database.usage() == Usage())

        let errors = [
            await failure { try await database.save(note("a")) },
            await failure { try await database.deleteRecord(withID: noteID("a")) },
            await failure { try await database.record(for: noteID("a")) },
            await failure { try await database.recordZoneChanges(inZoneWith: notes) },
            await failure { try await database.recordZone(for: notes) },
            await failure { try await database.deleteRecordZone(withID: notes) },
        ]
        for error in errors {
            #expect(error.code == .userDeletedZone && error.remedy == .askUser)
            #expect(error.zoneID == notes)
        }

        try await database.save(RecordZone(zoneID: notes))
        try await database.save(note("a"))
        #expect(try await database.allRecords().map(\.recordID.recordName) == ["a"])
        let expired = await failure {
            try await database.recordZoneChanges(inZoneWith: notes, since: zoneToken)
        }
        #expect(expired.code == .changeTokenExpired)
        #expect(
            await failure { try await database.save(note("c", in: lists)) }.code
                == .userDeletedZone)
    }

    @Test func `the default zone goes on after a purge, empty`() async throws {
        let (container, database) = try await makeDatabase()
        try await database.saveAll([note("a", in: .default), note("b", in: .default)])
        try await container.purge(user: "alice")
        let error = await failure { try await database.record(for: noteID("a", in: .default)) }
        #expect(error.code == .unknownItem)
        #expect(try await database.allRecords(in: .default) == [])
        try await database.save(note("a", in: .default))
        #expect(try await database.allRecords(in: .default).count == 1)
    }

    @Test func `a purge concerns the private database of one user`() async throws {
        let (container, database) = try await makeDatabase()
        try await database.save(note("a"))
        let shared = container.publicDatabase(as: "alice")
        try await shared.save(note("p", in: .default))
        let other = container.privateDatabase(for: "bob")
        try await other.save(RecordZone(zoneID: notes))
        try await other.save(note("a"))
        let head = container.information.head
        try await container.purge(user: "carol")
        #expect(container.information.head == head, "there was nothing to purge")
        try await container.purge(user: "alice")
        try await container.purge(user: "alice")
        #expect(try await other.allRecords().count == 1)
        #expect(try await shared.allRecords(in: .default).count == 1)
    }

    @Test func `one zone can be purged as well`() async throws {
        let (_, database) = try await makeDatabase()
        try await database.save(RecordZone(zoneID: lists))
        let token = try await database.databaseChanges().changeToken
        try await database.deleteRecordZone(withID: notes, reason: .purged)
        let changes = try await database.databaseChanges(since: token)
        #expect(changes.deletions.map(\.zoneID) == [notes])
        #expect(changes.deletions.map(\.reason) == [.purged])
        #expect(await failure { try await database.save(note("a")) }.code == .userDeletedZone)
        try await database.save(note("a", in: lists))
        // Made again and deleted in the usual way, it is simply not there.
        try await database.save(RecordZone(zoneID: notes))
        try await database.deleteRecordZone(withID: notes)
        #expect(await failure { try await database.save(note("a")) }.code == .zoneNotFound)
    }

    @Test func `a purge of more zones than a group holds is one commit`() async throws {
        var store = DiskStore()
        store.options.segmentLength = 16 << 10
        var container = try store.open()
        var database = container.privateDatabase(for: "alice")
        let zones = (0..<300).map { RecordZone.ID(zoneName: "zone-with-a-long-name-\($0)") }
        for zone in zones { try await database.save(RecordZone(zoneID: zone)) }
        try await database.saveAll(zones.prefix(20).map { note("a", in: $0) })
        let token = try await database.databaseChanges().changeToken
        try await container.purge(user: "alice")
        for _ in 0..<2 {
            var deleted: Set<RecordZone.ID> = []
            var page = try await database.databaseChanges(since: token)
            deleted.formUnion(page.deletions.map(\.zoneID))
            while page.moreComing {
                page = try await database.databaseChanges(since: page.changeToken)
                deleted.formUnion(page.deletions.map(\.zoneID))
            }
            #expect(deleted == Set(zones))
            #expect(try await database.usage() == Usage())
            let error = await failure { try await database.save(note("b", in: zones[7])) }
            #expect(error.code == .userDeletedZone)
            // The same after everything was read again.
            try await container.close()
            try store.deleteIndex()
            container = try store.open()
            database = container.privateDatabase(for: "alice")
        }
    }
}
