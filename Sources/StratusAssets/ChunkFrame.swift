internal import StratusBytes

/// A chunk as it lies in a segment: 80 bytes of header, the bytes as stored, padding.
///
/// `Formats/Assets.md`, "Frames".
struct ChunkFrame: Equatable, Sendable {
    enum Encoding: UInt8, Sendable {
        case plain = 0
        case lz4 = 1
    }

    var storedLength: Int
    var length: Int
    var encoding: Encoding
    var domain: ChunkDomain
    var address: ChunkAddress
    /// XXH3-64 over the bytes as stored.
    var checksum: UInt64

    static let headerLength = 80
    static let alignment = 8

    /// With header and padding.
    static func frameLength(storedLength: Int) -> Int {
        headerLength + (storedLength + alignment - 1) / alignment * alignment
    }

    /// The frame that stands at `place` of a segment with this salt.
    func append(
        _ stored: Span<UInt8>, to writer: inout ByteWriter, at place: Int, salt: UInt64
    ) {
        let start = writer.count
        writer.uint64(0)
        writer.uint64(checksum)
        writer.uint32(UInt32(storedLength))
        writer.uint32(UInt32(length))
        writer.uint8(encoding.rawValue)
        writer.zeros(7)
        writer.hash(domain.bits)
        address.write(to: &writer)
        let header = Checksum.xxh3(
            writer.bytes.span, in: start + 8..<writer.count, seed: Self.seed(salt, place))
        writer.set(header, at: start)
        writer.append(stored)
        writer.zeros((Self.alignment - storedLength % Self.alignment) % Self.alignment)
    }

    /// Decodes and verifies the header of the frame at `place`.
    init(header bytes: Span<UInt8>, at place: Int, salt: UInt64) throws(ChunkDamage.Kind) {
        guard bytes.count >= Self.headerLength else { throw .frame("length") }
        let stated = bytes.uint64(at: 0)
        guard
            Checksum.xxh3(bytes, in: 8..<Self.headerLength, seed: Self.seed(salt, place))
                == stated
        else { throw .frame("header checksum") }
        checksum = bytes.uint64(at: 8)
        storedLength = Int(bytes.uint32(at: 16))
        length = Int(bytes.uint32(at: 20))
        guard let encoding = Encoding(rawValue: bytes.uint8(at: 24)) else {
            throw .newerEncoding(bytes.uint8(at: 24))
        }
        guard bytes.isZero(in: 25..<32) else { throw .frame("reserved") }
        self.encoding = encoding
        domain = Self.domain(bytes)
        address = ChunkAddress(bytes, at: 48)
        // Believed before anything is allocated for it.
        guard length > 0, length <= Chunker.most, storedLength > 0,
            encoding == .plain ? storedLength == length : storedLength < length
        else { throw .frame("lengths") }
    }

    /// The domain that the header of a frame states.
    static func domain(_ frame: Span<UInt8>) -> ChunkDomain {
        ChunkDomain(Hash128(high: frame.uint64(at: 32), low: frame.uint64(at: 40)))
    }

    init(
        storedLength: Int, length: Int, encoding: Encoding, domain: ChunkDomain,
        address: ChunkAddress, checksum: UInt64
    ) {
        self.storedLength = storedLength
        self.length = length
        self.encoding = encoding
        self.domain = domain
        self.address = address
        self.checksum = checksum
    }

    /// Where the chunk lies in its frame, as it is stored.
    var storedRange: Range<Int> { Self.headerLength..<Self.headerLength + storedLength }

    /// The chunk's bytes, verified, from those of its frame.
    func content(of bytes: [UInt8]) throws(ChunkDamage.Kind) -> ArraySlice<UInt8> {
        guard bytes.count == Self.frameLength(storedLength: storedLength),
            bytes.span.isZero(in: storedRange.upperBound..<bytes.count)
        else { throw .frame("padding") }
        var content = bytes[storedRange]
        guard Checksum.xxh3(content.span) == checksum else { throw .frame("checksum") }
        if encoding == .lz4 {
            guard let bytes = LZ4.decompress(content.span, count: length) else {
                throw .frame("compression")
            }
            content = bytes[...]
        }
        guard ChunkAddress(of: ContentDigest(of: content.span), in: domain) == address else {
            throw .frame("address")
        }
        return content
    }

    private static func seed(_ salt: UInt64, _ place: Int) -> UInt64 { salt &+ UInt64(place) }
}

/// A chunk that was hashed and, where that saves something, compressed: ready to be written.
package struct EncodedChunk: Sendable {
    let frame: ChunkFrame
    let stored: ArraySlice<UInt8>

    package var address: ChunkAddress { frame.address }
    /// In bytes.
    package var storedLength: Int { stored.count }

    /// A chunk that was stored before.
    init(_ frame: ChunkFrame, stored: ArraySlice<UInt8>) {
        self.frame = frame
        self.stored = stored
    }

    /// The chunk of `bytes`, which are at least 1 and at most ``Chunker/most``.
    package init(_ bytes: ArraySlice<UInt8>, in domain: ChunkDomain) {
        let address = ChunkAddress(of: ContentDigest(of: bytes.span), in: domain)
        self.init(bytes, address: address, in: domain)
    }

    /// The same where the address is known.
    package init(_ bytes: ArraySlice<UInt8>, address: ChunkAddress, in domain: ChunkDomain) {
        precondition(!bytes.isEmpty && bytes.count <= Chunker.most)
        var block: [UInt8]?
        if Self.mayShrink(bytes.span) {
            block = LZ4.compress(bytes.span, most: Self.worth(bytes.count))
        }
        let stored = block?[...] ?? bytes
        self.stored = stored
        frame = ChunkFrame(
            storedLength: stored.count, length: bytes.count,
            encoding: block == nil ? .plain : .lz4, domain: domain, address: address,
            checksum: Checksum.xxh3(stored.span))
    }

    /// A compressed chunk must be decompressed at every read, so that it has to save a sixteenth.
    private static func worth(_ count: Int) -> Int { count - count / 16 - 1 }

    private static let sample = 4096

    /// What is compressed or encrypted already shows in a small part from the middle.
    private static func mayShrink(_ bytes: Span<UInt8>) -> Bool {
        guard bytes.count > sample * 4 else { return true }
        let start = (bytes.count - sample) / 2
        let part = bytes.extracting(start..<start + sample)
        return LZ4.compress(part, most: sample - sample / 32) != nil
    }
}
