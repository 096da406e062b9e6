import Glibc
import Stratus
import Synchronization

/// How much memory of its own the process takes while records are loaded and read at random.
enum Peak {
    /// Looks every 10 ms, on a thread of its own.
    private final class Sampler: Sendable {
        private let peak = Mutex((bytes: 0, samples: 0))
        private let isOver = Atomic(false)

        func run() {
            while !isOver.load(ordering: .relaxed) {
                take()
                usleep(10_000)
            }
        }

        func take() {
            let bytes = Memory.status("RssAnon")
            peak.withLock { $0 = (max($0.bytes, bytes), $0.samples + 1) }
        }

        func end() -> (bytes: Int, samples: Int) {
            isOver.store(true, ordering: .relaxed)
            take()
            return peak.withLock { $0 }
        }
    }

    /// How many bytes of its own the process has at most while `body` runs, and of how many looks.
    static func sample(
        _ body: () async throws -> Void
    ) async throws -> (bytes: Int, samples: Int) {
        let sampler = Sampler()
        let sampling = Task.detached { try Threads.run(1) { _ in sampler.run() } }
        try await body()
        let peak = sampler.end()
        try await sampling.value
        return peak
    }

    /// Runs `body` on a new store, and says how much memory was taken at most.
    private static func sampled(
        _ store: String, _ body: (Container) async throws -> String
    ) async throws {
        var what = ""
        let peak = try await sample {
            let container = try await Container.open(at: store, creating: true)
            what = try await body(container)
            try await container.close()
        }
        print("\(what): peak \(peak.bytes) bytes (RssAnon, \(peak.samples) samples)")
    }

    private static let zone = RecordZone.ID(zoneName: "items")

    /// Saves records and reads some.
    static func run(_ arguments: [String]) async throws {
        guard arguments.count == 3, let count = Int(arguments[1]), let reads = Int(arguments[2])
        else { throw BenchmarkError("Benchmarks peak STORE RECORDS READS") }
        try await sampled(arguments[0]) { container in
            let database = container.privateDatabase(for: "local")
            try await database.save(RecordZone(zoneID: zone))
            let items = Items()
            var start = now()
            for first in stride(from: 0, to: count, by: 200) {
                try await save(first..<min(first + 200, count), of: items, in: database)
            }
            let loading = now() - start
            start = now()
            var random = RecordStream(seed: 1)
            for _ in 0..<(count > 0 ? reads : 0) {
                let index = random.next(below: count)
                let id = Record.ID(recordName: items.name(index), zoneID: zone)
                let record = try await database.record(for: id)
                guard record["rank"]?.int64Value == items[index].rank else {
                    throw BenchmarkError("record \(index) is another")
                }
            }
            let reading = now() - start
            return "\(count) records, \(count > 0 ? reads : 0) reads "
                + "(\(Number.short(loading)) s loading, \(Number.short(reading)) s reading)"
        }
    }

    private static func save(
        _ range: Range<Int>, of items: Items, in database: Database
    ) async throws {
        let records = range.map { Record(items[$0], in: zone) }
        let result = try await database.modifyRecords(saving: records, savePolicy: .allKeys)
        if let failure = result.partialFailure { throw failure }
    }

    /// Stores a file as an asset and writes it back beside the store; without a file, nothing.
    static func asset(_ arguments: [String]) async throws {
        guard (1...2).contains(arguments.count) else {
            throw BenchmarkError("Benchmarks asset STORE [FILE]")
        }
        try await sampled(arguments[0]) { container in
            let database = container.privateDatabase(for: "local")
            try await database.save(RecordZone(zoneID: zone))
            guard arguments.count == 2 else { return "no asset" }
            var record = Record(
                recordType: "File", recordID: Record.ID(recordName: "file", zoneID: zone))
            record["asset"] = .asset(Asset(file: arguments[1]))
            var start = now()
            guard let asset = try await database.save(record)["asset"]?.assetValue else {
                throw BenchmarkError("the record has no asset")
            }
            let storing = now() - start
            start = now()
            try await asset.write(to: arguments[0] + ".back")
            let reading = now() - start
            return "\(asset.size ?? 0) bytes of an asset "
                + "(\(Number.short(storing)) s storing, \(Number.short(reading)) s writing back)"
        }
    }

    /// Changes 10,000 records again and again, while so many snapshots are taken and held, all of
    /// which must say in the end what they said at first.
    static func snapshots(_ arguments: [String]) async throws {
        guard arguments.count == 3, let updates = Int(arguments[1]), let count = Int(arguments[2])
        else { throw BenchmarkError("Benchmarks snapshots STORE UPDATES COUNT") }
        try await sampled(arguments[0]) { container in
            let database = container.privateDatabase(for: "local")
            try await database.save(RecordZone(zoneID: zone))
            let items = Items()
            var held: [(snapshot: Snapshot, ranks: [Int64])] = []
            let rounds = updates / 200
            // Of each round the same few records are looked at, at little cost.
            let looked = stride(from: 0, to: 10_000, by: 500).map {
                Record.ID(recordName: items.name($0), zoneID: zone)
            }
            for round in 0..<rounds {
                let first = round % 50 * 200
                let records = (first..<first + 200).map { index in
                    var record = Record(items[index], in: zone)
                    record["rank"] = .int64(Int64(round))
                    return record
                }
                let result = try await database.modifyRecords(saving: records, savePolicy: .allKeys)
                if let failure = result.partialFailure { throw failure }
                if count > 0, round % max(1, rounds / count) == 0 {
                    let snapshot = container.snapshot()
                    held.append((snapshot, try ranks(looked, snapshot)))
                }
            }
            for (snapshot, ranks) in held {
                guard try Self.ranks(looked, snapshot) == ranks else {
                    throw BenchmarkError("a snapshot has changed")
                }
            }
            return "\(rounds * 200) updates, \(held.count) snapshots held"
        }
    }

    private static func ranks(_ ids: [Record.ID], _ snapshot: Snapshot) throws -> [Int64] {
        let results = try snapshot.privateDatabase(for: "local").records(for: ids)
        return ids.map { id in
            guard let record = try? results[id]?.get() else { return -1 }
            return record["rank"]?.int64Value ?? -1
        }
    }

    /// Saves so many zones, each with a record.
    static func zones(_ arguments: [String]) async throws {
        guard arguments.count == 2, let count = Int(arguments[1])
        else { throw BenchmarkError("Benchmarks zones STORE COUNT") }
        try await sampled(arguments[0]) { container in
            let database = container.privateDatabase(for: "local")
            let callers = 64
            try await withThrowingTaskGroup(of: Void.self) { group in
                for caller in 0..<callers {
                    group.addTask {
                        for number in stride(from: caller, to: count, by: callers) {
                            let id = RecordZone.ID(zoneName: "zone\(number)")
                            try await database.save(RecordZone(zoneID: id))
                            try await database.save(
                                Record(
                                    recordType: "Item",
                                    recordID: Record.ID(recordName: "item", zoneID: id)))
                        }
                    }
                }
                try await group.waitForAll()
            }
            return "\(count) zones"
        }
    }
}
