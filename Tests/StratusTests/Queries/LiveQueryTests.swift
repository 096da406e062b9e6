import Stratus
import Support
import Testing

/// Queries that go on: ``Database/liveRecords(matching:inZoneWith:desiredKeys:resultsLimit:)``.
@Suite(.timeLimit(.minutes(20))) struct LiveQueryTests {
    private static func byNumber(_ text: String = "n > 0") throws -> Query {
        Query(
            recordType: "Note", predicate: try Query.Predicate(text),
            sortDescriptors: [Query.SortDescriptor(key: "n", ascending: true)])
    }

    private static func names(_ places: [QueryChanges.Place]) -> [String] {
        places.map { "\($0.index) \($0.record.recordID.recordName)" }
    }

    private static func names(_ places: [QueryChanges.PreviousPlace]) -> [String] {
        places.map { "\($0.index) \($0.recordID.recordName)" }
    }

    @Test func `a live query tells what comes, what changes and what goes, each with its place`()
        async throws
    {
        let (_, database) = try await makeDatabase()
        try await database.saveAll([
            note("b", ["n": 2, "text": "x"]), note("d", ["n": 4]), note("zero", ["n": 0]),
        ])
        var changes = database.liveRecords(
            matching: try Self.byNumber(), inZoneWith: notes, desiredKeys: ["n"]
        ).makeAsyncIterator()
        let first = try #require(try await changes.next())
        #expect(Self.names(first.added) == ["0 b", "1 d"])
        #expect(first.added[0].record.allKeys == ["n"])
        try await database.saveAll([note("c", ["n": 3]), note("none", ["n": -1])])
        let second = try #require(try await changes.next())
        #expect(Self.names(second.added) == ["1 c"])
        #expect(second.changed.isEmpty && second.removed.isEmpty)
        // One moves, one goes since it does not satisfy the query any more, and one is deleted.
        try await database.saveAll([note("b", ["n": 9])], savePolicy: .allKeys)
        let third = try #require(try await changes.next())
        #expect(Self.names(third.changed) == ["2 b"] && third.previousIndexes == [0])
        #expect(third.added.isEmpty && third.removed.isEmpty)
        try await database.saveAll([note("d", ["n": -4])], savePolicy: .allKeys)
        let fourth = try #require(try await changes.next())
        #expect(Self.names(fourth.removed) == ["1 d"])
        try await database.deleteRecord(withID: noteID("c"))
        let fifth = try #require(try await changes.next())
        #expect(Self.names(fifth.removed) == ["0 c"] && fifth.added.isEmpty)
    }

    @Test func `the first of many are told, and who follows where one goes`() async throws {
        let (_, database) = try await makeDatabase()
        try await database.saveAll(
            (1...40).map { note("r\($0)", ["n": .int64(Int64($0))]) })
        var changes = database.liveRecords(
            matching: try Self.byNumber(), inZoneWith: notes, resultsLimit: 3
        ).makeAsyncIterator()
        #expect(
            Self.names(try #require(try await changes.next()).added) == ["0 r1", "1 r2", "2 r3"])
        for number in 1...30 {
            try await database.deleteRecord(withID: noteID("r\(number)"))
            let change = try #require(try await changes.next())
            #expect(Self.names(change.removed) == ["0 r\(number)"])
            #expect(Self.names(change.added) == ["2 r\(number + 3)"])
        }
    }

    /// Of several saves between two looks, of many and of few.
    @Test(arguments: 0..<4, ["zone", "all", "default", "public"])
    func `what is told makes the result what the query finds`(
        seed: Int, place: String
    ) async throws {
        var generator = SeededGenerator(seed: UInt64(seed) + 700)
        let container = try Container.inMemory()
        let own = container.privateDatabase(for: "alice")
        let other = RecordZone.ID(zoneName: "other")
        try await own.save(RecordZone(zoneID: notes))
        try await own.save(RecordZone(zoneID: other))
        let database = place == "public" ? container.publicDatabase(as: "alice") : own
        let zones = place == "all" ? [notes, other] : place == "zone" ? [notes] : [.default]
        let zone: RecordZone.ID? = place == "all" || place == "public" ? nil : zones[0]
        let query = Query(
            recordType: "Note", predicate: try Query.Predicate("n > 2 AND n < 90"),
            sortDescriptors: generator.oneIn(2)
                ? [] : [Query.SortDescriptor(key: "n", ascending: generator.oneIn(2))])
        if generator.oneIn(2) {
            try await database.save(note("first", ["n": 5], in: zones[0]))
            try await container.addIndex(on: "n", of: "Note", .sortable)
        }
        let limit = [2, 7, 1000][generator.below(3)]
        var changes = database.liveRecords(
            matching: query, inZoneWith: zone, resultsLimit: limit
        ).makeAsyncIterator()
        var records: [Record] = []
        try #require(try await changes.next()).apply(to: &records)
        for round in 0..<40 {
            for _ in 0...generator.below(round % 10 == 0 ? 60 : 3) {
                let id = Record.ID(
                    recordName: "r\(generator.below(40))",
                    zoneID: zones[generator.below(zones.count)])
                if generator.oneIn(3) {
                    try await database.deleteRecord(withID: id)
                } else {
                    let type = generator.oneIn(8) ? "Page" : "Note"
                    var record = Record(recordType: type, recordID: id)
                    record["n"] = .int64(Int64(generator.below(100)))
                    // The name may be one of another type.
                    _ = try? await database.save(record, savePolicy: .allKeys)
                }
            }
            if generator.oneIn(20), place != "public" {
                try await container.setDeletionPolicy(.age(seconds: 0))
                try await container.maintenance.compact()
                try await database.save(note("any", in: zones[0]), savePolicy: .allKeys)
            }
            let found = try await database.records(
                matching: query, inZoneWith: zone, resultsLimit: limit
            ).records
            let isSame =
                found.map(\.recordID) == records.map(\.recordID)
                && found.map(\.recordChangeTag) == records.map(\.recordChangeTag)
            if isSame { continue }
            try #require(try await changes.next()).apply(to: &records)
            #expect(
                found.map(\.recordID) == records.map(\.recordID), "seed \(seed), round \(round)")
            #expect(
                found.map(\.recordChangeTag) == records.map(\.recordChangeTag),
                "seed \(seed), round \(round)")
        }
    }

    @Test func `a live query hears of deletions that are forgotten by now`() async throws {
        let container = try DiskStore().open()
        let database = container.privateDatabase(for: "alice")
        try await database.save(RecordZone(zoneID: notes))
        try await database.saveAll([note("a", ["n": 1]), note("b", ["n": 2])])
        let token = try await database.recordZoneChanges(inZoneWith: notes).changeToken
        var changes = database.liveRecords(matching: try Self.byNumber(), inZoneWith: notes)
            .makeAsyncIterator()
        #expect(Self.names(try #require(try await changes.next()).added) == ["0 a", "1 b"])
        try await container.setDeletionPolicy(.none)
        try await database.deleteRecord(withID: noteID("a"))
        try await container.maintenance.erase()
        let expired = await failure {
            try await database.recordZoneChanges(inZoneWith: notes, since: token)
        }
        #expect(expired.code == .changeTokenExpired)
        #expect(Self.names(try #require(try await changes.next()).removed) == ["0 a"])
        try await container.close()
    }

    @Test func `a live query of all zones looks into new ones, and not into those that are gone`()
        async throws
    {
        let (_, database) = try await makeDatabase()
        let other = RecordZone.ID(zoneName: "other")
        try await database.save(note("a", ["n": 1]))
        var changes = database.liveRecords(matching: try Self.byNumber()).makeAsyncIterator()
        #expect(Self.names(try #require(try await changes.next()).added) == ["0 a"])
        try await database.save(RecordZone(zoneID: other))
        try await database.save(note("b", ["n": 2], in: other))
        #expect(Self.names(try #require(try await changes.next()).added) == ["1 b"])
        try await database.deleteRecordZone(withID: notes)
        #expect(Self.names(try #require(try await changes.next()).removed) == ["0 a"])
    }

    @Test func `a participant's live query follows what is shared`() async throws {
        let (container, database) = try await makeDatabase()
        let root = note("root", ["n": 1])
        var share = Share(rootRecord: root)
        share.publicPermission = .readOnly
        let saved = try await database.modifyRecords(saving: [root, share.record])
        let record = try #require(try saved.saveResults[share.recordID]?.get())
        let link = try #require(Share(record)?.shortGUID)
        try await container.acceptShare(link, as: "bob")
        let bob = container.sharedDatabase(for: "bob")
        let zone = try #require(try await bob.allRecordZones().first).zoneID
        var changes = bob.liveRecords(matching: try Self.byNumber(), inZoneWith: zone)
            .makeAsyncIterator()
        #expect(Self.names(try #require(try await changes.next()).added) == ["0 root"])
        var child = note("child", ["n": 2])
        child.parent = Reference(recordID: noteID("root"), action: .none)
        try await database.save(child)
        #expect(Self.names(try #require(try await changes.next()).added) == ["1 child"])
        try await database.deleteRecord(withID: noteID("child"))
        #expect(Self.names(try #require(try await changes.next()).removed) == ["1 child"])
    }

    @Test func `a live query wakes by itself, and ends with its zone or its container`()
        async throws
    {
        let (container, database) = try await makeDatabase()
        let query = try Self.byNumber()
        let task = Task {
            var names: [String] = []
            for try await change in database.liveRecords(matching: query, inZoneWith: notes) {
                names += change.added.map(\.record.recordID.recordName)
            }
            return names
        }
        let endless = Task {
            var count = 0
            for try await _ in database.liveRecords(matching: query) { count += 1 }
            return count
        }
        for name in ["a", "b"] {
            try await Task.sleep(for: .milliseconds(20))
            try await database.save(note(name, ["n": 1]))
        }
        try await Task.sleep(for: .milliseconds(20))
        try await database.deleteRecordZone(withID: notes)
        let error = await failure { try await task.value }
        #expect(error.code == .zoneNotFound)
        try await container.close()
        _ = try await endless.value
    }

    @Test func `a query that cannot be asked is refused at once`() async throws {
        let (_, database) = try await makeDatabase()
        let query = Query(recordType: "Users", predicate: .all)
        var changes = database.liveRecords(matching: query).makeAsyncIterator()
        let error = await failure { try await changes.next() }
        #expect(error.code == .invalidArguments)
        #expect(try await changes.next() == nil)
    }
}
