internal import StratusBytes

/// A block of entries whose checksum holds. Layout: `Formats/Index.md`, "Layout".
///
/// What it says is believed no further: bytes that contradict themselves are damage, not a crash.
struct Block: Sendable {
    let bytes: [UInt8]
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

    init(_ bytes: [UInt8]) throws(Fault) {
        self.bytes = bytes
        let span = bytes.span
        let last = bytes.count - TableFormat.checksumLength - 2
        guard last >= 8, bytes.count <= TableFormat.blockLimit else {
            throw Fault(rule: .restarts, byte: 0)
        }
        base = span.uint64(at: 0)
        intervalCount = Int(span.uint16(at: last))
        end = last - intervalCount * 2
        guard intervalCount > 0, end > 8, span.uint16(at: end) == 8,
            base < IndexEntry.stampLimit
        else { throw Fault(rule: .restarts, byte: 0) }
    }

    /// Where an interval begins and ends.
    private func range(_ interval: Int) throws(Fault) -> Range<Int> {
        let start = Int(bytes.span.uint16(at: end + interval * 2))
        let next = interval + 1
        let stop = next == intervalCount ? end : Int(bytes.span.uint16(at: end + next * 2))
        guard start >= 8, start < stop, stop <= end else {
            throw Fault(rule: .restarts, byte: 0)
        }
        return start..<stop
    }

    /// Where the last interval stands that begins before `position`, or the first.
    func interval(of position: borrowing IndexPosition) throws(Fault) -> Int {
        var low = 1
        var high = intervalCount
        while low < high {
            let middle = (low + high) / 2
            var scan = BlockScan(bytes.span, at: try range(middle).lowerBound, end: end, base: base)
            if try scan.precedes(bytes.span, position) { low = middle + 1 } else { high = middle }
        }
        return low - 1
    }

    /// What the first entry at or behind `position` says, and whether it is of the same key.
    func value(
        from position: borrowing IndexPosition
    ) throws(Fault) -> (value: IndexValue, flags: IndexEntry.Flags, isOfKey: Bool)? {
        let start = try range(try interval(of: position)).lowerBound
        // Behind the interval stands the next one, whose first entry has its whole key.
        var scan = BlockScan(bytes.span, at: start, end: end, base: base)
        while !scan.isAtEnd {
            if try !scan.precedes(bytes.span, position) {
                return (try scan.value(bytes.span), scan.flags, scan.isOfKey)
            }
            scan.advance()
        }
        return nil
    }

    /// What the last entry before `position` says.
    func value(before position: borrowing IndexPosition) throws(Fault) -> IndexValue? {
        let start = try range(try interval(of: position)).lowerBound
        var scan = BlockScan(bytes.span, at: start, end: end, base: base)
        var found: BlockScan?
        while !scan.isAtEnd, try scan.precedes(bytes.span, position) {
            found = scan
            scan.advance()
        }
        return try found?.value(bytes.span)
    }

    /// The entries of an interval.
    func entries(_ interval: Int) throws(Fault) -> [IndexEntry] {
        let range = try range(interval)
        var entries: [IndexEntry] = []
        entries.reserveCapacity(TableFormat.entriesPerRestart)
        var reader = EntryReader()
        var place = range.lowerBound
        while place < range.upperBound {
            try reader.read(bytes.span, &place, end: range.upperBound, base: base)
            entries.append(reader.entry)
        }
        return entries
    }

    /// The first entry at or behind `position`.
    func ceiling(_ position: IndexPosition) throws(Fault) -> IndexEntry? {
        var place = try range(try interval(of: position)).lowerBound
        var reader = EntryReader()
        // Behind the interval stands the next one, whose first entry has its whole key.
        while place < end {
            try reader.read(bytes.span, &place, end: end, base: base)
            if !reader.entry.precedes(position) { return reader.entry }
        }
        return nil
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
    ) throws(Block.Fault) {
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
        else { throw Block.Fault(rule: .entry, byte: start) }
        entry.key.replace(from: shared, with: rest, of: bytes, at: place)
        place += rest
        entry.value = head.value(bytes, &place, base: base)
        entry.flags = head.flags
        guard entry.value.stamp < IndexEntry.stampLimit else {
            throw Block.Fault(rule: .entry, byte: start)
        }
    }
}
