import FoundationEssentials
import StratusEngine
import Stratus
import StratusFiles
import StratusJournal
import Support
import Synchronization
import Testing

/// What of the past can be read: `Formats/README.md`, "History".
@Suite struct HistoryTests {
    private static let zone = RecordZone.ID(zoneName: "notes")

    /// A second passes with every commit.
    private static func container() async throws -> Container {
        let time = Mutex<Int64>(1_700_000_000_000_000)
        var options = JournalOptions()
        options.clock = Clock {
            time.withLock {
                $0 += 500_000
                return $0
            }
        }
        let container = try Container(
            writing: MemoryStorage(), creating: true, durability: .none, options: options,
            steppedByCaller: true)
        try await container.privateDatabase(for: "alice").save(RecordZone(zoneID: zone))
        return container
    }

    private static func id(_ name: String, in zone: RecordZone.ID = zone) -> Record.ID {
        Record.ID(recordName: name, zoneID: zone)
    }

    @discardableResult
    private static func save(
        _ name: String, _ fields: [String: RecordValue?], as user: String = "alice",
        to container: Container
    ) async throws -> Record {
        let database = container.privateDatabase(for: user)
        var record =
            (try? await database.record(for: id(name)))
            ?? Record(recordType: "Note", recordID: id(name))
        for (key, value) in fields { record[key] = value }
        return try await database.save(record)
    }

    private static func number(_ name: String, in snapshot: Snapshot) throws -> Int64? {
        let database = snapshot.privateDatabase(for: "alice")
        let record = try database.records(for: [id(name)]).values.first
        return try? record?.get()["number"]?.int64Value
    }

    private static func isRefused(_ container: Container, _ point: PastPoint) async -> Bool {
        do throws(StoreError) {
            _ = try await container.snapshot(at: point)
            return false
        } catch {
            return error.code == .changeTokenExpired && error.cause == .changeToken(.compacted)
        }
    }

