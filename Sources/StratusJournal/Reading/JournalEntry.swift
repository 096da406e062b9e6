internal import StratusBytes

/// An entry of the journal: its header, verified, and its bytes.
package struct JournalEntry: Sendable {
    package var offset: JournalOffset
    package var header: FrameHeader
    /// The base of the segment that the entry lies in.
    let segment: JournalOffset
    /// The frame, from its header to its padding, starts here in ``bytes``.
    let place: Int
    /// Shared with the other entries of what was read in one piece.
    package let bytes: [UInt8]

    package init(
        offset: JournalOffset, header: FrameHeader, segment: JournalOffset, place: Int,
        bytes: [UInt8]
    ) {
        self.offset = offset
        self.header = header
        self.segment = segment
        self.place = place
        self.bytes = bytes
    }

    package var kind: EntryKind { header.kind }
    package var version: Version { header.version }
    package var zone: UInt32 { header.zone }

    /// Damage of this entry: file and byte are those of its frame.
    package func damage(_ kind: JournalDamage.Kind) -> JournalDamage {
        JournalDamage(
            kind, file: SegmentHeader.fileName(base: segment), byte: offset.bytes(since: segment),
            offset: offset)
    }

    /// The payload without the commit time.
    package var payloadRange: Range<Int> {
        let start = place + FrameFormat.headerLength
        let time = header.isLast ? FrameFormat.timeLength : 0
        return start..<start + header.payloadLength - time
    }

    /// A copy of the payload without the commit time.
    package var payload: [UInt8] { Array(bytes[payloadRange]) }

    /// Microseconds since 1970; only the last entry of a commit has it.
    package var commitTime: Int64? {
        guard header.isLast else { return nil }
        return Int64(bitPattern: bytes.span.uint64(at: payloadRange.upperBound))
    }

    /// Gives `body` the payload, without a copy.
    package func withPayload<Result, Failure: Error>(
        _ body: (Span<UInt8>) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try body(bytes.span.extracting(payloadRange))
    }
}
