import Stratus
import StratusJournal
import Testing

/// A new record under a parent.
func child(
    _ name: String, of parent: String, _ fields: [String: RecordValue] = [:],
    in zone: RecordZone.ID = notes
) -> Record {
    var record = note(name, fields, in: zone)
    record.parent = Reference(recordID: noteID(parent, in: zone))
    return record
}

extension Database {
    /// The names of all records of a zone, sorted.
    func names(in zone: RecordZone.ID = notes) async throws -> [String] {
        try await allRecords(in: zone).map(\.recordID.recordName).sorted()
    }

    /// What became of a call, by record name: nil where it was done.
    func outcome(
        saving records: [Record] = [], deleting names: [String] = [],
        savePolicy: SavePolicy = .ifServerRecordUnchanged, atomically: Bool = true,
        in zone: RecordZone.ID = notes
    ) async throws -> [String: StoreError] {
        let result = try await modifyRecords(
            saving: records, deleting: names.map { noteID($0, in: zone) },
            savePolicy: savePolicy, atomically: atomically)
        var errors: [String: StoreError] = [:]
        for (id, result) in result.saveResults {
            if case .failure(let error) = result { errors[id.recordName] = error }
        }
        for (id, result) in result.deleteResults {
            if case .failure(let error) = result { errors[id.recordName] = error }
        }
        return errors
    }
}

