import FoundationEssentials
import Stratus
import StratusFiles
import StratusJournal
import Support
import Testing

/// How long operations are kept, and what becomes of them when the store is closed between.
@Suite struct LongLivedTimeTests {
    /// A store on a simulated disk whose clock the test sets.
    private struct Timed {
        var store = DiskStore()
        let time = SteppedTime()

        init() {
            store.options.clock = time.clock
            store.steppedByCaller = true
        }

        func open() async throws -> (container: Container, database: Database) {
            let container = try store.open()
            let database = container.privateDatabase(for: "alice")
            try await database.save(RecordZone(zoneID: notes))
            return (container, database)
        }
    }

    private static func saving(_ records: [Record]) -> LongLivedRequest {
        .modify(LongLivedRequest.Modification(saving: records))
    }

    @Test func `an outcome that was not delivered is kept for 24 hours`() async throws {
        let timed = Timed()
        let (container, database) = try await timed.open()
        let operation = try await database.submit(Self.saving([note("a")]), operationID: "one")
        timed.time.add(hours: 30)
        _ = try await operation.answer()
        timed.time.add(hours: 24)
        #expect(try await container.longLivedOperation("one", for: "alice")?.state == .finished)
        timed.time.add(hours: 1)
        #expect(try await container.longLivedOperation("one", for: "alice") == nil)
        #expect(await failure { try await operation.outcome() }.code == .unknownItem)
        // Also once other requests have had it removed.
        try await database.submit(Self.saving([note("b")]), operationID: "two")
        #expect(
            try await container.longLivedOperations(for: "alice").map { $0.operationID }
                == ["two"])
    }

    @Test func `an operation that never ran is kept for 7 days`() async throws {
        let timed = Timed()
        let (container, database) = try await timed.open()
        let operation = try await database.submit(Self.saving([note("a")]), operationID: "one")
        timed.time.add(hours: 7 * 24)
        #expect(try await container.longLivedOperation("one", for: "alice")?.state == .pending)
        timed.time.add(hours: 1)
        #expect(try await container.longLivedOperation("one", for: "alice") == nil)
        try await container.continueLongLivedOperations()
        #expect(await failure { try await operation.outcome() }.code == .unknownItem)
        #expect(try await database.names() == [])
    }

    @Test func `what was done of a request is known for as long as the request`() async throws {
        let timed = Timed()
        let (container, database) = try await timed.open()
        let operation = try await database.submit(Self.saving([note("a")]), operationID: "one")
        _ = try await operation.answer()
        let tag = try await database.record(for: noteID("a")).recordChangeTag
        timed.time.add(hours: 23)
        // A receipt of another call would be gone by then, which this has forgotten.
        try await database.save(note("b"), operationID: "other")
        timed.time.add(hours: 25)
        try await database.save(note("c"), operationID: "third")
        let again = try await database.submit(Self.saving([note("a")]), operationID: "one")
        guard case .items(_, let items) = try await again.answer() else {
            Issue.record("it is no modification")
            return
        }
        #expect(try items[0].get()?.recordChangeTag == tag)
        #expect(try await database.record(for: noteID("a")).recordChangeTag == tag)
        try await container.close()
    }

    @Test func `what is pending when a store is closed is run once by the next opening`()
        async throws
    {
        let store = DiskStore()
        var container = try store.open()
        let database = container.privateDatabase(for: "alice", device: "phone")
        try await database.save(RecordZone(zoneID: notes))
        for number in 0..<5 {
            try await database.submit(
                Self.saving([note("shared").with("n", .int64(Int64(number)))]),
                operationID: "o\(number)")
        }
        try await container.privateDatabase(for: "bob").submit(
            Self.saving([note("b", in: .default)]), operationID: "bob's")
        try await container.close()
        container = try store.open(creating: false)
        try await container.continueLongLivedOperations()
        try await container.continueLongLivedOperations()
        let again = container.privateDatabase(for: "alice")
        #expect(try await again.allRecords().count == 1)
        // The first won, since they all were to make it.
        #expect(try await again.record(for: noteID("shared"))["n"] == 0)
        let found = try await container.longLivedOperations(for: "alice")
        #expect(found.count == 5 && found.allSatisfy { $0.state == .finished })
        for (number, operation) in found.enumerated() {
            guard case .modify(let result) = try await operation.outcome() else { continue }
            let code = result.saveResults[noteID("shared")]?.code
            #expect(code == (number == 0 ? nil : .serverRecordChanged))
        }
        let bob = container.privateDatabase(for: "bob")
        #expect(try await bob.allRecords(in: .default).count == 1)
        #expect(try await container.longLivedOperations(for: "bob").first?.state == .finished)
        try await container.close()
    }

    @Test func `an opening with a thread of its own goes on by itself`() async throws {
        let disk = SimulatedDisk()
        let process = disk.process()
        var container = try await Container.open(
            at: "store", on: process, creating: true, durability: .full, memoryLimit: 64 << 20)
        let database = container.privateDatabase(for: "alice")
        try await database.submit(
            Self.saving([note("a", in: .default)]), operationID: "one", priority: .high)
        try await container.close()
        container = try await Container.open(
            at: "store", on: disk.process(), creating: false, durability: .full,
            memoryLimit: 64 << 20)
        while try await container.longLivedOperation("one", for: "alice")?.state != .finished {
            await Task.yield()
        }
        let again = container.privateDatabase(for: "alice")
        #expect(try await again.allRecords(in: .default).count == 1)
        try await container.close()
    }

    @Test func `an account that cannot be used any more is the outcome`() async throws {
        let store = DiskStore()
        var container = try store.open()
        try await container.privateDatabase(for: "alice").submit(
            Self.saving([note("a", in: .default)]), operationID: "one")
        var profile = UserProfile()
        profile.accountStatus = .noAccount
        try await container.setUserProfile(profile, for: "alice")
        try await container.close()
        container = try store.open(creating: false)
        try await container.continueLongLivedOperations()
        profile.accountStatus = .available
        try await container.setUserProfile(profile, for: "alice")
        let found = try #require(try await container.longLivedOperation("one", for: "alice"))
        #expect(found.state == .finished)
        #expect(await failure { try await found.outcome() }.code == .notAuthenticated)
        try await container.close()
    }

    @Test func `a read whose state is not kept says so`() async throws {
        let store = DiskStore()
        var container = try store.open()
        var database = container.privateDatabase(for: "alice")
        try await database.save(RecordZone(zoneID: notes))
        try await database.submit(.records([noteID("a")], desiredKeys: nil), operationID: "one")
        try await database.save(note("a"))
        try await container.close()
        container = try store.open(creating: false)
        database = container.privateDatabase(for: "alice")
        let found = try #require(try await container.longLivedOperation("one", for: "alice"))
        let error = await failure { try await found.outcome() }
        #expect(error.code == .changeTokenExpired)
        #expect(error.cause == .changeToken(.compacted))
        try await container.close()
    }

    @Test func `a read of a state that a retention keeps is the same after a restart`()
        async throws
    {
        let store = DiskStore()
        var container = try store.open()
        var database = container.privateDatabase(for: "alice")
        try await container.setHistoryPolicy(.everything)
        try await database.save(RecordZone(zoneID: notes))
        try await database.submit(.records([noteID("a")], desiredKeys: nil), operationID: "one")
        try await database.save(note("a"))
        try await container.close()
        container = try store.open(creating: false)
        database = container.privateDatabase(for: "alice")
        let found = try #require(try await container.longLivedOperation("one", for: "alice"))
        guard case .records(let results) = try await found.outcome() else {
            Issue.record("it gave no records")
            return
        }
        #expect(results[noteID("a")]?.code == .unknownItem)
        #expect(try await database.names() == ["a"])
        try await container.close()
    }

    @Test(arguments: [true, false])
    func `an index that is made anew has the same operations`(compacts: Bool) async throws {
        var store = DiskStore()
        store.options.segmentLength = 64 << 10
        var container = try store.open()
        let database = container.privateDatabase(for: "alice")
        try await database.save(RecordZone(zoneID: notes))
        for number in 0..<40 {
            let text = RecordValue.string(String(repeating: "x", count: 3000))
            let operation = try await database.submit(
                Self.saving([note("a\(number)", ["text": text])]), operationID: "o\(number)")
            switch number % 5 {
            case 0: try await operation.cancel()
            case 1: _ = try await operation.answer()
            case 2: _ = try await operation.outcome()
            default: break
            }
        }
        if compacts {
            try await container.checkpoint()
            try await container.maintenance.compact()
        }
        let states = { (container: Container) in
            try await container.longLivedOperations(for: "alice").map {
                "\($0.operationID) \($0.state)"
            }
        }
        let before = try await states(container)
        #expect(before.count == 24)
        try await container.close()
        try store.deleteIndex()
        container = try store.open(creating: false)
        #expect(try await states(container) == before)
        try await container.close()
    }
}
