import FoundationEssentials
import Stratus

/// Durable saves, as a user makes them: the public API, callers that are tasks.
struct Workloads {
    let directory: String
    let device: Device
    var durability = Container.Durability.full

    private static let zone = RecordZone.ID(zoneName: "items")

    private func withStore<Result>(
        _ body: (Database) async throws -> Result
    ) async throws -> Result {
        let path = directory + "/store"
        try? FileManager.default.removeItem(atPath: path)
        defer { try? FileManager.default.removeItem(atPath: path) }
        let container = try await Container.open(at: path, creating: true, durability: durability)
        let database = container.privateDatabase(for: "bench")
        try await database.save(RecordZone(zoneID: Self.zone))
        // The first save fixes names and kinds; it is not what is measured.
        var stream = RecordStream(seed: 999)
        try await database.save(stream.record(in: Self.zone))
        let result = try await body(database)
        try await container.close()
        return result
    }

    private func records(_ count: Int, seed: UInt64 = 1) -> [Record] {
        var stream = RecordStream(seed: seed)
        return (0..<count).map { _ in stream.record(in: Self.zone) }
    }

    /// W1, W2: `callers` tasks, each saving one record after the other.
    func singles(_ count: Int, callers: Int) async throws -> Measurement {
        let records = records(count)
        return try await withStore { database in
            try await Measurement.take("singles, \(callers) callers", count, on: device) {
                try await withThrowingTaskGroup(of: [Double].self) { group in
                    for caller in 0..<callers {
                        group.addTask {
                            var latencies: [Double] = []
                            for index in stride(from: caller, to: count, by: callers) {
                                let start = now()
                                try await database.save(records[index])
                                latencies.append((now() - start) * 1e6)
                            }
                            return latencies
                        }
                    }
                    var all: [Double] = []
                    for try await latencies in group { all += latencies }
                    return all
                }
            }
        }
    }

    /// W3: batches of 200, one commit each.
    func batches(_ count: Int, of size: Int = 200) async throws -> Measurement {
        let records = records(count)
        return try await withStore { database in
            try await Measurement.take("batches of \(size)", count, on: device) {
                var latencies: [Double] = []
                for start in stride(from: 0, to: count, by: size) {
                    let began = now()
                    let batch = Array(records[start..<min(start + size, count)])
                    let result = try await database.modifyRecords(saving: batch)
                    if let failure = result.partialFailure { throw failure }
                    latencies.append((now() - began) * 1e6)
                }
                return latencies
            }
        }
    }

    /// One commit of all.
    func oneCommit(_ count: Int) async throws -> Measurement {
        let records = records(count)
        return try await withStore { database in
            try await Measurement.take("one commit of \(count)", count, on: device) {
                let result = try await database.modifyRecords(saving: records)
                if let failure = result.partialFailure { throw failure }
                return []
            }
        }
    }
}
