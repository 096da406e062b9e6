import FoundationEssentials
import Stratus
import StratusEngine
import StratusFiles
import StratusJournal
import Support
import Synchronization
import Testing

/// What a hostile reading of long-lived operations found: `Formats/README.md`, "Long-lived
/// operations".
@Suite struct LongLivedRegressionTests {
    private static let other = RecordZone.ID(zoneName: "other")

    private static func saving(_ records: [Record]) -> LongLivedRequest {
        .modify(LongLivedRequest.Modification(saving: records))
    }

    @Test func `an opening that is not the service's leaves pending changes to the service`()
        async throws
    {
        let disk = SimulatedDisk()
        func open(continues: Bool) async throws -> Container {
            try await Container.open(
                at: "store", on: disk.process(), creating: true, durability: .full,
                continuesOperations: continues, memoryLimit: 64 << 20)
        }
        var container = try await open(continues: true)
        try await container.privateDatabase(for: "alice").submit(
            Self.saving([note("a", in: .default)]), operationID: "one")
        try await container.close()
        container = try await open(continues: false)
        for number in 0..<50 {
            try await container.privateDatabase(for: "bob").save(
                note("b\(number)", in: .default))
            await Task.yield()
        }
        #expect(try await container.longLivedOperation("one", for: "alice")?.state == .pending)
        try await container.close()
    }

    @Test func `the state that a read waits for is given up when its time is over`() async throws {
        let time = SteppedTime()
        var store = DiskStore()
        store.options.clock = time.clock
        let container = try store.open()
        let database = container.privateDatabase(for: "alice")
        try await database.save(RecordZone(zoneID: notes))
        try await database.save(note("a", ["key": 1]))
        let operation = try await database.submit(
            .records([noteID("a")], desiredKeys: nil), operationID: "one")
        try await database.save(note("b"))
        _ = try await operation.answer()
        time.add(hours: 23)
        try await database.save(note("c"))
        try await database.save(note("d"))
        _ = try await operation.answer()
        time.add(hours: 2)
        let pending = try await database.submit(
            .records([noteID("a")], desiredKeys: nil), operationID: "two")
        time.add(hours: 25)
        // The store gives it up after these, without another request.
        try await database.save(note("e"))
        try await database.save(note("f"))
        // Then what it was to see of a goes, once the store has found time to look.
        var (count, rows) = (6, 0)
        for _ in 0..<100 where rows != count {
            try await database.saveAll([note("a")], savePolicy: .allKeys)
            try await database.save(note("g\(count)"))
            count += 1
            try await container.maintenance.erase()
            let keyspaces = try await container.indexStatistics().keyspaces
            rows = keyspaces.first { $0.name == "records" }?.entries ?? 0
        }
        #expect(rows == count)
        let error = await failure { try await pending.answer() }
        #expect(error.code == .changeTokenExpired)
        try await container.close()
    }

    @Test func `a user has at most 1,000 operations, and those that are over do not count`()
        async throws
    {
        let time = SteppedTime()
        var store = DiskStore()
        store.options.clock = time.clock
        store.steppedByCaller = true
        let container = try store.open()
        let database = container.privateDatabase(for: "alice")
        func submit(_ id: String) async throws -> LongLivedOperation {
            try await database.submit(
                .records([noteID("a", in: .default)], desiredKeys: nil), operationID: id)
        }
        let first = try await submit("first")
        for number in 1..<1000 { _ = try await submit("o\(number)") }
        let offset = container.snapshot().offset
        #expect(await failure { try await submit("more") }.code == .limitExceeded)
        #expect(container.snapshot().offset == offset)
        // The same request again is no other one.
        _ = try await submit("o7")
        try await container.privateDatabase(for: "bob").submit(
            .records([noteID("a", in: .default)], desiredKeys: nil), operationID: "bob's")
        try await first.cancel()
        _ = try await submit("more")
        #expect(await failure { try await submit("too many") }.code == .limitExceeded)
        time.add(hours: 7 * 24 + 1)
        _ = try await submit("next")
        let kept = try await container.longLivedOperations(for: "alice")
        #expect(kept.map { $0.operationID } == ["next"])
        try await container.close()
    }

