/// A key of the index: at most 39 bytes, compared as bytes.
///
/// Held in five words, so that a comparison is a few machine instructions and a key is no
/// allocation. The bytes stand in the words big-endian; the last byte of all is the length, so
/// that a key and the same key with zeros behind it differ, the shorter one first.
package struct IndexKey: Hashable, Comparable, Sendable {
    private var words: (UInt64, UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0, 0)

    package static let limit = 39

    package init() {}

    /// In bytes.
    package var count: Int { Int(words.4 & 0xff) }

    package func appending(_ value: UInt8) -> IndexKey { appending(UInt64(value), bytes: 1) }
    package func appending(_ value: UInt32) -> IndexKey { appending(UInt64(value), bytes: 4) }
    package func appending(_ value: UInt64) -> IndexKey { appending(value, bytes: 8) }

    /// The eight bytes from `place` on, as a number; they must be there.
    package func uint64(at place: Int) -> UInt64 {
        precondition(place >= 0 && place + 8 <= count)
        let shift = UInt64(place % 8 * 8)
        let first = self[word: place / 8] << shift
        return shift == 0 ? first : first | self[word: place / 8 + 1] >> (64 - shift)
    }

    /// The four bytes from `place` on, as a number; they must be there.
    package func uint32(at place: Int) -> UInt32 {
        precondition(place >= 0 && place + 4 <= count)
        let shift = UInt64(place % 8 * 8)
        let first = self[word: place / 8] << shift
        let all = shift <= 32 ? first : first | self[word: place / 8 + 1] >> (64 - shift)
        return UInt32(all >> 32)
    }

    /// The first key behind all keys that begin with this one, which must not be empty or all
    /// ones.
    package var afterPrefix: IndexKey {
        var key = self
        var place = count - 1
        while place >= 0 {
            let shift = UInt64(56 - place % 8 * 8)
            let byte = (key[word: place / 8] >> shift) & 0xff
            key[word: place / 8] &= ~(0xff << shift)
            if byte != 0xff {
                key[word: place / 8] |= (byte + 1) << shift
                // What was carried over is cut off: shorter keys come first.
                key.words.4 = key.words.4 & ~0xff | UInt64(place + 1)
                return key
            }
            place -= 1
        }
        preconditionFailure("no key lies behind a prefix of all ones")
    }

    private func appending(_ value: UInt64, bytes: Int) -> IndexKey {
        let place = count
        precondition(place + bytes <= Self.limit, "a key has at most 39 bytes")
        var key = self
        let aligned = value << UInt64(64 - bytes * 8)
        let shift = UInt64(place % 8 * 8)
        key[word: place / 8] |= aligned >> shift
        if place % 8 + bytes > 8 { key[word: place / 8 + 1] |= aligned << (64 - shift) }
        key.words.4 += UInt64(bytes)
        return key
    }

    private subscript(word index: Int) -> UInt64 {
        get {
            switch index {
            case 0: words.0
            case 1: words.1
            case 2: words.2
            case 3: words.3
            default: words.4
            }
        }
        set {
            switch index {
            case 0: words.0 = newValue
            case 1: words.1 = newValue
            case 2: words.2 = newValue
            case 3: words.3 = newValue
            default: words.4 = newValue
            }
        }
    }

    package static func < (left: IndexKey, right: IndexKey) -> Bool {
        if left.words.0 != right.words.0 { return left.words.0 < right.words.0 }
        if left.words.1 != right.words.1 { return left.words.1 < right.words.1 }
        if left.words.2 != right.words.2 { return left.words.2 < right.words.2 }
        if left.words.3 != right.words.3 { return left.words.3 < right.words.3 }
        return left.words.4 < right.words.4
    }

    package static func == (left: IndexKey, right: IndexKey) -> Bool { left.words == right.words }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(words.0)
        hasher.combine(words.1)
        hasher.combine(words.2)
        hasher.combine(words.3)
        hasher.combine(words.4)
    }
}

/// What the index says of a key: two words whose meaning is the keyspace's own, and a stamp.
package struct IndexValue: Equatable, Sendable {
    /// Where in the journal the entry was made: it differs for each entry a key ever had.
    package var stamp: UInt64
    package var first: UInt64
    package var second: UInt64

    package init(stamp: UInt64, first: UInt64 = 0, second: UInt64 = 0) {
        self.stamp = stamp
        self.first = first
        self.second = second
    }
}
