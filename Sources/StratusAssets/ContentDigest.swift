package import StratusBytes

/// Thirty-two bytes out of SHA-256.
struct DigestWords: Hashable, Sendable {
    static let length = 32

    /// Most significant first.
    private var words: InlineArray<4, UInt64>

    /// The 32 bytes from `place` on, which must be there.
    init(_ bytes: Span<UInt8>, at place: Int = 0) {
        words = InlineArray { bytes.uint64(at: place + $0 * 8).byteSwapped }
    }

    func write(to writer: inout ByteWriter) {
        for place in 0..<4 { writer.uint64(words[place].byteSwapped) }
    }

    /// The first sixteen bytes.
    var high: Hash128 { Hash128(high: words[0], low: words[1]) }
    /// The last sixteen.
    var low: Hash128 { Hash128(high: words[2], low: words[3]) }

    static func == (left: DigestWords, right: DigestWords) -> Bool {
        left.words[0] == right.words[0] && left.words[1] == right.words[1]
            && left.words[2] == right.words[2] && left.words[3] == right.words[3]
    }

    /// All of it: what a file says to be a digest may differ from another one anywhere.
    func hash(into hasher: inout Hasher) {
        for place in 0..<4 { hasher.combine(words[place]) }
    }
}

/// What bytes are known by, wherever they are stored: the SHA-256 of a chunk, or what becomes of
/// those of all chunks of an asset (`Formats/Assets.md`, "Digests").
package struct ContentDigest: Hashable, Sendable {
    package static let length = DigestWords.length

    private let words: DigestWords

    /// The SHA-256 of `bytes`.
    init(of bytes: Span<UInt8>) {
        var hash = SHA256()
        hash.update(bytes)
        words = DigestWords(hash.finish().span)
    }

    /// The 32 bytes from `place` on, which must be there.
    package init(_ bytes: Span<UInt8>, at place: Int = 0) { words = DigestWords(bytes, at: place) }

    package func write(to writer: inout ByteWriter) { words.write(to: &writer) }
}

extension ContentDigest: CustomStringConvertible {
    /// 64 hexadecimal digits.
    package var description: String {
        var writer = ByteWriter()
        write(to: &writer)
        return Hex.encode(writer.bytes)
    }
}
