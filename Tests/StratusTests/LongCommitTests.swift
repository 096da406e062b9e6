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
            let records = await again.records(for: ids + [noteID("before"), noteID("r99999")])
            #expect(records[noteID("before")]?.code == nil)
            found.append(records.values.count { $0.code == nil } - 1)
            #expect([0, ids.count + 1].contains(found.last))
        }
        #expect(found.first == 0)
        #expect((found.last ?? 0) > 0)
        let pages = try await database.allRecords(type: "Note", resultsLimit: 10_000)
        #expect(pages.count == count + 1)
    }
}
