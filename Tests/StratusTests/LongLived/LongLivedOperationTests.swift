import FoundationEssentials
import Stratus
import StratusFiles
import Testing

/// Calls that the store keeps: `Formats/README.md`, "Long-lived operations".
@Suite struct LongLivedOperationTests {
    private static let other = RecordZone.ID(zoneName: "other")

    private static func saving(_ records: [Record]) -> LongLivedRequest {
        .modify(LongLivedRequest.Modification(saving: records))
    }

    private static func result(_ outcome: LongLivedOutcome) -> ModifyRecordsResult? {
        if case .modify(let result) = outcome { result } else { nil }
    }

    /// What became of the items of a modification; it is not delivered by that.
    private static func items(
        _ operation: LongLivedOperation
    ) async throws -> [Result<Record?, StoreError>] {
        guard case .items(_, let items) = try await operation.answer() else {
            Issue.record("it is no modification")
            return []
        }
        return items
    }

    @Test func `a modification is kept, run once, and forgotten when it was delivered`()
        async throws
    {
        let (container, database) = try await makeDatabase()
        try await database.save(note("gone"))
        let operation = try await database.submit(
            .modify(
                LongLivedRequest.Modification(
                    saving: [note("a", ["key": 1])], deleting: [noteID("gone")])),
            operationID: "one", priority: .high)
        #expect(operation.state == .pending && operation.scope == .private)
        #expect(operation.priority == .high && operation.operationID == "one")
        #expect(try await database.names() == ["gone"])
        let found = try #require(try await container.longLivedOperation("one", for: "alice"))
        #expect(found.state == .pending)
        let result = Self.result(try await found.outcome())
        #expect(try result?.saveResults[noteID("a")]?.get()["key"] == 1)
        #expect(result?.deleteResults.count == 1 && result?.partialFailure == nil)
        #expect(try await database.names() == ["a"])
        #expect(try await container.longLivedOperation("one", for: "alice") == nil)
        #expect(await failure { try await operation.outcome() }.code == .unknownItem)
        #expect(try await container.longLivedOperations(for: "alice").isEmpty)
    }

    @Test func `until it is delivered a modification gives the same again and changes nothing`()
        async throws
    {
        let (container, database) = try await makeDatabase()
        var old = try await database.save(note("old", ["kept": 1]))
        old["new"] = 2
        let operation = try await database.submit(
            Self.saving([note("a", ["key": 1]), old]), operationID: "one")
        let first = try await Self.items(operation)
        let token = try await FollowedChanges(of: database).token
        var later = try #require(try first[0].get())
        later["key"] = 3
        try await database.save(later)
        try await database.deleteRecord(withID: noteID("old"))
        let now = try await FollowedChanges(of: database, since: token)
        #expect(try await Self.items(operation) == first)
        let found = try #require(try await container.longLivedOperation("one", for: "alice"))
        #expect(found.state == .finished)
        #expect(try await Self.items(found) == first)
        #expect(try first[1].get()?.allKeys == ["kept", "new"])
        let since = try await FollowedChanges(of: database, since: now.token)
        #expect(since.modified == [] && since.deleted == [])
    }

    @Test func `the same request under the same ID is the same operation`() async throws {
        let (container, database) = try await makeDatabase()
        let records = (0..<20).map { note("r\($0)", ["key": .int64(Int64($0))]) }
        let operation = try await database.submit(Self.saving(records), operationID: "one")
        let offset = container.snapshot().offset
        let again = try await database.submit(
            Self.saving(records.reversed()), operationID: "one")
        #expect(again.submissionDate == operation.submissionDate)
        #expect(container.snapshot().offset == offset)
        #expect(try await container.longLivedOperations(for: "alice").count == 1)
    }

