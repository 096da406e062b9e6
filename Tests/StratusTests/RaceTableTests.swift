import Stratus
import Testing

/// Every check of semantics 2.4 against the write that would invalidate it, in either order and at
/// once: what was checked is still true when it is committed, or one of the two is refused.
@Suite struct RaceTableTests {
    @Test(arguments: RacePair.all, Meeting.allCases)
    func `of two calls that exclude each other one loses`(
        pair: RacePair, meeting: Meeting
    ) async throws {
        for _ in 0..<meeting.rounds { try await Race(pair.profile).run(pair, meeting) }
    }
}

extension RacePair {
    static let all = tags + kinds + zones + links + moves + limits + operations

    /// Check 11.
    private static let tags = [
        RacePair(
            testDescription: "a tag and a save",
            prepare: { [try await $0.save(note("a", ["field": 0]))] },
            left: { try await $0.save($1[0].with("field", 1)) },
            right: { try await $0.save($1[0].with("field", 2)) },
            codes: (.serverRecordChanged, .serverRecordChanged),
            settled: { database, leftFailed, _ in
                let field = try await database.record(for: noteID("a"))["field"]
                #expect(field == (leftFailed ? 2 : 1))
            }),
        RacePair(
            testDescription: "a tag and a deletion",
            prepare: { [try await $0.save(note("a", ["field": 0]))] },
            left: { try await $0.save($1[0].with("field", 1)) },
            right: { database, _ in try await database.deleteRecord(withID: noteID("a")) },
            codes: (.unknownItem, nil),
            settled: { database, _, _ in
                let records = try await database.allRecords()
                #expect(records == [])
            }),
        RacePair(
            testDescription: "two records of one new name",
            left: { database, _ in try await database.save(note("a", ["field": 1])) },
            right: { database, _ in try await database.save(note("a", ["field": 2])) },
            codes: (.serverRecordChanged, .serverRecordChanged),
            settled: { database, leftFailed, _ in
                let fields = try await database.allRecords().map { $0["field"] }
                #expect(fields == [leftFailed ? 2 : 1])
            }),
        RacePair(
            testDescription: "a batch with a tag, and a save",
            prepare: { [try await $0.save(note("a", ["field": 0]))] },
            left: { try await $0.saveAll([note("b"), $1[0]]) },
            right: { try await $0.save($1[0].with("field", 2)) },
            codes: (.partialFailure, .serverRecordChanged),
            settled: { database, leftFailed, _ in
                let records = try await database.allRecords()
                #expect(records.count == (leftFailed ? 1 : 2))
            }),
        RacePair(
            testDescription: "a deletion with a tag, and a save",
            prepare: { [try await $0.save(note("a", ["field": 0]))] },
            left: { database, held in
                let tag = held[0].recordChangeTag
                let results = try await database.modifyRecords(
                    [.delete(noteID("a"), recordChangeTag: tag)], atomically: false)
                _ = try results[0].get()
            },
            right: { try await $0.save($1[0].with("field", 2)) },
            codes: (.serverRecordChanged, .unknownItem),
            settled: { database, leftFailed, _ in
                let fields = try await database.allRecords().map { $0["field"] }
                #expect(fields == (leftFailed ? [2] : []))
            }),
    ]

    /// Check 7.
    private static let kinds = [
        RacePair(
            testDescription: "a new field of two kinds",
            left: { database, _ in try await database.save(note("a", ["new": 1])) },
            right: { database, _ in try await database.save(note("b", ["new": "text"])) },
            codes: (.invalidArguments, .invalidArguments),
            settled: { database, leftFailed, _ in
                let names = try await database.allRecords().map(\.recordID.recordName)
                #expect(names == [leftFailed ? "b" : "a"])
            }),
        RacePair(
            testDescription: "a new field, flagged as encrypted and not",
            left: { database, _ in
                var record = note("a")
                record.encryptedValues["new"] = 1
                try await database.save(record)
            },
            right: { database, _ in try await database.save(note("b", ["new": 1])) },
            codes: (.invalidArguments, .invalidArguments),
            settled: { database, leftFailed, _ in
                let names = try await database.allRecords().map(\.recordID.recordName)
                #expect(names == [leftFailed ? "b" : "a"])
            }),
        RacePair(
            testDescription: "a new field of two kinds, in batches of which the other half fits",
            left: { database, _ in
                try await database.saveAll([note("c"), note("a", ["new": ["list"]])])
            },
            right: { database, _ in
                try await database.saveAll([note("b", ["new": "text"]), note("d")])
            },
            codes: (.partialFailure, .partialFailure),
            settled: { database, leftFailed, _ in
                let names = try await database.names()
                #expect(names == (leftFailed ? ["b", "d"] : ["a", "c"]))
            }),
    ]

