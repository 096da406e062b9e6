// Reading values at a place. The caller has checked the place; a wrong one is our own error and
// stops the process, as an array would.

extension Span<UInt8> {
    @inlinable package func uint8(at place: Int) -> UInt8 {
        self[place]
    }

    @inlinable package func uint16(at place: Int) -> UInt16 {
        precondition(place >= 0 && place <= count - 2)
        // Safe: both bytes lie inside the span; any bit pattern is an integer.
        return UInt16(
            littleEndian: unsafe bytes.unsafeLoadUnaligned(fromByteOffset: place, as: UInt16.self))
    }

    @inlinable package func uint32(at place: Int) -> UInt32 {
        precondition(place >= 0 && place <= count - 4)
        // Safe: all four bytes lie inside the span; any bit pattern is an integer.
        return UInt32(
            littleEndian: unsafe bytes.unsafeLoadUnaligned(fromByteOffset: place, as: UInt32.self))
    }

    @inlinable package func uint64(at place: Int) -> UInt64 {
        precondition(place >= 0 && place <= count - 8)
        // Safe: all eight bytes lie inside the span; any bit pattern is an integer.
        return UInt64(
            littleEndian: unsafe bytes.unsafeLoadUnaligned(fromByteOffset: place, as: UInt64.self))
    }

    /// The text in `range`, or nil where it is not UTF-8.
    @usableFromInline package func text(in range: Range<Int>) -> String? {
        let part = extracting(range)
        if part.isASCII {
            // Safe: bytes below 128 are UTF-8.
            return String(copying: unsafe UTF8Span(unchecked: part, isKnownASCII: true))
        }
        guard let text = try? UTF8Span(validating: part) else { return nil }
        return String(copying: text)
    }

    /// Whether the bytes in `range` are UTF-8.
    package func isText(in range: Range<Int>) -> Bool {
        let part = extracting(range)
        return part.isASCII || (try? UTF8Span(validating: part)) != nil
    }

    /// Whether all bytes are below 128, as those of most texts are.
    private var isASCII: Bool {
        // Every text of every record that is read passes here, and checked loads took twice as long.
        // Safe: every load lies inside the buffer, which is not kept.
        unsafe withUnsafeBytes { buffer in
            var all: UInt64 = 0
            var place = 0
            while place &+ 8 <= buffer.count {
                all |= unsafe buffer.loadUnaligned(fromByteOffset: place, as: UInt64.self)
                place &+= 8
            }
            while place < buffer.count {
                all |= UInt64(unsafe buffer[place])
                place &+= 1
            }
            return all & 0x8080_8080_8080_8080 == 0
        }
    }

    /// A copy of the bytes in `range`.
    @inlinable package func array(in range: Range<Int>) -> [UInt8] {
        precondition(range.lowerBound >= 0 && range.upperBound <= count)
        // Safe: the range lies inside the span, and the buffer is not kept.
        return unsafe withUnsafeBufferPointer { buffer in unsafe [UInt8](buffer[range]) }
    }

    /// A copy of all bytes.
    @inlinable package var array: [UInt8] { array(in: 0..<count) }

    /// Whether every byte in `range` is zero.
    @inlinable package func isZero(in range: Range<Int>) -> Bool {
        var place = range.lowerBound
        while place + 8 <= range.upperBound {
            if uint64(at: place) != 0 { return false }
            place += 8
        }
        while place < range.upperBound {
            if uint8(at: place) != 0 { return false }
            place += 1
        }
        return true
    }

    /// Whether the bytes are those of `other`.
    @inlinable package func equals(_ other: [UInt8]) -> Bool {
        guard count == other.count else { return false }
        for place in 0..<count where uint8(at: place) != other[place] { return false }
        return true
    }

    /// Whether the bytes in `range` are the UTF-8 of `text`.
    @inlinable package func equals(_ text: String, in range: Range<Int>) -> Bool {
        let other = text.utf8.span
        guard other.count == range.count else { return false }
        let start = range.lowerBound
        var place = 0
        while place + 8 <= other.count {
            if uint64(at: start + place) != other.uint64(at: place) { return false }
            place += 8
        }
        while place < other.count {
            if uint8(at: start + place) != other.uint8(at: place) { return false }
            place += 1
        }
        return true
    }
}
