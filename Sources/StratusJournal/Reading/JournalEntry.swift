internal import StratusBytes

/// An entry of the journal: its header, verified, and its bytes.
package struct JournalEntry: Sendable {
    package var offset: JournalOffset
    package var header: FrameHeader
    /// The base of the segment that the entry lies in.
    let segment: JournalOffset
    /// The frame, from its header to its padding, starts here in ``bytes``.
    let place: Int
    /// Shared with the other entries of the same read.
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

    /// In microseconds since 1970. Only the last entry of a commit has it.
    package var commitTime: Int64? { header.commitTime }

    /// Where the payload lies in ``bytes``.
    package var payloadRange: Range<Int> {
        let start = place + header.headerLength
        return start..<start + header.payloadLength
    }

    /// A copy of the payload.
    package var payload: [UInt8] { Array(bytes[payloadRange]) }

    /// Gives `body` the payload, without a copy.
    package func withPayload<Result, Failure: Error>(
        _ body: (Span<UInt8>) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try body(bytes.span.extracting(payloadRange))
    }
}
