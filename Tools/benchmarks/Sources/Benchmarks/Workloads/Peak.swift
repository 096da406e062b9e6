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

    static func run(_ arguments: [String]) async throws {
        guard arguments.count == 3, let count = Int(arguments[1]), let reads = Int(arguments[2])
        else { throw BenchmarkError("Benchmarks peak STORE RECORDS READS") }
        let sampler = Sampler()
        let sampling = Task.detached { try Threads.run(1) { _ in sampler.run() } }
        let container = try await Container.open(at: arguments[0], creating: true)
        let database = container.privateDatabase(for: "local")
        let zone = RecordZone.ID(zoneName: "items")
        try await database.save(RecordZone(zoneID: zone))
        let items = Items()
        var start = now()
        for first in stride(from: 0, to: count, by: 200) {
            let records = (first..<min(first + 200, count)).map { Record(items[$0], in: zone) }
            let result = try await database.modifyRecords(saving: records, savePolicy: .allKeys)
            if let failure = result.partialFailure { throw failure }
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
        try await container.close()
        let peak = sampler.end()
        try await sampling.value
        print(
            "\(count) records, \(count > 0 ? reads : 0) reads: peak \(peak.bytes) bytes "
                + "(RssAnon, \(peak.samples) samples), "
                + "\(Number.short(loading)) s loading, \(Number.short(reading)) s reading")
    }
}
