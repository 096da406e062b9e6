internal import StratusBytes

/// An entry of the journal: its header, verified, and its bytes.
package struct JournalEntry: Sendable {
    package var offset: JournalOffset
    package var header: FrameHeader
    let source: Source
    /// The frame, from its header to its padding, starts here in ``bytes``.
    let place: Int
    /// Shared with the other entries of the same read.
    package let bytes: [UInt8]

    package init(
        offset: JournalOffset, header: FrameHeader, source: Source, place: Int, bytes: [UInt8]
    ) {
        self.offset = offset
        self.header = header
        self.source = source
        self.place = place
        self.bytes = bytes
    }

    /// The file that an entry was read from.
    package enum Source: Sendable {
        /// That of a segment with this base.
        case segment(JournalOffset)
        /// That of a compacted segment, by its number; the byte is that of the entry's block, or 0
        /// where that is not known.
        case block(UInt64, Int)
    }

    /// Whether it is known without what follows that its commit is complete: of others nothing is
    /// kept in a compacted segment.
    package var isOfCompleteCommit: Bool { if case .block = source { true } else { false } }

    package var kind: EntryKind { header.kind }
    package var version: Version { header.version }
    package var zone: UInt32 { header.zone }

    /// Damage of this entry: file and byte are those of its frame or its block.
    package func damage(_ kind: JournalDamage.Kind) -> JournalDamage {
        JournalDamage(kind, file: fileName, byte: byte, offset: offset)
    }

    /// The file that it lies in.
    package var fileName: String {
        switch source {
        case .segment(let base): SegmentHeader.fileName(base: base)
        case .block(let number, _): CompactedHeader.fileName(number: number)
        }
    }

    /// Where its frame, or the block that holds it, begins in the file.
    package var byte: Int {
        switch source {
        case .segment(let base): offset.bytes(since: base)
        case .block(_, let byte): byte
        }
    }

    /// In microseconds since 1970. Only the last entry of a commit has it.
    package var commitTime: Int64? { header.commitTime }

    /// Where the payload lies in ``bytes``.
    package var payloadRange: Range<Int> {
        let start = place + header.headerLength
        return start..<start + header.payloadLength
    }

    /// A copy of the payload.
    package var payload: [UInt8] { Array(bytes[payloadRange]) }

    /// The same entry, at its offset and in its commit, with another content.
    package func replacing(
        _ kind: EntryKind, zone: UInt32, payload: [UInt8]
    ) -> JournalEntry {
        var header = header
        header.kind = kind
        header.zone = zone
        return with(header, payload.span)
    }

    /// The same entry as the last one of its commit, at `time` in microseconds since 1970.
    func ending(at time: Int64) -> JournalEntry {
        var header = header
        header.commitTime = time
        return withPayload { with(header, $0) }
    }

    private func with(_ changed: FrameHeader, _ payload: Span<UInt8>) -> JournalEntry {
        var header = changed
        header.payloadLength = payload.count
        var frame = ByteWriter(capacity: header.frameLength)
        header.write(payload, to: &frame)
        let content = FrameFormat.content(isLast: header.isLast)..<frame.count
        header.payloadChecksum = Checksum.xxh3(frame.bytes.span, in: content)
        frame.set(header.payloadChecksum, at: FrameFormat.payloadChecksum)
        return JournalEntry(
            offset: offset, header: header, source: source, place: 0, bytes: frame.bytes)
    }

    /// Gives `body` the payload, without a copy.
    package func withPayload<Result, Failure: Error>(
        _ body: (Span<UInt8>) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try body(bytes.span.extracting(payloadRange))
    }
}
