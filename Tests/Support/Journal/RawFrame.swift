import StratusBytes
package import StratusJournal

/// A frame as `Formats/Journal.md` describes it, encoded without the code under test, with every
/// field as a test wants it and both checksums right.
package struct RawFrame: Sendable {
    package var length: UInt32?
    package var ordinal: UInt32 = 0
    package var zone: UInt32 = 7
    package var kind: UInt8 = 32
    package var flags: UInt8 = 0
    package var keyNumber: UInt16 = 0
    package var payload: [UInt8] = []
    package var padding: UInt8 = 0

    package init() {}

    package func bytes(at offset: JournalOffset, salt: UInt64) -> [UInt8] {
        var content = ByteWriter()
        content.uint64(offset.rawValue)
        content.uint32(zone)
        content.uint8(kind)
        content.uint8(flags)
        content.uint16(keyNumber)
        content.append(payload)
        while content.count % 8 != 0 { content.uint8(padding) }
        var header = ByteWriter()
        header.uint64(Checksum.xxh3(content.bytes.span))
        header.uint32(length ?? UInt32(payload.count))
        header.uint32(ordinal)
        header.append(Array(content.bytes[..<16]))
        var frame = ByteWriter()
        frame.uint64(Checksum.xxh3(header.bytes.span, seed: salt &+ offset.rawValue))
        frame.append(header.bytes)
        frame.append(Array(content.bytes[16...]))
        return frame.bytes
    }
}
