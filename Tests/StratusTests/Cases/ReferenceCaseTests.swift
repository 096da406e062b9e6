import Stratus
import Testing

/// Behaviour cases 1d: references and parents. Most of them are in ParentTests, ReferenceTests and
/// CascadeTests.
@Suite struct ReferenceCaseTests {
    private func child(_ name: String, of parent: String?) -> Record {
        var record = note(name)
        record.parent = parent.map { Reference(recordID: noteID($0)) }
        return record
    }

    // C46.
    @Test func `a child moved under a parent that is gone fails, and goes under another or none`()
        async throws
    {
        let (_, database) = try await makeDatabase()
        try await database.saveAll([note("p"), note("other"), note("a")])
        var mine = try await database.record(for: noteID("a"))
        mine.parent = Reference(recordID: noteID("p"))
        try await database.deleteRecord(withID: noteID("p"))
        let error = await failure { try await database.save(mine) }
        #expect(error.code == .referenceViolation && error.recordID == noteID("a"))
        #expect(try await database.record(for: noteID("a")).parent == nil)
        mine.parent = Reference(recordID: noteID("other"))
        mine = try await database.save(mine)
        mine.parent = nil
        #expect(try await database.save(mine).parent == nil)
    }

    // C47.
    @Test(arguments: [true, false])
    func `a parent that got a child meanwhile is not deleted, and both are there for all`(
        sawTheChild: Bool
    ) async throws {
        let (_, database) = try await makeDatabase()
        let parent = try await database.save(note("p"))
        let token = try await FollowedChanges(of: database).token
        let added = try await database.save(child("c", of: "p"))
        if sawTheChild {
            #expect(try await FollowedChanges(of: database, since: token).modified == [added])
        }
        let error = await failure { try await database.deleteRecord(withID: noteID("p")) }
        #expect(error.code == .referenceViolation && error.recordID == noteID("p"))
        #expect(try await database.record(for: noteID("p")) == parent)
        #expect(try await database.record(for: noteID("c")) == added)
    }

    // C48, C49.
    @Test func `who reads a child before its parent, page by page, ends with both and their bond`()
        async throws
    {
        let (_, database) = try await makeDatabase()
        try await database.saveAll([note("old"), note("new"), child("c", of: "old")])
        let whole = try await FollowedChanges(of: database)
        // The parent is saved again after its child, and so comes after it.
        var moved = try await database.record(for: noteID("c"))
        moved.parent = Reference(recordID: noteID("new"))
        try await database.save(moved)
        try await database.save(note("new", ["field": 1]), savePolicy: .changedKeys)
        for token in [nil, whole.token] {
            let changes = try await FollowedChanges(of: database, since: token, resultsLimit: 1)
            #expect(changes.modifiedNames.suffix(2) == ["c", "new"])
            let child = changes.modified.last { $0.recordID == noteID("c") }
            #expect(child?.parent?.recordID == noteID("new"))
        }
    }

    // C45: outside of shared hierarchies.
    @Test func `a parent keeps its tag when a child is saved`() async throws {
        let (_, database) = try await makeDatabase()
        var parent = try await database.save(note("p"))
        try await database.save(child("c", of: "p"))
        parent["field"] = 1
        #expect(try await database.save(parent)["field"] == 1)
    }
}