    @Test(arguments: [
        "value", "field", "name", "zone", "type", "more", "policy", "atomic", "token", "call",
        "database",
    ])
    func `another request under the same ID makes no sense`(difference: String) async throws {
        let (container, database) = try await makeDatabase()
        try await database.submit(Self.saving([note("a", ["key": 1])]), operationID: "one")
        var record = note("a", ["key": 1])
        switch difference {
        case "value": record["key"] = 2
        case "field": record["more"] = 1
        case "name": record = note("b", ["key": 1])
        case "zone": record = note("a", ["key": 1], in: Self.other)
        case "type": record = note("a", ["key": 1], type: "Page")
        default: break
        }
        let request: LongLivedRequest =
            difference == "call"
            ? .records([noteID("a")], desiredKeys: nil)
            : .modify(
                LongLivedRequest.Modification(
                    saving: [record] + (difference == "more" ? [note("more")] : []),
                    savePolicy: difference == "policy" ? .changedKeys : .ifServerRecordUnchanged,
                    atomically: difference != "atomic",
                    clientChangeTokenData: difference == "token" ? Data([1]) : nil))
        let target = difference == "database" ? container.publicDatabase(as: "alice") : database
        let error = await failure { try await target.submit(request, operationID: "one") }
        #expect(error.code == .invalidArguments)
        #expect(error.reason == "another operation was done under this operationID")
        // Another user's operations are others.
        let bob = container.privateDatabase(for: "bob")
        try await bob.submit(Self.saving([note("b")]), operationID: "one")
        #expect(try await container.longLivedOperations(for: "alice").count == 1)
    }

    @Test func `an operation that was cancelled before it ran never runs`() async throws {
        let (container, database) = try await makeDatabase()
        let operation = try await database.submit(Self.saving([note("a")]), operationID: "one")
        try await operation.cancel()
        let error = await failure { try await operation.outcome() }
        #expect(error.code == .operationCancelled && error.code.rawValue == 20)
        try await container.continueLongLivedOperations()
        #expect(try await database.names() == [])
        #expect(try await container.longLivedOperation("one", for: "alice") == nil)
        try await operation.cancel()
        // The ID is free again.
        let next = try await database.submit(Self.saving([note("b")]), operationID: "one")
        #expect(await failure { try await operation.outcome() }.code == .unknownItem)
        _ = try await next.outcome()
        #expect(try await database.names() == ["b"])
    }

    @Test func `after a cancellation nothing is done any more, whenever it comes`() async throws {
        let (_, database) = try await makeDatabase()
        try await database.save(RecordZone(zoneID: Self.other))
        for round in 0..<40 {
            let operation = try await database.submit(
                Self.saving([note("a\(round)"), note("b\(round)", in: Self.other)]),
                operationID: "o\(round)")
            let run = Task { try? await operation.answer() }
            for _ in 0..<round { await Task.yield() }
            try await operation.cancel()
            let names = try await database.names() + database.names(in: Self.other)
            _ = await run.value
            let after = try await database.names() + database.names(in: Self.other)
            #expect(after == names)
            #expect(await failure { try await operation.outcome() }.code == .operationCancelled)
        }
    }

    @Test func `what is asked for at once by many is run once`() async throws {
        let (_, database) = try await makeDatabase()
        let operation = try await database.submit(Self.saving([note("a")]), operationID: "one")
        let tags = try await withThrowingTaskGroup(of: String?.self) { group in
            for _ in 0..<8 {
                group.addTask { try await Self.items(operation)[0].get()?.recordChangeTag }
            }
            return try await group.reduce(into: Set<String?>()) { $0.insert($1) }
        }
        let record = try await database.record(for: noteID("a"))
        #expect(tags == [record.recordChangeTag])
    }

