import FoundationEssentials
import Stratus

/// A caller that saves commits of 200 records as in W3, one after the other, and how long they took.
struct SaveLoad {
    static let zone = RecordZone.ID(zoneName: "items")
    static let user = "bench"
    static let batch = 200

    /// Of each commit that was durable, in seconds: what it takes to make its records does not count.
    private(set) var times: [Double] = []

    var rate: Double { Double(times.count * Self.batch) / times.reduce(0, +) }
    /// Of a commit, in milliseconds.
    var p99: Double { (times.sorted()[times.count * 99 / 100]) * 1000 }
    var text: String {
        "\(Number.fixed(rate, 0)) records a second, p99 of a commit \(Number.short(p99)) ms"
    }

    /// Opens a new store of so many records.
    static func filled(_ path: String, count: Int) async throws -> Container {
        Disk.remove(path)
        let loading = try await Container.open(at: path, creating: true, durability: .none)
        try await loading.privateDatabase(for: user).save(RecordZone(zoneID: zone))
        for first in stride(from: 0, to: count, by: batch) {
            _ = try await save(first, in: loading.privateDatabase(for: user))
        }
        try await loading.close()
        return try await Container.open(at: path)
    }

    /// Saves a batch; returns how long that took, in seconds.
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

    init() {}

    /// The same of what is saved until the time is over or `goesOn` says no.
    init(
        in container: Container, from next: inout Int, for seconds: Double = .infinity,
        while goesOn: () -> Bool = { true }
    ) async throws {
        try await run(in: container, from: &next, of: .max, for: seconds, while: goesOn)
    }

    /// Saves until the time is over or `goesOn` says no.
    ///
    /// - Parameters:
    ///   - next: the number of the first record, and afterwards of the one behind the last.
    ///   - count: behind so many records come the first ones again.
    mutating func run(
        in container: Container, from next: inout Int, of count: Int,
        for seconds: Double = .infinity, while goesOn: () -> Bool = { true }
    ) async throws {
        let database = container.privateDatabase(for: Self.user)
        let (start, before) = (now(), times.count)
        while goesOn(), now() - start < seconds {
            times.append(try await Self.save(next, in: database))
            next = (next + Self.batch) % count
        }
        guard times.count > before else { throw BenchmarkError("too short for a save") }
    }
}
