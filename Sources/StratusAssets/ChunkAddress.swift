package import StratusBytes

/// Where chunks count as the same: equal bytes in two domains are two chunks, so that nobody learns
/// from a save what others have saved.
package struct ChunkDomain: Hashable, Sendable {
    package var bits: Hash128

    package init(_ bits: Hash128) { self.bits = bits }
}

/// What a chunk is known by: the SHA-256 of its domain and its bytes.
///
/// `Formats/Assets.md`, "Addresses".
package struct ChunkAddress: Hashable, Sendable {
    static let length = 32

    /// Most significant first.
    private var words: (UInt64, UInt64, UInt64, UInt64)

    /// The address of `bytes` in a domain.
    package init(of bytes: Span<UInt8>, in domain: ChunkDomain) {
        var writer = ByteWriter(capacity: 16)
        writer.hash(domain.bits)
        var hash = SHA256()
        hash.update(writer.bytes.span)
        hash.update(bytes)
        self.init(hash.finish().span, at: 0)
    }

    /// The 32 bytes from `place` on.
    init(_ bytes: Span<UInt8>, at place: Int) {
        words = (
            bytes.uint64(at: place).byteSwapped, bytes.uint64(at: place + 8).byteSwapped,
            bytes.uint64(at: place + 16).byteSwapped, bytes.uint64(at: place + 24).byteSwapped
        )
    }

    func write(to writer: inout ByteWriter) {
        for word in [words.0, words.1, words.2, words.3] { writer.uint64(word.byteSwapped) }
    }

    package static func == (left: ChunkAddress, right: ChunkAddress) -> Bool {
        left.words == right.words
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(words.0)
        hasher.combine(words.1)
    }
}

extension ChunkAddress: CustomStringConvertible {
    /// 64 hexadecimal digits.
    package var description: String {
        [words.0, words.1, words.2, words.3].map { Hex.encode($0) }.joined()
    }
}
