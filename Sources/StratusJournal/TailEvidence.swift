internal import StratusBytes
internal import StratusFiles

/// What lies behind a place where the groups of a segment stop being whole.
struct TailEvidence: Equatable {
    /// Nothing but zeros.
    var isZero = true
    /// A whole group frame, and one that says that the place was durable.
    var hasLaterGroup = false
    var saysDurable = false
    var hasClosingMark = false
    /// A whole frame of the group that is not.
    var hasLaterFrame = false
    /// At the place itself, a whole frame of another segment's life.
    var isStale = false

    /// The most that is read at once; pieces overlap by a header.
    private static let pieceLength = 1 << 20
}

extension TailEvidence {
    /// Looks through everything from `place` to the end of the segment.
    ///
    /// - Parameter others: segments whose frames old blocks may hold.
    init(
        behind place: JournalOffset, in file: any StorageFile, of segment: Manifest.Segment,
        others: [Manifest.Segment]
    ) throws(StorageError) {
        let start = place.bytes(since: segment.base)
        var position = start
        while position < segment.lengthInBytes {
            let end = min(
                position + Self.pieceLength + GroupHeader.frameLength * 2, segment.lengthInBytes)
            let bytes = try file.read(position..<end)
            let next = min(position + Self.pieceLength, segment.lengthInBytes)
            if position == start {
                isStale = others.contains { other in
                    Self.frame(
                        bytes.span, at: 0, offset: other.base.advanced(byBytes: start),
                        salt: other.salt) != nil
                }
            }
            look(
                through: bytes.span, upTo: next - position, at: position, behind: place,
                in: segment)
            position = next
        }
    }

    private mutating func look(
        through bytes: Span<UInt8>, upTo end: Int, at position: Int, behind place: JournalOffset,
        in segment: Manifest.Segment
    ) {
        for start in stride(from: 0, to: end, by: JournalOffset.unit) {
            // Zeros are the usual case, and no frame begins with them.
            if bytes.uint64(at: start) == 0 { continue }
            isZero = false
            let offset = segment.base.advanced(byBytes: position + start)
            guard offset > place,
                let frame = Self.frame(bytes, at: start, offset: offset, salt: segment.salt)
            else { continue }
            if frame.kind == .group {
                let payload = start + FrameFormat.headerLength
                guard (try? frame.verifyPayload(bytes, at: start)) != nil,
                    let group = try? GroupHeader(
                        bytes.extracting(payload..<payload + frame.payloadLength))
                else { continue }
                hasLaterGroup = true
                if group.durableThrough > place { saysDurable = true }
            } else if frame.kind == .closingMark {
                hasClosingMark = true
            } else if !hasLaterGroup {
                hasLaterFrame = true
            }
        }
    }

    /// The frame whose header is whole at `place`.
    private static func frame(
        _ bytes: Span<UInt8>, at place: Int, offset: JournalOffset, salt: UInt64
    ) -> FrameHeader? {
        try? FrameHeader(bytes, at: place, end: .max, offset: offset, salt: salt)
    }
}
