internal import Glibc
internal import Synchronization

/// A file that is written once, from its beginning or from several threads, and has a length that
/// somebody says: only as it is written it shows whether that is so.
final class NewFile: Sendable {
    private let descriptor: FileDescriptor
    private let length: Int
    private let mode: WriteMode
    /// Up to here blocks were found.
    private let reserved = Atomic(0)
    private let written = Atomic(0)
    private let system = LinuxFileSystem()

    /// Blocks for so many bytes are found at once, which takes a third less time than finding them
    /// as they are written; a file that is not longer than half of it is written in a call or two.
    private static let reservation = 16 << 20
    /// The disk begins whenever so many bytes were written.
    private static let step = 4 << 20
    private static let page = 4096

    /// An empty file of the caller's, who closes it. What becomes of its bytes in memory, `mode`
    /// says.
    init(_ descriptor: FileDescriptor, length: Int, _ mode: WriteMode) {
        self.descriptor = descriptor
        self.length = length
        self.mode = mode
    }

    /// Writes `pieces` one after the other from `position` on.
    func write(_ pieces: [ArraySlice<UInt8>], at position: Int) throws(SystemError) {
        let end = position + pieces.reduce(0) { $0 + $1.count }
        try reserve(end)
        switch mode {
        case .kept:
            try writeAll(pieces[...], at: position, .kept)
            let (before, after) = written.add(end - position, ordering: .relaxed)
            // What fails here fails again where somebody waits for it.
            if before / Self.step < after / Self.step {
                try? system.startWriting(descriptor, 0..<after)
            }
        case .streamed:
            // What another call writes to the first and the last page must find them in memory.
            let start = min(end, (position + Self.page - 1) / Self.page * Self.page)
            let stop = end == length ? end : max(start, end / Self.page * Self.page)
            let (head, rest) = Self.cut(pieces[...], start - position)
            let (middle, tail) = Self.cut(rest, stop - start)
            try writeAll(head, at: position, .kept)
            try writeAll(middle, at: start, .streamed)
            try writeAll(tail, at: stop, .kept)
        }
    }

    /// Two threads may do it twice.
    private func reserve(_ end: Int) throws(SystemError) {
        let start = reserved.load(ordering: .relaxed)
        guard end > start, length > Self.reservation / 2 else { return }
        let end = max(end, min(length, end + Self.reservation))
        try retrying { () throws(SystemError) in try system.allocate(descriptor, start..<end) }
        reserved.store(end, ordering: .relaxed)
    }

    private func writeAll(
        _ pieces: ArraySlice<ArraySlice<UInt8>>, at position: Int, _ mode: WriteMode
    ) throws(SystemError) {
        var rest = pieces
        var position = position
        while !rest.isEmpty {
            let count = try retrying { () throws(SystemError) in
                // Safe: what the vector names is there during the call, and only read.
                let result = unsafe Self.gather(rest, []) { vector in
                    unsafe system.write(descriptor, vector, vector.count, at: position, mode)
                }
                if result < 0 { throw SystemError(number: Int32(-result), in: "pwritev") }
                return result
            }
            position += count
            rest = Self.cut(rest, count).rest
        }
    }

    /// The first `count` bytes of `pieces`, and the rest; nothing empty in either.
    private static func cut(
        _ pieces: ArraySlice<ArraySlice<UInt8>>, _ count: Int
    ) -> (first: ArraySlice<ArraySlice<UInt8>>, rest: ArraySlice<ArraySlice<UInt8>>) {
        var (first, rest) = ([ArraySlice<UInt8>](), pieces)
        var missing = count
        while let piece = rest.popFirst() {
            if missing < piece.count {
                if missing > 0 { first.append(piece.prefix(missing)) }
                return (first[...], [piece.dropFirst(missing)] + rest)
            }
            missing -= piece.count
            if !piece.isEmpty { first.append(piece) }
        }
        return (first[...], [])
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
            unsafe gather(pieces.dropFirst(), vector + [iovec(buffer)], body)
        }
    }
}
