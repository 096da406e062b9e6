/// What one run of one workload on one engine cost. A line of JSON between the processes.
struct Measurement: Codable, Sendable {
    var workload: String
    var engine: String
    var turn = 0
    /// Items, and in how many durable commits they were made.
    var count = 0
    var commits = 0
    var seconds = 0.0
    var cpuSeconds = 0.0
    /// Of items or of commits, in microseconds.
    var p50: Double?
    var p99: Double?
    var allocations: UInt64 = 0
    var syncs: UInt64 = 0
    var bytesToDevice = 0
    var flushesOfDevice = 0
    /// Records that were given to the engine, and records that are there at the end.
    var recordsWritten = 0
    var liveRecords = 0
    var bytesOnDisk: Int?
    var mostBytesOnDisk: Int?
    /// The most memory beyond what the caller held before.
    var peakMemory = 0
    /// At the end, of the whole process: all, and what is no file's.
    var memory: Int?
    var anonymousMemory: Int?
    /// What was done a second in the later half.
    var rateOfSecondHalf: Double?
    /// What else is worth a word on the page.
    var note: String?
    var failure: String?

    /// What a record takes with its key, by itself.
    static let bytesPerRecord = 353

    var rate: Double { seconds > 0 ? Double(count) / seconds : 0 }
    /// Microseconds of an item, with what its caller does after the call, such as freeing the
    /// result; nil for a single one.
    var mean: Double? { count > 1 && seconds > 0 ? seconds / Double(count) * 1e6 : nil }
    func perItem(_ value: Double) -> Double { count > 0 ? value / Double(count) : 0 }
    func perCommit(_ value: Double) -> Double? { commits > 0 ? value / Double(commits) : nil }

    var writeAmplification: Double? {
        guard recordsWritten > 0, bytesToDevice > 0 else { return nil }
        return Double(bytesToDevice) / Double(recordsWritten * Self.bytesPerRecord)
    }

    /// How much room the store takes, of what its records take by themselves.
    func space(_ bytes: Int?) -> Double? {
        guard let bytes, liveRecords > 0 else { return nil }
        return Double(bytes) / Double(liveRecords * Self.bytesPerRecord)
    }
}

/// Durations of items in microseconds.
struct Latencies: Sendable {
    private var values: [Float] = []

    init(capacity: Int = 0) { values.reserveCapacity(capacity) }

    mutating func add(_ nanoseconds: UInt64) { values.append(Float(nanoseconds) / 1000) }

    mutating func add(_ other: Latencies) { values += other.values }

    func put(in measurement: inout Measurement) {
        guard let (half, most) = percentiles else { return }
        (measurement.p50, measurement.p99) = (half, most)
    }

    var text: String {
        guard let (half, most) = percentiles else { return "none" }
        return "p50 \(Number.short(half)) us, p99 \(Number.short(most)) us"
    }

    private var percentiles: (p50: Double, p99: Double)? {
        guard !values.isEmpty else { return nil }
        let sorted = values.sorted()
        let most = sorted[min(sorted.count - 1, sorted.count * 99 / 100)]
        return (Double(sorted[sorted.count / 2]), Double(most))
    }
}