    @Test func `zones that failed stay failed, and those that were done stay done`()
        async throws
    {
        let (_, database) = try await makeDatabase()
        let operation = try await database.submit(
            Self.saving([note("a"), note("b", in: Self.other), note("c", in: Self.other)]),
            operationID: "one")
        let first = try await Self.items(operation)
        #expect(first[1].code == .zoneNotFound && first[2].code == .zoneNotFound)
        let saved = try first[0].get()
        try await database.save(RecordZone(zoneID: Self.other))
        let again = try await Self.items(operation)
        #expect(again.map { $0.code } == [nil, .zoneNotFound, .zoneNotFound])
        #expect(try again[0].get() == saved)
        #expect(try await database.allRecords(in: Self.other) == [])
        let result = Self.result(try await operation.outcome())
        #expect(result?.partialFailure?.partialErrors.count == 2)
    }

    @Test func `what changed nothing is recorded, too, and is not tried again`() async throws {
        let (_, database) = try await makeDatabase()
        let first = try await database.save(note("stale", ["key": 1]))
        try await database.save(first)
        let operation = try await database.submit(Self.saving([first]), operationID: "one")
        #expect(try await Self.items(operation)[0].code == .serverRecordChanged)
        // Now the tag would be right, since nothing is there.
        try await database.deleteRecord(withID: noteID("stale"))
        #expect(try await Self.items(operation)[0].code == .serverRecordChanged)
        let reused = await failure { try await database.save(note("b"), operationID: "one") }
        #expect(reused.reason == "another operation was done under this operationID")
        // In the default zone, which is not there yet, there is no receipt.
        let bob = try await makeDatabase().database
        let deletion = try await bob.submit(
            .modify(
                LongLivedRequest.Modification(
                    saving: [], deleting: [noteID("never", in: .default)])),
            operationID: "two")
        #expect(try await Self.items(deletion)[0].get() == nil)
        try await bob.save(note("never", in: .default))
        #expect(try await Self.items(deletion)[0].get() == nil)
        #expect(try await bob.allRecords(in: .default).count == 1)
    }

    @Test func `a call that failed as a whole is answered with that error again`() async throws {
        let (container, database) = try await makeDatabase()
        try await database.save(note("a"))
        let operation = try await database.submit(
            .move([noteID("a")], to: Self.other), operationID: "one")
        let error = await failure { try await operation.answer() }
        #expect(error.code == .zoneNotFound)
        try await database.save(RecordZone(zoneID: Self.other))
        let found = try #require(try await container.longLivedOperation("one", for: "alice"))
        #expect(found.state == .finished)
        let again = await failure { try await found.outcome() }
        #expect(again.code == error.code && again.reason == error.reason)
        #expect(try await database.names() == ["a"])
        #expect(try await container.longLivedOperation("one", for: "alice") == nil)
    }

    @Test func `a move is done once and gives the records as they were then`() async throws {
        let (_, database) = try await makeDatabase()
        try await database.save(RecordZone(zoneID: Self.other))
        try await database.saveAll([note("a", ["key": 1]), note("b")])
        let operation = try await database.submit(
            .move([noteID("b"), noteID("a")], to: Self.other), operationID: "one")
        guard case .moved(let first) = try await operation.answer() else {
            Issue.record("it is no move")
            return
        }
        #expect(first.map(\.recordID.recordName) == ["b", "a"])
        try await database.save(first[1].with("key", 2))
        guard case .move(let again) = try await operation.outcome() else {
            Issue.record("it is no move")
            return
        }
        #expect(again == first)
    }

    @Test func `progress tells of each item that is done`() async throws {
        let (_, database) = try await makeDatabase()
        let operation = try await database.submit(
            Self.saving([note("a"), note("b", in: Self.other)]), operationID: "one")
        let (told, continuation) = AsyncStream<String>.makeStream()
        _ = try await operation.outcome { id, done in
            if done == 1 { continuation.yield(id.recordName) }
        }
        continuation.finish()
        // The zone of the other is not there.
        #expect(await told.reduce(into: [String]()) { $0.append($1) } == ["a"])
    }

