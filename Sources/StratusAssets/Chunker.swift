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

    private let hash = RollingHash()

    package init() {}

    /// How long the first chunk of `bytes` is: these go on to the end of the asset, or for at least
    /// ``most`` bytes.
    package func firstCut(in bytes: Span<UInt8>) -> Int {
        let end = min(bytes.count, Self.most)
        guard end > Self.least else { return end }
        let middle = min(end, Self.usual)
        var value: UInt64 = 0
        return hash.firstZero(
            of: Self.strictMask, in: bytes, Self.least..<middle, hash: &value)
            ?? hash.firstZero(of: Self.easyMask, in: bytes, middle..<end, hash: &value) ?? end
    }
}
