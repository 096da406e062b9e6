import Stratus
import Testing

extension RacePair {
    private static func large(_ name: String, in zone: RecordZone.ID = notes) -> Record {
        note(name, ["text": .string(String(repeating: "x", count: 500))], in: zone)
    }

    private static func dependent(_ name: String) -> Record {
        note(name, ["target": link("t", .deleteSelf)])
    }

    /// Checks 12 and 13: what there is room for once.
    static let limits = [
        RacePair(
            testDescription: "the last reference to a target",
            profile: Profile(referencesPerTarget: Profile.cloudKit.referencesPerTarget),
            prepare: { database in
                try await database.saveAll([note("t")] + (1..<750).map { dependent("s\($0)") })
                return []
            },
            left: { database, _ in try await database.save(dependent("a")) },
            right: { database, _ in try await database.save(dependent("b")) },
            codes: (.limitExceeded, .limitExceeded),
            settled: { database, _, _ in
                let count = try await database.recordCount(inZoneWith: notes)
                #expect(count == 751)
            }),
        RacePair(
            testDescription: "the last of a quota",
            profile: Profile(userQuota: 1000),
            left: { database, _ in try await database.save(large("a")) },
            right: { database, _ in try await database.save(large("b")) },
            codes: (.quotaExceeded, .quotaExceeded),
            settled: { database, leftFailed, _ in
                let names = try await database.names()
                #expect(names == [leftFailed ? "b" : "a"])
                let bytes = try await database.usage().bytes
                #expect(bytes <= 1000)
            }),
        RacePair(
            testDescription: "the last of a quota, of batches in two zones",
            profile: Profile(userQuota: 1000),
            left: { database, _ in try await database.saveAll([note("c"), large("a")]) },
            right: { database, _ in try await database.save(large("b", in: .default)) },
            codes: (.partialFailure, .quotaExceeded),
            settled: { database, _, _ in
                let found = try await database.usage().bytes
                #expect(found <= 1000)
            }),
    ]

    /// One operationID, twice at once.
    static let operations = [
        RacePair(
            testDescription: "the same call under one operationID",
            left: { database, _ in try await database.save(note("a"), operationID: "o") },
            right: { database, _ in try await database.save(note("a"), operationID: "o") },
            // Done twice, one of them would be in conflict with the other.
            codes: (nil, nil),
            settled: { database, _, _ in
                let found = try await database.names()
                #expect(found == ["a"])
            }),
        RacePair(
            testDescription: "the same move under one operationID",
            prepare: { database in
                try await database.save(RecordZone(zoneName: "archive"))
                return [try await database.save(note("a"))]
            },
            left: { database, _ in try await moveOnce("a", in: database) },
            right: { database, _ in try await moveOnce("a", in: database) },
            codes: (nil, nil),
            settled: { database, _, _ in
                let found = try await database.names()
                #expect(found == [])
            }),
        RacePair(
            testDescription: "two calls under one operationID",
            left: { database, _ in try await database.save(note("a"), operationID: "o") },
            right: { database, _ in try await database.save(note("b"), operationID: "o") },
            codes: (.invalidArguments, .invalidArguments),
            settled: { database, leftFailed, _ in
                let names = try await database.names()
                #expect(names == [leftFailed ? "b" : "a"])
            }),
        RacePair(
            testDescription: "two calls under one operationID, in two zones",
            prepare: { [try await $0.save(note("there", in: .default))] },
            left: { database, _ in try await database.save(note("a"), operationID: "o") },
            right: { database, _ in
                try await database.save(note("b", in: .default), operationID: "o")
            },
            codes: (.invalidArguments, .invalidArguments)),
        RacePair(
            testDescription: "a move and a save under one operationID",
            prepare: { database in
                try await database.save(RecordZone(zoneName: "archive"))
                return [try await database.save(note("a"))]
            },
            left: { database, _ in try await moveOnce("a", in: database) },
            right: { database, _ in try await database.save(note("b"), operationID: "o") },
            codes: (.invalidArguments, .invalidArguments),
            settled: { database, leftFailed, _ in
                let names = try await database.names()
                #expect(names == (leftFailed ? ["a", "b"] : []))
            }),
    ]

    private static func moveOnce(_ name: String, in database: Database) async throws {
        let zone = RecordZone.ID(zoneName: "archive")
        let moved = try await database.moveRecords([noteID(name)], to: zone, operationID: "o")
        #expect(moved.map(\.recordID) == [noteID(name, in: zone)])
    }
}