    @Test func `of what fails progress tells nothing, in zones that do what they can`()
        async throws
    {
        let (container, _) = try await makeDatabase()
        let database = container.publicDatabase(as: "alice")
        let stale = Record(
            recordType: "Note", recordID: noteID("stale", in: .default), recordChangeTag: "1")
        let operation = try await database.submit(
            Self.saving([note("a", in: .default), stale, note("b", in: .default)]),
            operationID: "one")
        let (told, continuation) = AsyncStream<String>.makeStream()
        _ = try await operation.outcome { id, _ in continuation.yield(id.recordName) }
        continuation.finish()
        #expect(await told.reduce(into: [String]()) { $0.append($1) } == ["a", "b"])
    }

    @Test func `progress tells of each record that is fetched or moved`() async throws {
        let (_, database) = try await makeDatabase()
        try await database.save(RecordZone(zoneID: Self.other))
        for name in ["a", "b"] { try await database.save(note(name)) }
        let requests: [LongLivedRequest] = [
            .records([noteID("b"), noteID("none"), noteID("a")], desiredKeys: nil),
            .move([noteID("a"), noteID("b")], to: Self.other),
        ]
        for (number, request) in requests.enumerated() {
            let operation = try await database.submit(request, operationID: "o\(number)")
            let (told, continuation) = AsyncStream<Record.ID>.makeStream()
            _ = try await operation.outcome { id, done in
                if done == 1 { continuation.yield(id) }
            }
            continuation.finish()
            let ids = await told.reduce(into: [Record.ID]()) { $0.append($1) }
            #expect(Set(ids.map(\.recordName)) == ["a", "b"] && ids.count == 2)
            #expect(ids.allSatisfy { $0.zoneID == (number == 0 ? notes : Self.other) })
        }
    }

    @Test func `the operations of a user are listed in the order of their submission`()
        async throws
    {
        let (container, database) = try await makeDatabase()
        let ids = ["z", "a", "m", "b"]
        for id in ids { try await database.submit(Self.saving([note(id)]), operationID: id) }
        try await container.publicDatabase(as: "alice").submit(
            .records([noteID("x", in: .default)], desiredKeys: []), operationID: "last")
        let listed = try await container.longLivedOperations(for: "alice")
        #expect(listed.map { $0.operationID } == ids + ["last"])
        #expect(listed.last?.scope == .public)
        #expect(try await container.longLivedOperations(for: "bob").isEmpty)
        #expect(
            await failure { try await container.longLivedOperations(for: "") }.code
                == .invalidArguments)
    }

    @Test(arguments: ["list", "outside", "host", "anonymous", "id"])
    func `what cannot be kept is refused when it is submitted`(what: String) async throws {
        let (container, database) = try await makeDatabase()
        var record = note("a")
        var target = database
        switch what {
        case "list": record["list"] = .list([1, "two"])
        case "outside":
            record["to"] = .reference(Reference(recordID: noteID("b", in: Self.other)))
        case "host": target = container.publicDatabase(asHost: "alice")
        case "anonymous": target = container.publicDatabase()
        default: break
        }
        let error = await failure { [record, target] in
            try await target.submit(
                Self.saving([record]), operationID: what == "id" ? "" : "one")
        }
        #expect(error.code == (what == "anonymous" ? .notAuthenticated : .invalidArguments))
        #expect(try await container.longLivedOperations(for: "alice").isEmpty)
    }

    @Test func `a save that does not compare tags sends what was fetched where it makes anew`()
        async throws
    {
        let (_, database) = try await makeDatabase()
        let stored = try await database.save(note("a", ["kept": "text", "list": [1, 2]]))
        let operation = try await database.submit(
            .modify(
                LongLivedRequest.Modification(
                    saving: [stored.with("new", 2)], savePolicy: .changedKeys)),
            operationID: "one")
        try await database.deleteRecord(withID: noteID("a"))
        let saved = try #require(try await Self.items(operation)[0].get())
        #expect(saved["kept"] == "text" && saved["list"] == [1, 2] && saved["new"] == 2)
    }
}
