/// Bytes under construction. All integers are little-endian.
@usableFromInline package struct ByteWriter: Sendable {
    @usableFromInline package internal(set) var bytes: [UInt8]

    @inlinable package init(capacity: Int = 0) {
        bytes = []
        bytes.reserveCapacity(capacity)
    }

    @inlinable package var count: Int { bytes.count }

    package mutating func removeAll() { bytes.removeAll(keepingCapacity: true) }

    package mutating func removeFirst(_ count: Int) { bytes.removeFirst(count) }

    package mutating func truncate(to count: Int) { bytes.removeLast(bytes.count - count) }

    @inlinable package mutating func uint8(_ value: UInt8) { bytes.append(value) }
    @inlinable package mutating func uint16(_ value: UInt16) { integer(value) }
    @inlinable package mutating func uint32(_ value: UInt32) { integer(value) }
    @inlinable package mutating func uint64(_ value: UInt64) { integer(value) }
    /// The high half, then the low one.
    package mutating func hash(_ value: Hash128) {
        uint64(value.high)
        uint64(value.low)
    }
    package mutating func int64(_ value: Int64) { integer(UInt64(bitPattern: value)) }
    @inlinable package mutating func double(_ value: Double) { integer(value.bitPattern) }

    /// An unsigned integer in groups of seven bits, the lowest first (LEB128).
    @inlinable package mutating func varint(_ value: UInt64) {
        if value < 0x80 { return bytes.append(UInt8(truncatingIfNeeded: value)) }
        // No more than it takes: what has room for all of its bytes must not grow.
        bytes.append(addingCapacity: Self.varintLength(value)) { output in
            var rest = value
            while rest >= 0x80 {
                output.append(UInt8(truncatingIfNeeded: rest) | 0x80)
                rest >>= 7
            }
            output.append(UInt8(truncatingIfNeeded: rest))
        }
    }

    @inlinable package mutating func varint(_ value: UInt32) { varint(UInt64(value)) }
    @inlinable package mutating func varint(_ value: Int) { varint(UInt64(value)) }

    /// A signed integer, zigzag-encoded into a varint.
    @inlinable package mutating func signedVarint(_ value: Int64) {
        varint(UInt64(bitPattern: (value << 1) ^ (value >> 63)))
    }

    /// How many bytes ``varint(_:)`` writes.
    @inlinable package static func varintLength(_ value: UInt64) -> Int {
        max(1, (70 - value.leadingZeroBitCount) / 7)
    }

    /// How many bytes ``signedVarint(_:)`` writes.
    @inlinable package static func signedVarintLength(_ value: Int64) -> Int {
        varintLength(UInt64(bitPattern: (value << 1) ^ (value >> 63)))
    }

    /// What `body` writes, which is at most `count` bytes.
    @inlinable package mutating func append(
        upTo count: Int, _ body: (inout OutputSpan<UInt8>) -> Void
    ) {
        bytes.append(addingCapacity: count, initializingWith: body)
    }

    package mutating func append(_ other: [UInt8]) { bytes.append(contentsOf: other) }

    package mutating func append(contentsOf other: some Collection<UInt8>) {
        bytes.append(contentsOf: other)
    }

    package mutating func append(_ span: Span<UInt8>) {
        // Safe: the buffer is copied and not kept.
        unsafe span.withUnsafeBytes { unsafe bytes.append(contentsOf: $0) }
    }

    /// The UTF-8 of `text`, without a length.
    package mutating func text(_ text: String) {
        var text = text
        // Safe: the buffer is copied and not kept.
        text.withUTF8 { unsafe bytes.append(contentsOf: $0) }
    }

    /// The length of the UTF-8 of `text` as a varint, then the UTF-8.
    package mutating func countedText(_ value: String) {
        varint(value.utf8.count)
        text(value)
    }

    package mutating func zeros(_ count: Int) {
        bytes.append(contentsOf: repeatElement(0, count: count))
    }

    /// Zeros up to the next multiple of `alignment`.
    package mutating func pad(to alignment: Int) {
        let over = bytes.count % alignment
        if over != 0 { zeros(alignment - over) }
    }

    package mutating func set(_ value: UInt8, at place: Int) { bytes[place] = value }

    package mutating func set(_ other: [UInt8], at place: Int) {
        bytes.replaceSubrange(place..<place + other.count, with: other)
    }

    package mutating func set(_ value: UInt32, at place: Int) { store(value, at: place) }
    package mutating func set(_ value: UInt64, at place: Int) { store(value, at: place) }

    private mutating func store<Value: FixedWidthInteger>(_ value: Value, at place: Int) {
        precondition(place >= 0 && place <= bytes.count - MemoryLayout<Value>.size)
        // Safe: the place was checked above, and an unaligned store is asked for.
        unsafe bytes.withUnsafeMutableBytes {
            unsafe $0.storeBytes(of: value.littleEndian, toByteOffset: place, as: Value.self)
        }
    }

    @inlinable mutating func integer(_ value: some FixedWidthInteger) {
        bytes.append(addingCapacity: value.bitWidth / 8) { $0.append(integer: value) }
    }
}
