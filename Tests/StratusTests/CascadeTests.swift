import Stratus
import StratusFiles
import StratusJournal
import Support
import Testing

/// What goes along with a record that is deleted.
@Suite struct CascadeTests {
    private func source(_ name: String, of targets: String...) -> Record {
        var record = note(name)
        for (number, target) in targets.enumerated() {
            record["target\(number)"] = link(target, .deleteSelf)
        }
        return record
    }

    // C50.
    @Test(arguments: [notes, RecordZone.ID.default])
    func `the deletion of a target takes its sources along, and theirs`(zone: RecordZone.ID)
        async throws
    {
        let (_, database) = try await makeDatabase()
        func dependent(_ name: String, of target: String) -> Record {
            let id = noteID(target, in: zone)
            return note(
                name, ["target": .reference(Reference(recordID: id, action: .deleteSelf))],
                in: zone)
        }
        try await database.saveAll([
            note("t", in: zone), dependent("a", of: "t"), dependent("b", of: "a"),
            dependent("c", of: "b"),
            dependent("other", of: "stranger"),
        ])
        let result = try await database.modifyRecords(
            saving: [], deleting: [noteID("t", in: zone)])
        #expect(result.partialFailure == nil)
        // What went along is not in the results.
        #expect(Array(result.deleteResults.keys) == [noteID("t", in: zone)])
        #expect(result.saveResults.isEmpty)
        #expect(try await database.names(in: zone) == ["other"])
    }

    @Test func `what went along is in the feed, after a crash too`() async throws {
        let store = DiskStore()
        var database = try store.open().privateDatabase(for: "alice")
        try await database.save(RecordZone(zoneID: notes))
        try await database.saveAll([note("t"), source("a", of: "t"), source("b", of: "a")])
        let token = try await database.recordZoneChanges(inZoneWith: notes).changeToken
        try await database.deleteRecord(withID: noteID("t"))
        for _ in 0..<2 {
            let changes = try await FollowedChanges(of: database, since: token)
            #expect(changes.deletedNames.sorted() == ["a", "b", "t"])
            #expect(changes.modified.isEmpty)
            store.disk.killProcesses()
            database = try store.open(creating: false).privateDatabase(for: "alice")
        }
    }

    @Test func `of several cascade targets the first that goes decides, and circles end`()
        async throws
    {
        let (_, database) = try await makeDatabase()
        try await database.saveAll([
            note("t0"), note("t1"), source("s", of: "t0", "t1"),
            note("l", ["list": [link("x", .deleteSelf), link("t1", .deleteSelf)]]),
        ])
        try await database.deleteRecord(withID: noteID("t1"))
        #expect(try await database.names() == ["t0"])
        try await database.saveAll([
            source("a", of: "b"), source("b", of: "c"), source("c", of: "a"), source("i", of: "i"),
        ])
        try await database.deleteRecord(withID: noteID("b"))
        try await database.deleteRecord(withID: noteID("i"))
        #expect(try await database.names() == ["t0"])
    }

    @Test func `a reference that was taken away, or made plain, takes nothing along`()
        async throws
    {
        let (_, database) = try await makeDatabase()
        try await database.saveAll([note("t"), source("a", of: "t"), source("b", of: "t")])
        var a = try await database.record(for: noteID("a"))
        a["target0"] = link("t", .none)
        try await database.save(a)
        var b = try await database.record(for: noteID("b"))
        b["target0"] = nil
        // In the same batch, too.
        #expect(try await database.outcome(saving: [b], deleting: ["t"]).isEmpty)
        #expect(try await database.names() == ["a", "b"])
    }

    @Test(arguments: [true, false])
    func `a save of a record that goes with what its batch deletes is refused`(
        atomically: Bool
    ) async throws {
        let (_, database) = try await makeDatabase()
        try await database.saveAll([note("t"), source("old", of: "t"), note("p")])
        var old = try await database.record(for: noteID("old"))
        old["field"] = 1
        let errors = try await database.outcome(
            saving: [old, source("new", of: "t"), note("a")], deleting: ["t"],
            atomically: atomically)
        #expect(errors["old"]?.code == .referenceViolation)
        #expect(errors["new"]?.code == .referenceViolation)
        #expect(errors["a"]?.code == (atomically ? .batchRequestFailed : nil))
        #expect(try await database.names() == (atomically ? ["old", "p", "t"] : ["a", "p"]))
    }

    @Test func `a cascade ignores tags and records saved since`() async throws {
        let (_, database) = try await makeDatabase()
        try await database.saveAll([note("t"), source("s", of: "t")])
        try await database.save(note("s", ["field": 1]), savePolicy: .changedKeys)
        try await database.deleteRecord(withID: noteID("t"))
        #expect(try await database.names() == [])
    }

