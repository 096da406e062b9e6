import FoundationEssentials
import Stratus
import StratusFiles
import StratusJournal
import Support
import Testing

/// The power goes at every call of an ingest, a replacement and a collection.
@Suite struct AssetCrashTests {
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

    /// Saves, replaces, deletes and collects.
    private static func work(_ store: DiskStore, _ history: History) async throws {
        let container = try store.open()
        let database = container.privateDatabase(for: "alice")
        try await database.save(RecordZone(zoneID: notes))
        for round in UInt64(0)..<3 {
            for name in ["a", "b"] {
                let seed = round * 2 + (name == "a" ? 0 : 1)
                try await database.saveAll(
                    [note(name, ["a": .asset(Asset(data: noise(30_000, seed: seed)))])],
                    savePolicy: .allKeys)
                history.note(name, seed, at: store.disk.callCount)
            }
            if round == 1 {
                try await database.deleteRecord(withID: noteID("b"))
                history.note("b", nil, at: store.disk.callCount)
            }
            try await container.collectAssets()
        }
        try await container.close()
    }

    @Test func `after a crash no record names what is not there, and what is left is collected`()
        async throws
    {
        let disk = SimulatedDisk()
        disk.keepsCrashPoints = true
        let history = History()
        try await Self.work(Self.makeStore(disk), history)
        let states = history.states
        let points = disk.crashPoints
        #expect(points.count > 80)
        for point in points {
            let crashed = point.crashed(seed: UInt64(point.call))
            let last = states.lastIndex { $0.call <= point.call } ?? 0
            let allowed = states[last..<min(states.count, last + 2)].map(\.state)
            try await Self.check(Self.makeStore(crashed), allowed, point.call)
        }
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
        for name in ["a", "b"] {
            guard let record = try? await database.record(for: noteID(name)) else { continue }
            let data = try await record.bytes("a")
            found[name] = (UInt64(0)..<6).first { noise(30_000, seed: $0) == data } ?? 99
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
