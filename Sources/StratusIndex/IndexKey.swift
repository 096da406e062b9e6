internal import StratusBytes

/// A key of the index: at most 47 bytes, compared as bytes.
///
/// Held in six words, so that a comparison is a few machine instructions and a key is no
/// allocation. The bytes stand in the words big-endian; the last byte of all is the length, so
/// that a key and the same key with zeros behind it differ, the shorter one first.
@usableFromInline package struct IndexKey: Sendable {
    @usableFromInline var words: InlineArray<6, UInt64> = [0, 0, 0, 0, 0, 0]

    @inlinable package static var limit: Int { 47 }

    /// All keys: the bound behind them is none.
    package static var all: Range<IndexKey> {
        var end = IndexKey()
        for place in 0..<6 { end.words[place] = ~0 }
        return IndexKey()..<end
    }

    @inlinable package init() {}

    /// A partition, a keyspace, and sixteen bytes: the key that is asked for most.
    @inlinable package init(partition: UInt32, keyspace: UInt8, high: UInt64, low: UInt64) {
        words[0] = UInt64(partition) << 32 | UInt64(keyspace) << 24 | high >> 40
        words[1] = high << 24 | low >> 40
        words[2] = low << 24
        words[5] = 21
    }

    /// In bytes.
    @inlinable package var count: Int { Int(words[5] & 0xff) }

    @inlinable package func appending(_ value: UInt8) -> IndexKey {
        appending(UInt64(value), bytes: 1)
    }
    @inlinable package func appending(_ value: UInt32) -> IndexKey {
        appending(UInt64(value), bytes: 4)
    }
    @inlinable package func appending(_ value: UInt64) -> IndexKey { appending(value, bytes: 8) }

    /// The eight bytes from `place` on, as a number; they must be there.
    @inlinable package func uint64(at place: Int) -> UInt64 {
        precondition(place >= 0 && place + 8 <= count)
        let shift = UInt64(place % 8 * 8)
        let first = words[place / 8] << shift
        return shift == 0 ? first : first | words[place / 8 + 1] >> (64 - shift)
    }

    /// The four bytes from `place` on, as a number; they must be there.
    @inlinable package func uint32(at place: Int) -> UInt32 {
        precondition(place >= 0 && place + 4 <= count)
        let shift = UInt64(place % 8 * 8)
        let first = words[place / 8] << shift
        let all = shift <= 32 ? first : first | words[place / 8 + 1] >> (64 - shift)
        return UInt32(all >> 32)
    }

    /// The first key behind all keys that begin with this one, which must not be empty or all
    /// ones.
    package var afterPrefix: IndexKey {
        var key = self
        var place = count - 1
        while place >= 0 {
            let shift = UInt64(56 - place % 8 * 8)
            let byte = (key.words[place / 8] >> shift) & 0xff
            key.words[place / 8] &= ~(0xff << shift)
            if byte != 0xff {
                key.words[place / 8] |= (byte + 1) << shift
                // What was carried over is cut off: shorter keys come first.
                key.words[5] = key.words[5] & ~0xff | UInt64(place + 1)
                return key
            }
            place -= 1
        }
        preconditionFailure("no key lies behind a prefix of all ones")
    }

    /// The least key behind it.
    package var next: IndexKey { count < Self.limit ? appending(0 as UInt8) : afterPrefix }

    /// Sixteen bytes more, the first word before the second.
    @inlinable package func appending(_ first: UInt64, _ second: UInt64) -> IndexKey {
        let place = count
        precondition(place + 16 <= Self.limit, "a key has at most 47 bytes")
        var key = self
        let word = place / 8
        let shift = UInt64(place % 8 * 8)
        key.words[word] |= first >> shift
        key.words[word + 1] |= second >> shift
        if shift != 0 {
            key.words[word + 1] |= first << (64 - shift)
            key.words[word + 2] |= second << (64 - shift)
        }
        key.words[5] += 16
        return key
    }

    @inlinable func appending(_ value: UInt64, bytes: Int) -> IndexKey {
        let place = count
        precondition(place + bytes <= Self.limit, "a key has at most 47 bytes")
        var key = self
        let aligned = value << UInt64(64 - bytes * 8)
        let shift = UInt64(place % 8 * 8)
        key.words[place / 8] |= aligned >> shift
        if place % 8 + bytes > 8 { key.words[place / 8 + 1] |= aligned << (64 - shift) }
        key.words[5] += UInt64(bytes)
        return key
    }
}

extension IndexKey: Comparable, Hashable {
    @inlinable package static func < (left: IndexKey, right: IndexKey) -> Bool {
        for place in 0..<5 where left.words[place] != right.words[place] {
            return left.words[place] < right.words[place]
        }
        return left.words[5] < right.words[5]
    }

