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

    /// The last interval that begins before `position`, or the first.
    func interval(of position: IndexPosition) throws(Fault) -> Int {
        var low = 1
        var high = intervalCount
        var reader = EntryReader()
        while low < high {
            let middle = (low + high) / 2
            var place = try range(middle).lowerBound
            reader.restart()
            try reader.read(bytes.span, &place, end: end, base: base)
            if reader.entry.precedes(position) { low = middle + 1 } else { high = middle }
        }
        return low - 1
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

    /// The last entry before `position`.
    func predecessor(of position: IndexPosition) throws(Fault) -> IndexEntry? {
        let range = try range(try interval(of: position))
        var place = range.lowerBound
        var reader = EntryReader()
        var found: IndexEntry?
        while place < range.upperBound {
            try reader.read(bytes.span, &place, end: range.upperBound, base: base)
            guard reader.entry.precedes(position) else { break }
            found = reader.entry
        }
        return found
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
        let sizes = rest + head.stampSize + Self.size(head.firstCode) + Self.size(head.secondCode)
        guard head.isValid, shared <= old, rest >= 0, shared + rest <= IndexKey.limit,
            shared + rest > 0, sizes <= end - place
        else { throw Block.Fault(rule: .entry, byte: start) }
        entry.key.replace(from: shared, with: rest, of: bytes, at: place)
        place += rest
        let stamp = base + Self.number(bytes, &place, head.stampSize)
        entry.value.stamp = stamp
        entry.value.first = Self.word(bytes, &place, head.firstCode, stamp)
        entry.value.second = Self.word(bytes, &place, head.secondCode, stamp)
        entry.flags = head.flags
        guard stamp < IndexEntry.stampLimit else { throw Block.Fault(rule: .entry, byte: start) }
    }

    private static func size(_ code: Int) -> Int { code == EntryHead.wordIsStamp ? 0 : code }

    private static func word(
        _ bytes: Span<UInt8>, _ place: inout Int, _ code: Int, _ stamp: UInt64
    ) -> UInt64 {
        if code == 0 { return 0 }
        return code == EntryHead.wordIsStamp ? stamp : number(bytes, &place, code)
    }

    @inline(__always)
    private static func number(
        _ bytes: Span<UInt8>, _ place: inout Int, _ size: Int
    ) -> UInt64 {
        guard size > 0 else { return 0 }
        defer { place += size }
        return bytes.uint64(at: place) & (~0 >> UInt64(64 - size * 8))
    }
}
