/// A hash over the last 64 bytes that are passed, for finding places in bytes that depend on what
/// stands around them and on nothing else.
///
/// Passing a byte doubles the hash and adds the byte's own number, so that after 64 more nothing is
/// left of it. The numbers are a table of the format (`Formats/Assets.md`, "Cuts").
package struct RollingHash: Sendable {
    private let numbers: [UInt64]

    /// The number of a byte is the first 8 bytes, least first, of the SHA-256 of that byte.
    package init() {
        numbers = (0...255).map { byte in
            SHA256.hash([UInt8(byte)]).span.uint64(at: 0)
        }
    }

    /// The end of the first byte in `range` behind which the hash has no bit of `mask`; nil where
    /// there is none. The hash begins as `hash`, and is left as it is behind the last byte passed.
    ///
    /// The highest bit of the mask is 0.
    package func firstZero(
        of mask: UInt64, in bytes: Span<UInt8>, _ range: Range<Int>, hash: inout UInt64
    ) -> Int? {
        precondition(range.lowerBound >= 0 && range.upperBound <= bytes.count)
        let numbers = numbers.span
        var value = hash
        var place = range.lowerBound
        // Two bytes a step: what the hash is behind the first one is seen doubled.
        let doubled = mask << 1
        while place + 1 < range.upperBound {
            // Safe: the range was checked above, and the table has a number for every byte.
            let (first, second) = unsafe (
                numbers[unchecked: Int(bytes[unchecked: place])],
                numbers[unchecked: Int(bytes[unchecked: place + 1])]
            )
            value = (value << 2) &+ (first << 1)
            if value & doubled == 0 {
                hash = value >> 1
                return place + 1
            }
            value = value &+ second
            if value & mask == 0 {
                hash = value
                return place + 2
            }
            place += 2
        }
        if place < range.upperBound {
            value = (value << 1) &+ numbers[Int(bytes[place])]
            place += 1
            if value & mask == 0 {
                hash = value
                return place
            }
        }
        hash = value
        return nil
    }
}
