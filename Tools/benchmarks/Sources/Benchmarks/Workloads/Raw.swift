import Glibc

/// What the disk allows: pwrite and fdatasync of the same bytes, into blocks that were written
/// before, that are filled with zeros some way ahead, or that are only reserved.
enum Raw {
    private static let buffer = [UInt8](repeating: 0x5a, count: 1 << 20)
    private static let zeros = [UInt8](repeating: 0, count: 1 << 20)

    static func run(_ setting: Setting) async throws -> Measurement {
        let isLarge = setting.workload == .rawLarge
        return try await writes(
            setting.scaled(isLarge ? 2000 : 20_000), of: isLarge ? 80_000 : 512, setting)
    }

    /// Makes the blocks of a new file what the workload wants.
    private static func prepare(_ file: Int32, _ span: Int, _ workload: Workload) throws {
        switch workload {
        case .rawFilled, .rawReserved:
            guard posix_fallocate(file, 0, span + buffer.count) == 0 else {
                throw BenchmarkError("cannot reserve \(span) bytes")
            }
        default:
            for start in stride(from: 0, to: span + buffer.count, by: buffer.count) {
                pwrite(file, buffer, buffer.count, start)
            }
        }
        fsync(file)
    }

    private static func writes(
        _ count: Int, of length: Int, _ setting: Setting
    ) async throws -> Measurement {
        let path = setting.directory + "/raw"
        let file = open(path, O_RDWR | O_CREAT | O_TRUNC, 0o600)
        guard file >= 0 else { throw BenchmarkError("cannot write \(path)") }
        defer {
            close(file)
            unlink(path)
        }
        try prepare(file, count * length, setting.workload)
        let fillsAhead = setting.workload == .rawFilled
        let bytes = [UInt8](repeating: 0xa5, count: length)
        let probe = Probe(on: Device(under: setting.directory))
        var latencies = Latencies(capacity: count)
        var filled = 0
        await probe.timed {
            for index in 0..<count {
                let start = nanoseconds()
                if fillsAhead, (index + 1) * length > filled {
                    pwrite(file, zeros, zeros.count, filled)
                    filled += zeros.count
                }
                pwrite(file, bytes, length, index * length)
                fdatasync(file)
                latencies.add(nanoseconds() - start)
            }
        }
        var result = Measurement(
            workload: setting.workload.rawValue, engine: setting.engine.rawValue,
            turn: setting.turn, count: count, commits: count)
        latencies.put(in: &result)
        probe.finish(&result)
        let amplification = Double(result.bytesToDevice) / Double(count * length)
        result.note = "\(Number.fixed(amplification, 2)) bytes to the device for each byte"
        return result
    }
}
