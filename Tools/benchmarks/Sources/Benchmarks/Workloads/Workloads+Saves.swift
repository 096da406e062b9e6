import Synchronization

extension Workloads {
    /// W1, W2: so many tasks, each saving one record after the other.
    func singles(_ count: Int, callers: Int) async throws -> Measurement {
        let engine = try await fresh()
        let inputs = (0..<count).map { engine.input(items[$0], in: 0) }
        let probe = Probe(on: device)
        let latencies = try await probe.timed {
            let tasks = (0..<callers).map { caller in
                Task.detached {
                    var latencies = Latencies(capacity: count / callers + 1)
                    for index in stride(from: caller, to: count, by: callers) {
                        let start = nanoseconds()
                        if callers == 1 {
                            try await engine.save(inputs[index])
                        } else {
                            try await engine.saveInGroup(inputs[index])
                        }
                        latencies.add(nanoseconds() - start)
                    }
                    return latencies
                }
            }
            var all = Latencies(capacity: count)
            for task in tasks { all.add(try await task.value) }
            return all
        }
        return try await finish(engine, probe, count, commits: count, latencies)
    }

    /// W1 without tasks.
    func singlesWaiting(_ count: Int) async throws -> Measurement {
        let engine = try await fresh()
        let inputs = (0..<count).map { engine.input(items[$0], in: 0) }
        let probe = Probe(on: device)
        let latencies = Mutex(Latencies(capacity: count))
        try await probe.timed {
            try Threads.run(1) { _ in
                for input in inputs {
                    let start = nanoseconds()
                    try engine.saveAndWait(input)
                    latencies.withLock { $0.add(nanoseconds() - start) }
                }
            }
        }
        return try await finish(
            engine, probe, count, commits: count, latencies.withLock { $0 })
    }

    /// W3 and one large commit: one caller, one zone a commit.
    func batches(_ count: Int, of size: Int, zones: Int = 1) async throws -> Measurement {
        let engine = try await fresh(.batches, zones: zones)
        let batches = stride(from: 0, to: count, by: size).map { start in
            let zone = UInt32(start / size % zones)
            return (start..<min(start + size, count)).map { engine.input(items[$0], in: zone) }
        }
        let probe = Probe(on: device)
        var latencies = Latencies(capacity: batches.count)
        var middle: UInt64 = 0
        try await probe.timed {
            for (number, batch) in batches.enumerated() {
                let start = nanoseconds()
                if number == batches.count / 2 { middle = start }
                try await engine.saveAll(batch)
                latencies.add(nanoseconds() - start)
            }
        }
        let second = Double(nanoseconds() - middle) / 1e9
        var result = try await finish(
            engine, probe, count, commits: batches.count, latencies, zones: zones)
        if batches.count > 1 { result.rateOfSecondHalf = Double(count / 2) / second }
        return result
    }

    /// After saves of new records into a new store.
    private func finish(
        _ engine: E, _ probe: Probe, _ count: Int, commits: Int, _ latencies: Latencies,
        zones: Int = 1
    ) async throws -> Measurement {
        var result = measurement()
        result.count = count
        result.commits = commits
        result.recordsWritten = count
        result.liveRecords = count
        latencies.put(in: &result)
        probe.finish(&result)
        result.bytesOnDisk = Disk.bytes(below: setting.store)
        try await check(engine, 0..<count, zones: zones)
        try await engine.close()
        return result
    }

    /// W4: the caller has read 200 records and changed them; each is saved if it was not changed since.
    func comparing(_ count: Int, of records: Int) async throws -> Measurement {
        try copyBase(records)
        let engine = try await E(at: setting.store, .batches)
        let reader = try engine.reader()
        let order = Scattered(records)
        let probe = Probe(on: device)
        var latencies = Latencies()
        for start in stride(from: 0, to: count, by: 200) {
            let keys = (start..<(start + 200)).map { place in
                engine.key(items.name(order[place]), in: 0)
            }
            let held = try await engine.hold(keys, reader, count: Int64(start))
            try await probe.timed {
                let began = nanoseconds()
                try await engine.saveHeld(held)
                latencies.add(nanoseconds() - began)
            }
        }
        var result = measurement()
        result.count = count
        result.commits = count / 200
        result.recordsWritten = count
        result.liveRecords = records
        latencies.put(in: &result)
        probe.finish(&result)
        result.bytesOnDisk = Disk.bytes(below: setting.store)
        for place in stride(from: 0, to: count, by: 199) {
            let record = try await reader.get(engine.key(items.name(order[place]), in: 0))
            guard record.count == Int64(place / 200 * 200) else {
                throw BenchmarkError("a change was lost")
            }
        }
        try await check(engine, 0..<records)
        try await engine.close()
        return result
    }
}

/// Every number below a bound once, far from its neighbours.
struct Scattered {
    private let count: Int
    private let step: Int

    init(_ count: Int) {
        self.count = count
        // A prime that does not divide the count visits every place.
        step = [611_953, 7919, 104_729].first { count % $0 != 0 } ?? 1
    }

    subscript(place: Int) -> Int { place * step % count }
}

extension RivalEngine {
    /// W2 on an engine that makes groups by itself, which takes a thread for each caller.
    func singlesFromThreads<Tree>(
        _ inputs: [RivalInput], threads: Int
    ) throws where R == LSMRival<Tree> {
        try Threads.run(threads) { thread in
            for index in stride(from: thread, to: inputs.count, by: threads) {
                var changes = [change(inputs[index])]
                try rival.commitNatively(&changes)
            }
        }
    }
}

extension Workloads {
    func nativeSingles<Tree>(
        _ count: Int, threads: Int
    ) async throws -> Measurement where E == RivalEngine<LSMRival<Tree>> {
        defer { Disk.remove(setting.store) }
        let engine = try await fresh()
        let inputs = (0..<count).map { engine.input(items[$0], in: 0) }
        let probe = Probe(on: device)
        try await probe.timed { try engine.singlesFromThreads(inputs, threads: threads) }
        return try await finish(engine, probe, count, commits: count, Latencies())
    }
}