    @Test(arguments: [true, false])
    func `a deletion that would take the parent of what stays is refused`(atomically: Bool)
        async throws
    {
        let (_, database) = try await makeDatabase()
        try await database.saveAll([
            note("t"), source("p", of: "t"), child("c", of: "p"), note("x"),
        ])
        let errors = try await database.outcome(deleting: ["t", "x"], atomically: atomically)
        #expect(errors["t"]?.code == .referenceViolation)
        #expect(errors["x"]?.code == (atomically ? .batchRequestFailed : nil))
        #expect(try await database.names() == ["c", "p", "t"] + (atomically ? ["x"] : []))
        // With the child it may go, and where the child goes with the same target.
        #expect(try await database.outcome(deleting: ["c", "t"]).isEmpty)
        var both = child("c", of: "t")
        both["target"] = link("t", .deleteSelf)
        try await database.saveAll([note("t"), both])
        try await database.deleteRecord(withID: noteID("t"))
        #expect(try await database.names() == (atomically ? ["x"] : []))
    }

    @Test(arguments: [true, false])
    func `a cascade longer than a part is one commit, wherever it is cut`(
        steppedByCaller: Bool
    ) async throws {
        var store = DiskStore()
        store.steppedByCaller = steppedByCaller
        store.options.segmentLength = 32 << 10
        store.options.groupLimit = 8 << 10
        let container = try store.open()
        let database = container.privateDatabase(for: "alice")
        try await database.save(RecordZone(zoneID: notes))
        try await database.saveAll([note("t"), note("stays")])
        // A tree three deep, each a child of its cascade target as well.
        for (level, (count, spread)) in [(20, 1), (200, 20), (400, 200)].enumerated() {
            try await database.saveAll(
                (0..<count).map { number in
                    let target = level == 0 ? "t" : "l\(level - 1)-\(number % spread)"
                    var record = child("l\(level)-\(number)", of: target)
                    record["target"] = link(target, .deleteSelf)
                    return record
                })
        }
        let token = try await FollowedChanges(of: database).token
        let before = try await database.names().count
        #expect(before == 622)
        store.disk.keepsCrashPoints = steppedByCaller
        try await database.deleteRecord(withID: noteID("t"))
        #expect(try await database.names() == ["stays"])
        let changes = try await FollowedChanges(of: database, since: token, resultsLimit: 100)
        #expect(Set(changes.deletedNames).count == 621)
        #expect(changes.deleted.count == 621)
        let last = store.disk.crashPoints.count - 1
        #expect(last > 10 || !steppedByCaller)
        var found: Set<Int> = []
        for (place, point) in store.disk.crashPoints.enumerated() {
            var cut = DiskStore(point.crashed(seed: UInt64(place)))
            cut.steppedByCaller = true
            cut.options = store.options
            let opened = try cut.open(creating: false)
            let again = opened.privateDatabase(for: "alice")
            let count = try await again.names().count
            #expect([1, before].contains(count), "at \(place)")
            found.insert(count)
            if place % 8 > 0 { continue }
            // What was lost of it can be done again.
            try await again.deleteRecord(withID: noteID("t"))
            #expect(try await again.names() == ["stays"])
            try await opened.close()
        }
        #expect(found.count == 2 || !steppedByCaller)
    }

    @Test(arguments: [true, false])
    func `a long cascade that must not be leaves everything as it was`(atomically: Bool)
        async throws
    {
        var store = DiskStore()
        store.options.segmentLength = 32 << 10
        store.options.groupLimit = 8 << 10
        let container = try store.open()
        let database = container.privateDatabase(for: "alice")
        try await database.save(RecordZone(zoneID: notes))
        try await database.saveAll([note("t"), note("u"), source("dependent", of: "u")])
        try await database.saveAll((0..<500).map { source("s\($0)", of: "t") })
        try await database.save(child("c", of: "s77"))
        var late = source("late", of: "s78")
        let before = try await database.names()
        for saves in [[], [late]] {
            let errors = try await database.outcome(
                saving: saves, deleting: ["u", "t"], atomically: atomically)
            #expect(errors["t"]?.code == .referenceViolation)
            #expect(errors["u"]?.code == (atomically ? .batchRequestFailed : nil))
            if !saves.isEmpty { #expect(errors["late"] != nil) }
            #expect(
                try await database.names()
                    == before.filter { atomically || !["u", "dependent"].contains($0) })
        }
        late["target0"] = nil
        try await database.deleteRecord(withID: noteID("c"))
        #expect(try await database.outcome(saving: [late], deleting: ["t", "u"]).isEmpty)
        #expect(try await database.names() == ["late"])
        try await container.close()
        try store.deleteIndex()
        let again = try store.open(creating: false)
        #expect(try await again.privateDatabase(for: "alice").names() == ["late"])
    }
}