/// Rules of `Record.parent`, after CloudKit's.
@Suite struct ParentTests {
    // C39.
    @Test func `a parent that is neither there nor in the batch is a reference violation`()
        async throws
    {
        let (_, database) = try await makeDatabase()
        let error = await failure { try await database.save(child("c", of: "p")) }
        #expect(error.code == .referenceViolation)
        #expect(error.recordID == noteID("c"))
        let errors = try await database.outcome(saving: [note("a"), child("c", of: "p")])
        #expect(errors.mapValues(\.code) == ["a": .batchRequestFailed, "c": .referenceViolation])
        try await database.save(note("p"))
        try await database.deleteRecord(withID: noteID("p"))
        #expect(
            await failure { try await database.save(child("c", of: "p")) }.code
                == .referenceViolation)
        #expect(try await database.names() == [])
    }

    // C27, C40.
    @Test(arguments: [true, false])
    func `parent and child may be saved in one batch in any order`(atomically: Bool) async throws {
        let (_, database) = try await makeDatabase()
        let records = [child("c", of: "b"), child("b", of: "a"), note("a"), child("d", of: "c")]
        #expect(try await database.outcome(saving: records, atomically: atomically).isEmpty)
        #expect(try await database.names() == ["a", "b", "c", "d"])
        #expect(
            try await database.record(for: noteID("c")).parent
                == Reference(recordID: noteID("b")))
    }

    // C53.
    @Test func `a child whose parent fails in the same batch says why`() async throws {
        let (_, database) = try await makeDatabase()
        try await database.save(note("typed", ["field": 1]))
        let records = [
            child("leaf", of: "c"), child("c", of: "p"), note("p", ["field": "text"]), note("a"),
        ]
        let errors = try await database.outcome(saving: records, atomically: false)
        #expect(errors["p"]?.code == .invalidArguments)
        let ofChild = try #require(errors["c"])
        #expect(ofChild.code == .referenceViolation)
        #expect(ofChild.partialErrors[.record(noteID("p"))]?.code == .invalidArguments)
        let ofLeaf = try #require(errors["leaf"])
        #expect(ofLeaf.partialErrors[.record(noteID("c"))]?.code == .referenceViolation)
        #expect(ofLeaf.partialErrors[.record(noteID("p"))]?.code == .invalidArguments)
        #expect(errors["a"] == nil)
        #expect(try await database.names() == ["a", "typed"])
    }

    @Test func `a long line of children fails with the first, and each says where it began`()
        async throws
    {
        let (_, database) = try await makeDatabase()
        let count = 2000
        var records = (1...count).reversed().map { child("r\($0)", of: "r\($0 - 1)") }
        records.append(note("r0", type: "no type"))
        let errors = try await database.outcome(saving: records, atomically: false)
        #expect(errors.count == count + 1)
        let last = try #require(errors["r\(count)"])
        #expect(last.code == .referenceViolation)
        #expect(last.partialErrors[.record(noteID("r0"))]?.code == .invalidArguments)
        #expect(last.partialErrors.count == 2)
        #expect(try await database.names().isEmpty)
    }

    @Test(arguments: [SavePolicy.changedKeys, .allKeys])
    func `a save from scratch keeps the parent, unless it sets or removes one`(
        policy: SavePolicy
    ) async throws {
        let (_, database) = try await makeDatabase()
        try await database.saveAll([note("p"), note("q"), child("c", of: "p")])
        try await database.save(note("c", ["field": 1]), savePolicy: policy)
        #expect(try await database.record(for: noteID("c")).parent?.recordID == noteID("p"))
        try await database.save(child("c", of: "q"), savePolicy: policy)
        #expect(try await database.record(for: noteID("c")).parent?.recordID == noteID("q"))
        var removing = note("c")
        removing.parent = nil
        try await database.save(removing, savePolicy: policy)
        #expect(try await database.record(for: noteID("c")).parent == nil)
    }

    @Test func `a circle of which one member fails leaves no child without its parent`()
        async throws
    {
        let (_, database) = try await makeDatabase()
        var first = note("a")
        first.parent = Reference(recordID: noteID("b", in: RecordZone.ID(zoneName: "other")))
        let errors = try await database.outcome(
            saving: [first, child("b", of: "a"), child("c", of: "b"), note("d")],
            atomically: false)
        #expect(errors["a"]?.code == .invalidArguments)
        #expect(errors["b"]?.code == .referenceViolation)
        #expect(errors["c"]?.code == .referenceViolation)
        #expect(try await database.names() == ["d"])
    }

    @Test func `a parent that is too long to be written fails its children too`() async throws {
        var store = DiskStore()
        store.options.segmentLength = 64 << 10
        let database = try store.open().privateDatabase(for: "alice")
        try await database.save(RecordZone(zoneID: notes))
        let long = note("p", ["text": .string(String(repeating: "x", count: 40_000))])
        let errors = try await database.outcome(
            saving: [child("c", of: "p"), long, note("a")], atomically: false)
        #expect(errors.mapValues(\.code) == ["p": .limitExceeded, "c": .referenceViolation])
        #expect(errors["c"]?.partialErrors[.record(noteID("p"))]?.code == .limitExceeded)
        #expect(try await database.names() == ["a"])
    }

    @Test func `a parent that lives is there though its own save fails`() async throws {
        let (_, database) = try await makeDatabase()
        let stale = try await database.save(note("p"))
        try await database.save(note("p", ["field": 1]), savePolicy: .changedKeys)
        var edited = stale
        edited["field"] = 2
        let errors = try await database.outcome(
            saving: [edited, child("c", of: "p")], atomically: false)
        #expect(errors.mapValues(\.code) == ["p": .serverRecordChanged])
        #expect(try await database.names() == ["c", "p"])
    }

    @Test func `the parent is looked for before the tag`() async throws {
        let (_, database) = try await makeDatabase()
        try await database.save(note("c"))
        let error = await failure { try await database.save(child("c", of: "nobody")) }
        #expect(error.code == .referenceViolation)
    }

    // C41.
    @Test(arguments: [true, false])
    func `the parent of a living child cannot be deleted`(atomically: Bool) async throws {
        let (_, database) = try await makeDatabase()
        try await database.saveAll([note("p"), child("c", of: "p")])
        let error = await failure { try await database.deleteRecord(withID: noteID("p")) }
        #expect(error.code == .referenceViolation)
        #expect(error.recordID == noteID("p"))
        let errors = try await database.outcome(
            saving: [note("a")], deleting: ["p"], atomically: atomically)
        #expect(errors["p"]?.code == .referenceViolation)
        #expect(errors["a"]?.code == (atomically ? .batchRequestFailed : nil))
        #expect(try await database.names() == (atomically ? ["c", "p"] : ["a", "c", "p"]))
    }

    // C42.
    @Test(arguments: [["p", "c", "l"], ["l", "c", "p"], ["c", "p", "l"]])
    func `parents and children may be deleted in one batch in any order`(
        names: [String]
    ) async throws {
        let (_, database) = try await makeDatabase()
        try await database.saveAll([note("p"), child("c", of: "p"), child("l", of: "c")])
        #expect(try await database.outcome(deleting: names).isEmpty)
        #expect(try await database.names() == [])
        // What is made anew has no children.
        try await database.save(note("p"))
        try await database.deleteRecord(withID: noteID("p"))
    }

    @Test func `a child that gets another parent, or none, frees the old one`() async throws {
        let (_, database) = try await makeDatabase()
        try await database.saveAll([note("p"), note("q"), child("c", of: "p"), child("d", of: "p")])
        var c = try await database.record(for: noteID("c"))
        c.parent = Reference(recordID: noteID("q"))
        var d = try await database.record(for: noteID("d"))
        d.parent = nil
        #expect(try await database.outcome(saving: [c], deleting: ["p"])["p"] != nil)
        #expect(try await database.outcome(saving: [c, d], deleting: ["p"]).isEmpty)
        #expect(try await database.names() == ["c", "d", "q"])
        let error = await failure { try await database.deleteRecord(withID: noteID("q")) }
        #expect(error.code == .referenceViolation)
        try await database.deleteRecord(withID: noteID("c"))
        try await database.deleteRecord(withID: noteID("q"))
    }

    @Test(arguments: [true, false])
    func `a child saved beside the deletion of its parent keeps it`(atomically: Bool)
        async throws
    {
        let (_, database) = try await makeDatabase()
        try await database.save(note("p"))
        let errors = try await database.outcome(
            saving: [child("c", of: "p")], deleting: ["p"], atomically: atomically)
        #expect(errors["p"]?.code == .referenceViolation)
        #expect(errors["c"]?.code == (atomically ? .batchRequestFailed : nil))
        #expect(try await database.names() == (atomically ? ["p"] : ["c", "p"]))
    }

    @Test func `what was freed by an item that fails is not free`() async throws {
        let (_, database) = try await makeDatabase()
        try await database.saveAll([note("p"), note("q"), child("c", of: "p"), child("x", of: "c")])
        var moved = try await database.record(for: noteID("c"))
        moved.parent = Reference(recordID: noteID("q"))
        moved["field"] = 1
        try await database.save(note("c", ["field": 2]), savePolicy: .changedKeys)
        let errors = try await database.outcome(
            saving: [moved, note("a")], deleting: ["p"], atomically: false)
        #expect(errors.mapValues(\.code) == ["c": .serverRecordChanged, "p": .referenceViolation])
        // A chain of deletions breaks from below.
        let chain = try await database.outcome(deleting: ["p", "c", "q"], atomically: false)
        #expect(chain.mapValues(\.code) == ["c": .referenceViolation, "p": .referenceViolation])
        #expect(try await database.names() == ["a", "c", "p", "x"])
    }

    @Test func `no record may be among its own ancestors`() async throws {
        let (_, database) = try await makeDatabase()
        #expect(
            await failure { try await database.save(child("a", of: "a")) }.code
                == .invalidArguments)
        try await database.saveAll([note("a"), child("b", of: "a"), child("c", of: "b")])
        var a = try await database.record(for: noteID("a"))
        for parent in ["a", "b", "c"] {
            a.parent = Reference(recordID: noteID(parent))
            let error = await failure { try await database.save(a) }
            #expect(error.code == .invalidArguments, "under \(parent)")
        }
        let circle = [child("x", of: "y"), child("y", of: "z"), child("z", of: "x")]
        for errors in [
            try await database.outcome(saving: circle + [note("n")]),
            try await database.outcome(
                saving: circle + [child("under", of: "x"), note("m")], atomically: false),
        ] {
            for name in ["x", "y", "z"] { #expect(errors[name]?.code == .invalidArguments) }
        }
        #expect(try await database.names() == ["a", "b", "c", "m"])
        // Turned round in one batch there is none.
        var c = try await database.record(for: noteID("c"))
        c.parent = nil
        a.parent = Reference(recordID: noteID("c"))
        #expect(try await database.outcome(saving: [a, c]).isEmpty)
    }

    // C51.
    @Test func `a parent in another zone is refused`() async throws {
        let (_, database) = try await makeDatabase()
        let other = RecordZone.ID(zoneName: "other")
        try await database.save(RecordZone(zoneID: other))
        try await database.save(note("p", in: other))
        var record = note("c")
        record.parent = Reference(recordID: noteID("p", in: other))
        #expect(await failure { try await database.save(record) }.code == .invalidArguments)
    }
}
