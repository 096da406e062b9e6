import Glibc

/// What the disk allows: pwrite and fdatasync of the same bytes, into blocks that were written
/// before.
enum Raw {
    static func writes(
        _ count: Int, of length: Int, in directory: String, on device: Device
    ) async throws -> Measurement {
        let path = directory + "/raw"
        let file = open(path, O_RDWR | O_CREAT, 0o600)
        precondition(file >= 0)
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
        return try await Measurement.take("raw \(length) B", count, on: device) {
            var latencies: [Double] = []
            for index in 0..<count {
                let start = now()
                pwrite(file, bytes, length, index * length)
                fdatasync(file)
                latencies.append((now() - start) * 1e6)
            }
            return latencies
        }
    }
}
