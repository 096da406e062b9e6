extension Workloads {
    /// W5: each task reads for itself.
    func reads(_ count: Int, of records: Int, callers: Int) async throws -> Measurement {
        let engine = try await base(records)
        let keys = (0..<callers).map { caller in
            var random = RecordStream(seed: UInt64(setting.turn * 100 + caller))
            return (0..<count).map { _ in
                engine.key(items.name(random.next(below: records)), in: 0)
            }
        }
        // What the engine and the system keep in memory is there before it counts.
        _ = try await Self.read(keys[0].prefix(count / 5), try engine.reader())
        let probe = Probe(on: device)
        let latencies = try await probe.timed {
            let tasks = keys.map { keys in
                Task.detached { try await Self.read(keys[...], try engine.reader()) }
            }
            var all = Latencies(capacity: count * callers)
            for task in tasks { all.add(try await task.value) }
            return all
        }
        var result = measurement()
        result.count = count * callers
        result.liveRecords = records
        latencies.put(in: &result)
        probe.finish(&result)
        result.bytesOnDisk = Disk.bytes(below: setting.base(records: records))
        try await engine.close()
        return result
    }

    private static func read(
        _ keys: ArraySlice<E.Reader.Key>, _ reader: E.Reader
    ) async throws -> Latencies {
        var latencies = Latencies(capacity: keys.count)
        var weight: Int64 = 0
        var before = nanoseconds()
        for key in keys {
            weight &+= try await reader.get(key).weight
            let after = nanoseconds()
            latencies.add(after - before)
            before = after
        }
        guard weight != 0 else { throw BenchmarkError("nothing was read") }
        return latencies
    }

    /// W6a: a page of 1,000 changes since a token.
    func someChanges(of records: Int, isNewest: Bool) async throws -> Measurement {
        let engine = try await base(records)
        let reader = try engine.reader()
        var tokens: [E.Reader.Token?] = [nil]
        while true {
            let page = try await reader.changes(in: 0, since: tokens[tokens.count - 1], limit: 1000)
            if !page.moreComing || page.items.isEmpty { break }
            tokens.append(page.token)
        }
        // An engine may only see behind its last page that it was the last.
        tokens = Array(tokens.prefix(records / 1000))
        var random = RecordStream(seed: UInt64(setting.turn))
        let probe = Probe(on: device)
        var latencies = Latencies()
        let rounds = 300
        var found = 0
        for _ in 0..<rounds {
            let place = isNewest ? tokens.count - 1 : random.next(below: tokens.count)
            try await probe.timed {
                let start = nanoseconds()
                let page = try await reader.changes(in: 0, since: tokens[place], limit: 1000)
                latencies.add(nanoseconds() - start)
                found += page.items.count
            }
        }
        guard found == rounds * 1000 else { throw BenchmarkError("\(found) changes") }
        var result = measurement()
        result.count = rounds
        result.liveRecords = records
        latencies.put(in: &result)
        probe.finish(&result)
        try await engine.close()
        return result
    }

    /// W6b: the whole feed, once to warm up and once that counts.
    func firstSync(of records: Int) async throws -> Measurement {
        let engine = try await base(records)
        guard try await feed(engine).count == records else { throw BenchmarkError("not all") }
        let probe = Probe(on: device)
        let found = try await probe.timed {
            let reader = try engine.reader()
            var found = 0
            var token: E.Reader.Token?
            while true {
                let page = try await reader.changes(in: 0, since: token, limit: 1000)
                found += page.items.count
                token = page.token
                if !page.moreComing { return found }
            }
        }
        guard found == records else { throw BenchmarkError("\(found) records") }
        var result = measurement()
        result.count = records
        result.liveRecords = records
        probe.finish(&result)
        try await engine.close()
        return result
    }

    /// W10: nothing is kept here but the engine; the names are made as they are read.
    func memory(of records: Int) async throws -> Measurement {
        let probe = Probe(on: device)
        let engine = try await base(records)
        let reader = try engine.reader()
        var random = RecordStream(seed: UInt64(setting.turn))
        let count = setting.scaled(100_000)
        try await probe.timed {
            for _ in 0..<count {
                let name = items.name(random.next(below: records))
                _ = try await reader.get(engine.key(name, in: 0)).weight
            }
        }
        var result = measurement()
        result.memory = Memory.status("VmRSS")
        result.anonymousMemory = Memory.status("RssAnon")
        result.count = count
        result.liveRecords = records
        probe.finish(&result)
        result.bytesOnDisk = Disk.bytes(below: setting.base(records: records))
        try await engine.close()
        return result
    }
}
