import FoundationEssentials
import Stratus
import StratusFiles
import StratusJournal
import Support
import Testing

/// The power goes at every call of an ingest, a replacement and a collection.
@Suite struct AssetCrashTests {
    private static let names = ["a", "b", "c"]
    private static let other = RecordZone.ID(zoneName: "other")

    private static func makeStore(_ disk: SimulatedDisk) -> DiskStore {
        var store = DiskStore(disk)
        store.options.segmentLength = 1 << 16
        store.steppedByCaller = true
        return store
    }

    /// What may be seen after a crash at a call: what was acknowledged last, or what follows.
    private final class History {
        var states: [(call: Int, state: [String: UInt64])] = [(0, [:])]

        func note(_ name: String, _ seed: UInt64?, at call: Int) {
            var state = states[states.count - 1].state
            state[name] = seed
            states.append((call, state))
        }
    }

    /// Saves, replaces, deletes, moves and collects. Each time that the store is opened another
    /// segment begins, so that what is left in the one before is copied.
    private static func work(_ store: DiskStore, _ history: History) async throws -> Int {
        var copied = 0
        for round in UInt64(0)..<3 {
            let container = try store.open()
            let database = container.privateDatabase(for: "alice")
            if round == 0 {
                for zone in [notes, other] { try await database.save(RecordZone(zoneID: zone)) }
                try await save("c", 10, database, history, store.disk)
            }
            for name in ["a", "b"] {
                let seed = round * 2 + (name == "a" ? 0 : 1)
                try await save(name, seed, database, history, store.disk)
            }
            switch round {
            case 0: try await database.moveRecords([noteID("c")], to: other)
            case 1:
                try await database.deleteRecord(withID: noteID("b"))
                history.note("b", nil, at: store.disk.callCount)
            default:
                try await database.deleteRecordZone(withID: other)
                history.note("c", nil, at: store.disk.callCount)
            }
            copied += try await container.collectAssets().copiedChunks
            try await container.close()
        }
        return copied
    }

    private static func save(
        _ name: String, _ seed: UInt64, _ database: Database, _ history: History,
        _ disk: SimulatedDisk
    ) async throws {
        try await database.saveAll(
            [note(name, ["a": .asset(Asset(data: noise(30_000, seed: seed)))])],
            savePolicy: .allKeys)
        history.note(name, seed, at: disk.callCount)
    }

    @Test func `after a crash no record names what is not there, and what is left is collected`()
        async throws
    {
        let disk = SimulatedDisk()
        disk.keepsCrashPoints = true
        let history = History()
        let copied = try await Self.work(Self.makeStore(disk), history)
        #expect(copied > 0)
        let states = history.states
        let points = disk.crashPoints
        #expect(points.count > 120)
        for point in points {
            let crashed = point.crashed(seed: UInt64(point.call))
            let last = states.lastIndex { $0.call <= point.call } ?? 0
            let allowed = states[last..<min(states.count, last + 2)].map(\.state)
            try await Self.check(Self.makeStore(crashed), allowed, point.call)
        }
    }

    @Test func `no power cut brings back a record whose asset is deleted`() async throws {
        var lost = 0
        for seed in UInt64(0)..<40 {
            var store = Self.makeStore(SimulatedDisk())
            store.durability = .none
            var container = try store.open()
            var database = container.privateDatabase(for: "alice")
            try await database.save(RecordZone(zoneID: notes))
            let value = RecordValue.asset(Asset(data: noise(30_000, seed: 1)))
            try await database.saveAll([note("a", ["a": value])])
            try await container.checkpoint()
            try await container.close()
            // What follows goes to another segment of chunks, so that the one before can go.
            container = try store.open()
            database = container.privateDatabase(for: "alice")
            try await database.deleteRecord(withID: noteID("a"))
            try await database.saveAll(
                [note("b", ["a": .asset(Asset(data: noise(30_000, seed: 2)))])])
            let report = try await container.collectAssets()
            #expect(report.segments.contains { $0.keeper == nil })
            store.disk.crash(seed: seed)
            let again = try store.open().privateDatabase(for: "alice")
            guard let record = try? await again.record(for: noteID("a")) else {
                lost += 1
                continue
            }
            let bytes = try? await record.bytes("a")
            #expect(bytes == noise(30_000, seed: 1), "seed \(seed)")
        }
        #expect(lost > 0)
    }

    private static func check(
        _ store: DiskStore, _ allowed: [[String: UInt64]], _ call: Int
    ) async throws {
        let container: Container
        do {
            container = try store.open(creating: false)
        } catch {
            // Nothing was made yet.
            #expect(allowed.contains([:]), "call \(call): \(error)")
            return
        }
        let database = container.privateDatabase(for: "alice")
        var found: [String: UInt64] = [:]
        for (name, zone) in names.map({ ($0, notes) }) + [("c", other)] {
            guard let record = try? await database.record(for: noteID(name, in: zone)) else {
                continue
            }
            let data = try await record.bytes("a")
            found[name] = (UInt64(0)...10).first { noise(30_000, seed: $0) == data } ?? 99
        }
        #expect(allowed.contains(found), "call \(call): \(found)")
        try await container.collectAssets()
        let statistics = try await container.assetStatistics()
        #expect(statistics.chunkCount == found.count, "call \(call)")
        try await container.close()
        let storage = try LocalStorage(at: "store", .reading, on: store.disk.process())
        #expect(try StoreVerification(storage).findings.isEmpty, "call \(call)")
        let files = try storage.list().count { $0.hasPrefix("chunks-") }
        #expect(files <= statistics.segmentCount + 1, "call \(call)")
    }
}
