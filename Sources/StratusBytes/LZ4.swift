internal import CLZ4

/// The door to LZ4: blocks, without a frame around them. A block does not hold its lengths: the
/// caller stores them.
package enum LZ4 {
    /// Longer blocks are refused in both directions, in bytes.
    package static let limit = 1 << 30

    /// `bytes` as a block of at most `most` bytes; nil where that is not enough.
    package static func compress(_ bytes: Span<UInt8>, most: Int) -> [UInt8]? {
        guard most > 0, bytes.count <= limit else { return nil }
        let block = [UInt8](capacity: min(most, limit)) { block in
            // Safe: both lengths are those of the buffers, and nothing keeps these.
            unsafe block.appendBytes { target in
                unsafe bytes.withUnsafeBytes { source in
                    Int(
                        unsafe LZ4_compress_default(
                            source.baseAddress, target.baseAddress, Int32(source.count),
                            Int32(target.count)))
                }
            }
        }
        return block.isEmpty ? nil : block
    }

    /// The `count` bytes that a block stands for; nil where it stands for others. However the
    /// block lies, no more than `count` bytes are written.
    package static func decompress(_ block: Span<UInt8>, count: Int) -> [UInt8]? {
        guard count >= 0, count <= limit, block.count <= limit else { return nil }
        var written = 0
        let bytes = [UInt8](capacity: count) { bytes in
            // Safe: the decoder is told both lengths and checks every step against them.
            written = unsafe bytes.appendBytes { target in
                unsafe block.withUnsafeBytes { source in
                    Int(
                        unsafe LZ4_decompress_safe(
                            source.baseAddress, target.baseAddress, Int32(source.count),
                            Int32(target.count)))
                }
            }
        }
        return written == count ? bytes : nil
    }
}
