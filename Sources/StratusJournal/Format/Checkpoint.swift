internal import StratusBytes

/// A place between two commits, from which a reader can begin.
package struct JournalPosition: Equatable, Sendable {
    /// Where the next group begins.
    package var offset: JournalOffset
    /// The chain over all groups before.
    package var chain: UInt64
    /// What was counted of the segment that holds the place, up to it.
    package var totals: SegmentTotals

    package init(offset: JournalOffset, chain: UInt64, totals: SegmentTotals) {
        self.offset = offset
        self.chain = chain
        self.totals = totals
    }
}

extension Manifest {
    /// What the layer above had made of the journal up to a place, so that an opening need not
    /// read it again: `Formats/Manifest.md`, "Checkpoint". A cache: where it is of no use, the
    /// journal is read from its beginning.
    package struct Checkpoint: Equatable, Sendable {
        package var position: JournalPosition
        /// The files of the layer above that the state refers to.
        package var files: [String]
        /// Has a meaning only for the layer above.
        package var state: [UInt8]

        package init(position: JournalPosition, files: [String], state: [UInt8]) {
            self.position = position
            self.files = files
            self.state = state
        }

        /// What the names of all files of the layer above begin with.
        package static let filePrefix = "index-"
        /// The longest state.
        package static let stateLimit = 32 << 20
        package static let fileLimit = 1 << 16
        /// Of entries and of commits, each. A segment has no more entries than bytes, so that counting on
        /// cannot overflow.
        package static let totalLimit: UInt64 = 1 << 32
        package static let nameLimit = 255
        private static let fixedLength = 64
    }

    /// The number of the segment in which `offset` may lie as a place between two groups, by what
    /// the manifest states.
    func segment(holding offset: JournalOffset) -> Int? {
        segments.firstIndex { !$0.isCompacted && $0.firstGroup <= offset && offset <= $0.end }
    }

    /// What lies before it may be compacted: the segment that holds the checkpoint begins there.
    package var compactionLimit: JournalOffset {
        guard let offset = checkpoint?.position.offset, let number = segment(holding: offset) else {
            return .zero
        }
        return segments[number].base
    }

    /// The same store as if it had been closed at its checkpoint; nil where it has none, or none
    /// that lies in a listed segment.
    package var endingAtCheckpoint: Manifest? {
        guard let position = checkpoint?.position, let last = segment(holding: position.offset)
        else { return nil }
        var manifest = self
        manifest.set(nil)
        manifest.segments.removeSubrange((last + 1)...)
        manifest.changeLast { segment in
            segment.state = .closed
            segment.end = position.offset
            segment.chainAtEnd = position.chain
        }
        return manifest
    }
}

extension Manifest.Checkpoint {
    func encoded(generation: UInt64) -> [UInt8] {
        precondition(state.count <= Self.stateLimit && files.count <= Self.fileLimit)
        var writer = ByteWriter(capacity: Self.fixedLength + files.count * 24 + state.count + 8)
        writer.uint64(position.offset.rawValue)
        writer.uint64(position.chain)
        writer.uint64(position.totals.entryCount)
        writer.uint64(position.totals.commitCount)
        writer.int64(position.totals.leastTime)
        writer.int64(position.totals.greatestTime)
        writer.int64(position.totals.lastTime)
        writer.uint32(UInt32(files.count))
        writer.uint32(0)
        for name in files {
            precondition(name.hasPrefix(Self.filePrefix) && name.utf8.count <= Self.nameLimit)
            writer.countedText(name)
        }
        writer.append(state)
        writer.uint64(Checksum.xxh3(writer.bytes.span, seed: generation))
        return writer.bytes
    }

    /// Decodes what lies behind a manifest's checksum; fails with the word for what is wrong.
    init(
        _ bytes: Span<UInt8>, statedLength: UInt64, generation: UInt64
    ) throws(JournalDamage.Kind) {
        let end = bytes.count - 8
        guard statedLength == bytes.count, end >= Self.fixedLength else {
            throw .checkpoint("length")
        }
        guard Checksum.xxh3(bytes, in: 0..<end, seed: generation) == bytes.uint64(at: end) else {
            throw .checkpoint("checksum")
        }
        var totals = SegmentTotals()
        totals.entryCount = bytes.uint64(at: 16)
        totals.commitCount = bytes.uint64(at: 24)
        totals.leastTime = bytes.uint64(at: 32).asInt64
        totals.greatestTime = bytes.uint64(at: 40).asInt64
        totals.lastTime = bytes.uint64(at: 48).asInt64
        position = JournalPosition(
            offset: JournalOffset(rawValue: bytes.uint64(at: 0)), chain: bytes.uint64(at: 8),
            totals: totals)
        guard max(totals.entryCount, totals.commitCount) <= Self.totalLimit else {
            throw .checkpoint("totals")
        }
        let count = Int(bytes.uint32(at: 56))
        guard count <= Self.fileLimit, bytes.uint32(at: 60) == 0 else {
            throw .checkpoint("files")
        }
        files = []
        let content = bytes.extracting(0..<end)
        var cursor = ByteCursor(at: Self.fixedLength)
        for _ in 0..<count {
            guard let name = try? cursor.text(content, upTo: Self.nameLimit),
                name.hasPrefix(Self.filePrefix)
            else { throw .checkpoint("files") }
            files.append(name)
        }
        guard end - cursor.position <= Self.stateLimit else { throw .checkpoint("length") }
        state = content.array(in: cursor.position..<end)
    }
}