    @Test func `the operations of a user have at most 64 MiB together`() async throws {
        let (container, database) = try await makeDatabase()
        let text = RecordValue.string(String(repeating: "x", count: 15 << 20))
        for number in 0..<4 {
            try await database.submit(
                Self.saving([note("a\(number)", ["text": text])]), operationID: "o\(number)")
        }
        let error = await failure {
            try await database.submit(Self.saving([note("b", ["text": text])]), operationID: "b")
        }
        #expect(error.code == .limitExceeded)
        try await database.submit(Self.saving([note("c")]), operationID: "c")
        #expect(try await container.longLivedOperations(for: "alice").count == 5)
    }

    @Test func `a record of another store may have fields that this one has no name for`()
        async throws
    {
        let (_, elsewhere) = try await makeDatabase()
        let fetched = try await elsewhere.save(
            note("a", ["strange": "text", "other": [1, 2], "title": "t"]))
        let (container, database) = try await makeDatabase()
        try await database.save(note("b", ["title": "b"]))
        try await database.submit(
            .modify(
                LongLivedRequest.Modification(
                    saving: [fetched.with("new", 2)], savePolicy: .allKeys)),
            operationID: "one")
        let listed = try await container.longLivedOperations(for: "alice")
        #expect(listed.count == 1)
        guard case .modify(let result)? = try await listed.first?.outcome() else {
            Issue.record("it was not found")
            return
        }
        let saved = try #require(try result.saveResults[noteID("a")]?.get())
        #expect(saved["strange"] == "text" && saved["other"] == [1, 2])
        #expect(saved["title"] == "t" && saved["new"] == 2)
    }

