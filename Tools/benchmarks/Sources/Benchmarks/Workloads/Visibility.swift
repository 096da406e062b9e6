import FoundationEssentials
import Stratus

/// How long after its acknowledgement the last commit of an idle writer is seen by a reader that
/// asks again and again.
enum Visibility {
    static func run(_ arguments: [String]) async throws {
        guard arguments.count == 2, let count = Int(arguments[1]), count > 0 else {
            throw BenchmarkError("Benchmarks visible STORE COUNT")
        }
        let container = try await Container.open(at: arguments[0], creating: true)
        let database = container.privateDatabase(for: "local")
        let zone = RecordZone.ID(zoneName: "items")
        try await database.save(RecordZone(zoneID: zone))
        let reader = try await Container.openReadOnly(at: arguments[0])
        let seen = reader.privateDatabase(for: "local")
        var delays: [Double] = []
        for number in 0..<count {
            var record = Record(
                recordType: "Item",
                recordID: Record.ID(recordName: "\(UUID())", zoneID: zone))
            record["number"] = .int64(Int64(number))
            try await database.save(record)
            let acknowledged = now()
            while (try? await seen.record(for: record.recordID)) == nil {
                try await Task.sleep(for: .milliseconds(1))
                try await reader.refresh()
            }
            delays.append((now() - acknowledged) * 1e3)
            // Idle, so that nothing that comes later tells of it.
            try await Task.sleep(for: .milliseconds(20))
        }
        try await container.close()
        delays.sort()
        print(
            "\(count) commits of an idle writer: seen after "
                + "\(delays[count / 2]) ms (median), \(delays[count - 1]) ms (longest)")
    }
}
