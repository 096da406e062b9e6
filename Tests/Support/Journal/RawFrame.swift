import StratusBytes
package import StratusJournal

/// A frame as `Formats/Journal.md` describes it, encoded without the code under test, with every
/// field as a test wants it and both checksums right.
package struct RawFrame: Sendable {
    package var length: UInt32?
    /// Nil: the frame's own offset.
    package var version: UInt64?
    package var ordinal: UInt32 = 0
    package var zone: UInt32 = 7
    package var kind: UInt8 = 32
    package var flags: UInt8 = 0
    package var reserved: UInt16 = 0
    /// Of a frame that `ordinal` flags as the last of its commit.
    package var time: Int64 = 0
    package var payload: [UInt8] = []
    package var padding: UInt8 = 0

    package init() {}

    package func bytes(at offset: JournalOffset, salt: UInt64) -> [UInt8] {
        var content = ByteWriter()
        content.uint64(version ?? offset.rawValue)
        content.uint32(zone)
        content.uint8(kind)
        content.uint8(flags)
        content.uint16(reserved)
        content.append(payload)
        while content.count % 8 != 0 { content.uint8(padding) }
        var header = ByteWriter()
        header.uint64(Checksum.xxh3(content.bytes.span))
        header.uint32(length ?? UInt32(payload.count))
        header.uint32(ordinal)
        if ordinal >> 31 == 1 { header.int64(time) }
        header.append(Array(content.bytes[..<16]))
        var frame = ByteWriter()
        frame.uint64(Checksum.xxh3(header.bytes.span, seed: salt &+ offset.rawValue))
        frame.append(header.bytes)
        frame.append(Array(content.bytes[16...]))
        return frame.bytes
    }
}
