internal import StratusBytes

/// Cuts bytes into chunks at places that depend on the bytes around them, so that an edit changes
/// the chunks it touches and no others.
///
/// FastCDC with normalised lengths: up to the usual length a cut is four times less likely than it
/// would have to be, behind it four times more, so that lengths keep near the usual one. The
/// lengths were measured: `Formats/Assets.md`, "Cuts".
package struct Chunker: Sendable {
    /// No chunk but the last of an asset is shorter, in bytes.
    package static let least = 16 << 10
    package static let usual = 64 << 10
    /// No chunk is longer.
    package static let most = 256 << 10

    /// 18 bits up to the usual length, 14 behind it; the usual length itself would be 16.
    private static let strictMask: UInt64 = ((1 << 18) - 1) << 44
    private static let easyMask: UInt64 = ((1 << 14) - 1) << 48

    private static let hash = RollingHash()

    /// So much of the chunk that begins has no cut.
    private var passed = least
    /// The hash behind that.
    private var value: UInt64 = 0

    package init() {}

    /// How long the first chunk of `bytes` is; nil where that depends on what follows. After nil
    /// come the same bytes and more, of which those that were passed are not looked at again.
    package mutating func firstCut(in bytes: Span<UInt8>) -> Int? {
        let end = min(bytes.count, Self.most)
        guard end > passed else { return nil }
        let middle = max(passed, min(end, Self.usual))
        let cut =
            Self.hash.firstZero(of: Self.strictMask, in: bytes, passed..<middle, hash: &value)
            ?? Self.hash.firstZero(of: Self.easyMask, in: bytes, middle..<end, hash: &value)
            ?? (end == Self.most ? end : nil)
        (passed, value) = cut == nil ? (end, value) : (Self.least, 0)
        return cut
    }
}
