internal import StratusBytes

/// The scalars of a string folded by case, as UTF-8. Reused for many strings.
package struct FoldedBytes: Sendable {
    package private(set) var bytes: [UInt8] = []

    package init() {}

    package init(_ text: String) {
        let text = text.utf8Span.span
        _ = fold(text, in: text.indices)
    }

    /// Whether the UTF-8 in `range` is its own folding, as most identifiers are.
    package static func isFolded(_ text: Span<UInt8>, in range: Range<Int>) -> Bool {
        let (start, end) = (range.lowerBound, range.upperBound)
        switch range.count {
        case 0..<4:
            for place in range where !isFolded(UInt64(text.uint8(at: place))) { return false }
            return true
        case 4..<8:
            // The two overlap.
            let (first, last) = (text.uint32(at: start), text.uint32(at: end - 4))
            return isFolded(UInt64(first) << 32 | UInt64(last))
        default:
            for place in stride(from: start, to: end - 8, by: 8)
            where !isFolded(text.uint64(at: place)) { return false }
            return isFolded(text.uint64(at: end - 8))
        }
    }

    /// Whether each of eight bytes is its own folding: below 0x80, and none of A to Z.
    private static func isFolded(_ bytes: UInt64) -> Bool {
        let high: UInt64 = 0x8080_8080_8080_8080
        if bytes & high != 0 { return false }
        // Of bytes below 0x80 the sums do not reach the next one.
        let fromA = bytes &+ 0x3f3f_3f3f_3f3f_3f3f
        let behindZ = bytes &+ 0x2525_2525_2525_2525
        return fromA & ~behindZ & high == 0
    }

    /// Of the UTF-8 in `range`; false where it is none.
    package mutating func fold(_ text: Span<UInt8>, in range: Range<Int>) -> Bool {
        bytes.removeAll(keepingCapacity: true)
        bytes.append(addingCapacity: range.count) { output in
            for place in range {
                let byte = text.uint8(at: place)
                if byte >= 0x80 { break }
                output.append(byte &- 0x41 < 26 ? byte | 0x20 : byte)
            }
        }
        if bytes.count == range.count { return true }
        bytes.removeAll(keepingCapacity: true)
        guard let whole = text.text(in: range) else { return false }
        for scalar in FoldedScalars(whole, .case) {
            bytes.append(contentsOf: UTF8.encode(scalar) ?? .init())
        }
        return true
    }

    /// So many bytes at the beginning, at most, of whole scalars.
    package func prefix(_ limit: Int) -> Int {
        if bytes.count <= limit { return bytes.count }
        var count = limit
        while count > 0, bytes[count] & 0xc0 == 0x80 { count -= 1 }
        return count
    }
}
