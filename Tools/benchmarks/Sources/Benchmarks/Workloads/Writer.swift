import Stratus

/// Saves and deletes records as fast as it can, for as long as it is told to.
enum Writer {
    static func run(_ arguments: [String]) async throws {
        guard arguments.count == 2, let seconds = Double(arguments[1]) else {
            print("Benchmarks write STORE SECONDS")
            return
        }
        let container = try await Container.open(at: arguments[0], creating: true)
        let database = container.privateDatabase(for: "local")
        let zone = RecordZone.ID(zoneName: "items")
        try await database.save(RecordZone(zoneID: zone))
        let end = now() + seconds
        let callers = 16
        let counts = try await withThrowingTaskGroup(of: Int.self) { group in
            for caller in 0..<callers {
                group.addTask {
                    var stream = RecordStream(seed: UInt64(caller + 1))
                    var saved: [Record] = []
                    var count = 0
                    while now() < end {
                        // Of ten saves seven are new, two change a record, one deletes it.
                        let kind = saved.isEmpty ? 0 : stream.next() % 10
                        if kind < 7 {
                            let record = try await database.save(stream.record(in: zone))
                            if saved.count < 1000 { saved.append(record) }
                        } else {
                            let place = Int(stream.next() % UInt64(saved.count))
                            if kind < 9 {
                                saved[place]["count"] = .int64(Int64(count))
                                saved[place] = try await database.save(saved[place])
                            } else {
                                let record = saved.remove(at: place)
                                try await database.deleteRecord(withID: record.recordID)
                            }
                        }
                        count += 1
                    }
                    return count
                }
            }
            return try await group.reduce(0, +)
        }
        try await container.close()
        print("\(counts) commits in \(seconds) s")
    }
}
