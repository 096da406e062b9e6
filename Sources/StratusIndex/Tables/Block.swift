internal import StratusBytes

/// Where things stand in a block of entries whose checksum holds. Layout: `Formats/Index.md`,
/// "Layout".
///
/// What the block says is believed no further: bytes that contradict themselves are damage, not a
/// crash. All calls take the bytes that the layout was made for.
struct BlockLayout: Sendable {
    private let base: UInt64
    /// Where the entries end.
    private let end: Int
    /// An interval is what stands from one restart to the next.
    let intervalCount: Int

    /// A rule that does not hold, and where in the block.
    struct Fault: Error {
        var rule: IndexDamage.Rule
        var byte: Int
    }

    init(_ bytes: Span<UInt8>) throws(Fault) {
        let last = bytes.count - TableFormat.checksumLength - 2
        guard last >= 8, bytes.count <= TableFormat.blockLimit else {
            throw Fault(rule: .restarts, byte: 0)
        }
        base = bytes.uint64(at: 0)
        intervalCount = Int(bytes.uint16(at: last))
        end = last - intervalCount * 2
        guard intervalCount > 0, end > 8, bytes.uint16(at: end) == 8,
            base < IndexEntry.stampLimit
        else { throw Fault(rule: .restarts, byte: 0) }
    }

    /// Where an interval begins and ends.
    private func range(
        _ interval: Int, _ bytes: Span<UInt8>
    ) throws(Fault) -> Range<Int> {
        let start = Int(bytes.uint16(at: end + interval * 2))
        let next = interval + 1
        let stop = next == intervalCount ? end : Int(bytes.uint16(at: end + next * 2))
        guard start >= 8, start < stop, stop <= end else {
            throw Fault(rule: .restarts, byte: 0)
        }
        return start..<stop
    }

    /// Where the last interval stands that begins before `position`, or the first.
    func interval(
        of position: borrowing IndexPosition, _ bytes: Span<UInt8>
    ) throws(Fault) -> Int {
        var low = 1
        var high = intervalCount
        while low < high {
            let middle = (low + high) / 2
            let start = try range(middle, bytes).lowerBound
            var scan = BlockScan(bytes, at: start, end: end, base: base)
            if try scan.precedes(bytes, position) { low = middle + 1 } else { high = middle }
        }
        return low - 1
    }

    /// What the first entry at or behind `position` says, and whether it is of the same key.
    func value(
        from position: borrowing IndexPosition, _ bytes: Span<UInt8>
    ) throws(Fault) -> (value: IndexValue, flags: IndexEntry.Flags, isOfKey: Bool)? {
        let start = try range(try interval(of: position, bytes), bytes).lowerBound
        // Behind the interval stands the next one, whose first entry has its whole key.
        var scan = BlockScan(bytes, at: start, end: end, base: base)
        while !scan.isAtEnd {
            if try !scan.precedes(bytes, position) {
                return (try scan.value(bytes), scan.flags, scan.isOfKey)
            }
            scan.advance()
        }
        return nil
    }

    /// What the last entry before `position` says.
    func value(
        before position: borrowing IndexPosition, _ bytes: Span<UInt8>
    ) throws(Fault) -> IndexValue? {
        let start = try range(try interval(of: position, bytes), bytes).lowerBound
        var scan = BlockScan(bytes, at: start, end: end, base: base)
        var found: BlockScan?
        while !scan.isAtEnd, try scan.precedes(bytes, position) {
            found = scan
            scan.advance()
        }
        return try found?.value(bytes)
    }

    /// The entries of an interval.
    func entries(_ interval: Int, _ bytes: Span<UInt8>) throws(Fault) -> [IndexEntry] {
        let range = try range(interval, bytes)
        var entries: [IndexEntry] = []
        entries.reserveCapacity(TableFormat.entriesPerRestart)
        var reader = EntryReader()
        var place = range.lowerBound
        while place < range.upperBound {
            try reader.read(bytes, &place, end: range.upperBound, base: base)
            entries.append(reader.entry)
        }
        return entries
    }

    /// The first entry at or behind `position`.
    func ceiling(
        _ position: IndexPosition, _ bytes: Span<UInt8>
    ) throws(Fault) -> IndexEntry? {
        var place = try range(try interval(of: position, bytes), bytes).lowerBound
        var reader = EntryReader()
        // Behind the interval stands the next one, whose first entry has its whole key.
        while place < end {
            try reader.read(bytes, &place, end: end, base: base)
            if !reader.entry.precedes(position) { return reader.entry }
        }
        return nil
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

    func interval(of position: IndexPosition) throws(BlockLayout.Fault) -> Int {
        try layout.interval(of: position, bytes.span)
    }

    func entries(_ interval: Int) throws(BlockLayout.Fault) -> [IndexEntry] {
        try layout.entries(interval, bytes.span)
    }
}

/// Decodes entries one after the other, each on top of the one before.
struct EntryReader {
    private(set) var entry = IndexEntry(
        key: IndexKey(), value: IndexValue(stamp: 0), flags: [])

    /// The next entry has its whole key.
    mutating func restart() { entry.key = IndexKey() }

    /// Reads the entry at `place`, which moves behind it. Behind `end` at least eight bytes follow.
    @inline(__always)
    mutating func read(
        _ bytes: Span<UInt8>, _ place: inout Int, end: Int, base: UInt64
    ) throws(BlockLayout.Fault) {
        let start = place
        // Behind the entries stand a restart, their number and the checksum.
        let word = bytes.uint64(at: start)
        let head = EntryHead(bits: UInt16(truncatingIfNeeded: word))
        let shared = Int(word >> 16 & 0xff)
        let old = entry.key.count
        let rest: Int
        if head.keepsLength {
            rest = old - shared
            place = start + 3
        } else {
            rest = Int(word >> 24 & 0xff)
            place = start + 4
        }
        let sizes = rest + head.valueLength
        guard head.isValid, shared <= old, rest >= 0, shared + rest <= IndexKey.limit,
            shared + rest > 0, sizes <= end - place
        else { throw BlockLayout.Fault(rule: .entry, byte: start) }
        entry.key.replace(from: shared, with: rest, of: bytes, at: place)
        place += rest
        entry.value = head.value(bytes, &place, base: base)
        entry.flags = head.flags
        guard entry.value.stamp < IndexEntry.stampLimit else {
            throw BlockLayout.Fault(rule: .entry, byte: start)
        }
    }
}
