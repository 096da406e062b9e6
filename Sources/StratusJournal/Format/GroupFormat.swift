package import StratusBytes

/// The payload of a group frame: `Formats/Journal.md`, "Groups".
package struct GroupHeader: Equatable, Sendable {
    /// Which opening of the store wrote it; never falls.
    package var epoch: UInt32
    /// How many frames follow this one in the group.
    package var frameCount: UInt32
    /// From the start of this frame to the end of the group.
    package var lengthInBytes: Int
    /// Everything before this offset was durable when the group was written.
    package var durableThrough: JournalOffset
    /// The chain over all groups before this one.
    package var chain: UInt64

    static let payloadLength = 32
    package static let frameLength = FrameFormat.frameLength(payload: payloadLength)

    package init(
        epoch: UInt32, frameCount: UInt32, lengthInBytes: Int, durableThrough: JournalOffset,
        chain: UInt64
    ) {
        self.epoch = epoch
        self.frameCount = frameCount
        self.lengthInBytes = lengthInBytes
        self.durableThrough = durableThrough
        self.chain = chain
    }

    init(_ bytes: Span<UInt8>) throws(FormatError) {
        var cursor = ByteCursor()
        epoch = try cursor.uint32(bytes)
        frameCount = try cursor.uint32(bytes)
        let length = try cursor.uint64(bytes)
        guard length >= UInt64(Self.frameLength), length % 8 == 0,
            length <= UInt64(SegmentHeader.greatestLength)
        else { throw .value("length") }
        lengthInBytes = Int(length)
        durableThrough = JournalOffset(rawValue: try cursor.uint64(bytes))
        chain = try cursor.uint64(bytes)
        try cursor.end(bytes)
    }

    func write(to writer: inout ByteWriter) {
        writer.uint32(epoch)
        writer.uint32(frameCount)
        writer.uint64(UInt64(lengthInBytes))
        writer.uint64(durableThrough.rawValue)
        writer.uint64(chain)
    }
}

/// The chain runs from group to group over the payload checksums of all frames, so that a group
/// that was left out, added, exchanged or moved shows at the next one.
package enum Chain {
    package static func after(_ chain: UInt64, payloadChecksums: [UInt64]) -> UInt64 {
        var writer = ByteWriter(capacity: payloadChecksums.count * 8)
        for checksum in payloadChecksums { writer.uint64(checksum) }
        return Checksum.xxh3(writer.bytes.span, seed: chain)
    }
}

/// The payload of a trailer, which ends a full segment.
package struct Trailer: Equatable, Sendable {
    /// The chain before the segment's first group and before the trailer's own.
    package var chainAtStart: UInt64
    package var chainAtEnd: UInt64
    package var entryCount: UInt64
    package var commitCount: UInt64
    /// Of the commits that end in the segment, in microseconds since 1970; 0 where there are none.
    package var leastTime: Int64
    package var greatestTime: Int64

    package static let payloadLength = 48

    init(_ totals: SegmentTotals, chainAtStart: UInt64, chainAtEnd: UInt64) {
        self.chainAtStart = chainAtStart
        self.chainAtEnd = chainAtEnd
        entryCount = totals.entryCount
        commitCount = totals.commitCount
        leastTime = totals.leastTime
        greatestTime = totals.greatestTime
    }

    package init(_ bytes: Span<UInt8>) throws(FormatError) {
        var cursor = ByteCursor()
        chainAtStart = try cursor.uint64(bytes)
        chainAtEnd = try cursor.uint64(bytes)
        entryCount = try cursor.uint64(bytes)
        commitCount = try cursor.uint64(bytes)
        leastTime = try cursor.int64(bytes)
        greatestTime = try cursor.int64(bytes)
        try cursor.end(bytes)
    }

    func write(to writer: inout ByteWriter) {
        writer.uint64(chainAtStart)
        writer.uint64(chainAtEnd)
        writer.uint64(entryCount)
        writer.uint64(commitCount)
        writer.int64(leastTime)
        writer.int64(greatestTime)
    }
}

/// What is counted of a segment while it is written or read, for its trailer.
package struct SegmentTotals: Equatable, Sendable {
    package var entryCount: UInt64 = 0
    package var commitCount: UInt64 = 0
    package var leastTime: Int64 = 0
    package var greatestTime: Int64 = 0
    /// Of the last commit, whichever segment it ends in; 0 before the first.
    package var lastTime: Int64 = 0

    package init() {}

    /// Of a segment of which nothing was counted yet, behind the one of `before`.
    init(after before: SegmentTotals) { lastTime = before.lastTime }

    mutating func count(entries: Int) { entryCount += UInt64(entries) }

    mutating func countCommit(at time: Int64) {
        leastTime = commitCount == 0 ? time : min(leastTime, time)
        greatestTime = commitCount == 0 ? time : max(greatestTime, time)
        commitCount += 1
        lastTime = time
    }
}
