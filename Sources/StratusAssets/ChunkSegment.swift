internal import StratusBytes
internal import StratusFiles

/// The first 64 bytes of a chunk segment: `Formats/Assets.md`, "Segments".
struct ChunkSegmentHeader: Equatable, Sendable {
    var storeID: Hash128
    var number: UInt64
    /// Drawn for each segment: frames of another one are not taken for frames of this.
    var salt: UInt64

    static let length = 64
    static let version: UInt16 = 1
    static let magic: [UInt8] = [0x89, 0x53, 0x54, 0x43, 0x0d, 0x0a, 0x1a, 0x0a]
    static let filePrefix = "chunks-"

    static func fileName(_ number: UInt64) -> String { filePrefix + Hex.encode(number) }

    /// The number that a file's name states, or nil where it is no chunk segment's name.
    static func number(ofFile name: String) -> UInt64? {
        name.hasPrefix(filePrefix) ? Hex.number(name.dropFirst(filePrefix.count)) : nil
    }

    func encoded() -> [UInt8] {
        var writer = ByteWriter(capacity: Self.length)
        writer.append(Self.magic)
        writer.uint16(Self.version)
        writer.uint16(Self.version)
        writer.uint32(0)
        writer.hash(storeID)
        writer.uint64(number)
        writer.uint64(salt)
        writer.uint64(0)
        writer.uint64(Checksum.xxh3(writer.bytes.span))
        return writer.bytes
    }

    init(storeID: Hash128, number: UInt64, salt: UInt64) {
        self.storeID = storeID
        self.number = number
        self.salt = salt
    }

    /// Decodes and verifies the beginning of a file.
    init(_ bytes: Span<UInt8>) throws(ChunkDamage.Kind) {
        guard bytes.count >= Self.length else { throw .header("length") }
        guard Self.magic.indices.allSatisfy({ bytes.uint8(at: $0) == Self.magic[$0] }) else {
            throw .header("magic")
        }
        guard Checksum.xxh3(bytes, in: 0..<56) == bytes.uint64(at: 56) else {
            throw .header("checksum")
        }
        guard bytes.uint16(at: 10) <= Self.version else {
            throw .newerFormat(bytes.uint16(at: 10))
        }
        guard bytes.isZero(in: 12..<16), bytes.isZero(in: 48..<56) else {
            throw .header("reserved")
        }
        storeID = Hash128(high: bytes.uint64(at: 16), low: bytes.uint64(at: 24))
        number = bytes.uint64(at: 32)
        salt = bytes.uint64(at: 40)
    }
}

extension ChunkLocation {
    /// Segments have lower numbers.
    package static let numberLimit: UInt64 = 1 << 44
    /// Frames begin before.
    package static let byteLimit = 1 << 40

    /// Whether there can be such a place.
    package var isPossible: Bool {
        number > 0 && number < Self.numberLimit && byte >= ChunkSegmentHeader.length
            && byte < Self.byteLimit && byte % ChunkFrame.alignment == 0 && length > 0
            && length <= Chunker.most && storedLength > 0 && storedLength <= length
    }

    /// The file that it is in.
    package var file: String { Self.file(ofSegment: number) }

    /// The file of a segment.
    package static func file(ofSegment number: UInt64) -> String {
        ChunkSegmentHeader.fileName(number)
    }

    /// What the chunk takes there, in bytes.
    package var frameLength: Int { ChunkFrame.frameLength(storedLength: storedLength) }
}

/// Where a chunk lies: what the journal says of it.
package struct ChunkLocation: Hashable, Sendable {
    /// The segment's.
    package var number: UInt64
    /// Of the frame, from the start of the file.
    package var byte: Int
    /// As stored, without header and padding.
    package var storedLength: Int
    /// Of the chunk's bytes.
    package var length: Int

    package init(number: UInt64, byte: Int, storedLength: Int, length: Int) {
        self.number = number
        self.byte = byte
        self.storedLength = storedLength
        self.length = length
    }
}
