import Stratus
import Support
import Testing

/// A reference, alone or in a list, by the name of its target.
func link(_ name: String, _ action: Reference.Action) -> RecordValue {
    .reference(Reference(recordID: noteID(name), action: action))
}

/// Rules of references, after CloudKit's.
@Suite struct ReferenceTests {
    // C50.
    @Test func `a plain reference dangles when its target is deleted`() async throws {
        let (_, database) = try await makeDatabase()
        try await database.saveAll([note("t"), note("s", ["link": link("t", .none)])])
        try await database.deleteRecord(withID: noteID("t"))
        #expect(try await database.record(for: noteID("s"))["link"] == link("t", .none))
    }

    @Test(arguments: [Reference.Action.none, .deleteSelf])
    func `the target of a reference need not be there`(action: Reference.Action) async throws {
        let (_, database) = try await makeDatabase()
        try await database.save(note("s", ["link": link("nobody", action)]))
        try await database.deleteRecord(withID: noteID("nobody"))
        #expect(try await database.names() == ["s"])
        // Once it is there and goes, it counts.
        try await database.save(note("nobody"))
        try await database.deleteRecord(withID: noteID("nobody"))
        #expect(try await database.names() == (action == .deleteSelf ? [] : ["s"]))
    }

    @Test func `the target of a reference to be validated must be there at the end`()
        async throws
    {
        let (_, database) = try await makeDatabase()
        let source = note("s", ["links": [link("t", .validate)]])
        let error = await failure { try await database.save(source) }
        #expect(error.code == .referenceViolation)
        #expect(error.recordID == noteID("s"))
        #expect(try await database.outcome(saving: [source, note("t")]).isEmpty)
        // It is looked for when it is sent, and does not keep its target.
        try await database.deleteRecord(withID: noteID("t"))
        var stored = try await database.record(for: noteID("s"))
        stored["field"] = 1
        stored = try await database.save(stored)
        stored["field"] = 2
        #expect(
            await failure { try await database.save(stored, savePolicy: .allKeys) }.code
                == .referenceViolation)
    }

    @Test(arguments: [true, false])
    func `who validates what the same batch deletes, or cannot save, fails`(
        atomically: Bool
    ) async throws {
        let (_, database) = try await makeDatabase()
        try await database.saveAll([
            note("t"), note("main"), note("dependent", ["link": link("main", .deleteSelf)]),
        ])
        let errors = try await database.outcome(
            saving: [
                note("s1", ["link": link("t", .validate)]),
                note("s2", ["link": link("dependent", .validate)]),
                note("s3", ["link": link("s2", .validate)]), note("a"),
            ], deleting: ["t", "main"], atomically: atomically)
        #expect(errors["s1"]?.code == .referenceViolation)
        #expect(errors["s2"]?.code == .referenceViolation)
        let innocent: StoreError.Code? = atomically ? .batchRequestFailed : nil
        #expect(errors["s3"]?.code == (innocent ?? .referenceViolation))
        #expect(errors["a"]?.code == innocent)
        #expect(errors["t"]?.code == innocent)
        #expect(try await database.names() == (atomically ? ["dependent", "main", "t"] : ["a"]))
    }

    // C51.
    @Test(arguments: [Reference.Action.none, .deleteSelf, .validate])
    func `a reference into another zone is refused`(action: Reference.Action) async throws {
        let (_, database) = try await makeDatabase()
        try await database.save(note("t", in: .default))
        let far = Reference(recordID: noteID("t", in: .default), action: action)
        for value in [.reference(far), RecordValue.list([link("x", action), .reference(far)])] {
            let error = await failure { try await database.save(note("s", ["link": value])) }
            #expect(error.code == .invalidArguments)
        }
    }

    @Test func `a target has a name of 1 to 255 bytes`() async throws {
        let (_, database) = try await makeDatabase()
        for name in ["", String(repeating: "x", count: 256)] {
            let error = await failure {
                try await database.save(note("s", ["link": link(name, .deleteSelf)]))
            }
            #expect(error.code == .invalidArguments)
        }
        let long = String(repeating: "x", count: 255)
        try await database.saveAll([note(long), note("s", ["link": link(long, .deleteSelf)])])
        try await database.deleteRecord(withID: noteID(long))
        #expect(try await database.names() == [])
    }

    @Test(arguments: [true, false])
    func `deleteSelf references to one record are limited by the profile`(atomically: Bool)
        async throws
    {
        let profile = Profile(referencesPerTarget: 3)
        let container = try Container.inMemory(profile: profile)
        let database = container.privateDatabase(for: "alice")
        try await database.save(RecordZone(zoneID: notes))
        let cascade = link("t", .deleteSelf)
        try await database.saveAll([note("t"), note("a", ["one": cascade, "two": cascade])])
        let records = [note("b", ["one": cascade]), note("c", ["one": cascade]), note("d")]
        let errors = try await database.outcome(saving: records, atomically: atomically)
        #expect(errors["c"]?.code == .limitExceeded)
        #expect(errors["b"]?.code == (atomically ? .batchRequestFailed : nil))
        if atomically { try await database.save(records[0]) }
        // What is there may be saved again; what goes in the same batch makes room.
        try await database.save(note("a", ["n": 1]), savePolicy: .changedKeys)
        #expect(await failure { try await database.save(records[1]) }.code == .limitExceeded)
        let freed = try await database.outcome(
            saving: [records[1]], deleting: ["b"], atomically: atomically)
        #expect(freed.isEmpty)
        try await database.save(note("plain", ["one": link("t", .none)]))
        try await database.deleteRecord(withID: noteID("t"))
        #expect(try await database.names().filter { $0 != "d" } == ["plain"])
    }

    @Test func `links are the same after an update, a compaction of the index and a rebuild`()
        async throws
    {
        let store = DiskStore()
        var container = try store.open()
        var database = container.privateDatabase(for: "alice")
        try await database.save(RecordZone(zoneID: notes))
        try await database.saveAll((0..<8).map { note("t\($0)") })
        var source = note("s", ["one": link("t0", .deleteSelf), "two": link("t1", .deleteSelf)])
        source.parent = Reference(recordID: noteID("t2"))
        source["list"] = [link("t3", .deleteSelf), link("t4", .none), link("t3", .deleteSelf)]
        source = try await database.save(source)
        source["one"] = link("t5", .deleteSelf)
        source["two"] = nil
        source["list"] = [link("t3", .none), link("t4", .deleteSelf)]
        source.parent = Reference(recordID: noteID("t6"))
        source = try await database.save(source)
        source["field"] = 1
        try await database.save(source)
        for opening in 0..<3 {
            switch opening {
            case 0: try await container.checkpoint()
            case 1: store.disk.killProcesses()
            default:
                try await container.close()
                try store.deleteIndex()
            }
            if opening > 0 { container = try store.open(creating: false) }
            database = container.privateDatabase(for: "alice")
            #expect(
                await failure { try await database.deleteRecord(withID: noteID("t6")) }.code
                    == .referenceViolation)
            for name in ["t0", "t1", "t2", "t3"] {
                try await database.deleteRecord(withID: noteID(name))
                try await database.save(note(name))
            }
            #expect(try await database.names().contains("s"))
        }
        for name in ["t5", "t4"] {
            let before = try await database.record(for: noteID("s"))
            try await database.deleteRecord(withID: noteID(name))
            #expect(!(try await database.names().contains("s")), "\(name)")
            var again = note("s")
            for key in before.allKeys { again[key] = before[key] }
            again.parent = before.parent
            try await database.save(again)
        }
    }
}
