import Stratus
import StratusJournal
import Support
import Testing

/// The power goes at every call of a checkpoint, a merge and a compaction, and again in the recovery.
struct StoreCrashTests {
    /// What the store holds after each commit that was acknowledged, and the calls made by then.
    private struct Work {
        var states: [(call: Int, hash: ContentHash)] = []
        var points: [CrashPoint] = []
        var tablesMerged = 0
        var segmentsCompacted = 0

        /// What may be there after a crash at a call: what was acknowledged, or one commit more.
        func possible(at call: Int) -> [ContentHash] {
            let count = states.count { $0.call <= call }
            return states[(count - 1)...].prefix(2).map(\.hash)
        }
    }

    private static let seed = Campaign.seed
    private static let zone = RecordZone.ID(zoneName: "notes")

    private static func store(on disk: SimulatedDisk) -> SmallStore {
        var store = SmallStore(on: disk, seed: seed, maps: seed % 2 == 1)
        store.options.segmentLength = 256 << 10
        return store
    }

    private static func hash(_ container: Container) throws -> ContentHash {
        let database = container.snapshot().privateDatabase(for: "alice")
        return try database.contentHash(includingSystem: true)
    }

    /// Saves a few long records and deletes one: long, so that a checkpoint is soon due.
    private static func change(_ container: Container, _ number: Int) async throws {
        let text = RecordValue.string(String(repeating: "\(number % 10)", count: 28_000))
        let records = (0..<4).map { place in
            var record = Record(
                recordType: "Note",
                recordID: Record.ID(
                    recordName: "r\((number * 3 + place) % 14)", zoneID: zone))
            record["text"] = text
            return record
        }
        let gone = Record.ID(recordName: "r\((number * 3 + 7) % 14)", zoneID: zone)
        let result = try await container.privateDatabase(for: "alice").modifyRecords(
            saving: records, deleting: [gone], savePolicy: .allKeys)
        if let failure = result.partialFailure { throw failure }
    }

    /// Three checkpoints, and then, looked at call by call, some commits, the fourth checkpoint,
    /// the merge of all four, two compactions, and a closing.
    private static func work() async throws -> Work {
        let disk = SimulatedDisk()
        let store = store(on: disk)
        var number = 0
        for round in 0..<3 {
            let container = try store.open()
            if round == 0 {
                let database = container.privateDatabase(for: "alice")
                try await database.save(RecordZone(zoneID: zone))
            }
            for _ in 0..<3 {
                try await change(container, number)
                number += 1
            }
            try await container.close()
        }
        let files = store.indexFiles
        #expect(files.count == 3)
        disk.killProcesses()
        disk.keepsCrashPoints = true
        var work = Work()
        let container = try store.open()
        work.states.append((0, try hash(container)))
        for round in 0..<12 {
            try await change(container, number)
            number += 1
            if round % 6 == 5 {
                work.segmentsCompacted += try await container.maintenance.compact()
                    .compactedSegments
            }
            // Reading makes no call that changes the disk.
            work.states.append((disk.callCount, try hash(container)))
        }
        try await container.close()
        work.tablesMerged = files.subtracting(store.indexFiles).count
        work.points = disk.crashPoints
        return work
    }

    /// A crash at `point` and, where there is an `again`, at that call of the next opening and its
    /// closing. Returns how many calls these make.
    private static func attempt(
        _ point: CrashPoint, of work: Work, seed: UInt64, again: Int?, problems: inout [String]
    ) async throws -> Int {
        let disk = point.crashed(seed: seed)
        let store = store(on: disk)
        let possible = work.possible(at: point.call)
        let name = "call \(point.call), again \(again ?? 0), seed \(seed)"
        if let again {
            disk.crashAtCall = again
            do {
                let container = try store.open()
                try await container.close()
            } catch {}
            disk.crash(seed: seed &+ 1)
        }
        let container = try store.open()
        let found = try hash(container)
        if !possible.contains(found) { problems.append("\(name): another content") }
        try await container.close()
        let calls = disk.callCount
        let last = try store.open()
        if try hash(last) != found { problems.append("\(name): another content when closed") }
        let strays = try store.strays.union(store.journalStrays)
        if !strays.isEmpty || !last.recoveryReport.wasClean {
            problems.append("\(name): \(strays) are left")
        }
        try await last.close()
        return calls
    }

    @Test func `a crash at any call of maintenance and of its recovery costs nothing`()
        async throws
    {
        let work = try await Self.work()
        #expect(work.points.count > 80)
        #expect(work.tablesMerged == 3)
        #expect(work.segmentsCompacted > 3)
        var (count, recoveries) = (0, 0)
        var problems: [String] = []
        for (place, point) in work.points.enumerated() where problems.count < 20 {
            do {
                let seed = Self.seed &* 1_000 &+ UInt64(place)
                if Campaign.crashStride > 10, place % 4 != Int(Self.seed % 4) { continue }
                count += 1
                let calls = try await Self.attempt(
                    point, of: work, seed: seed, again: nil, problems: &problems)
                for again in 1...calls where (place + again) % Campaign.crashStride == 0 {
                    recoveries += 1
                    _ = try await Self.attempt(
                        point, of: work, seed: seed, again: again, problems: &problems)
                }
            } catch {
                problems.append("call \(point.call): \(error)")
            }
        }
        CampaignReport.add(
            "Crashes in checkpoints and merges of a record store: \(count) calls,"
                + " and \(recoveries) in the recoveries.\n")
        #expect(problems.prefix(20) == [])
        #expect(recoveries > 0)
    }
}
