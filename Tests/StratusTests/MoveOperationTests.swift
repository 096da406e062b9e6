import Stratus
import StratusJournal
import Support
import Testing

/// Moves that may be asked for again, and moves where there is a quota.
@Suite struct MoveOperationTests {
    private static let archive = RecordZone.ID(zoneName: "archive")

    private func open(
        _ profile: Profile = .unlimited
    ) async throws -> (container: Container, database: Database) {
        let container = try Container.inMemory(profile: profile)
        let database = container.privateDatabase(for: "alice")
        for zone in [notes, Self.archive] { try await database.save(RecordZone(zoneID: zone)) }
        return (container, database)
    }

    @Test func `a move that is asked for again gives what it gave, and moves nothing`()
        async throws
    {
        let (_, database) = try await open()
        try await database.saveAll([note("b", ["n": 1]), note("a"), child("c", of: "a")])
        let move = { (names: [String]) in
            try await database.moveRecords(
                names.map { noteID($0) }, to: Self.archive, operationID: "move")
        }
        let first = try await move(["b", "a"])
        #expect(first.map(\.recordID.recordName) == ["b", "a"])
        // What became of them since is of no account.
        var later = first[0]
        later["n"] = 2
        try await database.save(later)
        let token = try await FollowedChanges(of: database, in: Self.archive).token
        #expect(try await move(["b", "a"]) == first)
        #expect(try await move(["a", "b"]) == first.reversed())
        try await database.deleteRecordZone(withID: notes)
        #expect(try await move(["b", "a"]) == first)
        let since = try await FollowedChanges(of: database, in: Self.archive, since: token)
        #expect(since.modified == [] && since.deleted == [])
    }

    @Test func `another call under the operationID of a move makes no sense`() async throws {
        let (_, database) = try await open()
        try await database.saveAll([note("a"), note("b")])
        try await database.moveRecords([noteID("a")], to: Self.archive, operationID: "one")
        let third = RecordZone.ID(zoneName: "third")
        try await database.save(RecordZone(zoneID: third))
        let errors = [
            await failure {
                try await database.moveRecords(
                    [noteID("b")], to: Self.archive, operationID: "one")
            },
            await failure {
                try await database.moveRecords([noteID("a")], to: third, operationID: "one")
            },
            await failure { try await database.save(note("c"), operationID: "one") },
            await failure {
                try await database.moveRecords([noteID("b")], to: third, operationID: "")
            },
        ]
        for error in errors { #expect(error.code == .invalidArguments, "\(error)") }
        #expect(try await database.names() == ["b"])
        try await database.save(note("d"), operationID: "two")
        let taken = await failure {
            try await database.moveRecords([noteID("b")], to: third, operationID: "two")
        }
        #expect(taken.code == .invalidArguments)
    }

    @Test func `a move that failed is no operation, and one longer than a part is`()
        async throws
    {
        var store = DiskStore()
        store.options.segmentLength = 32 << 10
        store.options.groupLimit = 8 << 10
        let database = try store.open().privateDatabase(for: "alice")
        for zone in [notes, Self.archive] { try await database.save(RecordZone(zoneID: zone)) }
        let ids = (0..<200).map { noteID("r\($0)") }
        let move = {
            try await database.moveRecords(ids, to: Self.archive, operationID: "move")
        }
        #expect(await failure { try await move() }.code == .unknownItem)
        try await database.saveAll((0..<200).map { note("r\($0)", ["n": .int64(Int64($0))]) })
        let first = try await move()
        #expect(first.map { $0["n"] } == (0..<200).map { .int64(Int64($0)) })
        #expect(try await move() == first)
    }

    @Test func `what a move adds is charged, and refused where the quota is used up`()
        async throws
    {
        // What a moved record says further: when and by whom it was made, and where it was.
        let (_, database) = try await open(Profile(userQuota: 2000))
        var record = note("a", ["t": "some"])
        try await database.save(record)
        let before = try await database.usage()
        try await database.moveRecords([noteID("a")], to: Self.archive)
        let after = try await database.usage()
        #expect(after.recordCount == 1 && after.bytes > before.bytes)
        #expect(after == (try await database.usage(ofZoneWith: Self.archive)))
        #expect(try await database.usage(ofZoneWith: notes) == Usage())
        // It fills the quota to the last byte but two.
        let room = 2000 - after.bytes
        record = note("b")
        try await database.save(record)
        let empty = try await database.usage().bytes - after.bytes
        record["t"] = .string(String(repeating: "x", count: room - empty - 9))
        try await database.deleteRecord(withID: record.recordID)
        try await database.save(record)
        let full = try await database.usage().bytes
        #expect((1990...2000).contains(full))
        let error = await failure {
            try await database.moveRecords([noteID("b")], to: Self.archive)
        }
        #expect(error.code == .quotaExceeded && error.remedy == .makeRoom)
        #expect(try await database.names() == ["b"])
        #expect(try await database.usage().bytes == full)
    }
}
