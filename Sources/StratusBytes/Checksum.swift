internal import CXXHash

/// The door to XXH3: a fast hash that finds accidental damage. It proves nothing about tampering.
package enum Checksum {
    /// XXH3-64 of `bytes` with `seed`.
    package static func xxh3(_ bytes: Span<UInt8>, seed: UInt64 = 0) -> UInt64 {
        // Safe: pointer and length are those of the span, and nothing keeps them.
        unsafe bytes.withUnsafeBytes { buffer in
            unsafe XXH3_64bits_withSeed(buffer.baseAddress, buffer.count, seed)
        }
    }

    /// XXH3-64 of the bytes in `range` with `seed`.
    package static func xxh3(_ bytes: Span<UInt8>, in range: Range<Int>, seed: UInt64 = 0) -> UInt64
    {
        xxh3(bytes.extracting(range), seed: seed)
    }

    /// XXH3-64 of the UTF-8 of `text`.
    package static func xxh3(_ text: String) -> UInt64 {
        var text = text
        // Safe: pointer and length are those of the string, and nothing keeps them.
        return text.withUTF8 { unsafe XXH3_64bits($0.baseAddress, $0.count) }
    }

    /// A hash of the UTF-8 of `text` for tables in memory, where most texts are short.
    package static func quick(_ text: String) -> UInt64 {
        let bytes = text.utf8.span
        let count = bytes.count
        let first: UInt64
        let last: UInt64
        switch count {
        case 0: return 0
        case 1..<4:
            first = UInt64(bytes.uint8(at: 0)) << 8 | UInt64(bytes.uint8(at: count / 2))
            last = UInt64(bytes.uint8(at: count - 1))
        case 4..<8:
            first = UInt64(bytes.uint32(at: 0))
            last = UInt64(bytes.uint32(at: count - 4))
        case 8...16:
            first = bytes.uint64(at: 0)
            last = bytes.uint64(at: count - 8)
        default: return xxh3(bytes)
        }
        let mixed =
            (first ^ UInt64(count) << 56) &* 0x9e37_79b9_7f4a_7c15
            ^ (last &* 0xd6e8_feb8_6659_fd93).byteSwapped
        return (mixed ^ mixed >> 32) &* 0xd6e8_feb8_6659_fd93 ^ mixed >> 29
    }

    /// XXH3-64 of words, as they lie in memory.
    package static func xxh3(words: Span<UInt64>) -> UInt64 {
        // Safe: pointer and length are those of the span, and nothing keeps them.
        unsafe words.withUnsafeBytes { buffer in
            unsafe XXH3_64bits_withSeed(buffer.baseAddress, buffer.count, 0)
        }
    }
}

/// A 128-bit hash, compared as an unsigned number.
@usableFromInline package struct Hash128: Hashable, Comparable, Sendable {
    @usableFromInline package var high: UInt64
    @usableFromInline package var low: UInt64

    @inlinable package init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    /// XXH3-128 of the UTF-8 of `text` with `seed`.
    package init(_ text: String, seed: UInt64) {
        var text = text
        // Safe: pointer and length are those of the string, and nothing keeps them.
        let hash = text.withUTF8 { buffer in
            unsafe XXH3_128bits_withSeed(buffer.baseAddress, buffer.count, seed)
        }
        self.init(high: hash.high64, low: hash.low64)
    }

    /// XXH3-128 of `bytes` with `seed`.
    package init(_ bytes: Span<UInt8>, seed: UInt64) {
        // Safe: pointer and length are those of the span, and nothing keeps them.
        let hash = unsafe bytes.withUnsafeBytes { buffer in
            unsafe XXH3_128bits_withSeed(buffer.baseAddress, buffer.count, seed)
        }
        self.init(high: hash.high64, low: hash.low64)
    }

    @inlinable package static func < (left: Hash128, right: Hash128) -> Bool {
        (left.high, left.low) < (right.high, right.low)
    }
}
