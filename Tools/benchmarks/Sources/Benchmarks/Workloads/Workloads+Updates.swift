import Glibc

extension Workloads {
    /// No run of updates takes longer than this; one that is cut says so.
    private var mostSeconds: Double { 75 }

    /// W8: a few records are changed most of the time.
    func updates(_ count: Int, of records: Int) async throws -> Measurement {
        try copyBase(records)
        let engine = try await E(at: setting.store, .batches)
        let inputs = (0..<records).map { engine.input(items[$0], in: 0) }
        var zipfian = Zipfian(records, seed: UInt64(setting.turn))
        var contents = [Int32](repeating: -1, count: records)
        var result = measurement()
        var latencies = Latencies()
        var middle = 0.0
        var lastLook = now()
        let probe = Probe(on: device)
        while result.count < count, probe.seconds < mostSeconds {
            var batch: [E.Input] = []
            for index in zipfian.distinct(200) {
                contents[index] = Int32(result.count)
                let body = items.body(result.count + batch.count)
                batch.append(
                    engine.changed(inputs[index], count: Int64(result.count), body: body))
            }
            try await probe.timed {
                let start = nanoseconds()
                try await engine.saveAll(batch)
                latencies.add(nanoseconds() - start)
            }
            result.count += 200
            result.commits += 1
            if result.count <= count / 2 { middle = probe.seconds }
            if now() - lastLook > 1 {
                let bytes = Disk.bytes(below: setting.store)
                result.mostBytesOnDisk = max(result.mostBytesOnDisk ?? 0, bytes)
                lastLook = now()
            }
        }
        if result.count < count {
            result.note = "cut after \(result.count) updates"
        } else {
            result.rateOfSecondHalf = Double(count / 2) / (probe.seconds - middle)
        }
        result.recordsWritten = result.count
        result.liveRecords = records
        latencies.put(in: &result)
        probe.finish(&result)
        let bytes = Disk.bytes(below: setting.store)
        result.bytesOnDisk = bytes
        result.mostBytesOnDisk = max(result.mostBytesOnDisk ?? 0, bytes)
        try await check(engine, contents)
        try await engine.close()
        return result
    }

    private func check(_ engine: E, _ contents: [Int32]) async throws {
        try await check(engine, 0..<contents.count)
        let reader = try engine.reader()
        for index in stride(from: 0, to: contents.count, by: 101) where contents[index] >= 0 {
            let record = try await reader.get(engine.key(items.name(index), in: 0))
            guard record.count == Int64(contents[index]) else {
                throw BenchmarkError("a change was lost")
            }
        }
    }
}

/// Numbers below a bound, the frequent ones scattered (after YCSB's generator).
struct Zipfian {
    private let count: Int
    private let exponent = 0.99
    private let sum: Double
    private let eta: Double
    private let order: Scattered
    private var random: RecordStream

    init(_ count: Int, seed: UInt64) {
        self.count = count
        order = Scattered(count)
        random = RecordStream(seed: seed)
        var sum = 0.0
        for rank in 1...count { sum += 1 / pow(Double(rank), 0.99) }
        self.sum = sum
        let firstTwo = 1 + pow(0.5, 0.99)
        eta = (1 - pow(2 / Double(count), 0.01)) / (1 - firstTwo / sum)
    }

    mutating func next() -> Int {
        let share = random.share()
        let scaled = share * sum
        if scaled < 1 { return order[0] }
        if scaled < 1 + pow(0.5, exponent) { return order[1] }
        let rank = Int(Double(count) * pow(eta * share - eta + 1, 1 / (1 - exponent)))
        return order[min(rank, count - 1)]
    }

    mutating func distinct(_ wanted: Int) -> [Int] { Benchmarks.distinct(wanted) { next() } }
}

/// So many different ones of those that `next` gives: one commit changes a record once.
func distinct(_ wanted: Int, _ next: () -> Int) -> [Int] {
    var found: [Int] = []
    var seen: Set<Int> = []
    while found.count < wanted {
        let number = next()
        if seen.insert(number).inserted { found.append(number) }
    }
    return found
}