    /// Check 4.
    private static let zones = [
        RacePair(
            testDescription: "a new record and the deletion of its zone",
            left: { database, _ in try await database.save(note("a")) },
            right: { database, _ in try await database.deleteRecordZone(withID: notes) },
            codes: (.zoneNotFound, nil), settled: isGone),
        RacePair(
            testDescription: "a record with a tag and the deletion of its zone",
            prepare: { [try await $0.save(note("a"))] },
            left: { try await $0.save($1[0]) },
            right: { database, _ in try await database.deleteRecordZone(withID: notes) },
            codes: (.zoneNotFound, nil), settled: isGone),
        RacePair(
            testDescription: "a deletion and the deletion of its zone",
            prepare: { [try await $0.save(note("a"))] },
            left: { database, _ in try await database.deleteRecord(withID: noteID("a")) },
            right: { database, _ in try await database.deleteRecordZone(withID: notes) },
            codes: (.zoneNotFound, nil), settled: isGone),
        RacePair(
            testDescription: "two deletions of a zone",
            left: { database, _ in try await database.deleteRecordZone(withID: notes) },
            right: { database, _ in try await database.deleteRecordZone(withID: notes) },
            codes: (.zoneNotFound, .zoneNotFound), settled: isGone),
        RacePair(
            testDescription: "a save and the purge of its zone",
            left: { database, _ in try await database.save(note("a")) },
            right: { database, _ in
                try await database.deleteRecordZone(withID: notes, reason: .purged)
            },
            codes: (.userDeletedZone, nil), settled: isPurged),
        RacePair(
            testDescription: "an atomic batch and the purge of its zone",
            prepare: { [try await $0.save(note("a"))] },
            left: { try await $0.saveAll([note("b"), $1[0]]) },
            right: { database, _ in
                try await database.deleteRecordZone(withID: notes, reason: .purged)
            },
            codes: (.partialFailure, nil), settled: isPurged),
        RacePair(
            testDescription: "two savings of a zone",
            left: { database, _ in
                try await database.save(RecordZone(zoneName: "new"))
                try await database.save(note("a", in: RecordZone.ID(zoneName: "new")))
            },
            right: { database, _ in
                try await database.save(RecordZone(zoneName: "new"))
                try await database.save(note("b", in: RecordZone.ID(zoneName: "new")))
            },
            codes: (nil, nil),
            settled: { database, _, _ in
                let new = RecordZone.ID(zoneName: "new")
                let records = try await database.allRecords(in: new)
                #expect(records.count == 2)
            }),
    ]

    private static let isGone: Verdict = { database, _, _ in
        try await expectGone(from: database, .zoneNotFound)
    }

    private static let isPurged: Verdict = { database, _, _ in
        try await expectGone(from: database, .userDeletedZone)
    }

    /// The zone is gone, and nothing of it is in the one that comes after it.
    private static func expectGone(
        from database: Database, _ code: StoreError.Code
    ) async throws {
        let error = await failure { try await database.record(for: noteID("a")) }
        #expect(error.code == code)
        try await database.save(RecordZone(zoneID: notes))
        #expect(try await database.allRecords() == [])
        #expect(try await FollowedChanges(of: database).modified == [])
    }
}

extension Record {
    /// With another value in a field.
    func with(_ key: String, _ value: RecordValue?) -> Record {
        var record = self
        record[key] = value
        return record
    }
}
