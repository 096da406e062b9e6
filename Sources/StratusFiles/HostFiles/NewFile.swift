internal import Synchronization

/// A file that is written once, in order or by several threads. `length` is what the caller
/// expects; the bytes that are written may be more or fewer.
final class NewFile: Sendable {
    private let file: OpenDescriptor
    private let length: Int
    private let mode: WriteMode
    /// Up to here blocks were found.
    private let reserved = Atomic(0)
    private let written = Atomic(0)

    /// Blocks for so many bytes are found at once, which takes a third less time than finding them
    /// as they are written; a file that is not longer than half of it is written in a call or two.
    private static let reservation = 16 << 20
    /// The disk begins whenever so many bytes were written.
    private static let step = 4 << 20
    private static let page = 4096

    /// An empty file. What becomes of its bytes in memory, `mode` says.
    init(_ file: OpenDescriptor, length: Int, _ mode: WriteMode) {
        self.file = file
        self.length = length
        self.mode = mode
    }

    /// Writes `slices` one after the other from `position` on.
    func write(_ slices: [ArraySlice<UInt8>], at position: Int) throws(SystemError) {
        let end = position + slices.reduce(0) { $0 + $1.count }
        try reserve(end)
        switch mode {
        case .kept:
            try writeAll(slices[...], at: position, .kept)
            let (before, after) = written.add(end - position, ordering: .relaxed)
            // Only an early start: the sync at the end reports a failure.
            if before / Self.step < after / Self.step {
                try? file.system.startWriting(file.descriptor, 0..<after)
            }
        case .streamed:
            // What another call writes to the first and the last page must find them in memory.
            let start = min(end, (position + Self.page - 1) / Self.page * Self.page)
            let stop = end == length ? end : max(start, end / Self.page * Self.page)
            let (head, rest) = Self.cut(slices[...], start - position)
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
        try file.call { system, descriptor throws(SystemError) in
            try system.allocate(descriptor, start..<end)
        }
        reserved.store(end, ordering: .relaxed)
    }

    private func writeAll(
        _ slices: ArraySlice<ArraySlice<UInt8>>, at position: Int, _ mode: WriteMode
    ) throws(SystemError) {
        var rest = slices
        var position = position
        while !rest.isEmpty {
            let count = try file.call { system, descriptor throws(SystemError) in
                try system.write(descriptor, rest, at: position, mode)
            }
            position += count
            rest = Self.cut(rest, count).rest
        }
    }

    /// The first `count` bytes of `slices`, and the rest; nothing empty in either.
    private static func cut(
        _ slices: ArraySlice<ArraySlice<UInt8>>, _ count: Int
    ) -> (first: ArraySlice<ArraySlice<UInt8>>, rest: ArraySlice<ArraySlice<UInt8>>) {
        var (first, rest) = ([ArraySlice<UInt8>](), slices)
        var missing = count
        while let slice = rest.popFirst() {
            if missing < slice.count {
                if missing > 0 { first.append(slice.prefix(missing)) }
                return (first[...], [slice.dropFirst(missing)] + rest)
            }
            missing -= slice.count
            if !slice.isEmpty { first.append(slice) }
        }
        return (first[...], [])
    }
}
