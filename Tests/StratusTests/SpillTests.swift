import Stratus
import StratusFiles
import StratusJournal
import Support
import Testing

/// Commits that are longer than the memory for the newest part of the index.
@Suite struct SpillTests {
    private static let count = 12_000

    /// A store whose memory is the least there is, with a commit that does not fit into it.
    private func fill(_ store: inout DiskStore, rounds: Int) async throws -> [Record.ID] {
        store.memoryLimit = 1 << 20
        store.options.segmentLength = 4 << 20
        let container = try store.open()
        let database = container.privateDatabase(for: "alice")
        try await database.save(RecordZone(zoneID: notes))
        var records: [Record] = (0..<Self.count).map { note("r\($0)", ["number": 0]) }
        for round in 1...rounds {
            let result = try await database.modifyRecords(saving: records, savePolicy: .allKeys)
            #expect(result.partialFailure == nil)
            records = records.map { note($0.recordID.recordName, ["number": .int64(Int64(round))]) }
            // Short ones between, so that checkpoints are taken at other places than spills.
            for number in 0..<20 {
                store.disk.keepsCrashPoints = round == rounds && number == 19
                try await database.save(note("s\(round)-\(number)"))
            }
        }
        store.disk.keepsCrashPoints = false
        try await container.close()
        return records.map(\.recordID)
    }

    @Test(arguments: [true, false])
    func `after commits beyond all memory a crash changes nothing, with the index and without`(
        steppedByCaller: Bool
    ) async throws {
        var store = DiskStore()
        store.steppedByCaller = steppedByCaller
        let ids = try await fill(&store, rounds: 3)
        #expect(try !store.indexFiles.isEmpty, "the index went to disk")

        let point = try #require(store.disk.crashPoints.last)
        let kept = DiskStore(point.crashed(seed: 2))
        let made = DiskStore(point.crashed(seed: 2))
        try made.deleteIndex()
        let one = try kept.open(creating: false).privateDatabase(for: "alice")
        let other = try made.open(creating: false).privateDatabase(for: "alice")
        let hash = try await one.contentHash(includingSystem: true)
        #expect(hash.recordCount == ids.count + 60)
        #expect(try await other.contentHash(includingSystem: true) == hash)
        #expect(try await one.usage() == other.usage())
        // Each changed record appears once, whatever was in memory when the process died.
        for database in [one, other] {
            var seen: [Record.ID: Int] = [:]
            var token: ChangeToken?
            var more = true
            while more {
                let page = try await database.recordZoneChanges(
                    inZoneWith: notes, since: token, resultsLimit: 5000)
                for record in page.modifications { seen[record.recordID, default: 0] += 1 }
                (token, more) = (page.changeToken, page.moreComing)
            }
            #expect(seen.count == ids.count + 60)
            #expect(seen.values.allSatisfy { $0 == 1 })
        }
    }

    @Test func `what an opening writes to disk has what the history keeps`() async throws {
        var store = DiskStore()
        store.steppedByCaller = true
        store.memoryLimit = 1 << 20
        store.options.segmentLength = 4 << 20
        var container = try store.open()
        try await container.privateDatabase(for: "alice").save(RecordZone(zoneID: notes))
        try await container.setHistoryPolicy(.everything)
        try await container.checkpoint()
        let checkpoint = container.snapshot().offset
        var offsets: [UInt64] = []
        for round in 1...2 {
            let records: [Record] = (0..<Self.count).map {
                note("r\($0)", ["number": .int64(Int64(round))])
            }
            store.disk.keepsCrashPoints = round == 2
            let result = try await container.privateDatabase(for: "alice").modifyRecords(
                saving: records, savePolicy: .allKeys)
            #expect(result.partialFailure == nil)
            offsets.append(container.snapshot().offset)
        }
        store.disk.keepsCrashPoints = false
        let point = try #require(store.disk.crashPoints.last)
        var crashed = DiskStore(point.crashed(seed: 3))
        (crashed.steppedByCaller, crashed.memoryLimit) = (true, store.memoryLimit)
        container = try crashed.open(creating: false)
        let read = try #require(container.recoveryReport.checkpoint)
        #expect(read >= checkpoint)
        for (number, offset) in offsets.enumerated() {
            let then = try await container.snapshot(at: .offset(offset))
                .privateDatabase(for: "alice")
            for name in ["r0", "r7", "r\(Self.count - 1)"] {
                let record = try then.record(for: noteID(name))
                #expect(record["number"]?.int64Value == Int64(number + 1), "\(name)")
            }
        }
    }

