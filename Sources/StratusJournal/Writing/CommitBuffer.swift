package import StratusBytes

/// The entries of a commit, encoded but for what the committer adds: their offsets, which make
/// their versions and checksums, and the time.
///
/// Callers fill one in parallel to the committer; ``GroupBuilder`` finishes it.
package struct CommitBuffer: Sendable {
    /// Frames one behind the other, with room for everything.
    private(set) var frames: ByteWriter
    private(set) var entryCount = 0
    private var entryStart = 0
    /// Where the last entry begins.
    private(set) var lastStart = 0

    package init(capacity: Int = 0) { frames = ByteWriter(capacity: capacity) }

    /// Where the next entry would begin.
    package var count: Int { frames.count }

    /// A copy of the payload of the entry that begins at `place`.
    package func payload(at place: Int) -> [UInt8]? {
        let span = frames.bytes.span
        guard place >= 0, place + FrameFormat.headerLength <= span.count else { return nil }
        let start = place + FrameFormat.headerLength
        let length = Int(span.uint32(at: place + FrameFormat.length))
        guard start + length <= span.count else { return nil }
        return span.array(in: start..<start + length)
    }

    package var isEmpty: Bool { entryCount == 0 }

    /// The bytes this commit takes in a group, with its time.
    package var lengthInBytes: Int {
        isEmpty ? 0 : frames.count + FrameFormat.timeLength
    }

    /// Adds an entry; `payload` writes it. Without a `version` it gets that of the place where it will
    /// lie. Fails with `.length` where it is too long.
    package mutating func append(
        _ kind: EntryKind, zone: UInt32, version: Version = .none,
        limit: Int = FrameFormat.payloadLimit, payload: (inout ByteWriter) -> Void
    ) throws(FrameFault) {
        precondition(kind.isEntry)
        let start = frames.count
        frames.uint64(0)
        frames.uint64(0)
        frames.uint32(0)
        frames.uint32(UInt32(entryCount))
        frames.uint64(version.rawValue)
        frames.uint32(zone)
        frames.uint32(UInt32(kind.rawValue))
        payload(&frames)
        let length = frames.count - start - FrameFormat.headerLength
        guard length <= limit else {
            frames.truncate(to: start)
            throw .length
        }
        frames.set(UInt32(length), at: start + FrameFormat.length)
        frames.pad(to: JournalOffset.unit)
        lastStart = start
        entryCount += 1
    }

    /// The only entry that was added, as one that lies at `offset`.
    package func soleEntry(at offset: JournalOffset, _ version: Version) -> JournalEntry {
        precondition(entryCount == 1)
        var frame = frames
        let content = FrameFormat.content(isLast: false)
        frame.set(version.rawValue, at: content + FrameFormat.version)
        frame.set(
            Checksum.xxh3(frame.bytes.span, in: content..<frame.count),
            at: FrameFormat.payloadChecksum)
        return JournalEntry(
            offset: offset, header: FrameHeader(decoding: frame.bytes.span, at: 0),
            source: .segment(offset), place: 0, bytes: frame.bytes)
    }
}
