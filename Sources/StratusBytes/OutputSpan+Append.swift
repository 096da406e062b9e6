// Appends bytes to uninitialised room, which need not be filled with zeros first.

extension OutputSpan<UInt8> {
    /// Appends the bytes of an integer, the lowest first.
    @inlinable package mutating func append(integer value: some FixedWidthInteger) {
        for shift in stride(from: 0, to: value.bitWidth, by: 8) {
            append(UInt8(truncatingIfNeeded: value >> shift))
        }
    }

    /// Appends `source`, for which there must be room.
    @inlinable package mutating func append(_ source: Span<UInt8>) {
        precondition(source.count <= freeCapacity)
        guard !source.isEmpty else { return }
        // Safe: the room was checked, and nothing else can lie in it.
        unsafe appendBytes { room in
            unsafe source.withUnsafeBytes { source in
                unsafe room.copyMemory(from: source)
                return source.count
            }
        }
    }

    /// Appends what a C function writes to the beginning of the room that is left. `write` returns
    /// how many bytes these are, or a negative number where it failed; so does this.
    @inlinable @discardableResult package mutating func appendBytes(
        _ write: (UnsafeMutableRawBufferPointer) -> Int
    ) -> Int {
        // Safe: the room ends where the buffer does, and what is counted was written.
        unsafe withUnsafeMutableBufferPointer { buffer, count in
            let room = unsafe UnsafeMutableRawBufferPointer(
                UnsafeMutableBufferPointer(rebasing: buffer[count...]))
            let written = unsafe write(room)
            precondition(written <= room.count)
            count += max(0, written)
            return written
        }
    }
}
