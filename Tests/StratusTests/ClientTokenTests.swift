import FoundationEssentials
import Stratus
import Support
import Testing

/// What a device says with a change, and hears again: semantics 2.8.
@Suite struct ClientTokenTests {
    private func said(
        _ database: Database, in zone: RecordZone.ID = notes
    ) async throws -> Data? {
        try await database.recordZoneChanges(inZoneWith: zone).clientChangeTokenData
    }

    @Test func `a device hears what it said last, per zone, and others do not`() async throws {
        let (container, database) = try await makeDatabase()
        let second = RecordZone.ID(zoneName: "second")
        try await database.save(RecordZone(zoneID: second))
        let phone = container.privateDatabase(for: "alice", device: "phone")
        let tablet = container.privateDatabase(for: "alice", device: "tablet")
        #expect(try await said(phone) == nil)
        for number in UInt8(1)...3 {
            let result = try await phone.modifyRecords(
                saving: [note("a", ["key": .int64(Int64(number))])], savePolicy: .changedKeys,
                clientChangeTokenData: Data([number]))
            #expect(result.partialFailure == nil)
        }
        _ = try await tablet.modifyRecords(
            saving: [note("b"), note("c", in: second)], clientChangeTokenData: Data([9]))
        _ = try await database.modifyRecords(
            saving: [note("d")], clientChangeTokenData: Data())
        #expect(try await said(phone) == Data([3]))
        #expect(try await said(phone, in: second) == nil)
        #expect(try await said(tablet) == Data([9]))
        #expect(try await said(tablet, in: second) == Data([9]))
        #expect(try await said(database) == Data())
        // With a token too.
        let page = try await phone.recordZoneChanges(inZoneWith: notes)
        let next = try await phone.recordZoneChanges(
            inZoneWith: notes, since: page.changeToken)
        #expect(next.clientChangeTokenData == Data([3]))
    }

    @Test func `what a failed call said has not arrived`() async throws {
        let (_, database) = try await makeDatabase()
        _ = try await database.modifyRecords(
            saving: [note("a")], clientChangeTokenData: Data([1]))
        _ = try await database.modifyRecords(
            saving: [note("b"), note("_bad")], clientChangeTokenData: Data([2]))
        #expect(try await said(database) == Data([1]))
        _ = try await database.modifyRecords(
            saving: [], deleting: [noteID("never")], clientChangeTokenData: Data([3]))
        #expect(try await said(database) == Data([3]))
        let limit = await failure {
            try await database.modifyRecords(
                saving: [note("b")], clientChangeTokenData: Data(count: 4097))
        }
        #expect(limit.code == .invalidArguments)
        _ = try await database.modifyRecords(
            saving: [note("b")], clientChangeTokenData: Data(count: 4096))
        #expect(try await said(database) == Data(count: 4096))
    }

    @Test func `what was said is no change of the zone, and goes with it`() async throws {
        let store = DiskStore()
        var container = try store.open()
        var database = container.privateDatabase(for: "alice")
        try await database.save(RecordZone(zoneID: notes))
        try await database.save(note("a"))
        let zone = try await FollowedChanges(of: database).token
        let token = try await database.databaseChanges().changeToken
        _ = try await database.modifyRecords(
            saving: [], deleting: [noteID("never")], clientChangeTokenData: Data([1]))
        #expect(try await database.databaseChanges(since: token).modifications == [])
        #expect(try await FollowedChanges(of: database, since: zone).modified == [])
        try await container.close()
        try store.deleteIndex()
        container = try store.open()
        database = container.privateDatabase(for: "alice")
        #expect(try await said(database) == Data([1]))
        try await database.deleteRecordZone(withID: notes)
        try await database.save(RecordZone(zoneID: notes))
        #expect(try await said(database) == nil)
    }
}
