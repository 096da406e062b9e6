import FoundationEssentials
import Stratus
import StratusFiles
import StratusJournal
import Support
import Testing

/// Lists and feeds of a store with damaged records, behind which all others are whole.
@Suite struct SkippedDamageTests {
    /// Eight records, of which the frames of two cannot be read; an opening does not look at them.
    private static func store(isIndexed: Bool = false) async throws -> (
        container: Container, database: Database, places: [Int], before: ChangeToken
    ) {
        let maker = SampleMaker(seed: 80)
        var container = try maker.open()
        var database = container.privateDatabase(for: "alice")
        try await maker.fill(database, saves: 3)
        let before = try await database.recordZoneChanges(inZoneWith: SampleMaker.zone).changeToken
        try await maker.fill(database, saves: 5, from: 3)
        try await database.deleteRecord(withID: id(7))
        if isIndexed { try await container.addIndex(on: "number", of: "Note", .queryable) }
        try await container.checkpoint()
        try await container.close()
        // A group for the zone, and one for each record.
        var places: [Int] = []
        try maker.edit(0) { image in
            for number in [4, 6] {
                let place = image.frames(ofGroup: image.groups[number])[1]
                image.flip(image.payload(ofFrame: place) + 5)
                places.append(place)
            }
        }
        container = try maker.open()
        database = container.privateDatabase(for: "alice")
        return (container, database, places, before)
    }

    private static func id(_ number: Int) -> Record.ID {
        Record.ID(recordName: "note-\(number)", zoneID: SampleMaker.zone)
    }

    private static let readable = ["note-0", "note-1", "note-2", "note-4", "note-6"]

