import Stratus
import Testing

/// Which error an item is told where several would do: `Formats/README.md`, "Order of checks".
@Suite struct CheckOrderTests {
    private func child(_ name: String, of parent: String) -> Record {
        var record = note(name)
        record.parent = Reference(recordID: noteID(parent))
        return record
    }

    /// Bob saved the record since Alice fetched it.
    private func stale(_ name: String, in database: Database) async throws -> Record {
        var record = try await database.save(note(name))
        try await database.save(note(name, ["by": "Bob"]), savePolicy: .changedKeys)
        record["by"] = "Alice"
        return record
    }

    @Test(arguments: [true, false])
    func `what a record says of itself is refused before its tag is looked at`(
        isNew: Bool
    ) async throws {
        let (_, database) = try await makeDatabase()
        var held = try await stale("a", in: database)
        if isNew { held = note("a") }
        let astray = Reference(recordID: noteID("x", in: .default))
        for (key, value) in [
            ("link", RecordValue.reference(astray)), ("links", .list([.reference(astray)])),
            ("by", 1), ("mixed", .list([1, "text"])), ("recordID", 1), ("no name", 1),
        ] {
            var edited = held
            edited[key] = value
            let error = await failure { try await database.save(edited) }
            #expect(error.code == .invalidArguments, "\(key)")
        }
        let type = await failure { try await database.save(note("a", type: "Page")) }
        #expect(type.code == .invalidArguments)
        let tag = await failure { try await database.save(held) }
        #expect(tag.code == .serverRecordChanged)
    }

    @Test func `what a record says of itself is refused before its parent is looked for`()
        async throws
    {
        let (_, database) = try await makeDatabase()
        try await database.save(note("typed", ["field": 1]))
        var orphan = child("c", of: "nobody")
        orphan["field"] = "text"
        let kind = await failure { try await database.save(orphan) }
        #expect(kind.code == .invalidArguments)
        orphan["field"] = 2
        let parent = await failure { try await database.save(orphan) }
        #expect(parent.code == .referenceViolation)
    }

    @Test(arguments: [true, false])
    func `what is wrong with a child alone is told before its parent's failure`(
        isOfTag: Bool
    ) async throws {
        let (_, database) = try await makeDatabase()
        try await database.save(note("typed", ["field": 1]))
        // A parent that fails when it is looked up, or when its own content is.
        var parent = note("p", type: "no type")
        if isOfTag {
            parent = try await database.save(note("p"))
            try await database.deleteRecord(withID: parent.recordID)
            parent["changed"] = 1
        }
        let astray = Reference(recordID: noteID("x", in: .default))
        for (key, value) in [("field", RecordValue.string("text")), ("link", .reference(astray))] {
            var wrong = child("c", of: "p")
            wrong[key] = value
            let result = try await database.modifyRecords(
                saving: [wrong, child("d", of: "p"), child("e", of: "c"), parent],
                atomically: false)
            #expect(result.saveResults[noteID("c")]?.code == .invalidArguments, "\(key)")
            #expect(result.saveResults[noteID("d")]?.code == .referenceViolation)
            // Its own failure is what the failures of its children began with.
            guard case .failure(let error)? = result.saveResults[noteID("e")] else {
                Issue.record("the child of what failed is saved")
                continue
            }
            #expect(error.partialErrors.values.map(\.code) == [.invalidArguments])
        }
    }

    @Test func `a parent is looked for before the tag is looked at`() async throws {
        let (_, database) = try await makeDatabase()
        var held = try await stale("a", in: database)
        held.parent = Reference(recordID: noteID("nobody"))
        let error = await failure { try await database.save(held) }
        #expect(error.code == .referenceViolation)
    }

    @Test func `in a failed atomic batch each failing item has its own error`() async throws {
        let (_, database) = try await makeDatabase()
        try await database.saveAll([
            note("p", ["must": link("q", .none)]), child("c", of: "p"), note("typed", ["field": 1]),
            note("x"),
            note("y", ["target": link("x", .deleteSelf)]),
        ])
        let held = try await stale("stale", in: database)
        let validating = note("v", ["must": link("nobody", .validate)])
        let result = try await database.modifyRecords(
            saving: [
                note("_bad"), held, note("kind", ["field": "text"]), validating,
                child("loop", of: "loop"), note("y", ["field": 2]), note("good"),
            ],
            deleting: [noteID("p"), noteID("x"), noteID("typed")])
        let saves = result.saveResults.mapValues(\.code)
        #expect(saves[noteID("_bad")] == .invalidArguments)
        #expect(saves[noteID("stale")] == .serverRecordChanged)
        #expect(saves[noteID("kind")] == .invalidArguments)
        #expect(saves[noteID("v")] == .referenceViolation)
        #expect(saves[noteID("loop")] == .invalidArguments)
        #expect(saves[noteID("y")] == .serverRecordChanged)
        #expect(saves[noteID("good")] == .batchRequestFailed)
        let deletes = result.deleteResults.mapValues(\.code)
        #expect(deletes[noteID("p")] == .referenceViolation)
        #expect(deletes[noteID("x")] == .batchRequestFailed)
        #expect(deletes[noteID("typed")] == .batchRequestFailed)
    }

    @Test(arguments: ["type", "tag", "gone"])
    func `a child is innocent of what its parent fails for in an atomic batch`(
        why: String
    ) async throws {
        let (_, database) = try await makeDatabase()
        var parent = note("p", type: "no type")
        if why != "type" { parent = try await stale("p", in: database) }
        if why == "gone" { try await database.deleteRecord(withID: parent.recordID) }
        let must = note("m", ["must": link("p", .validate)])
        let result = try await database.modifyRecords(
            saving: [parent, child("c", of: "p"), must])
        #expect(result.saveResults[noteID("c")]?.code == .batchRequestFailed)
        #expect(result.saveResults[noteID("m")]?.code == .batchRequestFailed)
    }

    @Test func `a deletion stopped only by a child's conflict has no own error`() async throws {
        let (_, database) = try await makeDatabase()
        try await database.saveAll([note("p"), note("q"), child("c", of: "p")])
        var held = try await database.record(for: noteID("c"))
        try await database.save(note("c", ["by": "Bob"]), savePolicy: .changedKeys)
        held.parent = Reference(recordID: noteID("q"))
        let result = try await database.modifyRecords(saving: [held], deleting: [noteID("p")])
        #expect(result.saveResults[noteID("c")]?.code == .serverRecordChanged)
        #expect(result.deleteResults[noteID("p")]?.code == .batchRequestFailed)
        let server = try #require(result.saveResults[noteID("c")]?.conflict)
        var merged = server
        merged.parent = held.parent
        let again = try await database.modifyRecords(saving: [merged], deleting: [noteID("p")])
        #expect(again.partialFailure == nil)
    }
}

extension Result<Record, StoreError> {
    fileprivate var conflict: Record? {
        if case .failure(let error) = self { error.serverRecord } else { nil }
    }
}
