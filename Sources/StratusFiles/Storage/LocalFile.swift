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
        /// Whether the last append behind all others was a small one, or there was none.
        var isBehindSmall = true
        /// What was written through it and not synced: the failure of a sync may be told to the
        /// descriptor alone that wrote, so that one is not closed before.
        var unsynced: OpenFile?
        var writeCount = 0
    }

    let name: String
    let length: Int
    private let descriptors: DescriptorCache
    private let policy: WritePolicy
    private let prepared = Mutex(Prepared())

    init(
        _ file: OpenFile, length: Int, _ descriptors: DescriptorCache, policy: WritePolicy
    ) {
        name = file.name
        self.length = length
        self.descriptors = descriptors
        self.policy = policy
    }

    /// The file, opened again where its descriptor was closed meanwhile.
    private var file: OpenFile {
        get throws(StorageError) {
            if let file = prepared.withLock({ $0.unsynced }) { return file }
            return try descriptors.open(name)
        }
    }

    /// The file, to write to it.
    private func writing() throws(StorageError) -> OpenFile {
        let file = try file
        prepared.withLock { prepared in
            prepared.unsynced = file
            prepared.writeCount += 1
        }
        return file
    }

    func reserve(_ range: Range<Int>) throws(StorageError) {
        let reserved = prepared.withLock { $0.reserved }
        guard range.upperBound > reserved else { return }
        let start = max(reserved, range.lowerBound)
        var end = min(max(range.upperBound, start + policy.reservation), length)
        do {
            try allocate(start..<end)
        } catch {
            // What is needed now may still fit, or lie in blocks that an earlier opening reserved.
            guard error.kind == .noSpace, end > range.upperBound else { throw error }
            end = range.upperBound
            try allocate(start..<end)
        }
        prepared.withLock { $0.reserved = end }
    }

    func append(
        _ bytes: Span<UInt8>, at position: Int, _ mode: WriteMode
    ) throws(StorageError) {
        let end = position + bytes.count
        precondition(end <= length, "an append must fit the file")
        try reserve(position..<end)
        try fill(behind: position..<end)
        try writing().write(bytes, at: position, mode)
        prepared.withLock { $0.written = max($0.written, end) }
    }

    func release(_ range: Range<Int>) throws(StorageError) {
        guard !range.isEmpty else { return }
        try file.call { system, descriptor throws(SystemError) in
            try system.deallocate(descriptor, range)
        }
    }

    func rewrite(_ range: Range<Int>) throws(StorageError) {
        let bytes = try file.read(range, .blocking)
        try writing().write(bytes.span, at: range.lowerBound)
    }

    func sync() throws(StorageError) {
        let count = prepared.withLock { $0.writeCount }
        try file.sync()
        prepared.withLock { if $0.writeCount == count { $0.unsynced = nil } }
    }

    func read(_ range: Range<Int>, _ mode: ReadMode) throws(StorageError) -> [UInt8] {
        if mode != .resident { return try file.read(range, mode) }
        // To open a file may take as long as to read from it.
        guard let file = descriptors.opened(name) else {
            throw StorageError(.notResident, file: name)
        }
        return try file.read(range, mode)
    }

    /// Kept between fillings, which come every few thousand appends.
    private static let zeroes = Mutex<[UInt8]>([])

    private static func zeros(_ count: Int) -> [UInt8] {
        zeroes.withLock { zeroes in
            if zeroes.count != count { zeroes = [UInt8](repeating: 0, count: count) }
            return zeroes
        }
    }

    private func allocate(_ range: Range<Int>) throws(StorageError) {
        try file.call { system, descriptor throws(SystemError) in
            try system.allocate(descriptor, range)
        }
    }

    /// Fills what lies behind a small append with zeros, as far as it is reserved.
    private func fill(behind range: Range<Int>) throws(StorageError) {
        let isSmall = range.count < policy.bulk
        let (reserved, written, isBehindSmall) = prepared.withLock { prepared in
            let isBehindSmall = prepared.isBehindSmall
            if range.upperBound > prepared.written { prepared.isBehindSmall = isSmall }
            return (prepared.reserved, prepared.written, isBehindSmall)
        }
        // What stands at the beginning is a header, and says nothing of what will follow. Nor does a small
        // append behind a large one: an empty group ends many.
        guard policy.zeroFill > 0, range.lowerBound > 0, isSmall, isBehindSmall,
            range.upperBound > written
        else { return }
        let start = max(written, range.upperBound)
        let end = min(start + policy.zeroFill, reserved)
        guard start < end else { return }
        try writing().write(Self.zeros(end - start).span, at: start)
        prepared.withLock { $0.written = end }
    }
}
