import FoundationEssentials
import Stratus
import StratusFiles
import StratusJournal
import Support
import Testing

/// Records that go from one zone to another.
@Suite struct MoveTests {
    static let archive = RecordZone.ID(zoneName: "archive")

    private func makeZones() async throws -> (Container, Database) {
        let (container, database) = try await makeDatabase()
        try await database.save(RecordZone(zoneID: Self.archive))
        return (container, database)
    }

    private func dependent(_ name: String, of target: String) -> Record {
        note(name, ["target": link(target, .deleteSelf)])
    }

    // C52.
    @Test(arguments: [archive, RecordZone.ID.default])
    func `a record is deleted in the one zone and new in the other`(zone: RecordZone.ID)
        async throws
    {
        let (container, database) = try await makeZones()
        var values: [String: RecordValue] = ["text": "é", "list": [1, 2]]
        values["place"] = .location(Location(latitude: 1, longitude: 2))
        try await database.save(note("a", values))
        try await database.save(note("b"))
        let before = try await database.record(for: noteID("a"))
        let token = try await FollowedChanges(of: database).token
        let moved = try await database.moveRecords([noteID("a")], to: zone)
        #expect(moved == [try await database.record(for: noteID("a", in: zone))])
        let record = try #require(moved.first)
        #expect(record.recordID == noteID("a", in: zone))
        for key in values.keys { #expect(record[key] == values[key]) }
        #expect(record.creationDate == before.creationDate)
        #expect(record.creatorUserRecordID == before.creatorUserRecordID)
        #expect(record.recordChangeTag != before.recordChangeTag)
        let earlier = try #require(before.modificationDate)
        #expect(try #require(record.modificationDate) > earlier)
        let changes = try await FollowedChanges(of: database, since: token)
        #expect(changes.deleted.map(\.recordID) == [noteID("a")])
        #expect(changes.deleted.map(\.recordType) == ["Note"])
        #expect(changes.modified == [])
        #expect(try await database.names() == ["b"])
        #expect(try await database.names(in: zone) == ["a"])
        if zone == Self.archive {
            let new = try await FollowedChanges(of: database, in: zone)
            #expect(new.modified == moved)
        }
        // It goes on as any record, and the name is free again.
        var edited = record
        edited["text"] = "new"
        edited = try await database.save(edited)
        #expect(edited.creationDate == before.creationDate)
        try await database.save(note("a"))
        try await container.close()
    }

    // C52.
    @Test func `descendants and what they own go along, and stay linked`() async throws {
        let (_, database) = try await makeZones()
        try await database.saveAll([
            note("p"), child("c", of: "p"), child("d", of: "c"), dependent("o", of: "d"), note("n"),
        ])
        let error = await failure {
            try await database.moveRecords([noteID("p")], to: Self.archive)
        }
        #expect(error.code == .referenceViolation)
        #expect(error.recordID == noteID("d"))
        let moved = try await database.moveRecords([noteID("p"), noteID("o")], to: Self.archive)
        #expect(moved.map(\.recordID.recordName) == ["p", "o"])
        #expect(try await database.names() == ["n"])
        #expect(try await database.names(in: Self.archive) == ["c", "d", "o", "p"])
        #expect(
            try await database.record(for: noteID("d", in: Self.archive)).parent
                == Reference(recordID: noteID("c", in: Self.archive)))
        let parent = await failure {
            try await database.deleteRecord(withID: noteID("p", in: Self.archive))
        }
        #expect(parent.code == .referenceViolation)
        try await database.deleteRecord(withID: noteID("d", in: Self.archive))
        #expect(try await database.names(in: Self.archive) == ["c", "p"])
        // Nothing of it is left behind.
        try await database.saveAll([note("p"), note("c"), note("d")])
        #expect(try await database.outcome(deleting: ["p", "c", "d"], atomically: false).isEmpty)
    }

    @Test func `nothing moves away from its parent, cascade target or dependent`() async throws {
        let (_, database) = try await makeZones()
        try await database.saveAll([
            note("p"), child("c", of: "p"), note("t"), dependent("s", of: "t"),
            dependent("dangling", of: "nobody"),
        ])
        for name in ["c", "t", "s"] {
            let error = await failure {
                try await database.moveRecords([noteID(name)], to: Self.archive)
            }
            #expect(error.code == .referenceViolation)
            #expect(error.recordID == noteID(name))
        }
        #expect(try await database.names(in: Self.archive) == [])
        try await database.moveRecords(
            [noteID("t"), noteID("s"), noteID("dangling")], to: Self.archive)
        #expect(try await database.names(in: Self.archive) == ["dangling", "s", "t"])
    }

    @Test func `a move is refused as a whole, and says which record is why`() async throws {
        let (_, database) = try await makeZones()
        try await database.saveAll([note("a"), note("b")])
        try await database.save(note("b", ["there": 1], in: Self.archive))
        func refusal(
            _ names: [String], to zone: RecordZone.ID = Self.archive
        ) async -> StoreError {
            await failure { try await database.moveRecords(names.map { noteID($0) }, to: zone) }
        }
        let taken = await refusal(["a", "b"])
        #expect(taken.code == .serverRecordChanged)
        #expect(taken.recordID == noteID("b"))
        #expect(taken.serverRecord?["there"] == 1)
        let missing = await refusal(["a", "nobody"])
        #expect(missing.code == .unknownItem)
        #expect(missing.recordID == noteID("nobody"))
        #expect(await refusal(["a"], to: notes).code == .invalidArguments)
        #expect(await refusal(["a", "a"]).code == .invalidArguments)
        let nowhere = RecordZone.ID(zoneName: "nowhere")
        #expect(await refusal(["a"], to: nowhere).code == .zoneNotFound)
        let mixed = await failure {
            try await database.moveRecords(
                [noteID("a"), noteID("b", in: Self.archive)], to: .default)
        }
        #expect(mixed.code == .invalidArguments)
        #expect(try await database.names() == ["a", "b"])
        #expect(try await database.moveRecords([], to: Self.archive) == [])
    }

