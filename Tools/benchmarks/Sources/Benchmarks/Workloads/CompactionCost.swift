import FoundationEssentials
import Stratus

/// What compaction takes and gives: the same updates of a store that compacts by itself and of one that does
/// not, in turns; and updates of a few records, and a queue, in stores that are to stay small.
enum CompactionCost {
    private static let usage =
        "Benchmarks compacting DIRECTORY RECORDS UPDATES ROUNDS zipfian|uniform|few|queue"

    static func run(_ arguments: [String]) async throws {
        guard arguments.count == 5, let records = Int(arguments[1]),
            let updates = Int(arguments[2]), let rounds = Int(arguments[3]),
            records >= SaveLoad.batch, records % SaveLoad.batch == 0, updates > 0, rounds > 0
        else { throw BenchmarkError(usage) }
        let path = arguments[0] + "/compacting"
        switch arguments[4] {
        case "zipfian", "uniform":
            try await compare(
                path, records, updates, rounds, isUniform: arguments[4] == "uniform")
        case "few": try await few(path, records, updates)
        case "queue": try await queue(path, records, updates)
        default: throw BenchmarkError(usage)
        }
        Disk.remove(path)
    }

    /// Time by the clock, and CPU time of the process, in microseconds.
    private struct Spent {
        var time: Double
        var cpuTime: Double

        static func upToNow() -> Spent {
            Spent(time: now() * 1e6, cpuTime: Benchmarks.cpuTime() * 1e6)
        }

        /// Of each of so many things that were done since.
        static func since(_ start: Spent, dividedBy count: Int) -> Spent {
            let end = upToNow()
            return Spent(
                time: (end.time - start.time) / Double(count),
                cpuTime: (end.cpuTime - start.cpuTime) / Double(count))
        }

        static func median(_ all: [Spent]) -> Spent {
            Spent(
                time: Number.median(all.map(\.time)) ?? 0,
                cpuTime: Number.median(all.map(\.cpuTime)) ?? 0)
        }

        var text: String { Number.short(time) + " us, CPU " + Number.short(cpuTime) + " us" }
    }

    /// What was measured of one or more stores.
    private struct Run {
        /// Of each commit, in seconds.
        var times: [Double] = []
        /// As parts of what the records take.
        var mostSpace = 0.0
        var lastSpace = 0.0
        /// The same of what went to the device while records were changed.
        var written = 0.0
        /// The most memory of the process, in bytes.
        var memory = 0
        /// Of a random read afterwards, in microseconds.
        var reads: [Spent] = []
        /// The same of each record, all read by the feed in pages of 1,000.
        var scans: [Spent] = []

        var rate: Double { Double(times.count * SaveLoad.batch) / times.reduce(0, +) }

        var read: Spent { .median(reads) }
        var scan: Spent { .median(scans) }

        /// Of a commit, in milliseconds.
        func percentile(_ share: Double) -> Double {
            times.sorted()[min(times.count - 1, Int(Double(times.count) * share))] * 1000
        }

        var text: String {
            let parts = [
                Number.fixed(rate, 0) + " updates a second",
                "p99 " + Number.short(percentile(0.99)) + " ms",
                "p99.9 " + Number.short(percentile(0.999)) + " ms",
                "space " + Number.short(lastSpace) + " at the end",
                Number.short(mostSpace) + " at most",
                Number.short(written) + " written to the device",
                "\(memory >> 20) MiB",
                "then a read of one record \(read.text)",
                "one of all by the feed \(scan.text)",
            ]
            return parts.joined(separator: ", ")
        }
    }

    private static func compare(
        _ path: String, _ records: Int, _ updates: Int, _ rounds: Int, isUniform: Bool
    ) async throws {
        var (with, without) = (Run(), Run())
        for round in 0..<rounds {
            for isOn in round % 2 == 0 ? [true, false] : [false, true] {
                var run = isOn ? with : without
                let container = try await SaveLoad.filled(path, count: records)
                try container.maintenance.setCompactsByItself(isOn)
                var zipfian = Zipfian(records, seed: UInt64(round))
                var uniform = RecordStream(seed: UInt64(round))
                try await update(container, updates, path, liveRecords: records, &run) {
                    isUniform
                        ? distinct(SaveLoad.batch) { uniform.next(below: records) }
                        : zipfian.distinct(SaveLoad.batch)
                }
                // So that no compaction runs meanwhile.
                try await container.close()
                try await read(path, records, seed: UInt64(round), &run)
                if isOn { with = run } else { without = run }
            }
        }
        print("with compaction: \(with.text)")
        print("without: \(without.text)")
        func ratio(_ value: (Run) -> Double) -> String {
            Number.short(value(with) / value(without))
        }
        func rates(_ value: (Run) -> Spent) -> String {
            let (with, without) = (value(with), value(without))
            return Number.short(without.time / with.time) + " by the clock, "
                + Number.short(without.cpuTime / with.cpuTime) + " by CPU time"
        }
        let parts = [
            "rate " + ratio(\.rate) + " (aim 0.9)",
            "p99 " + ratio { $0.percentile(0.99) } + " (aim 1.5)",
            "p99.9 " + ratio { $0.percentile(0.999) } + " (aim 2)",
            "reads afterwards " + rates(\.read) + " (aim 0.6)",
            "by the feed " + rates(\.scan) + " (aim 1)",
        ]
        print(parts.joined(separator: ", "))
    }

