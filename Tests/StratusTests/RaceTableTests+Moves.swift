import Stratus
import Testing

private let archive = RecordZone.ID(zoneName: "archive")

private func move(_ name: String, in database: Database) async throws {
    try await database.moveRecords([noteID(name)], to: archive)
}

extension RacePair {
    /// Moves against what would be left behind, is in the way, or takes the ground from under them.
    static let moves = movesOfRecords + movesBetweenZones

    /// With the zone to move to, and these records.
    private static func holding(
        _ records: [Record]
    ) -> @Sendable (Database) async throws -> [Record] {
        { database in
            try await database.save(RecordZone(zoneID: archive))
            try await database.saveAll(records)
            return [try await database.record(for: noteID("a"))]
        }
    }

    /// Of each record there is one, whichever zone it is in, and its parent is beside it.
    private static func expectOneOfEach(
        _ names: [String], _ database: Database
    ) async throws {
        var found: [String] = []
        for zone in try await database.allRecordZones().map(\.zoneID) where !zone.isDefault {
            let records = try await database.allRecords(in: zone)
            let ids = Set(records.map(\.recordID))
            for record in records {
                if let parent = record.parent { #expect(ids.contains(parent.recordID)) }
            }
            found += records.map(\.recordID.recordName)
        }
        #expect(found.sorted() == names)
    }

    private static let movesOfRecords = [
        RacePair(
            testDescription: "a move and a new child",
            prepare: holding([note("a")]),
            left: { database, _ in try await move("a", in: database) },
            right: { database, _ in try await database.save(child("c", of: "a")) },
            // A child that comes first goes along.
            codes: (nil, .referenceViolation),
            settled: { database, _, rightFailed in
                try await expectOneOfEach(rightFailed ? ["a"] : ["a", "c"], database)
                let names = try await database.names()
                #expect(names == [])
            }),
        RacePair(
            testDescription: "a move and a child that leaves",
            prepare: holding([note("a"), child("c", of: "a")]),
            left: { database, _ in try await move("a", in: database) },
            right: { database, _ in
                var child = try await database.record(for: noteID("c"))
                child.parent = nil
                try await database.save(child)
            },
            codes: (nil, .unknownItem),
            settled: { database, _, rightFailed in
                try await expectOneOfEach(["a", "c"], database)
                let names = try await database.names()
                #expect(names == (rightFailed ? [] : ["c"]))
            }),
        RacePair(
            testDescription: "a move and a save of the record where it was",
            prepare: holding([note("a", ["field": 0])]),
            left: { database, _ in try await move("a", in: database) },
            right: { try await $0.save($1[0].with("field", 1)) },
            codes: (nil, .unknownItem),
            settled: { database, _, rightFailed in
                let moved = try await database.record(for: noteID("a", in: archive))
                #expect(moved["field"] == (rightFailed ? 0 : 1))
                try await expectOneOfEach(["a"], database)
            }),
        RacePair(
            testDescription: "a move and the deletion of the record",
            prepare: holding([note("a")]),
            left: { database, _ in try await move("a", in: database) },
            right: { database, _ in try await database.deleteRecord(withID: noteID("a")) },
            codes: (.unknownItem, nil),
            settled: { database, leftFailed, _ in
                try await expectOneOfEach(leftFailed ? [] : ["a"], database)
            }),
        RacePair(
            testDescription: "a move and a record that would have a cascade target in another zone",
            prepare: holding([note("a")]),
            left: { database, _ in try await move("a", in: database) },
            right: { database, _ in
                try await database.save(note("s", ["target": link("a", .deleteSelf)]))
            },
            codes: (.referenceViolation, nil),
            settled: { database, leftFailed, _ in
                try await expectOneOfEach(["a", "s"], database)
                let names = try await database.names()
                #expect(names == (leftFailed ? ["a", "s"] : ["s"]))
            }),
        RacePair(
            testDescription: "a move and a reference to what is moved, to be validated",
            prepare: holding([note("a")]),
            left: { database, _ in try await move("a", in: database) },
            right: { database, _ in
                try await database.save(note("s", ["must": link("a", .validate)]))
            },
            codes: (nil, .referenceViolation)),
    ]

    private static let movesBetweenZones = [
        RacePair(
            testDescription: "a move and a record of that name where it goes",
            prepare: holding([note("a", ["field": 0])]),
            left: { database, _ in try await move("a", in: database) },
            right: { database, _ in
                try await database.save(note("a", ["field": 1], in: archive))
            },
            codes: (.serverRecordChanged, .serverRecordChanged),
            settled: { database, leftFailed, _ in
                let there = try await database.record(for: noteID("a", in: archive))
                #expect(there["field"] == (leftFailed ? 1 : 0))
                let names = try await database.names()
                #expect(names == (leftFailed ? ["a"] : []))
            }),
        RacePair(
            testDescription: "two moves of a record",
            prepare: { database in
                try await database.save(RecordZone(zoneName: "other"))
                return try await holding([note("a")])(database)
            },
            left: { database, _ in try await move("a", in: database) },
            right: { database, _ in
                try await database.moveRecords(
                    [noteID("a")], to: RecordZone.ID(zoneName: "other"))
            },
            codes: (.unknownItem, .unknownItem),
            settled: { database, _, _ in try await expectOneOfEach(["a"], database) }),
        RacePair(
            testDescription: "a move and the deletion of the zone that it is to",
            prepare: holding([note("a")]),
            left: { database, _ in try await move("a", in: database) },
            right: { database, _ in try await database.deleteRecordZone(withID: archive) },
            codes: (.zoneNotFound, nil),
            settled: { database, leftFailed, _ in
                // What had moved already went with the zone.
                let names = try await database.names()
                #expect(names == (leftFailed ? ["a"] : []))
                try await database.save(RecordZone(zoneID: archive))
                let remade = try await database.names(in: archive)
                #expect(remade == [])
            }),
        RacePair(
            testDescription: "a move and the purge of the zone that it is from",
            prepare: holding([note("a")]),
            left: { database, _ in try await move("a", in: database) },
            right: { database, _ in
                try await database.deleteRecordZone(withID: notes, reason: .purged)
            },
            codes: (.userDeletedZone, nil),
            settled: { database, leftFailed, _ in
                let names = try await database.names(in: archive)
                #expect(names == (leftFailed ? [] : ["a"]))
            }),
    ]
}
