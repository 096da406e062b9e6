internal import Synchronization

/// How a file is prepared for what is appended to it.
package struct WritePolicy: Sendable {
    /// Blocks are reserved in steps of so many bytes, before anything is written into them, so that
    /// a full disk shows while nothing is at stake.
    package var reservation = 4 << 20

    /// Ahead of small appends the file is filled with zeros in steps of so many bytes: a sync
    /// into blocks that were written before is about a third cheaper. 0: never.
    package var zeroFill = 1 << 20

    /// An append of so many bytes goes straight into reserved blocks, so that bulk writing is not
    /// paid twice.
    package var bulk = 64 << 10

    package init() {}
}

/// A file in a directory. One thread appends; any number read.
final class LocalFile: StorageFile {
    /// Up to where blocks are reserved, and up to where they are written.
    private struct Prepared {
        var reserved = 0
        var written = 0
    }

    let length: Int
    private let file: OpenFile
    private let policy: WritePolicy
    private let prepared = Mutex(Prepared())

    init(_ file: OpenFile, length: Int, policy: WritePolicy) {
        self.file = file
        self.length = length
        self.policy = policy
    }

    var name: String { file.name }

    func append(_ bytes: Span<UInt8>, at position: Int) throws(StorageError) {
        let end = position + bytes.count
        precondition(end <= length, "an append must fit the file")
        var prepared = prepared.withLock { $0 }
        try prepare(&prepared, for: position..<end)
        try file.write(bytes, at: position)
        prepared.written = max(prepared.written, end)
        self.prepared.withLock { $0 = prepared }
    }

    func rewrite(_ range: Range<Int>) throws(StorageError) {
        let bytes = try file.read(range)
        try file.write(bytes.span, at: range.lowerBound)
    }

    func sync() throws(StorageError) { try file.sync() }

    func read(_ range: Range<Int>) throws(StorageError) -> [UInt8] { try file.read(range) }

    /// Kept between fillings, which come every few thousand appends.
    private static let zeroes = Mutex<[UInt8]>([])

    private static func zeros(_ count: Int) -> [UInt8] {
        zeroes.withLock { zeroes in
            if zeroes.count != count { zeroes = [UInt8](repeating: 0, count: count) }
            return zeroes
        }
    }

    private func reserve(_ range: Range<Int>) throws(StorageError) {
        try file.call { system, descriptor throws(SystemError) in
            try system.allocate(descriptor, range)
        }
    }

    private func prepare(
        _ prepared: inout Prepared, for range: Range<Int>
    ) throws(StorageError) {
        if range.upperBound > prepared.reserved {
            let start = max(prepared.reserved, range.lowerBound)
            var end = min(max(range.upperBound, start + policy.reservation), length)
            do {
                try reserve(start..<end)
            } catch {
                // What is needed now may still fit, or lie in blocks that an earlier opening
                // reserved.
                guard error.kind == .noSpace, end > range.upperBound else { throw error }
                end = range.upperBound
                try reserve(start..<end)
            }
            prepared.reserved = end
            self.prepared.withLock { $0.reserved = end }
        }
        guard policy.zeroFill > 0, range.count < policy.bulk,
            range.upperBound > prepared.written
        else { return }
        let start = max(prepared.written, range.upperBound)
        let end = min(start + policy.zeroFill, prepared.reserved)
        if start < end {
            try file.write(Self.zeros(end - start).span, at: start)
            prepared.written = end
        }
    }
}
