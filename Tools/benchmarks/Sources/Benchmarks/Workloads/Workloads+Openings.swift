import FoundationEssentials
import Glibc

extension Workloads {
    /// W7: from the opening to the first record, several times.
    func openings(of records: Int, dropping: Bool) async throws -> Measurement {
        let path = setting.base(records: records)
        var result = measurement()
        var random = RecordStream(seed: UInt64(setting.turn))
        _ = try await open(path, random.next(below: records), Probe(on: device))
        let probe = Probe(on: device)
        var latencies = Latencies()
        let rounds = 5
        for _ in 0..<rounds {
            if dropping, !Disk.dropCaches() {
                result.note = "caches not dropped: takes root"
                return result
            }
            latencies.add(try await open(path, random.next(below: records), probe))
        }
        result.count = rounds
        result.liveRecords = records
        latencies.put(in: &result)
        probe.finish(&result)
        return result
    }

    /// Nanoseconds from the opening to the first record.
    private func open(_ path: String, _ index: Int, _ probe: Probe) async throws -> UInt64 {
        let name = items.name(index)
        let (engine, weight, took) = try await probe.timed {
            let start = nanoseconds()
            let engine = try await E(at: path, .usual)
            let weight = try await engine.reader().get(engine.key(name, in: 0)).weight
            return (engine, weight, nanoseconds() - start)
        }
        guard weight == items[index].weight else { throw BenchmarkError("another record") }
        try await engine.close()
        return took
    }

    /// W7 after `kill -9`: another process commits to a copy, one record each, without syncs and
    /// checkpoints, and says which are acknowledged; all of those have to be there.
    func openingAfterKill(of records: Int) async throws -> Measurement {
        try copyBase(records)
        let commits = setting.scaled(100_000)
        let acknowledged = try killedWriter(after: commits, startingAt: records)
        let probe = Probe(on: device)
        let name = items.name(records + 1)
        let (engine, took) = try await probe.timed {
            let start = nanoseconds()
            let engine = try await E(at: setting.store, .usual)
            _ = try await engine.reader().get(engine.key(name, in: 0))
            return (engine, nanoseconds() - start)
        }
        var latencies = Latencies()
        latencies.add(took)
        var result = measurement()
        result.count = 1
        latencies.put(in: &result)
        probe.finish(&result)
        let reader = try engine.reader()
        for index in records..<(records + acknowledged) {
            let record = try await reader.get(engine.key(items.name(index), in: 0))
            guard record.equals(items[index]) else {
                throw BenchmarkError("record \(index) is another")
            }
        }
        // The last commit may be there and not have been acknowledged yet.
        do {
            try await check(engine, 0..<(records + acknowledged))
        } catch {
            try await check(engine, 0..<(records + acknowledged + 1))
        }
        result.note = "\(acknowledged) acknowledged commits found"
        try await engine.close()
        return result
    }

    /// Starts the writer, kills it, and says how many commits it had acknowledged.
    private func killedWriter(after commits: Int, startingAt first: Int) throws -> Int {
        let child = try ChildProcess([
            "killed", "--engine", setting.engine.rawValue, "--dir", setting.directory,
            "--first", String(first),
        ])
        var received = 0
        var isKilled = false
        while let bytes = child.read() {
            received += bytes.count
            if !isKilled, received / 4 >= commits {
                child.kill()
                isKilled = true
            }
        }
        let status = child.wait()
        guard isKilled else { throw BenchmarkError("the writer ended with \(status)") }
        return received / 4
    }

    /// The process that is killed: commits and acknowledges each by 4 bytes.
    func writeUntilKilled(startingAt first: Int) async throws {
        let engine = try await E(at: setting.store, .killed)
        for index in first... {
            try await engine.save(engine.input(items[index], in: 0))
            var number = UInt32(truncatingIfNeeded: index)
            write(STDOUT_FILENO, &number, 4)
        }
    }
}
