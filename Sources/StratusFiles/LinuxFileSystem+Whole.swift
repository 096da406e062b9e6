internal import Glibc

// Files that are written once, from several threads.
extension LinuxFileSystem {
    /// So short a file is written in one call, for which blocks are found soon enough.
    private static let shortLength = 512 << 10

    /// Finds room for `length` bytes before they are written: that takes a third of the time, and
    /// shows at once where there is none.
    func allocate(_ file: FileDescriptor, _ length: Int) throws(SystemError) {
        if length > Self.shortLength { try allocate(file, 0..<length) }
    }

    /// Writes `pieces` one after the other from `position` on, in one call where that is enough.
    func writeAll(
        _ file: FileDescriptor, _ pieces: [ArraySlice<UInt8>], at position: Int
    ) throws(SystemError) {
        var rest = pieces[...]
        var position = position
        while !rest.isEmpty {
            var count = try retrying { () throws(SystemError) in
                // Safe: what the vector names is there during the call, and only read.
                let result = unsafe Self.gather(rest, []) { vector in
                    let count = unsafe pwritev(
                        file.rawValue, vector, Int32(vector.count), position)
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
        guard let first = pieces.first, unsafe vector.count < 64 else {
            return unsafe body(vector)
        }
        // Safe: the buffer is there until the closure returns, and is only read.
        return unsafe first.withUnsafeBytes { buffer in
            let part = unsafe iovec(
                iov_base: UnsafeMutableRawPointer(mutating: buffer.baseAddress),
                iov_len: buffer.count)
            return unsafe gather(pieces.dropFirst(), vector + [part], body)
        }
    }
}