    @Test func `there and back again, with tombstones in between`() async throws {
        let store = DiskStore()
        let container = try store.open()
        let database = container.privateDatabase(for: "alice")
        for zone in [notes, Self.archive] { try await database.save(RecordZone(zoneID: zone)) }
        let first = try await database.save(note("a", ["n": 1]))
        for _ in 0..<3 {
            try await database.moveRecords([noteID("a")], to: Self.archive)
            try await database.moveRecords([noteID("a", in: Self.archive)], to: notes)
        }
        let last = try await database.record(for: noteID("a"))
        #expect(last.creationDate == first.creationDate)
        #expect(try await FollowedChanges(of: database).modifiedNames == ["a"])
        #expect(try await FollowedChanges(of: database, in: Self.archive).modifiedNames == [])
        let hash = try await database.contentHash(includingSystem: true)
        try await container.close()
        try store.deleteIndex()
        let again = try store.open(creating: false).privateDatabase(for: "alice")
        #expect(try await again.contentHash(includingSystem: true) == hash)
    }

    /// Under a tag, and without anything else of the record.
    private func conflict(
        _ database: Database, under tag: String?, in zone: RecordZone.ID
    ) async throws -> StoreError {
        let id = noteID("a", in: zone)
        var record = Record(recordType: "Note", recordID: id, recordChangeTag: tag)
        record["n"] = 9
        return await failure { [record] in try await database.save(record) }
    }

    @Test func `a conflict after a move carries the ancestor from before it`() async throws {
        let (_, database) = try await makeZones()
        let third = RecordZone.ID(zoneName: "third")
        try await database.save(RecordZone(zoneID: third))
        let other = try await database.save(note("a", ["n": 0], in: third))
        try await database.deleteRecord(withID: other.recordID)
        // Two records of one name are told apart by when they were made, in milliseconds.
        try await Task.sleep(for: .milliseconds(2))
        let first = try await database.save(note("a", ["n": 1]))
        let second = try await database.save(first.with("n", 2))
        let moved = try await database.moveRecords([noteID("a")], to: Self.archive)
        var last = try await database.save(moved[0].with("n", 3))
        for base in [first, second] {
            let error = try await conflict(database, under: base.recordChangeTag, in: Self.archive)
            #expect(error.code == .serverRecordChanged && error.serverRecord == last)
            #expect(error.ancestorRecord?.recordChangeTag == base.recordChangeTag)
            #expect(error.ancestorRecord?["n"] == base["n"])
            #expect(error.ancestorRecord?.recordID == last.recordID)
        }
        // Over two moves, and never to what bore the name before.
        last = try await database.moveRecords([last.recordID], to: third)[0]
        last = try await database.save(last.with("n", 4))
        for base in [first, second, moved[0]] {
            let error = try await conflict(database, under: base.recordChangeTag, in: third)
            #expect(error.ancestorRecord?["n"] == base["n"])
        }
        try await database.moveRecords([last.recordID], to: notes)
        let stranger = try await conflict(database, under: other.recordChangeTag, in: notes)
        #expect(stranger.code == .serverRecordChanged && stranger.ancestorRecord == nil)
        // What a deleted zone held may not be read.
        try await database.deleteRecordZone(withID: Self.archive)
        let gone = try await conflict(database, under: moved[0].recordChangeTag, in: notes)
        #expect(gone.code == .serverRecordChanged && gone.ancestorRecord == nil)
        let kept = try await conflict(database, under: second.recordChangeTag, in: notes)
        #expect(kept.ancestorRecord?["n"] == 2)
    }

    @Test func `a move longer than a part is one commit, wherever it is cut`() async throws {
        var store = DiskStore()
        store.steppedByCaller = true
        store.options.segmentLength = 32 << 10
        store.options.groupLimit = 8 << 10
        let database = try store.open().privateDatabase(for: "alice")
        for zone in [notes, Self.archive] { try await database.save(RecordZone(zoneID: zone)) }
        try await database.save(note("p"))
        try await database.saveAll((0..<200).map { child("c\($0)", of: "p") })
        store.disk.keepsCrashPoints = true
        let moved = try await database.moveRecords([noteID("p")], to: Self.archive)
        #expect(moved == [try await database.record(for: noteID("p", in: Self.archive))])
        #expect(try await database.names() == [])
        #expect(try await database.names(in: Self.archive).count == 201)
        var found: Set<Int> = []
        for (place, point) in store.disk.crashPoints.enumerated() {
            let cut = DiskStore(point.crashed(seed: UInt64(place)))
            let again = try cut.open(creating: false).privateDatabase(for: "alice")
            let counts = [
                try await again.names().count, try await again.names(in: Self.archive).count,
            ]
            #expect([[201, 0], [0, 201]].contains(counts), "at \(place)")
            found.insert(counts[0])
        }
        #expect(found.count == 2)
    }

    @Test func `a move and a new child: the child is moved too, or has no parent`() async throws {
        for _ in 0..<30 {
            let (_, database) = try await makeZones()
            try await database.save(note("p"))
            async let moving = database.moveRecords([noteID("p")], to: Self.archive)
            async let saving: Void = {
                do {
                    try await database.save(child("c", of: "p"))
                } catch let error as StoreError {
                    #expect(error.code == .referenceViolation)
                }
            }()
            _ = try await (moving, saving)
            #expect(try await database.names() == [])
            #expect([["p"], ["c", "p"]].contains(try await database.names(in: Self.archive)))
        }
    }
}
