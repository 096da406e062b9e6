// Copying into a place. The caller has checked the place; a wrong one is our own error and stops
// the process, as an array would.

extension MutableSpan<UInt8> {
    /// Overwrites the bytes from `place` on with those of `source`.
    @inlinable package mutating func copy(_ source: Span<UInt8>, to place: Int) {
        precondition(place >= 0 && place <= count - source.count)
        guard !source.isEmpty else { return }
        // Safe: the source fits between place and the end, and neither buffer is kept. Two spans
        // of which one is mutable cannot overlap.
        unsafe withUnsafeMutableBufferPointer { target in
            unsafe source.withUnsafeBufferPointer { source in
                _ = unsafe target[place...].update(fromContentsOf: source)
            }
        }
    }

    /// Overwrites the bytes from `place` on with those in `range`, which may be partly the same.
    @inlinable package mutating func move(_ range: Range<Int>, to place: Int) {
        precondition(range.lowerBound >= 0 && range.upperBound <= count)
        precondition(place >= 0 && place <= count - range.count)
        // Safe: both ranges lie inside the span, and the buffer is not kept.
        unsafe withUnsafeMutableBytes { buffer in
            let source = unsafe UnsafeRawBufferPointer(rebasing: buffer[range])
            unsafe UnsafeMutableRawBufferPointer(rebasing: buffer[place...])
                .copyMemory(from: source)
        }
    }

    /// Overwrites the eight bytes from `place` on with `value`, little-endian.
    @inlinable package mutating func set(_ value: UInt64, at place: Int) {
        precondition(place >= 0 && place <= count - 8)
        // Safe: all eight bytes lie inside the span, and an unaligned store is asked for.
        unsafe withUnsafeMutableBytes {
            unsafe $0.storeBytes(of: value.littleEndian, toByteOffset: place, as: UInt64.self)
        }
    }

    /// Overwrites the bytes in `range` with zeros.
    @inlinable package mutating func zero(_ range: Range<Int>) {
        precondition(range.lowerBound >= 0 && range.upperBound <= count)
        // Safe: the range lies inside the span, and the buffer is not kept.
        unsafe withUnsafeMutableBufferPointer { target in
            unsafe target[range].update(repeating: 0)
        }
    }
}
