import Stratus
import StratusFiles
import StratusJournal
import Support
import Testing

@Suite struct LongCommitTests {
    @Test func `a hundred thousand records in one commit are all there after a crash, or none`()
        async throws
    {
        var store = DiskStore()
        store.steppedByCaller = true
        store.options.segmentLength = 1 << 20
        store.options.groupLimit = 256 << 10
        let count = 100_000
        let database = try store.open().privateDatabase(for: "alice")
        try await database.save(RecordZone(zoneID: notes))
        try await database.save(note("before"))
        store.disk.keepsCrashPoints = true
        let result = try await database.modifyRecords(
            saving: (0..<count).map { note("r\($0)", ["number": .int64(Int64($0))]) })
        #expect(result.partialFailure == nil)
        #expect(store.disk.paths.count > 5, "several segments")
        let tags = Set(result.saveResults.values.compactMap { try? $0.get().recordChangeTag })
        #expect(tags.count == count)
        let points = store.disk.crashPoints
        let last = points.count - 1
        var found: [Int] = []
        // Some of the way, and everything around its end, where all is decided.
        for place in [last / 3, last * 2 / 3] + (last - 4...last) {
            let disk = points[place].crashed(seed: UInt64(place))
            let again = try DiskStore(disk).open(creating: false).privateDatabase(for: "alice")
            let ids = stride(from: 0, to: count, by: 997).map { noteID("r\($0)") }
            let records = try await again.records(for: ids + [noteID("before"), noteID("r99999")])
            #expect(records[noteID("before")]?.code == nil)
            found.append(records.values.count { $0.code == nil } - 1)
            #expect([0, ids.count + 1].contains(found.last))
        }
        #expect(found.first == 0)
        #expect((found.last ?? 0) > 0)
        let pages = try await database.allRecords(type: "Note", resultsLimit: 10_000)
        #expect(pages.count == count + 1)
    }

    // A crash that had just sealed a segment inside a long commit once counted as a clean close.
    @Test func `wherever a long commit is cut, the store goes on without it and with it`()
        async throws
    {
        var store = DiskStore()
        store.steppedByCaller = true
        store.options.segmentLength = 32 << 10
        store.options.groupLimit = 8 << 10
        let container = try store.open()
        let database = container.privateDatabase(for: "alice")
        try await database.save(RecordZone(zoneID: notes))
        try await database.save(note("before"))
        store.disk.keepsCrashPoints = true
        let names = (0..<1000).map { "r\($0)" }
        try await database.saveAll(names.map { note($0, ["field": 1]) })
        let last = store.disk.crashPoints.count - 1
        #expect(last > 20)
        var found: Set<Int> = []
        for (place, point) in store.disk.crashPoints.enumerated() {
            var cut = DiskStore(point.crashed(seed: UInt64(place)))
            cut.steppedByCaller = true
            cut.options = store.options
            var opened = try cut.open(creating: false)
            var again = opened.privateDatabase(for: "alice")
            let count = try await again.allRecords().count
            #expect([1, 1001].contains(count), "at \(place)")
            found.insert(count)
            // What is saved now lies where the lost part did.
            try await again.saveAll(names.prefix(50).map { note("new\($0)") })
            try await opened.close()
            opened = try cut.open(creating: false)
            #expect(opened.recoveryReport.wasClean)
            again = opened.privateDatabase(for: "alice")
            #expect(try await again.allRecords().count == count + 50)
            #expect(try await FollowedChanges(of: again).modified.count == count + 50)
            if place == last { #expect(count == 1001) }
        }
        #expect(found == [1, 1001])
    }
}
