import Stratus
import Testing

/// Behaviour cases 1b and 1c: fetching, batches and atomicity.
@Suite struct BatchCaseTests {
    private let missing = RecordZone.ID(zoneName: "missing")

    // C22.
    @Test func `a fetch of several finds what there is and names the zone that is missing`()
        async throws
    {
        let (_, database) = try await makeDatabase()
        let stored = try await database.save(note("a"))
        let lost = noteID("a", in: missing)
        let found = try await database.records(for: [noteID("a"), lost])
        #expect(try found[noteID("a")]?.get() == stored)
        guard case .failure(let error)? = found[lost] else {
            Issue.record("a record of a missing zone was found")
            return
        }
        #expect(error.code == .zoneNotFound)
        #expect(error.zoneID == missing)
    }

    // C33.
    @Test func `the failure of an atomic batch as a whole holds the errors of the items`()
        async throws
    {
        let (_, database) = try await makeDatabase()
        let stale = try await database.save(note("b"))
        let server = try await database.save(stale)
        let result = try await database.modifyRecords(saving: [note("a"), stale])
        let error = try #require(result.partialFailure)
        #expect(error.code == .partialFailure)
        #expect(Set(error.partialErrors.keys) == [.record(noteID("a")), .record(noteID("b"))])
        #expect(error.partialErrors[.record(noteID("a"))]?.code == .batchRequestFailed)
        let conflict = try #require(error.partialErrors[.record(noteID("b"))])
        #expect(conflict.code == .serverRecordChanged)
        #expect(conflict.serverRecord == server)
    }

    // C34.
    @Test(arguments: [true, false])
    func `a call does not throw though all of its items fail: who asks for the results sees it`(
        atomically: Bool
    ) async throws {
        let (_, database) = try await makeDatabase()
        let stale = [
            try await database.save(note("a")), try await database.save(note("b")),
        ]
        try await database.saveAll(stale)
        let result = try await database.modifyRecords(saving: stale, atomically: atomically)
        for record in stale {
            #expect(result.saveResults[record.recordID]?.code == .serverRecordChanged)
        }
        #expect(result.partialFailure?.partialErrors.count == 2)
    }

    // C38.
    @Test func `what is left of a failed batch goes through once conflicts are solved`()
        async throws
    {
        let (_, database) = try await makeDatabase()
        let stale = try await database.save(note("stale", ["mine": 1]))
        var theirs = stale
        theirs["theirs"] = 2
        try await database.save(theirs)
        var gone = try await database.save(note("gone"))
        try await database.deleteRecord(withID: gone.recordID)
        gone["field"] = 1
        var mine = stale
        mine["mine"] = 10
        var batch = [note("innocent"), mine, gone]
        let first = try await database.modifyRecords(saving: batch)
        batch = batch.compactMap { record in
            guard case .failure(let error)? = first.saveResults[record.recordID] else { return nil }
            switch error.code {
            case .batchRequestFailed: return record
            case .serverRecordChanged:
                var merged = error.serverRecord
                merged?["mine"] = record["mine"]
                return merged
            default: return nil
            }
        }
        #expect(batch.map(\.recordID) == [noteID("innocent"), noteID("stale")])
        #expect(try await database.modifyRecords(saving: batch).partialFailure == nil)
        let merged = try await database.record(for: noteID("stale"))
        #expect(merged["mine"] == 10 && merged["theirs"] == 2)
        #expect(try await database.allRecords().count == 2)
    }
}
