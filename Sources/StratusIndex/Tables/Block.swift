internal import StratusBytes

/// Where things stand in a block of entries whose checksum holds. Layout: `Formats/Index.md`,
/// "Layout".
///
/// What the block says is believed no further: bytes that contradict themselves are damage, not a
/// crash. All calls take the bytes that the layout was made for.
struct BlockLayout: Sendable {
    /// How many entries there are.
    let count: Int
    private let prefixLength: Int
    /// Of all keys; 0 where a column states each.
    private let keyLength: Int
    private let keyWidth: Int
    /// Where the columns begin, in their order.
    private let keys: Int
    private let lengths: Int
    private let stamps: Column
    private let firsts: Column
    private let seconds: Column
    private let flags: Int
    private let form: UInt8

    static let headLength = 32

    /// A rule that does not hold, and where in the block.
    struct Fault: Error {
        var rule: IndexDamage.Rule
        var byte: Int
    }

    /// Numbers of a fixed width that are counted from a base.
    private struct Column: Sendable {
        let base: UInt64
        let place: Int
        let width: Int
        private let mask: UInt64

        init(base: UInt64, at place: Int, width: Int) {
            self.base = base
            self.place = place
            self.width = width
            mask = width == 0 ? 0 : ~0 >> UInt64(64 - width * 8)
        }

        /// Behind all columns stand the eight bytes of the checksum.
        @inline(__always)
        func value(_ number: Int, _ bytes: Span<UInt8>) -> UInt64 {
            base &+ (bytes.uint64(at: place + number * width) & mask)
        }
    }

    init(_ bytes: Span<UInt8>) throws(Fault) {
        guard bytes.count >= TableFormat.leastBlock else {
            throw Fault(rule: .columns, byte: 0)
        }
        let head = bytes.uint64(at: 24)
        // Other columns may follow then.
        guard head >> 62 == 0 else { throw Fault(rule: .form, byte: 0) }
        count = Int(head & 0xffff)
        prefixLength = Int(head >> 16 & 0xff)
        keyLength = Int(head >> 24 & 0xff)
        keyWidth = Int(head >> 32 & 0xff)
        let stampWidth = Int(head >> 40 & 0xff)
        let firstWidth = Int(head >> 48 & 0xf)
        let secondWidth = Int(head >> 52 & 0xf)
        form = UInt8(truncatingIfNeeded: head >> 56)
        let base = bytes.uint64(at: 0)
        keys = Self.headLength + prefixLength
        lengths = keys + count * keyWidth
        let stampPlace = lengths + (keyLength == 0 ? count : 0)
        stamps = Column(base: base, at: stampPlace, width: min(stampWidth, 7))
        let firstPlace = stampPlace + count * stampWidth
        firsts = Column(base: bytes.uint64(at: 8), at: firstPlace, width: min(firstWidth, 8))
        let secondPlace = firstPlace + count * firstWidth
        seconds = Column(base: bytes.uint64(at: 16), at: secondPlace, width: min(secondWidth, 8))
        flags = secondPlace + count * secondWidth
        let hasFlags = form & 4 != 0
        let end = flags + (hasFlags ? count : 0)
        guard count > 0, prefixLength + keyWidth <= IndexKey.limit, prefixLength + keyWidth > 0,
            keyLength == 0 || keyLength == prefixLength + keyWidth, stampWidth <= 7,
            firstWidth <= 8, secondWidth <= 8, base < IndexEntry.stampLimit,
            !hasFlags || form >> 3 & 7 == 0, end + TableFormat.checksumLength == bytes.count
        else { throw Fault(rule: .columns, byte: 0) }
    }

    /// The number of the first entry that is not before `position`; ``count`` where all are.
    func lowerBound(
        _ position: borrowing IndexPosition, _ bytes: Span<UInt8>
    ) throws(Fault) -> Int {
        for place in stride(from: 0, to: prefixLength, by: 8) {
            let width = min(8, prefixLength - place)
            let own = Self.word(bytes, at: Self.headLength + place, width)
            let sought = position.key.word(at: place, width)
            if own != sought { return own < sought ? count : 0 }
        }
        let width = min(8, keyWidth)
        let sought = position.key.word(at: prefixLength, width)
        var low = 0
        var high = count
        while low < high {
            let middle = (low + high) / 2
            let own = Self.word(bytes, at: keys + middle * keyWidth, width)
            let isBefore =
                own == sought ? try precedes(middle, position, bytes) : own < sought
            if isBefore { low = middle + 1 } else { high = middle }
        }
        return low
    }

    /// Whether an entry whose key begins like the position's is before it.
    private func precedes(
        _ number: Int, _ position: borrowing IndexPosition, _ bytes: Span<UInt8>
    ) throws(Fault) -> Bool {
        let length = try length(number, bytes)
        for place in stride(from: 8, to: keyWidth, by: 8) {
            let width = min(8, keyWidth - place)
            let own = Self.word(bytes, at: keys + number * keyWidth + place, width)
            let sought = position.key.word(at: prefixLength + place, width)
            if own != sought { return own < sought }
        }
        // Equal keys of several lengths are those with zeros at their end.
        for place in stride(from: prefixLength + keyWidth, to: position.key.count, by: 8) {
            if position.key.word(at: place, 8) != 0 { return true }
        }
        if length != position.key.count { return length < position.key.count }
        return position.isBehind(stamp: try stamp(number, bytes))
    }