    @Test func `of one group of commits behind a checkpoint an opening keeps every version`()
        async throws
    {
        let storage = GatedStorage(holding: .put)
        let (container, database) = try await makeDatabase(on: storage)
        try await container.setHistoryPolicy(.everything)
        // While the checkpoint is written commits wait, and become one group.
        storage.shut()
        let checkpoint = Task { try await container.checkpoint() }
        while !storage.isWaiting { await Task.yield() }
        let saves = (0..<4).map { number in
            Task {
                try await database.modifyRecords(
                    saving: [note("a", ["n": .int64(number)])], savePolicy: .allKeys)
            }
        }
        while container.queueDepth < saves.count { await Task.yield() }
        storage.open()
        try await checkpoint.value
        for save in saves { #expect(try await save.value.partialFailure == nil) }
        // The writer is given up without a clean close.
        let opened = try Container(
            writing: storage.under, creating: false, durability: .full, options: JournalOptions(),
            steppedByCaller: true)
        #expect(opened.recoveryReport.checkpoint != nil)
        let versions = try await opened.privateDatabase(for: "alice").history(of: noteID("a"))
            .versions
        #expect(Set(versions.map { $0.record?["n"] }) == [0, 1, 2, 3])
        for version in versions {
            let then = try await opened.snapshot(at: .offset(version.offset))
            let record = try then.privateDatabase(for: "alice").record(for: noteID("a"))
            #expect(record["n"] == version.record?["n"])
        }
        try await opened.close()
    }

    @Test func `a policy of everything keeps each state, by offset, token, time and mark`()
        async throws
    {
        let container = try await Self.container()
        let early = container.snapshot().offset
        try await Self.save("early", ["number": 0], to: container)
        try await container.setHistoryPolicy(.everything)
        var states: [(offset: UInt64, token: ChangeToken, time: Date, mark: Mark)] = []
        for number in 1...5 {
            try await Self.save("a", ["number": .int64(Int64(number))], to: container)
            let now = container.snapshot()
            let time = try #require(container.information.lastCommit)
            states.append(
                (
                    now.offset,
                    try now.privateDatabase(for: "alice").changeToken(ofZoneWith: Self.zone),
                    time, try await container.mark("\(number)")
                ))
        }
        try await container.maintenance.compact()
        for (number, state) in states.enumerated() {
            let points: [PastPoint] = [
                .offset(state.offset), .token(state.token), .time(state.time), .mark(state.mark),
                .time(state.time.addingTimeInterval(0.4)),
            ]
            for point in points {
                let snapshot = try await container.snapshot(at: point)
                #expect(try Self.number("a", in: snapshot) == Int64(number + 1), "\(point)")
            }
            // Right before the commit.
            let before = try await container.snapshot(
                at: .time(state.time.addingTimeInterval(-0.1)))
            let expected = number == 0 ? nil : Int64(number)
            #expect(try Self.number("a", in: before) == expected)
        }
        #expect(await Self.isRefused(container, .offset(early)))
        #expect(await Self.isRefused(container, .offset(0)))
        try await container.close()
    }

    @Test func `an offset amid a commit is that of the state behind it`() async throws {
        let container = try await Self.container()
        try await container.setHistoryPolicy(.everything)
        let database = container.privateDatabase(for: "alice")
        let before = container.snapshot().offset
        let records = (0..<5).map {
            Record(recordType: "Note", recordID: Self.id("r\($0)"))
        }
        _ = try await database.modifyRecords(saving: records, atomically: true)
        let tags = try await database.records(for: records.map(\.recordID)).values.compactMap {
            UInt64(try $0.get().recordChangeTag ?? "")
        }.sorted()
        #expect(tags.count == 5)
        let end = try #require(tags.last)
        func count(_ offset: UInt64) async throws -> Int {
            try await container.snapshot(at: .offset(offset)).privateDatabase(for: "alice")
                .recordCount(inZoneWith: Self.zone)
        }
        for offset in tags + [end + 1, container.snapshot().offset] {
            #expect(try await count(offset) == 5)
        }
        #expect(try await count(before) == 0)
        // A token that knows a part of the commit means all of it.
        let page = try await database.recordZoneChanges(inZoneWith: Self.zone, resultsLimit: 2)
        let snapshot = try await container.snapshot(at: .token(page.changeToken))
        #expect(
            try snapshot.privateDatabase(for: "alice").recordCount(inZoneWith: Self.zone) == 5)
        try await container.close()
    }

    @Test func `a token amid a fetch is that of the state behind the last change it knows`()
        async throws
    {
        let container = try await Self.container()
        try await container.setHistoryPolicy(.everything)
        let database = container.privateDatabase(for: "alice")
        // What is named for the first time is an entry of its own: the later commits have one each.
        for name in ["a", "b", "c"] { try await Self.save(name, ["number": 1], to: container) }
        for limit in 1...2 {
            let page = try await database.recordZoneChanges(
                inZoneWith: Self.zone, resultsLimit: limit)
            let snapshot = try await container.snapshot(at: .token(page.changeToken))
            let count = try snapshot.privateDatabase(for: "alice").recordCount(
                inZoneWith: Self.zone)
            #expect(count == limit)
        }
        try await container.close()
    }