    @Test func `a list that skips damage has every other record and says what is missing`()
        async throws
    {
        let (container, database, places, _) = try await Self.store()
        let error = try await failure {
            try await database.records(inZoneWith: SampleMaker.zone)
        }
        #expect(error.cause == .damaged)
        for limit in [1, 2, 100] {
            var names: [String] = []
            var skipped: [StoreError] = []
            var cursor: RecordPage.Cursor?
            repeat {
                let page = try await database.records(
                    inZoneWith: SampleMaker.zone, resultsLimit: limit, from: cursor,
                    skippingDamaged: true)
                names += page.records.map(\.recordID.recordName)
                skipped += page.skipped
                cursor = page.cursor
            } while cursor != nil
            #expect(names.sorted() == Self.readable)
            #expect(skipped.compactMap { $0.place?.byte }.sorted() == places)
            #expect(
                skipped.compactMap { $0.place?.offset }.sorted() == places.map { UInt64($0 / 8) })
            #expect(skipped.allSatisfy { $0.place?.file == "journal-0000000000000000" })
            #expect(skipped.allSatisfy { $0.place?.kind == "frame.payload checksum" })
        }
        try await container.close()
    }

    @Test func `what an index tells is counted and added up without reading a record`()
        async throws
    {
        let (container, database, _, _) = try await Self.store(isIndexed: true)
        for (text, field, count, sum) in [
            ("number >= 0", "number", 7, 21), ("number < 5 AND number > 1", "number", 3, 9),
            ("TRUEPREDICATE", nil, 7, nil), ("TRUEPREDICATE", "number", 7, 21),
        ] as [(String, String?, Int, Int64?)] {
            let query = Query(recordType: "Note", predicate: try .init(text))
            let totals = try await database.totals(
                of: field, matching: query, inZoneWith: SampleMaker.zone)
            #expect(totals.count == count && totals.sum == sum.map { .int64($0) }, "\(text)")
        }
        let other = Query(recordType: "Note", predicate: try .init("number != 99"))
        let error = try await failure {
            try await database.totals(matching: other, inZoneWith: SampleMaker.zone)
        }
        #expect(error.cause == .damaged)
        try await container.close()
    }

    @Test func `a record that has only one of two values that indexes serve is not read`()
        async throws
    {
        let maker = SampleMaker(seed: 82)
        let zone = SampleMaker.zone
        func task(_ number: Int) -> Record {
            var task = Record(
                recordType: "Task",
                recordID: Record.ID(recordName: "task-\(number)", zoneID: zone))
            task["state"] = .string(number < 30 ? "open" : "done")
            task["side"] = .int64(Int64(number % 2))
            return task
        }
        var container = try maker.open()
        var database = container.privateDatabase(for: "alice")
        try await database.save(RecordZone(zoneID: zone))
        // Open on one side, open on the other one, done.
        for number in [1, 0, 31] { try await database.save(task(number)) }
        let others = (2..<60).filter { $0 != 31 }
        _ = try await database.modifyRecords(saving: others.map(task))
        for field in ["state", "side"] {
            try await container.addIndex(on: field, of: "Task", .queryable)
        }
        try await container.checkpoint()
        try await container.close()
        try maker.edit(0) { image in
            for number in [2, 3] {
                let place = image.frames(ofGroup: image.groups[number])[1]
                image.flip(image.payload(ofFrame: place) + 5)
            }
        }
        container = try maker.open()
        database = container.privateDatabase(for: "alice")
        func query(_ text: String) throws -> Query {
            Query(recordType: "Task", predicate: try .init(text))
        }
        let page = try await database.records(matching: query("state = 'open' AND side = 1"))
        #expect(page.records.count == 15)
        let error = try await failure {
            try await database.records(matching: query("state = 'open'"))
        }
        #expect(error.cause == .damaged)
        try await container.close()
    }

    @Test func `a record that is damaged and still says its name is skipped by that name`()
        async throws
    {
        let (maker, file, byte) = try await HostilePayloadTests.store(
            HostilePayloadTests.Malformation("text that is not UTF-8", field: 1, [0xff]))
        let database = try maker.open().privateDatabase(for: "alice")
        let page = try await database.records(inZoneWith: SampleMaker.zone, skippingDamaged: true)
        #expect(page.records.map(\.recordID.recordName).sorted() == ["note-0", "note-1"])
        #expect(page.skipped.compactMap { $0.recordID?.recordName } == ["hostile"])
        #expect(page.skipped.compactMap { $0.place?.file } == [file])
        #expect(page.skipped.compactMap { $0.place?.byte } == [byte])
    }

    @Test func `a page of changes that meets damage fails and gives no token beyond it`()
        async throws
    {
        let (container, database, places, before) = try await Self.store()
        let zone = SampleMaker.zone
        for since in [nil, before] {
            let error = try await failure {
                try await database.recordZoneChanges(inZoneWith: zone, since: since)
            }
            #expect(error.cause == .damaged)
            #expect(error.place?.byte == places[0])
        }
        // Pages of one lead up to it, and not past it.
        let page = try await database.recordZoneChanges(
            inZoneWith: zone, since: nil, resultsLimit: 3)
        #expect(page.modifications.count == 3 && page.moreComing)
        _ = try await failure {
            try await database.recordZoneChanges(
                inZoneWith: zone, since: page.changeToken, resultsLimit: 1)
        }
        var live = database.liveRecordZoneChanges(inZoneWith: zone, since: before)
            .makeAsyncIterator()
        let error = try await failure { try await live.next() }
        #expect(error.cause == .damaged)
        try await container.close()
    }

    @Test func `a page of changes that skips damage says so and leads past it`() async throws {
        let (container, database, places, before) = try await Self.store()
        let zone = SampleMaker.zone
        let whole = try await database.recordZoneChanges(
            inZoneWith: zone, since: before, resultsLimit: nil, skippingDamaged: true)
        #expect(whole.modifications.map(\.recordID.recordName) == ["note-4", "note-6"])
        #expect(whole.deletions.map(\.recordID.recordName) == ["note-7"])
        #expect(whole.skipped.compactMap { $0.place?.byte } == places)
        #expect(whole.isIncomplete)
        let next = try await database.recordZoneChanges(
            inZoneWith: zone, since: whole.changeToken)
        #expect(next.modifications.isEmpty && next.deletions.isEmpty && !next.isIncomplete)
        let first = try await database.recordZoneChanges(
            inZoneWith: zone, since: before, resultsLimit: 1, skippingDamaged: true)
        #expect(first.modifications.isEmpty && first.isIncomplete && first.moreComing)
        try await container.close()
    }

    @Test func `there is no hash of what cannot be read, and every damaged place is named`()
        async throws
    {
        let (container, database, places, _) = try await Self.store()
        for error in [
            try await failure { try await database.contentHash(of: SampleMaker.zone) },
            try await failure { try await database.contentHash() },
        ] {
            #expect(error.cause == .damaged)
            #expect(error.places.map(\.byte).sorted() == places)
        }
        try await container.close()
    }

    @Test func `a log that skips damage has every other frame`() async throws {
        let (container, _, places, _) = try await Self.store()
        func lines(_ log: JournalLog) throws -> (bytes: [Int], skipped: [Int]) {
            var log = log
            var bytes: [Int] = []
            var skipped: [Int] = []
            while let line = try log.nextLine() {
                bytes.append(line.byte)
                skipped += log.takeSkipped().map(\.byte)
            }
            return (bytes, skipped + log.takeSkipped().map(\.byte))
        }
        #expect(throws: JournalError.self) { try lines(container.log()) }
        let (bytes, skipped) = try lines(container.log(skipsDamaged: true))
        #expect(skipped == places)
        #expect(bytes == bytes.sorted() && Set(bytes).count == bytes.count)
        #expect(bytes.contains { $0 > places[1] })
        #expect(!bytes.contains(places[0]) && !bytes.contains(places[1]))
        try await container.close()
    }

    @Test func `a log that skips damage has the whole frames of a group that is not whole`()
        async throws
    {
        let maker = SampleMaker(seed: 81)
        let container = try maker.open()
        let database = container.privateDatabase(for: "alice")
        try await maker.fill(database, saves: 1)
        _ = try await database.modifyRecords(
            saving: (1...5).map { maker.record("note-\($0)", ["number": 1]) })
        try await database.save(maker.record("last"))
        try await container.checkpoint()
        try await container.close()
        var expected: [Int] = []
        var damaged = 0
        try maker.edit(0) { image in
            for group in image.groups.dropLast() {
                expected += image.frames(ofGroup: group).dropFirst()
            }
            let frames = image.frames(ofGroup: image.groups[2])
            damaged = frames[3]
            image.flip(image.payload(ofFrame: damaged) + 5)
        }
        let opened = try maker.open()
        var log = opened.log(skipsDamaged: true)
        var bytes: [Int] = []
        while let line = try log.nextLine() { bytes.append(line.byte) }
        #expect(log.takeSkipped().map(\.byte) == [damaged])
        #expect(Set(expected.filter { $0 != damaged }).isSubset(of: bytes))
        #expect(!bytes.contains(damaged) && Set(bytes).count == bytes.count)
        try await opened.close()
    }

    @Test func `a list of zones that skips damage has every other zone and says what is missing`()
        async throws
    {
        let maker = SampleMaker(seed: 81)
        var container = try maker.open()
        var database = container.privateDatabase(for: "alice")
        try await database.save(RecordZone(zoneName: "damaged"))
        try await maker.fill(database, saves: 2)
        try await container.checkpoint()
        try await container.close()
        var place = 0
        try maker.edit(0) { image in
            place = image.frames(ofGroup: image.groups[0]).last ?? 0
            image.flip(image.payload(ofFrame: place) + 5)
        }
        container = try maker.open()
        database = container.privateDatabase(for: "alice")
        let error = try await failure { try await database.allRecordZones() }
        #expect(error.cause == .damaged)
        let readable = try await database.readableRecordZones()
        #expect(readable.zones.map(\.zoneID) == [.default, SampleMaker.zone])
        #expect(readable.skipped.map { $0.place?.byte } == [place])
        #expect(readable.skipped.first?.place?.offset != nil)
        let snapshot = container.snapshot().privateDatabase(for: "alice")
        #expect(try snapshot.readableRecordZones().zones.count == 2)
        #expect(try snapshot.zoneCount() == 3)
        // Of the whole database there is no hash, but the damaged zone does not hide what else is
        // damaged.
        let hash = try await failure { try snapshot.contentHash() }
        #expect(hash.places.map(\.byte) == [place])
        #expect(try snapshot.contentHash(of: SampleMaker.zone).recordCount == 2)
        try await container.close()
    }
}