    /// Commits that are a little longer than memory, so that a merge may end while no checkpoint
    /// says yet what the tables hold.
    @Test(arguments: UInt64(1)...6)
    func `what follows a checkpoint is applied to its tables once, whatever merges meanwhile`(
        seed: UInt64
    ) async throws {
        var generator = SeededGenerator(seed: seed)
        var store = DiskStore()
        store.memoryLimit = 1 << 20
        // What was committed is lost unless something else made it durable.
        store.durability = .none
        let database = try store.open().privateDatabase(for: "alice")
        try await database.save(RecordZone(zoneID: notes))
        store.disk.keepsCrashPoints = true
        for _ in 0..<16 {
            let first = generator.below(500)
            let records = (first..<first + 400 + generator.below(1200)).map {
                note(
                    "r\($0)", ["text": .string(String(repeating: "x", count: generator.below(60)))])
            }
            try await database.saveAll(records, savePolicy: .allKeys)
        }
        // The last moment of each manifest, when the journal has gone furthest beyond it.
        var points: [String: CrashPoint] = [:]
        for point in store.disk.crashPoints {
            let storage = try LocalStorage(
                at: "store", .reading, on: SimulatedDisk(point.snapshot).process())
            let manifest = try storage.list().filter { $0.hasPrefix("manifest-") }.max()
            points[try #require(manifest)] = point
        }
        #expect(points.count > 10)
        for point in points.values {
            let kept = DiskStore(point.crashed(seed: seed))
            let made = DiskStore(point.crashed(seed: seed))
            try made.deleteIndex()
            let one = try kept.open(creating: false).privateDatabase(for: "alice")
            let other = try made.open(creating: false).privateDatabase(for: "alice")
            #expect(try await one.usage() == other.usage())
        }
    }

    @Test(arguments: [true, false])
    func `a long commit that a crash cut off is taken back, whatever was merged of it`(
        steppedByCaller: Bool
    ) async throws {
        var store = DiskStore()
        store.steppedByCaller = steppedByCaller
        _ = try await fill(&store, rounds: 2)
        let container = try store.open(creating: false)
        let database = container.privateDatabase(for: "alice")
        let before = try await database.contentHash()
        store.disk.keepsCrashPoints = true
        let records = (0..<Self.count).map { note("r\($0)", ["number": 7]) }
        _ = try await database.modifyRecords(saving: records, savePolicy: .allKeys)
        store.disk.keepsCrashPoints = false
        let after = try await database.contentHash()
        try await container.close()
        // From where half of it is written up to its end.
        let points = store.disk.crashPoints
        var takenBack = 0
        for number in points.indices where number % (points.count / 12 + 1) == 0 {
            guard number > points.count / 2 else { continue }
            for losesIndex in [false, true] {
                var crashed = DiskStore(points[number].crashed(seed: UInt64(number)))
                crashed.memoryLimit = store.memoryLimit
                if losesIndex { try crashed.deleteIndex() }
                let container = try crashed.open(creating: false)
                let database = container.privateDatabase(for: "alice")
                let hash = try await database.contentHash()
                #expect(hash == before || hash == after, "point \(number)")
                if hash == before { takenBack += 1 }
                // It goes on from there.
                try await database.save(note("next", ["number": 1]))
                try await container.close()
                let verified = try StoreVerification(
                    LocalStorage(at: "store", .reading, on: crashed.disk.process()),
                    scratch: "store")
                #expect(verified.findings.isEmpty, "point \(number)")
            }
        }
        #expect(takenBack > 2)
    }

    @Test func `a long commit that fails leaves no file of the index behind`() async throws {
        var store = DiskStore()
        store.steppedByCaller = false
        _ = try await fill(&store, rounds: 1)
        let container = try store.open(creating: false)
        let database = container.privateDatabase(for: "alice")
        let hash = try await database.contentHash()
        var records = (0..<Self.count).map { note("new\($0)", ["number": 1]) }
        // Refused once all parts but the last are written.
        records.append(note("bad", ["number": "text"]))
        let result = try await database.modifyRecords(saving: records)
        #expect(result.partialFailure != nil)
        #expect(try await database.contentHash() == hash)
        try await container.close()
        let again = try store.open(creating: false)
        #expect(try await again.privateDatabase(for: "alice").contentHash() == hash)
    }

    @Test func `a commit that could not be written takes back what was merged for it`()
        async throws
    {
        var store = DiskStore()
        (store.steppedByCaller, store.memoryLimit) = (true, 1 << 20)
        store.options.segmentLength = 64 << 20
        let container = try store.open()
        let database = container.privateDatabase(for: "alice")
        try await database.save(RecordZone(zoneID: notes))
        let journal = try #require(store.disk.paths.first { $0.contains("/journal-") })
        let fault = DiskFault(
            .fail(.inputOutput), at: 1, of: .write, on: String(journal.dropFirst("store/".count)))
        var tables: Set<String> = []
        for round in 0..<12 {
            let records = (0..<4000).map { note("r\(round)-\($0)") }
            store.disk.resetCalls()
            store.disk.faults = [fault]
            let refused = try await database.modifyRecords(saving: records)
            store.disk.faults = []
            #expect(refused.partialFailure != nil, "round \(round)")
            tables.formUnion(try store.indexFiles)
            let result = try await database.modifyRecords(saving: records)
            #expect(result.partialFailure == nil, "round \(round)")
        }
        let hash = try await database.contentHash()
        #expect(hash.recordCount == 12 * 4000)
        #expect(try !tables.isSubset(of: store.indexFiles), "runs were merged")
        try await container.close()
        let files = try store.indexFiles
        let again = try store.open(creating: false)
        #expect(try await again.privateDatabase(for: "alice").contentHash() == hash)
        #expect(try store.indexFiles == files, "an opening has nothing to delete")
    }
}
