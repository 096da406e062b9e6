import CCounting
import Glibc

/// What a stretch of work cost.
struct Measurement {
    var name: String
    var count: Int
    var seconds: Double
    var cpuSeconds: Double
    var allocations: UInt64
    /// Of single operations, in microseconds, sorted; empty where none were taken.
    var latencies: [Double] = []
    var bytesToDevice: Int = 0

    var rate: Double { Double(count) / seconds }

    func latency(_ share: Double) -> Double {
        if latencies.isEmpty { return 0 }
        return latencies[min(latencies.count - 1, Int(Double(latencies.count) * share))]
    }

    static func take(
        _ name: String, _ count: Int, on device: Device, _ body: () async throws -> [Double]
    ) async throws -> Measurement {
        let allocations = counting_allocations()
        let written = device.bytesWritten
        let cpu = cpuTime()
        let start = now()
        let latencies = try await body()
        let end = now()
        return Measurement(
            name: name, count: count, seconds: end - start, cpuSeconds: cpuTime() - cpu,
            allocations: counting_allocations() - allocations, latencies: latencies.sorted(),
            bytesToDevice: device.bytesWritten - written)
    }

    var line: String {
        func number(_ value: Double, _ digits: Int = 1) -> String {
            let scale = digits == 0 ? 1.0 : 10.0
            let rounded = (value * scale).rounded() / scale
            return digits == 0 ? String(Int(rounded)) : String(rounded)
        }
        var parts = [name, number(rate, 0) + "/s"]
        parts.append(number(seconds * 1e6 / Double(count)) + " us")
        parts.append(number(cpuSeconds * 1e6 / Double(count)) + " us cpu")
        parts.append(number(Double(allocations) / Double(count)) + " allocs")
        if !latencies.isEmpty {
            parts.append("p50 \(number(latency(0.5))) us, p99 \(number(latency(0.99))) us")
        }
        parts.append("device \(number(Double(bytesToDevice) / Double(count), 0)) B")
        return "| " + parts.joined(separator: " | ") + " |"
    }
}

func now() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
}

func cpuTime() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
}

/// The block device under a directory, for the bytes that really go to it.
struct Device {
    private let path: String?

    init(under directory: String) {
        var status = stat()
        stat(directory, &status)
        let major = (status.st_dev >> 8) & 0xfff
        let minor = (status.st_dev & 0xff) | ((status.st_dev >> 12) & 0xfff00)
        path = "/sys/dev/block/\(major):\(minor)/stat"
    }

    var bytesWritten: Int {
        guard let path, let file = fopen(path, "r") else { return 0 }
        defer { fclose(file) }
        var line = [CChar](repeating: 0, count: 512)
        guard fgets(&line, 512, file) != nil else { return 0 }
        let bytes = line.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
        let text = String(decoding: bytes, as: UTF8.self)
        let fields = text.split(separator: " ")
        // The seventh number counts sectors of 512 bytes.
        return fields.count > 6 ? (Int(fields[6]) ?? 0) * 512 : 0
    }
}