    /// Changes records, as many in a commit as `next` names.
    private static func update(
        _ container: Container, _ count: Int, _ path: String, liveRecords: Int, _ run: inout Run,
        _ next: () -> [Int]
    ) async throws {
        let database = container.privateDatabase(for: SaveLoad.user)
        let (items, probe) = (Items(), Probe(on: Device(under: path)))
        let live = Double(liveRecords * Measurement.bytesPerRecord)
        var lastLook = now()
        var done = 0
        while done < count {
            let batch = next().map { index in
                var item = items[index]
                item.count = Int64(done)
                item.body = items.body(done + index)
                return Record(item, in: SaveLoad.zone)
            }
            let start = now()
            let result = try await database.modifyRecords(saving: batch, savePolicy: .allKeys)
            run.times.append(now() - start)
            if let failure = result.partialFailure { throw failure }
            done += batch.count
            if now() - lastLook > 0.5 {
                run.mostSpace = max(run.mostSpace, Double(Disk.bytes(below: path)) / live)
                lastLook = now()
            }
        }
        run.lastSpace = Double(Disk.bytes(below: path)) / live
        run.mostSpace = max(run.mostSpace, run.lastSpace)
        var measurement = Measurement(workload: "", engine: "", turn: 0)
        probe.finish(&measurement)
        run.memory = max(run.memory, measurement.peakMemory)
        run.written = Double(measurement.bytesToDevice) / Double(done * Measurement.bytesPerRecord)
    }

    private static func read(
        _ path: String, _ records: Int, seed: UInt64, _ run: inout Run
    ) async throws {
        let container = try await Container.open(at: path)
        try container.maintenance.setCompactsByItself(false)
        let database = container.privateDatabase(for: SaveLoad.user)
        let items = Items()
        var random = RecordStream(seed: seed &+ 1)
        let ids = (0..<min(records, 50_000)).map { _ in
            Record.ID(
                recordName: items.name(random.next(below: records)), zoneID: SaveLoad.zone)
        }
        // Once for the caches.
        for id in ids { _ = try await database.record(for: id) }
        var start = Spent.upToNow()
        for id in ids { _ = try await database.record(for: id) }
        run.reads.append(.since(start, dividedBy: ids.count))
        start = .upToNow()
        var (token, isMore): (ChangeToken?, Bool) = (nil, true)
        while isMore {
            let page = try await database.recordZoneChanges(
                inZoneWith: SaveLoad.zone, since: token, resultsLimit: 1_000)
            (token, isMore) = (page.changeToken, page.moreComing)
        }
        run.scans.append(.since(start, dividedBy: records))
        try await container.close()
    }

    /// How large a store becomes of a few records that are changed over and over.
    private static func few(_ path: String, _ records: Int, _ updates: Int) async throws {
        let container = try await SaveLoad.filled(path, count: records)
        var run = Run()
        var random = RecordStream(seed: 1)
        try await update(container, updates, path, liveRecords: records, &run) {
            distinct(SaveLoad.batch) { random.next(below: records) }
        }
        try await container.close()
        let live = Double(records * Measurement.bytesPerRecord)
        print(
            "\(updates) updates of \(records) records: "
                + "\(Int(run.mostSpace * live) >> 20) MiB at most (aim 16 with 1,000)")
    }

    /// How large a store becomes of records that are saved behind and deleted before.
    private static func queue(_ path: String, _ records: Int, _ updates: Int) async throws {
        let container = try await SaveLoad.filled(path, count: records)
        try await container.setDeletionPolicy(.bytes(64 << 20))
        let database = container.privateDatabase(for: SaveLoad.user)
        let items = Items()
        var sizes: [Int] = []
        var (first, next, lastLook) = (0, records, now())
        while next - records < updates {
            let saved = (next..<next + SaveLoad.batch).map { Record(items[$0], in: SaveLoad.zone) }
            let deleted = (first..<first + SaveLoad.batch).map {
                Record.ID(recordName: items.name($0), zoneID: SaveLoad.zone)
            }
            let result = try await database.modifyRecords(
                saving: saved, deleting: deleted, savePolicy: .allKeys)
            if let failure = result.partialFailure { throw failure }
            (first, next) = (first + SaveLoad.batch, next + SaveLoad.batch)
            if now() - lastLook > 0.5 {
                sizes.append(Disk.bytes(below: path))
                lastLook = now()
            }
        }
        try await container.close()
        let quarters = (0..<4).map { sizes[sizes.count * $0 / 4..<sizes.count * ($0 + 1) / 4] }
        print(
            "a queue of \(records), \(updates) saves and deletions: most in each quarter "
                + quarters.map { "\(($0.max() ?? 0) >> 20)" }.joined(separator: ", ") + " MiB")
    }
}