    @Test(arguments: 0..<8)
    func `each state of a long journal is found, of long commits and compacted ones, too`(
        seed: UInt64
    ) async throws {
        var random = SeededGenerator(seed: seed)
        let container = try await Self.container()
        let database = container.privateDatabase(for: "alice")
        var marks: [(mark: Mark, before: Int64?)] = []
        var states: [(end: UInt64, time: Date, number: Int64)] = []
        for number in Int64(0)..<120 {
            if number == 60 { try await container.setHistoryPolicy(.everything) }
            // Longer than what is read at a time, now and then.
            let size = random.oneIn(10) ? 100_000 : random.below(6000)
            let count = random.oneIn(4) ? 30 : 1
            var records = (0..<count).map { index in
                Record(recordType: "Note", recordID: Self.id("r\(random.below(40))-\(index)"))
            }
            records.append(Record(recordType: "Note", recordID: Self.id("a")))
            for place in records.indices {
                records[place]["number"] = .int64(number)
                records[place]["bytes"] = .bytes(Data(random.bytes(size / records.count)))
            }
            let result = try await database.modifyRecords(
                saving: records, savePolicy: .allKeys, atomically: true)
            #expect(result.partialFailure == nil)
            let time = try #require(container.information.lastCommit)
            states.append((container.snapshot().offset, time, number))
            if random.oneIn(12) {
                marks.append((try await container.mark("at \(number)"), number))
            }
        }
        let compacted = try await container.maintenance.compact()
        #expect(compacted.freedBytes > 0)
        for (mark, number) in marks {
            #expect(
                try await Self.number("a", in: container.snapshot(at: .mark(mark))) == number)
        }
        for state in states where state.number >= 60 {
            for point in [.offset(state.end - 1), PastPoint.time(state.time)] {
                let snapshot = try await container.snapshot(at: point)
                #expect(try Self.number("a", in: snapshot) == state.number)
            }
        }
        try await container.close()
    }

    @Test func `without a policy only what marks keep can be read`() async throws {
        let empty = try Container.inMemory()
        for point in [PastPoint.offset(0), .offset(7), .time(.now)] {
            let snapshot = try await empty.snapshot(at: point)
            #expect(try snapshot.publicDatabase().allRecordZones().count == 1)
        }
        let container = try await Self.container()
        try await Self.save("a", ["number": 1], to: container)
        let first = container.snapshot().offset
        let mark = try await container.mark("here")
        try await Self.save("a", ["number": 2], to: container)
        let held = container.snapshot()
        let second = held.offset
        try await Self.save("a", ["number": 3], to: container)
        #expect(try Self.number("a", in: held) == 2)
        #expect(try Self.number("a", in: try await container.snapshot(at: .mark(mark))) == 1)
        #expect(try Self.number("a", in: try await container.snapshot(at: .offset(first))) == 1)
        // It is still there, and refused: what can be read depends neither on compaction nor on who
        // holds a snapshot.
        #expect(await Self.isRefused(container, .offset(second)))
        withExtendedLifetime(held) {}
        let newest = container.snapshot().offset
        #expect(try Self.number("a", in: try await container.snapshot(at: .offset(newest))) == 3)
        try await container.removeMark(mark)
        #expect(await Self.isRefused(container, .mark(mark)))
        let error = await #expect(throws: StoreError.self) {
            try await container.removeMark(mark)
        }
        #expect(error?.code == .unknownItem)
        #expect(try await container.marks().isEmpty)
        try await container.close()
    }

    @Test func `an age keeps what was the newest within it, bytes what lies within them`()
        async throws
    {
        let container = try await Self.container()
        try await container.setHistoryPolicy(.age(seconds: 3))
        var offsets: [UInt64] = []
        var times: [Date] = []
        for number in 0..<12 {
            try await Self.save("a", ["number": .int64(Int64(number))], to: container)
            offsets.append(container.snapshot().offset)
            times.append(try #require(container.information.lastCommit))
        }
        func kept() async throws -> [Bool] {
            var kept: [Bool] = []
            for offset in offsets {
                kept.append(
                    await !Self.isRefused(container, .offset(offset)))
            }
            return kept
        }
        let limit = try #require(times.last).addingTimeInterval(-3)
        // A state lasts until the next commit. What is kept longer is a 256th of the age.
        let young = times.indices.map { $0 + 1 == times.count || times[$0 + 1] > limit }
        let known = try await kept()
        let slack = limit.addingTimeInterval(-3 / 256)
        let old = times.indices.map { $0 + 1 < times.count && times[$0 + 1] <= slack }
        #expect(zip(known, young).allSatisfy { $0 || !$1 })
        #expect(zip(known, old).allSatisfy { !$0 || !$1 })
        #expect(young.contains(true) && old.contains(true))
        let floor = try #require(try await container.history().floor)
        // What is wanted back is gone.
        try await container.setHistoryPolicy(.everything)
        let changed = try await container.history()
        #expect(changed.policy == .everything && changed.floor == floor)
        #expect(try await kept() == known)
        let head = container.snapshot().offset
        try await container.setHistoryPolicy(.bytes(Int(head - offsets[9]) * 8 + 8))
        for number in 0..<3 {
            try await Self.save("b", ["number": .int64(Int64(number))], to: container)
        }
        let newest = container.snapshot().offset
        let end = try await container.snapshot(at: .offset(newest)).offset
        #expect(
            try await container.history().floor
                == max(floor, end - (head - offsets[9]) - 1))
        #expect(try await kept().prefix(9).allSatisfy { !$0 })
        try await container.setHistoryPolicy(.none)
        #expect(try await container.history().floor == nil)
        #expect(try await kept().allSatisfy { !$0 })
        for policy in [History.Policy.age(seconds: -1), .bytes(-1), .bytes(1 << 41)] {
            let error = await #expect(throws: StoreError.self) {
                try await container.setHistoryPolicy(policy)
            }
            #expect(error?.code == .invalidArguments)
        }
        try await container.close()
    }

    @Test func `a snapshot of the past stays good while it is held`() async throws {
        let container = try await Self.container()
        let mark = try await container.mark("empty")
        try await Self.save("a", ["number": 1], to: container)
        let snapshot = try await container.snapshot(at: .mark(mark))
        try await container.removeMark(mark)
        for number in 0..<50 {
            try await Self.save("a", ["number": .int64(Int64(number))], to: container)
        }
        try await container.maintenance.compact()
        #expect(try Self.number("a", in: snapshot) == nil)
        #expect(try snapshot.privateDatabase(for: "alice").allRecordZones().count == 2)
        try await container.close()
    }

    @Test func `what changed between two states is the later one's feed since the earlier one`()
        async throws
    {
        let container = try await Self.container()
        try await container.setHistoryPolicy(.everything)
        for name in ["a", "b", "c"] { try await Self.save(name, ["number": 1], to: container) }
        let first = try await container.mark("first")
        try await Self.save("a", ["number": 2], to: container)
        try await container.privateDatabase(for: "alice").deleteRecord(withID: Self.id("b"))
        let second = try await container.mark("second")
        for name in ["a", "b", "c", "d"] { try await Self.save(name, ["number": 3], to: container) }
        let (early, late) = (
            try await container.snapshot(at: .mark(first)).privateDatabase(for: "alice"),
            try await container.snapshot(at: .mark(second)).privateDatabase(for: "alice")
        )
        let token = try early.changeToken(ofZoneWith: Self.zone)
        let changes = try late.recordZoneChanges(inZoneWith: Self.zone, since: token)
        #expect(changes.modifications.map(\.recordID.recordName) == ["a"])
        #expect(changes.modifications.first?["number"] == 2)
        #expect(changes.deletions.map(\.recordID.recordName) == ["b"])
        let zones = try late.databaseChanges(since: try early.changeToken())
        #expect(zones.modifications == [Self.zone])
        #expect(try late.databaseChanges(since: try late.changeToken()).modifications.isEmpty)
        try await container.close()
    }

    @Test func `a record's history has its versions and deletions, page by page`() async throws {
        let container = try await Self.container()
        try await container.setHistoryPolicy(.everything)
        let database = container.privateDatabase(for: "alice")
        var tags: [String?] = []
        for number in 1...4 {
            if number == 3 {
                try await database.deleteRecord(withID: Self.id("a"))
                tags.append(nil)
            }
            tags.append(
                try await Self.save("a", ["number": .int64(Int64(number))], to: container)
                    .recordChangeTag)
        }
        try await container.maintenance.compact()
        let whole = try await database.history(of: Self.id("a"))
        #expect(whole.versions.map(\.recordChangeTag) == tags.reversed())
        #expect(whole.versions.map { $0.record?["number"] } == [4, 3, nil, 2, 1])
        #expect(whole.versions.allSatisfy { $0.isNext } && whole.nextOffset == nil)
        #expect(zip(whole.versions, whole.versions.dropFirst()).allSatisfy { $0.date > $1.date })
        var pages: [RecordVersion] = []
        var next: UInt64?
        repeat {
            let page = try await database.history(
                of: Self.id("a"), resultsLimit: 2, before: next)
            #expect(page.versions.count <= 2)
            pages += page.versions
            next = page.nextOffset
        } while next != nil
        #expect(pages.map(\.offset) == whole.versions.map(\.offset))
        // One that is deleted has its history, too.
        try await database.deleteRecord(withID: Self.id("a"))
        let deleted = try await database.history(of: Self.id("a"), resultsLimit: 1)
        #expect(deleted.versions.first?.record == nil && deleted.versions.count == 1)
        let error = await #expect(throws: StoreError.self) {
            try await database.history(of: Self.id("never"))
        }
        #expect(error?.code == .unknownItem)
        try await container.close()
    }

    @Test func `at marks alone a history has the versions that they see, and says so`()
        async throws
    {
        let container = try await Self.container()
        for number in 1...9 {
            try await Self.save("a", ["number": .int64(Int64(number))], to: container)
            if number % 3 == 1 { try await container.mark("m") }
        }
        for _ in 0..<2 {
            let history = try await container.privateDatabase(for: "alice").history(
                of: Self.id("a"))
            #expect(history.versions.map { $0.record?["number"] } == [9, 7, 4, 1])
            #expect(history.versions.map(\.isNext) == [false, false, false, true])
            try await container.maintenance.compact()
        }
        try await container.close()
    }

    @Test func `a history follows a record into the zones that it was moved from`() async throws {
        let container = try await Self.container()
        try await container.setHistoryPolicy(.everything)
        let database = container.privateDatabase(for: "alice")
        let zones = ["one", "two"].map { RecordZone.ID(zoneName: $0) }
        for zone in zones { try await database.save(RecordZone(zoneID: zone)) }
        try await Self.save("a", ["number": 1], to: container)
        try await Self.save("a", ["number": 2], to: container)
        for (from, to) in zip([Self.zone] + zones, zones) {
            _ = try await database.moveRecords([Self.id("a", in: from)], to: to)
        }
        var record = try await database.record(for: Self.id("a", in: zones[1]))
        record["number"] = 3
        try await database.save(record)
        let history = try await database.history(of: Self.id("a", in: zones[1]))
        #expect(history.versions.map { $0.record?["number"] } == [3, 2, 2, 2, 1])
        #expect(
            history.versions.map { $0.record?.recordID.zoneID }
                == [zones[1], zones[1], zones[0], Self.zone, Self.zone])
        #expect(history.versions.allSatisfy { $0.isNext })
        var offsets: [UInt64] = []
        var next: UInt64?
        repeat {
            let page = try await database.history(
                of: Self.id("a", in: zones[1]), resultsLimit: 1, before: next)
            offsets += page.versions.map(\.offset)
            next = page.nextOffset
        } while next != nil
        #expect(offsets == history.versions.map(\.offset))
        // What it was in a zone that is gone is not told.
        try await database.deleteRecordZone(withID: zones[0])
        let rest = try await database.history(of: Self.id("a", in: zones[1]))
        #expect(rest.versions.map { $0.record?["number"] } == [3, 2])
        #expect(rest.versions.map(\.isNext) == [true, false])
        try await container.close()
    }

    @Test func `what a mark keeps of a record before a move is part of its history`() async throws {
        let container = try await Self.container()
        let database = container.privateDatabase(for: "alice")
        let other = RecordZone.ID(zoneName: "other")
        try await database.save(RecordZone(zoneID: other))
        try await Self.save("a", ["number": 1], to: container)
        try await container.mark("m")
        try await Self.save("a", ["number": 2], to: container)
        _ = try await database.moveRecords([Self.id("a")], to: other)
        var record = try await database.record(for: Self.id("a", in: other))
        record["number"] = 3
        try await database.save(record)
        let history = try await database.history(of: Self.id("a", in: other))
        #expect(history.versions.map { $0.record?["number"] } == [3, 1])
        #expect(history.versions.map(\.isNext) == [false, true])
        try await container.close()
    }

    @Test func `the first version of a user's record follows none`() async throws {
        let container = try await Self.container()
        let database = container.privateDatabase(for: "alice")
        let id = container.userRecordID(for: "alice")
        var record = try await database.record(for: id)
        record["name"] = "Alice"
        try await database.save(record)
        #expect(try await database.history(of: id).versions.map(\.isNext) == [true])
        #expect(try await database.blame(id)["name"]?.isCertain == true)
        try await container.close()
    }

    @Test func `a clock that is set back brings back no history`() async throws {
        let time = Mutex<Int64>(1_700_000_000_000_000)
        var options = JournalOptions()
        options.clock = Clock { time.withLock { $0 } }
        let container = try Container(
            writing: MemoryStorage(), creating: true, durability: .none, options: options,
            steppedByCaller: true)
        try await container.privateDatabase(for: "alice").save(RecordZone(zoneID: Self.zone))
        try await container.setHistoryPolicy(.age(seconds: 60))
        var floors: [UInt64] = []
        for step in [1, 1, 1, 86_400, -86_400, 1, 1] {
            time.withLock { $0 += Int64(step) * 1_000_000 }
            try await Self.save("a", ["number": .int64(Int64(step))], to: container)
            floors.append(try #require(try await container.history().floor))
        }
        #expect(floors == floors.sorted() && Set(floors).count > 1)
        #expect(floors[3] == floors[6])
        try await container.close()
    }

    @Test func `blame names the save that set each field`() async throws {
        let container = try await Self.container()
        let before = try await Self.save("a", ["old": "o", "number": 0], to: container)
        try await container.setHistoryPolicy(.everything)
        let first = try await Self.save("a", ["number": 1, "text": "x"], to: container)
        let second = try await Self.save("a", ["text": "y"], to: container)
        try await Self.save("a", ["number": 2, "gone": 1], to: container)
        let last = try await Self.save("a", ["number": 1, "gone": nil], to: container)
        let origins = try await container.privateDatabase(for: "alice").blame(Self.id("a"))
        #expect(
            origins.mapValues(\.version.recordChangeTag) == [
                "old": before.recordChangeTag, "text": second.recordChangeTag,
                "number": last.recordChangeTag,
            ])
        #expect(origins.values.allSatisfy { $0.isCertain })
        // Without what lies between it may have been another one.
        let mark = try await container.mark("m")
        try await container.setHistoryPolicy(.none)
        let later = try await Self.save("a", ["text": "z"], to: container)
        let uncertain = try await container.privateDatabase(for: "alice").blame(Self.id("a"))
        #expect(uncertain["text"]?.version.recordChangeTag == later.recordChangeTag)
        #expect(uncertain["text"]?.isCertain == true)
        #expect(uncertain["number"]?.version.recordChangeTag == last.recordChangeTag)
        #expect(uncertain["number"]?.isCertain == false)
        #expect(first.recordChangeTag != nil && mark.name == "m")
        try await container.close()
    }

    @Test func `blame does not look across versions that are missing`() async throws {
        let container = try await Self.container()
        try await Self.save("a", ["number": 1, "other": 1], to: container)
        try await container.mark("m")
        try await Self.save("a", ["number": 2], to: container)
        let last = try await Self.save("a", ["number": 1, "other": 2], to: container)
        // The version of the mark has the same number, and what lay between had another one.
        let origins = try await container.privateDatabase(for: "alice").blame(Self.id("a"))
        #expect(origins["number"]?.version.recordChangeTag == last.recordChangeTag)
        #expect(origins["number"]?.isCertain == false)
        try await container.close()
    }

    /// Saves of many callers, so that groups have several commits; and marks between them.
    private static func concurrent(_ container: Container, marks: Int) async throws -> [Mark] {
        try await withThrowingTaskGroup(of: Mark?.self) { group in
            for number in 0..<400 {
                group.addTask {
                    if number % 40 < marks { return try await container.mark("m\(number)") }
                    let database = container.privateDatabase(for: "alice")
                    var record = Record(recordType: "Note", recordID: id("r\(number % 7)"))
                    record["number"] = .int64(Int64(number))
                    _ = try await database.modifyRecords(saving: [record], savePolicy: .allKeys)
                    return nil
                }
            }
            var found: [Mark] = []
            for try await mark in group { if let mark { found.append(mark) } }
            return found
        }
    }

    /// The entries of records and the ends of commits, in their order; and whether any group has
    /// several commits.
    private static func journal(
        _ container: Container
    ) throws -> (records: [UInt64], ends: [UInt64], hasLongGroups: Bool) {
        var (records, ends): ([UInt64], [UInt64]) = ([], [])
        var commits: [UInt64: Int] = [:]
        var log = container.log()
        while let line = try log.nextLine() {
            if line.entry.kind.rawValue == 32 { records.append(line.entry.offset.rawValue) }
            guard line.entry.commitTime != nil else { continue }
            ends.append(line.entry.offset.rawValue + 1)
            if let chain = line.group?.chain { commits[chain, default: 0] += 1 }
        }
        return (records, ends, commits.values.contains { $0 > 1 })
    }

    /// The newest tag of each record before each of these offsets, by the journal alone.
    private static func tags(
        _ container: Container, before offsets: [UInt64]
    ) throws -> [UInt64: [String: String]] {
        var states: [UInt64: [String: String]] = [:]
        var tags: [String: String] = [:]
        var rest = offsets.sorted()[...]
        var log = container.log()
        while let entry = try log.nextLine()?.entry {
            while let next = rest.first, next <= entry.offset.rawValue {
                states[rest.removeFirst()] = tags
            }
            guard entry.kind.rawValue == 32 else { continue }
            tags[container.describe(entry).recordName ?? ""] = "\(entry.offset)"
        }
        for offset in rest { states[offset] = tags }
        return states
    }

    private static func expect(
        _ snapshot: Snapshot, _ expected: [String: String],
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let database = snapshot.privateDatabase(for: "alice")
        let records = try database.records(inZoneWith: zone).records
        let found = Dictionary(
            uniqueKeysWithValues: records.map { ($0.recordID.recordName, $0.recordChangeTag ?? "") }
        )
        #expect(found == expected, sourceLocation: sourceLocation)
        #expect(try database.usage().recordCount == expected.count, sourceLocation: sourceLocation)
        let token = try database.changeToken(ofZoneWith: zone)
        let page = try database.recordZoneChanges(inZoneWith: zone)
        #expect(page.modifications.count == expected.count, sourceLocation: sourceLocation)
        let since = try database.recordZoneChanges(inZoneWith: zone, since: token)
        #expect(since.modifications.isEmpty, sourceLocation: sourceLocation)
    }

    @Test func `each commit of a group leaves a state of its own`() async throws {
        let container = try Container.inMemory()
        try await container.privateDatabase(for: "alice").save(RecordZone(zoneID: Self.zone))
        try await container.setHistoryPolicy(.everything)
        let start = container.snapshot().offset
        _ = try await Self.concurrent(container, marks: 0)
        let journal = try Self.journal(container)
        #expect(journal.hasLongGroups)
        let states = try Self.tags(container, before: journal.ends.filter { $0 > start })
        for (end, tags) in states {
            try Self.expect(try await container.snapshot(at: .offset(end)), tags)
        }
        try await container.close()
    }

    @Test func `a mark amid many saves keeps the state before it`() async throws {
        let container = try Container.inMemory()
        try await container.privateDatabase(for: "alice").save(RecordZone(zoneID: Self.zone))
        let marks = try await Self.concurrent(container, marks: 3)
        #expect(marks.count == 30 && Set(marks.map(\.offset)).count == 30)
        #expect(try Self.journal(container).hasLongGroups)
        let states = try Self.tags(container, before: marks.map(\.offset))
        for mark in marks {
            try Self.expect(
                try await container.snapshot(at: .mark(mark)), states[mark.offset] ?? [:])
        }
        try await container.close()
    }
}