    /// Whether an entry is of this key.
    func isOf(
        _ key: borrowing IndexKey, _ number: Int, _ bytes: Span<UInt8>
    ) throws(Fault) -> Bool {
        let length = try length(number, bytes)
        guard length == key.count,
            isEqual(key, from: 0, to: prefixLength, bytes, at: Self.headLength)
        else { return false }
        return isEqual(
            key, from: prefixLength, to: length, bytes, at: keys + number * keyWidth)
    }

    /// Whether the bytes of the key between two places are those at a place of the block.
    @inline(__always)
    private func isEqual(
        _ key: borrowing IndexKey, from start: Int, to end: Int, _ bytes: Span<UInt8>,
        at place: Int
    ) -> Bool {
        for done in stride(from: start, to: end, by: 8) {
            let width = min(8, end - done)
            let own = Self.word(bytes, at: place + done - start, width)
            if own != key.word(at: done, width) { return false }
        }
        return true
    }

    /// How many keys there are from an entry on, but for `last` and those whose first entry is removed.
    func keyCount(
        from start: Int, after last: borrowing IndexKey, _ bytes: Span<UInt8>
    ) throws(Fault) -> Int {
        var count = 0
        for number in start..<self.count {
            let isSame =
                number == start
                ? try isOf(last, number, bytes) : try isOfSameKey(number, number - 1, bytes)
            if isSame { continue }
            if try !flags(number, bytes).contains(.removed) { count += 1 }
        }
        return count
    }

    private func isOfSameKey(
        _ number: Int, _ other: Int, _ bytes: Span<UInt8>
    ) throws(Fault) -> Bool {
        // Most keys differ in their last bytes.
        for place in stride(from: (keyWidth - 1) / 8 * 8, through: 0, by: -8) {
            let width = min(8, keyWidth - place)
            let own = Self.word(bytes, at: keys + number * keyWidth + place, width)
            if own != Self.word(bytes, at: keys + other * keyWidth + place, width) { return false }
        }
        return try length(number, bytes) == length(other, bytes)
    }

    func entry(_ number: Int, _ bytes: Span<UInt8>) throws(Fault) -> IndexEntry {
        try entry(number, prefix(bytes), bytes)
    }

    /// Appends these entries.
    func append(
        _ numbers: Range<Int>, _ bytes: Span<UInt8>, to entries: inout [IndexEntry]
    ) throws(Fault) {
        entries.reserveCapacity(entries.count + numbers.count)
        let prefix = prefix(bytes)
        for number in numbers { entries.append(try entry(number, prefix, bytes)) }
    }

    /// What all keys begin with.
    private func prefix(_ bytes: Span<UInt8>) -> IndexKey {
        var key = IndexKey()
        key.append(prefixLength, of: bytes, at: Self.headLength)
        return key
    }

    @inline(__always)
    private func entry(
        _ number: Int, _ prefix: IndexKey, _ bytes: Span<UInt8>
    ) throws(Fault) -> IndexEntry {
        var key = prefix
        let length = try length(number, bytes)
        key.append(length - prefixLength, of: bytes, at: keys + number * keyWidth)
        return IndexEntry(
            key: key, value: try value(number, bytes), flags: try flags(number, bytes))
    }

    func value(_ number: Int, _ bytes: Span<UInt8>) throws(Fault) -> IndexValue {
        let stamp = try stamp(number, bytes)
        return IndexValue(
            stamp: stamp,
            first: firsts.value(number, bytes) &+ (form & 1 != 0 ? stamp : 0),
            second: seconds.value(number, bytes) &+ (form & 2 != 0 ? stamp : 0))
    }

    func flags(_ number: Int, _ bytes: Span<UInt8>) throws(Fault) -> IndexEntry.Flags {
        let raw = form & 4 != 0 ? bytes.uint8(at: flags + number) : form >> 3
        guard raw < IndexEntry.Flags.limit else { throw Fault(rule: .flags, byte: flags + number) }
        return IndexEntry.Flags(rawValue: raw)
    }

    private func stamp(_ number: Int, _ bytes: Span<UInt8>) throws(Fault) -> UInt64 {
        let stamp = stamps.value(number, bytes)
        guard stamp < IndexEntry.stampLimit else {
            throw Fault(rule: .entry, byte: stamps.place + number * stamps.width)
        }
        return stamp
    }

    private func length(_ number: Int, _ bytes: Span<UInt8>) throws(Fault) -> Int {
        if keyLength > 0 { return keyLength }
        let length = Int(bytes.uint8(at: lengths + number))
        guard length > 0, prefixLength...prefixLength + keyWidth ~= length else {
            throw Fault(rule: .entry, byte: lengths + number)
        }
        return length
    }

    /// Up to eight bytes as a big-endian number, zeros behind them.
    @inline(__always)
    private static func word(_ bytes: Span<UInt8>, at place: Int, _ width: Int) -> UInt64 {
        width == 0 ? 0 : bytes.uint64(at: place).byteSwapped & (~0 << UInt64(64 - width * 8))
    }
}

/// A block of entries with its own copy of the bytes.
struct Block: Sendable {
    let bytes: [UInt8]
    let layout: BlockLayout

    init(_ bytes: [UInt8]) throws(BlockLayout.Fault) {
        layout = try BlockLayout(bytes.span)
        self.bytes = bytes
    }

    var count: Int { layout.count }

    func entry(_ number: Int) throws(BlockLayout.Fault) -> IndexEntry {
        try layout.entry(number, bytes.span)
    }
}
