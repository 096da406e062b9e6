package import StratusBytes

/// Where chunks count as the same: equal bytes in two domains are two chunks, so that a user cannot
/// learn from a save what other users have saved.
package struct ChunkDomain: Hashable, Sendable {
    package var bits: Hash128

    package init(_ bits: Hash128) { self.bits = bits }
}

/// What a chunk is known by: the SHA-256 of its domain and the SHA-256 of its bytes.
///
/// `Formats/Assets.md`, "Addresses".
package struct ChunkAddress: Hashable, Sendable {
    package static let length = DigestWords.length

    private let words: DigestWords

    /// The address in a domain of the chunk whose bytes have that digest.
    init(of content: ContentDigest, in domain: ChunkDomain) {
        var writer = ByteWriter(capacity: 48)
        writer.hash(domain.bits)
        content.write(to: &writer)
        words = DigestWords(SHA256.hash(writer.bytes).span)
    }

    /// The 32 bytes from `place` on, which must be there.
    package init(_ bytes: Span<UInt8>, at place: Int) { words = DigestWords(bytes, at: place) }

    package func write(to writer: inout ByteWriter) { words.write(to: &writer) }

    /// The first sixteen bytes.
    package var high: Hash128 { words.high }
    /// The last sixteen.
    package var low: Hash128 { words.low }
}

extension ChunkAddress: CustomStringConvertible {
    /// 64 hexadecimal digits.
    package var description: String {
        var writer = ByteWriter()
        write(to: &writer)
        return Hex.encode(writer.bytes)
    }
}
