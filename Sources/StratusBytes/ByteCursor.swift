/// A place in a stretch of bytes, from which values are read one after the other.
///
/// The bytes are an argument of every call instead of a stored property, so that the cursor needs
/// no lifetime of its own. On an error the position has not moved. All integers are little-endian.
@usableFromInline package struct ByteCursor {
    /// Where the next value begins, in bytes from the start of the span.
    @usableFromInline package var position: Int

    @inlinable package init(at position: Int = 0) { self.position = position }

    /// The bytes not read yet.
    @inlinable package func remaining(_ bytes: Span<UInt8>) -> Int { bytes.count - position }

    @inlinable @inline(__always)
    package mutating func uint8(_ bytes: Span<UInt8>) throws(FormatError) -> UInt8 {
        guard remaining(bytes) >= 1 else { throw .truncated }
        defer { position += 1 }
        return bytes.uint8(at: position)
    }

    @inlinable package mutating func uint16(_ bytes: Span<UInt8>) throws(FormatError) -> UInt16 {
        guard remaining(bytes) >= 2 else { throw .truncated }
        defer { position += 2 }
        return bytes.uint16(at: position)
    }

    @inlinable package mutating func uint32(_ bytes: Span<UInt8>) throws(FormatError) -> UInt32 {
        guard remaining(bytes) >= 4 else { throw .truncated }
        defer { position += 4 }
        return bytes.uint32(at: position)
    }

    @inlinable package mutating func uint64(_ bytes: Span<UInt8>) throws(FormatError) -> UInt64 {
        guard remaining(bytes) >= 8 else { throw .truncated }
        defer { position += 8 }
        return bytes.uint64(at: position)
    }

    /// A 128-bit hash, the high half first.
    package mutating func hash(_ bytes: Span<UInt8>) throws(FormatError) -> Hash128 {
        Hash128(high: try uint64(bytes), low: try uint64(bytes))
    }

    @inlinable package mutating func int64(_ bytes: Span<UInt8>) throws(FormatError) -> Int64 {
        Int64(bitPattern: try uint64(bytes))
    }

    @inlinable package mutating func double(_ bytes: Span<UInt8>) throws(FormatError) -> Double {
        Double(bitPattern: try uint64(bytes))
    }

    /// An unsigned integer in groups of seven bits, the lowest first (LEB128), in its shortest
    /// form.
    @inlinable @inline(__always)
    package mutating func varint(_ bytes: Span<UInt8>) throws(FormatError) -> UInt64 {
        // Most are short.
        if position < bytes.count, bytes.uint8(at: position) < 0x80 {
            position += 1
            return UInt64(bytes.uint8(at: position - 1))
        }
        return try longVarint(bytes)
    }

    @usableFromInline mutating func longVarint(
        _ bytes: Span<UInt8>
    ) throws(FormatError) -> UInt64 {
        if remaining(bytes) >= 8 {
            // A bit for each of eight bytes that is the last of an integer.
            let word = bytes.uint64(at: position)
            let last = ~word & 0x8080_8080_8080_8080
            if last != 0 {
                let bits = UInt64(last.trailingZeroBitCount) + 1
                let groups = word & ~0 >> (64 - bits)
                guard groups >> (bits - 8) != 0 else { throw .integer }
                position += Int(bits / 8)
                return Self.joined(groups & 0x7f7f_7f7f_7f7f_7f7f)
            }
        }
        var value: UInt64 = 0
        var shift: UInt64 = 0
        var place = position
        while true {
            guard place < bytes.count else { throw .truncated }
            let byte = bytes.uint8(at: place)
            place += 1
            guard shift < 63 || byte <= 1 else { throw .integer }
            value |= UInt64(byte & 0x7f) &<< shift
            if byte < 0x80 {
                guard byte != 0 || shift == 0 else { throw .integer }
                position = place
                return value
            }
            shift += 7
        }
    }

    /// Moves eight groups of seven bits, each in a byte of its own, together: by twos, fours, all.
    private static func joined(_ groups: UInt64) -> UInt64 {
        var joined = groups
        joined = joined & 0x007f_007f_007f_007f | (joined & 0x7f00_7f00_7f00_7f00) >> 1
        joined = joined & 0x0000_3fff_0000_3fff | (joined & 0x3fff_0000_3fff_0000) >> 2
        return joined & 0x0fff_ffff | (joined & 0x0fff_ffff_0000_0000) >> 4
    }

    /// A varint that must fit an `Int` of at most `limit`.
    @inlinable @inline(__always)
    package mutating func count(
        _ bytes: Span<UInt8>, upTo limit: Int
    ) throws(FormatError) -> Int {
        let start = position
        let value = try varint(bytes)
        guard value <= UInt64(limit) else {
            position = start
            throw .value("count")
        }
        return Int(value)
    }

    /// A varint that must fit 32 bits.
    @inlinable @inline(__always)
    package mutating func varint32(_ bytes: Span<UInt8>) throws(FormatError) -> UInt32 {
        let start = position
        let value = try varint(bytes)
        guard value <= UInt64(UInt32.max) else {
            position = start
            throw .integer
        }
        return UInt32(truncatingIfNeeded: value)
    }

    /// A signed integer, zigzag-encoded into a varint.
    @inlinable package mutating func signedVarint(_ bytes: Span<UInt8>) throws(FormatError) -> Int64
    {
        let value = try varint(bytes)
        return Int64(bitPattern: value >> 1) ^ -Int64(bitPattern: value & 1)
    }

    /// The next `count` bytes; the span itself is `bytes.extracting(range)`.
    @inlinable package mutating func range(
        _ bytes: Span<UInt8>, count: Int
    ) throws(FormatError) -> Range<Int> {
        guard count >= 0, remaining(bytes) >= count else { throw .truncated }
        defer { position += count }
        return position..<position + count
    }

    /// `count` bytes of UTF-8.
    @inlinable package mutating func text(
        _ bytes: Span<UInt8>, count: Int
    ) throws(FormatError) -> String {
        let start = position
        let range = try range(bytes, count: count)
        guard let text = bytes.text(in: range) else {
            position = start
            throw .text
        }
        return text
    }

    /// A length as a varint of at most `limit`, then so many bytes of UTF-8.
    @inlinable package mutating func text(
        _ bytes: Span<UInt8>, upTo limit: Int
    ) throws(FormatError) -> String {
        let start = position
        do {
            let count = try count(bytes, upTo: limit)
            return try text(bytes, count: count)
        } catch {
            position = start
            throw error
        }
    }

    /// Fails unless everything has been read.
    @inlinable package func end(_ bytes: Span<UInt8>) throws(FormatError) {
        guard position == bytes.count else { throw .value("length") }
    }
}
