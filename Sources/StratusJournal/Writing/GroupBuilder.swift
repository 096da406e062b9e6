internal import StratusBytes

/// A group under construction at a known place of a segment.
///
/// Frames get their offsets, and with them versions and checksums, as they are added.
package struct GroupBuilder: Sendable {
    /// Where the group begins.
    package let base: JournalOffset
    /// The most bytes the group may take.
    package let room: Int
    /// The base of the segment, and its salt.
    private let segment: JournalOffset
    private let salt: UInt64
    /// Of the versions of its entries.
    private let incarnation: UInt16
    private(set) var frames: ByteWriter
    /// Of all frames in their order; the group frame's, the first, is 0 until ``finish(epoch:durableThrough:chain:)``.
    private(set) var payloadChecksums: [UInt64] = []
    private(set) var totals: SegmentTotals

    init(
        at base: JournalOffset, room: Int, in segment: Manifest.Segment, incarnation: UInt16,
        totals: SegmentTotals
    ) {
        self.base = base
        self.room = room
        self.segment = segment.base
        salt = segment.salt
        self.incarnation = incarnation
        self.totals = totals
        payloadChecksums.reserveCapacity(16)
        payloadChecksums.append(0)
        frames = ByteWriter(capacity: 16 << 10)
        Self.header(.group, length: GroupHeader.payloadLength, into: &frames)
        frames.zeros(GroupHeader.payloadLength)
    }

    package var lengthInBytes: Int { frames.count }
    package var isEmpty: Bool { payloadChecksums.count == 1 }

    /// Where the next frame will lie.
    package var end: JournalOffset { base.advanced(byBytes: frames.count) }

    package func hasRoom(for bytes: Int) -> Bool { frames.count + bytes <= room }

    /// Adds entries of one commit: all of them, or the next ones of a long commit, `ordinal` being
    /// the number of the first. With `time` the commit ends here. Returns where they begin.
    @discardableResult
    package mutating func append(
        _ commit: CommitBuffer, ordinal: Int = 0, time: Int64?
    ) -> JournalOffset {
        let start = frames.count
        let source = commit.frames.bytes.span
        if let time {
            let place = commit.lastStart + FrameFormat.time
            frames.append(source.extracting(0..<place))
            frames.int64(time)
            frames.append(source.extracting(place..<source.count))
            totals.countCommit(at: time)
        } else {
            frames.append(source)
        }
        totals.count(entries: commit.entryCount)
        var place = start
        for index in 0..<commit.entryCount {
            let isLast = time != nil && index == commit.entryCount - 1
            let number = UInt32(ordinal + index) | (isLast ? FrameFormat.lastFlag : 0)
            frames.set(number, at: place + FrameFormat.ordinal)
            place = finish(at: place)
        }
        return base.advanced(byBytes: start)
    }

    /// Adds a frame that belongs to no commit.
    mutating func append(_ kind: EntryKind, payload: (inout ByteWriter) -> Void) {
        let start = frames.count
        Self.header(kind, length: 0, into: &frames)
        payload(&frames)
        let length = frames.count - start - FrameFormat.headerLength
        frames.set(UInt32(length), at: start + FrameFormat.length)
        frames.pad(to: JournalOffset.unit)
        _ = finish(at: start)
    }

    /// Completes the group frame; the group can then be written.
    mutating func finish(epoch: UInt32, durableThrough: JournalOffset, chain: UInt64) {
        let header = GroupHeader(
            epoch: epoch, frameCount: UInt32(payloadChecksums.count - 1),
            lengthInBytes: frames.count, durableThrough: durableThrough, chain: chain)
        var payload = ByteWriter(capacity: GroupHeader.payloadLength)
        header.write(to: &payload)
        for place in stride(from: 0, to: payload.count, by: 8) {
            let word = payload.bytes.span.uint64(at: place)
            frames.set(word, at: FrameFormat.headerLength + place)
        }
        _ = finish(at: 0)
        // The group frame comes first in the chain, though it is finished last.
        payloadChecksums[0] = payloadChecksums.removeLast()
    }

    /// The entry at `offset`, where it lies in this group.
    package func entry(at offset: JournalOffset) -> JournalEntry? {
        guard offset > base, offset < end else { return nil }
        let bytes = frames.bytes
        let place = offset.bytes(since: base)
        guard
            let header = try? FrameHeader(
                bytes.span, at: place, end: bytes.count, offset: offset, salt: salt)
        else { return nil }
        return JournalEntry(
            offset: offset, header: header, source: .segment(segment), place: place, bytes: bytes)
    }

    /// Gives `body` every entry from `offset` on.
    package func forEachEntry(
        from offset: JournalOffset, _ body: (FrameHeader, JournalOffset, Span<UInt8>) -> Void
    ) {
        let bytes = frames.bytes.span
        var place = offset.bytes(since: base)
        while place < bytes.count {
            let offset = base.advanced(byBytes: place)
            guard
                let header = try? FrameHeader(
                    bytes, at: place, end: bytes.count, offset: offset, salt: salt)
            else { preconditionFailure("a group under construction holds whole frames") }
            let start = place + header.headerLength
            body(header, offset, bytes.extracting(start..<start + header.payloadLength))
            place += header.frameLength
        }
    }

    /// Gives the frame at `place` its version, if it has none yet, and its checksums; returns the end of the frame.
    private mutating func finish(at place: Int) -> Int {
        let offset = base.advanced(byBytes: place)
        let length = Int(frames.bytes.span.uint32(at: place + FrameFormat.length))
        let isLast = FrameHeader.isLast(frames.bytes.span, at: place)
        let end = place + FrameFormat.frameLength(payload: length, isLast: isLast)
        let content = place + FrameFormat.content(isLast: isLast)
        let version = content + FrameFormat.version
        if frames.bytes.span.uint64(at: version) == 0 {
            frames.set(
                Version(incarnation: incarnation, offset: offset).rawValue, at: version)
        }
        let payload = Checksum.xxh3(frames.bytes.span, in: content..<end)
        frames.set(payload, at: place + FrameFormat.payloadChecksum)
        payloadChecksums.append(payload)
        let header = Checksum.xxh3(
            frames.bytes.span,
            in: place + FrameFormat.payloadChecksum..<place
                + FrameFormat.headerLength(isLast: isLast),
            seed: FrameFormat.seed(salt: salt, offset: offset))
        frames.set(header, at: place + FrameFormat.headerChecksum)
        return end
    }

    private static func header(_ kind: EntryKind, length: Int, into frames: inout ByteWriter) {
        frames.uint64(0)
        frames.uint64(0)
        frames.uint32(UInt32(length))
        frames.uint32(0)
        frames.uint64(0)
        frames.uint32(0)
        frames.uint32(UInt32(kind.rawValue))
    }
}
