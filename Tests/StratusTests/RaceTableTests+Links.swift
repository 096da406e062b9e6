import Stratus
import Testing

extension RacePair {
    /// Checks 9 and 12: what others must be there for.
    static let links = parents + cycles + cascades

    private static func child(_ name: String, of parent: String?) -> Record {
        var record = note(name)
        record.parent = parent.map { Reference(recordID: noteID($0)) }
        return record
    }

    private static func dependent(_ name: String, of target: String) -> Record {
        let target = Reference(recordID: noteID(target), action: .deleteSelf)
        return note(name, ["target": .reference(target)])
    }

    private static let everyParentLives: Verdict = { database, _, _ in
        let records = try await database.allRecords()
        let names = Set(records.map(\.recordID))
        for record in records {
            if let parent = record.parent { #expect(names.contains(parent.recordID)) }
        }
        // What is listed and what is fed is the same.
        #expect(try await Set(FollowedChanges(of: database).modified.map(\.recordID)) == names)
    }

    private static let parents = [
        RacePair(
            testDescription: "a new child and the deletion of its parent",
            prepare: { [try await $0.save(note("p"))] },
            left: { database, _ in try await database.save(child("c", of: "p")) },
            right: { database, _ in try await database.deleteRecord(withID: noteID("p")) },
            codes: (.referenceViolation, .referenceViolation), settled: everyParentLives),
        RacePair(
            testDescription: "a batch with a new child and the deletion of its parent",
            prepare: { [try await $0.save(note("p"))] },
            left: { database, _ in try await database.saveAll([note("x"), child("c", of: "p")]) },
            right: { database, _ in try await database.deleteRecord(withID: noteID("p")) },
            codes: (.partialFailure, .referenceViolation), settled: everyParentLives),
        RacePair(
            testDescription: "a record moved under a parent and the deletion of that",
            prepare: {
                try await $0.saveAll([note("p"), note("q"), child("c", of: "q")])
                return [try await $0.record(for: noteID("c"))]
            },
            left: { database, held in try await database.put(held[0], under: "p") },
            right: { database, _ in try await database.deleteRecord(withID: noteID("p")) },
            codes: (.referenceViolation, .referenceViolation), settled: everyParentLives),
        RacePair(
            testDescription: "a new child and a cascade that takes its parent",
            prepare: {
                try await $0.saveAll([note("t"), dependent("p", of: "t")])
                return []
            },
            left: { database, _ in try await database.save(child("c", of: "p")) },
            right: { database, _ in try await database.deleteRecord(withID: noteID("t")) },
            codes: (.referenceViolation, .referenceViolation), settled: everyParentLives),
        RacePair(
            testDescription: "a reference to be validated and the deletion of its target",
            prepare: { [try await $0.save(note("t"))] },
            left: { database, _ in
                let must = Reference(recordID: noteID("t"), action: .validate)
                try await database.save(note("a", ["must": .reference(must)]))
            },
            right: { database, _ in try await database.deleteRecord(withID: noteID("t")) },
            codes: (.referenceViolation, nil),
            settled: { database, leftFailed, _ in
                let records = try await database.allRecords()
                #expect(records.count == (leftFailed ? 0 : 1))
            }),
    ]

    private static let cycles = [
        RacePair(
            testDescription: "two records, each to be under the other",
            prepare: { [try await $0.save(note("a")), try await $0.save(note("b"))] },
            left: { database, held in try await database.put(held[0], under: "b") },
            right: { database, held in try await database.put(held[1], under: "a") },
            codes: (.invalidArguments, .invalidArguments), settled: everyParentLives),
        RacePair(
            testDescription: "both ends of a chain",
            prepare: {
                try await $0.saveAll([note("a"), note("b"), child("c", of: "b")])
                let record = try await $0.record(for: noteID("a"))
                return [record, try await $0.record(for: noteID("b"))]
            },
            left: { database, held in try await database.put(held[0], under: "c") },
            right: { database, held in try await database.put(held[1], under: "a") },
            codes: (.invalidArguments, .invalidArguments), settled: everyParentLives),
    ]

    private static let cascades = [
        RacePair(
            testDescription: "a record that gets another target and the deletion of the first",
            prepare: {
                try await $0.saveAll([note("t"), note("u"), dependent("s", of: "t")])
                return [try await $0.record(for: noteID("s"))]
            },
            left: { database, held in
                let other = Reference(recordID: noteID("u"), action: .deleteSelf)
                try await database.save(held[0].with("target", .reference(other)))
            },
            right: { database, _ in try await database.deleteRecord(withID: noteID("t")) },
            codes: (.unknownItem, nil),
            settled: { database, leftFailed, _ in
                let names = try await database.allRecords().map(\.recordID.recordName)
                #expect(names.sorted() == (leftFailed ? ["u"] : ["s", "u"]))
            }),
        RacePair(
            testDescription: "a new dependent record and the deletion of its target",
            prepare: { [try await $0.save(note("t"))] },
            left: { database, _ in try await database.save(dependent("s", of: "t")) },
            right: { database, _ in try await database.deleteRecord(withID: noteID("t")) },
            codes: (nil, nil), settled: everyParentLives),
    ]
}

extension Database {
    /// Saves `record` with another parent.
    fileprivate func put(_ record: Record, under parent: String) async throws {
        var record = record
        record.parent = Reference(recordID: noteID(parent))
        try await save(record)
    }
}