    @inlinable package static func == (left: IndexKey, right: IndexKey) -> Bool {
        for place in 0..<6 where left.words[place] != right.words[place] { return false }
        return true
    }

    @usableFromInline package func hash(into hasher: inout Hasher) {
        for place in 0..<6 { hasher.combine(words[place]) }
    }
}

// What the keys of the index have in common.
extension IndexKey {
    /// The key that is a partition alone: where its drops stand, before all its keys.
    @inlinable package init(partition: UInt32) {
        words[0] = UInt64(partition) << 32
        words[5] = 4
    }

    /// A partition and a keyspace.
    @inlinable package init(partition: UInt32, keyspace: UInt8) {
        words[0] = UInt64(partition) << 32 | UInt64(keyspace) << 24
        words[5] = 5
    }

    /// The first four bytes: what belongs to one tenant, and can be dropped at once.
    var partition: UInt32 { UInt32(words[0] >> 32) }

    /// The fifth byte: which map the key is of. 0 where there is none.
    @inlinable package var keyspace: UInt8 { UInt8(truncatingIfNeeded: words[0] >> 24) }

    var isPartition: Bool { count == 4 }

    /// Where the horizon of a partition stands, between its drops and all its other keys. The first
    /// word of its value is the horizon itself, a stamp: see ``OrderedIndex/set(_:_:isFresh:isLapsing:)``.
    package static func horizon(ofPartition partition: UInt32) -> IndexKey {
        IndexKey(partition: partition, keyspace: 0)
    }

    package var isHorizon: Bool { count == 5 && keyspace == 0 }

    /// Whether it says something of a partition as a whole.
    var isOfPartition: Bool { isPartition || isHorizon }

    /// The first `length` bytes; the key has at least as many.
    func prefix(_ length: Int) -> IndexKey {
        var key = IndexKey()
        let whole = length / 8
        for word in 0..<whole { key.words[word] = words[word] }
        let rest = UInt64(length % 8 * 8)
        if rest > 0 { key.words[whole] = words[whole] & (~0 << (64 - rest)) }
        key.words[5] |= UInt64(length)
        return key
    }
}

// The bytes of a key as they stand in a file.
extension IndexKey {
    /// The byte at `place`; it must be there.
    package func byte(at place: Int) -> UInt8 {
        UInt8(truncatingIfNeeded: words[place / 8] >> UInt64(56 - place % 8 * 8))
    }

    /// How many bytes at its beginning a key shares with another.
    func sharedCount(with other: borrowing IndexKey) -> Int {
        let most = min(count, other.count)
        for place in 0..<6 {
            let difference = words[place] ^ other.words[place]
            if difference != 0 { return min(most, place * 8 + difference.leadingZeroBitCount / 8) }
        }
        return most
    }

    /// Appends the `count` bytes from `place` on, for which there must be room. The eight bytes behind them
    /// must be readable, too.
    mutating func append(_ count: Int, of bytes: Span<UInt8>, at place: Int) {
        let shift = UInt64(self.count & 7) << 3
        var word = self.count >> 3
        for done in stride(from: 0, to: count, by: 8) {
            let width = UInt64(min(8, count - done) * 8)
            let value = bytes.uint64(at: place + done).byteSwapped & (~0 << (64 - width))
            words[word] |= value >> shift
            if shift != 0, word < 5 { words[word + 1] |= value << (64 &- shift) }
            word += 1
        }
        words[5] += UInt64(count)
    }

    /// The eight bytes from `place` on, zeros behind the end, as they stand in a file.
    func fileWord(at place: Int) -> UInt64 {
        let shift = UInt64(place & 7) << 3
        let word = place >> 3
        var value = word == 5 ? words[5] & ~0xff : words[word]
        if shift != 0 {
            let next = word >= 5 ? 0 : word == 4 ? words[5] & ~0xff : words[word + 1]
            value = value << shift | next >> (64 &- shift)
        }
        return value.byteSwapped
    }

    /// Up to eight bytes from `place` on as a big-endian number, zeros behind them and behind the end.
    @inline(__always)
    func word(at place: Int, _ width: Int) -> UInt64 {
        width == 0 ? 0 : fileWord(at: place).byteSwapped & (~0 << UInt64(64 - width * 8))
    }

    /// What filters are made of: a hash of the bytes, zeros up to 47, and the length.
    var filterHash: UInt64 {
        var bytes = words
        for place in 0..<6 { bytes[place] = words[place].byteSwapped }
        return Checksum.xxh3(words: bytes.span)
    }
}
