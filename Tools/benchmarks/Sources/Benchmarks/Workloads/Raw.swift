import Glibc

/// What the disk allows: pwrite and fdatasync of the same bytes, into blocks that were written
/// before.
enum Raw {
    static func run(_ setting: Setting) async throws -> Measurement {
        let isSmall = setting.workload == .rawSmall
        return try await writes(
            setting.scaled(isSmall ? 20_000 : 2000), of: isSmall ? 512 : 80_000, setting)
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
        let piece = [UInt8](repeating: 0x5a, count: 1 << 20)
        let span = count * length
        for start in stride(from: 0, to: span + piece.count, by: piece.count) {
            pwrite(file, piece, piece.count, start)
        }
        fsync(file)
        let bytes = [UInt8](repeating: 0xa5, count: length)
        let probe = Probe(on: Device(under: setting.directory))
        var latencies = Latencies(capacity: count)
        await probe.timed {
            for index in 0..<count {
                let start = nanoseconds()
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
        return result
    }
}