    @Test func `what may be read is decided by the grants and roles of now`() async throws {
        let (container, _) = try await makeDatabase()
        func grant(_ grants: String) async throws {
            try await container.importSchema(
                "DEFINE SCHEMA CREATE ROLE Editor; RECORD TYPE Note (title STRING\(grants));")
        }
        try await grant(#", GRANT READ TO "_world", GRANT CREATE TO "_icloud""#)
        let id = noteID("a", in: .default)
        try await container.publicDatabase(as: "alice").save(
            note("a", ["title": "t"], in: .default))
        let database = container.publicDatabase(as: "bob")
        for number in 0..<2 {
            try await database.submit(.records([id], desiredKeys: nil), operationID: "o\(number)")
            try await database.submit(
                .query(LongLivedRequest.QueryFetch(Query(recordType: "Note"))),
                operationID: "q\(number)")
        }
        func outcome(_ name: String) async throws -> LongLivedOutcome {
            try await #require(
                try await container.longLivedOperation(name, for: "bob")
            ).outcome()
        }
        try await grant(#", GRANT READ TO Editor, GRANT CREATE TO "_icloud""#)
        guard case .records(let refused) = try await outcome("o0") else {
            Issue.record("it gave other things")
            return
        }
        #expect(refused[id]?.code == .permissionFailure)
        #expect(await failure { try await outcome("q0") }.code == .permissionFailure)
        try await container.setRoles(["Editor"], of: "bob")
        guard case .records(let found) = try await outcome("o1"),
            case .query(let page) = try await outcome("q1")
        else {
            Issue.record("they gave other things")
            return
        }
        #expect(try found[id]?.get()["title"] == "t" && page.records.count == 1)
    }

    @Test func `a call that was made at once is known for as long as the request that repeats it`()
        async throws
    {
        let time = SteppedTime()
        var store = DiskStore()
        store.options.clock = time.clock
        store.steppedByCaller = true
        let container = try store.open()
        let database = container.privateDatabase(for: "alice")
        for zone in [notes, Self.other] { try await database.save(RecordZone(zoneID: zone)) }
        try await database.save(note("moved"))
        let records = [note("a"), note("b", in: Self.other), note("a2")]
        let first = try await database.modifyRecords(saving: records, operationID: "one")
        try await database.moveRecords([noteID("moved")], to: Self.other, operationID: "move")
        time.add(hours: 23)
        let operation = try await database.submit(Self.saving(records), operationID: "one")
        let move = try await database.submit(
            .move([noteID("moved")], to: Self.other), operationID: "move")
        _ = try await operation.answer()
        _ = try await move.answer()
        time.add(hours: 2)
        // With this the receipts of calls that were made at once are forgotten.
        try await database.save(note("c"), operationID: "other")
        guard case .modify(let result) = try await operation.outcome(),
            case .move(let moved) = try await move.outcome()
        else {
            Issue.record("they are of other kinds")
            return
        }
        for record in records {
            let tag = try result.saveResults[record.recordID]?.get().recordChangeTag
            #expect(try tag == first.saveResults[record.recordID]?.get().recordChangeTag)
        }
        #expect(moved.map(\.recordID.recordName) == ["moved"])
        #expect(try await database.record(for: noteID("a")).recordType == "Note")
        try await container.close()
    }

    @Test func `a clock that goes back does not bring back a request that ended`() async throws {
        let time = SteppedTime()
        var store = DiskStore()
        (store.options.segmentLength, store.memoryLimit) = (64 << 10, 1 << 20)
        store.options.clock = time.clock
        store.steppedByCaller = true
        var container = try store.open()
        let database = container.privateDatabase(for: "alice")
        try await database.save(RecordZone(zoneID: notes))
        let operation = try await database.submit(Self.saving([note("a")]), operationID: "one")
        // What lies beside the request stays, what lies beside its end is replaced.
        var generator = SeededGenerator(seed: 1)
        func noise() -> RecordValue { .bytes(Data(generator.bytes(3000))) }
        for number in 0..<60 { try await database.save(note("live\(number)", ["data": noise()])) }
        // Compacted by now, and too large to be joined to another, it is not compacted again for one
        // entry.
        try await container.checkpoint()
        try await container.maintenance.compact()
        time.add(hours: -8 * 24)
        try await operation.cancel()
        for number in 0..<60 {
            var record = note("dead", ["data": noise()])
            record["n"] = .int64(Int64(number))
            _ = try await database.modifyRecords(saving: [record], savePolicy: .allKeys)
        }
        time.add(hours: 8 * 24 + 1)
        try await database.submit(Self.saving([note("b")]), operationID: "two")
        try await container.checkpoint()
        try await container.maintenance.compact()
        try await container.close()
        try store.deleteIndex()
        container = try store.open(creating: false)
        #expect(try await container.longLivedOperation("one", for: "alice") == nil)
        #expect(try await container.longLivedOperation("two", for: "alice")?.state == .pending)
        try await container.close()
    }

    @Test func `a query that takes long leaves the threads to others meanwhile`() async throws {
        let store = DiskStore()
        let container = try store.open()
        let database = container.privateDatabase(for: "alice")
        try await database.save(RecordZone(zoneID: notes))
        for begin in 0..<20 {
            let names = (0..<2000).map { "r\(begin * 2000 + $0)" }
            try await database.saveAll(names.map { note($0, ["key": 1]) })
        }
        let query = try await database.submit(
            .query(
                LongLivedRequest.QueryFetch(
                    Query(recordType: "Note", predicate: FieldKey<Int>("key") > 1),
                    inZoneWith: notes)), operationID: "query")
        let lookup = try await database.submit(
            .records([noteID("r1")], desiredKeys: nil), operationID: "lookup")
        let isDone = Mutex(false)
        let run = Task {
            let answer = try await query.answer()
            isDone.withLock { $0 = true }
            return answer
        }
        // Until the run has begun: then its parts are on the only thread of the container.
        try await Task.sleep(for: .milliseconds(3))
        _ = try await lookup.answer()
        let wasDone = isDone.withLock { $0 }
        #expect(!wasDone)
        guard case .query(let page) = try await run.value else {
            Issue.record("it gave no page")
            return
        }
        #expect(page.records.isEmpty)
        try await container.close()
    }

    @Test func `what is said of failures is no longer than the request`() throws {
        let errors = (0..<1000).map { number in
            StoreError(.zoneNotFound, "\(number) " + String(repeating: "x", count: 100))
        }
        let failures = RequestStateEntry.Failure.list(errors, reasonLimit: 4096)
        #expect(failures.reduce(0) { $0 + $1.reason.utf8.count } <= 4096)
        #expect(failures.first?.reason.hasPrefix("0 x") == true)
        // Those without a reason stand together.
        #expect(failures.reduce(0) { $0 + $1.count } == 1000 && failures.count < 60)
        #expect(failures.last.map { $0.start + $0.count } == 1000)
    }
}

/// A clock that a test sets.
final class SteppedTime: Sendable {
    private let value = Mutex<Int64>(1_767_225_600_000_000)

    /// In microseconds since 1970.
    var now: Int64 { value.withLock { $0 } }
    var clock: Clock { Clock { [self] in now } }

    func add(hours: Int64) { add(seconds: hours * 3600) }
    func add(seconds: Int64) { value.withLock { $0 += seconds * 1_000_000 } }
}
