import FoundationEssentials
import Stratus
import Synchronization

/// What a caller that goes on saving sees while an index is built on many records.
enum IndexBuild {
    private static let usage = "Benchmarks building DIRECTORY RECORDS SECONDS"
    private static let zone = RecordZone.ID(zoneName: "items")
    /// Of a commit, as in W3.
    private static let batch = 200

    /// Commits that were durable, one after the other.
    private struct Saves {
        /// Of each commit, in seconds: what it takes to make its records does not count.
        var times: [Double] = []

        var rate: Double { Double(times.count * batch) / times.reduce(0, +) }
        /// Of a commit, in milliseconds.
        var p99: Double { (times.sorted()[times.count * 99 / 100]) * 1000 }
        var text: String {
            "\(Number.fixed(rate, 0)) records a second, p99 of a commit \(Number.short(p99)) ms"
        }
    }

    private final class Build: Sendable {
        let isOver = Atomic(false)
    }

    static func run(_ arguments: [String]) async throws {
        guard arguments.count == 3, let count = Int(arguments[1]),
            let seconds = Double(arguments[2]), count >= batch, count % batch == 0, seconds > 0
        else { throw BenchmarkError(usage) }
        let path = arguments[0] + "/building"
        Disk.remove(path)
        let loading = try await Container.open(at: path, creating: true, durability: .none)
        try await loading.privateDatabase(for: "bench").save(RecordZone(zoneID: zone))
        for first in stride(from: 0, to: count, by: batch) {
            try await save(first, in: loading.privateDatabase(for: "bench"))
        }
        try await loading.close()

        let container = try await Container.open(at: path)
        let database = container.privateDatabase(for: "bench")
        var next = count
        let before = try await saves(in: database, from: &next, for: seconds) { true }
        let memory = Memory.status("RssAnon")
        let build = Build()
        let start = now()
        var meanwhile = Saves()
        var took = 0.0
        let peak = try await Peak.sample {
            let building = Task.detached {
                defer { build.isOver.store(true, ordering: .relaxed) }
                try await container.addIndex(on: "count", of: "Item", .queryable)
                return now() - start
            }
            meanwhile = try await saves(in: database, from: &next, for: .infinity) {
                !build.isOver.load(ordering: .relaxed)
            }
            took = try await building.value
        }
        guard !meanwhile.times.isEmpty else { throw BenchmarkError("too few records: \(usage)") }
        let after = try await saves(in: database, from: &next, for: seconds) { true }
        // Rows of all records, of those that were saved meanwhile, too.
        let query = Query(recordType: "Item", predicate: try Query.Predicate("count >= 0"))
        let found = try await database.totals(matching: query, inZoneWith: zone).count
        guard found == next else { throw BenchmarkError("\(found) rows of \(next) records") }
        try await container.close()

        print("before: \(before.text)")
        print("meanwhile: \(meanwhile.text); built in \(Number.short(took)) s")
        print("after, with the index: \(after.text)")
        let (rate, p99) = (meanwhile.rate / before.rate, meanwhile.p99 / before.p99)
        print(
            "rate \(Number.short(rate)) (aim 0.6), p99 \(Number.short(p99)) (aim 3), memory "
                + "\(Number.megabytes(peak.bytes - memory)) MB above \(Number.megabytes(memory)) "
                + "(limit \(Number.megabytes(64 << 20)))")
    }

    /// Saves a batch; returns how long that took, in seconds.
    @discardableResult
    private static func save(_ first: Int, in database: Database) async throws -> Double {
        let items = Items()
        var records: [Record] = []
        for number in first..<first + batch {
            var item = items[number]
            item.count = Int64(number)
            records.append(Record(item, in: zone))
        }
        let start = now()
        let result = try await database.modifyRecords(saving: records, savePolicy: .allKeys)
        let end = now()
        if let failure = result.partialFailure { throw failure }
        return end - start
    }

    /// Saves until the time is over or `goesOn` says no.
    private static func saves(
        in database: Database, from next: inout Int, for seconds: Double, while goesOn: () -> Bool
    ) async throws -> Saves {
        var saves = Saves()
        let start = now()
        while goesOn(), now() - start < seconds {
            saves.times.append(try await save(next, in: database))
            next += batch
        }
        return saves
    }
}
