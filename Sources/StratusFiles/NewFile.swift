internal import Glibc
internal import Synchronization

/// A file that is written once, from its beginning or from several threads, and has a length that
/// somebody says: only as it is written it shows whether that is so.
final class NewFile: Sendable {
    private let descriptor: FileDescriptor
    private let length: Int
    /// Up to here blocks were found.
    private let reserved = Atomic(0)
    private let written = Atomic(0)
    private let system = LinuxFileSystem()

    /// Blocks for so many bytes are found at once, which takes a third less time than finding them
    /// as they are written; a file that is not longer than half of it is written in a call or two.
    private static let reservation = 16 << 20
    /// The disk begins whenever so many bytes were written.
    private static let step = 4 << 20

    /// An empty file of the caller's, who closes it.
    init(_ descriptor: FileDescriptor, length: Int) {
        self.descriptor = descriptor
        self.length = length
    }

    /// Writes `pieces` one after the other from `position` on.
    func write(_ pieces: [ArraySlice<UInt8>], at position: Int) throws(SystemError) {
        let count = pieces.reduce(0) { $0 + $1.count }
        try reserve(position + count)
        try writeAll(pieces, at: position)
        let (before, after) = written.add(count, ordering: .relaxed)
        if before / Self.step < after / Self.step { startWriting() }
    }

    /// The disk begins with what was written. What fails here fails again where somebody waits for
    /// it.
    func startWriting() {
        try? system.startWriting(descriptor, 0..<min(length, written.load(ordering: .relaxed)))
    }

    /// Two threads may do it twice.
    private func reserve(_ end: Int) throws(SystemError) {
        let start = reserved.load(ordering: .relaxed)
        guard end > start, length > Self.reservation / 2 else { return }
        let end = min(length, end + Self.reservation)
        try system.allocate(descriptor, start..<end)
        reserved.store(end, ordering: .relaxed)
    }

    private func writeAll(
        _ pieces: [ArraySlice<UInt8>], at position: Int
    ) throws(SystemError) {
        var rest = pieces[...]
        var position = position
        while !rest.isEmpty {
            var count = try retrying { () throws(SystemError) in
                // Safe: what the vector names is there during the call, and only read.
                let result = unsafe Self.gather(rest, []) { vector in
                    let count = unsafe pwritev(
                        descriptor.rawValue, vector, Int32(vector.count), position)
                    return count < 0 ? -Int(errno) : count
                }
                if result < 0 { throw SystemError(number: Int32(-result), in: "pwritev") }
                return result
            }
            position += count
            while let first = rest.first, count >= first.count {
                count -= first.count
                rest.removeFirst()
            }
            if let first = rest.popFirst() { rest = [first.dropFirst(count)] + rest }
        }
    }

    /// Calls `body` with where `pieces` lie, at most as many as a call takes.
    private static func gather(
        _ pieces: ArraySlice<ArraySlice<UInt8>>, _ vector: [iovec], _ body: ([iovec]) -> Int
    ) -> Int {
        // Safe: each buffer is there until its closure returns, and is only read.
        guard let first = pieces.first, unsafe vector.count < 64 else {
            return unsafe body(vector)
        }
        // Safe: as above.
        return unsafe first.withUnsafeBytes { buffer in
            let part = unsafe iovec(
                iov_base: UnsafeMutableRawPointer(mutating: buffer.baseAddress),
                iov_len: buffer.count)
            return unsafe gather(pieces.dropFirst(), vector + [part], body)
        }
    }
}
