internal import StratusBytes

/// Looks for a position among the entries of a block, from one that has its whole key on, without
/// putting any other key together.
///
/// It remembers how many bytes the entry passed last shares with the position's key: an entry that
/// shares more with the one before it is passed unseen.
struct BlockScan {
    private var place: Int
    private let end: Int
    private let base: UInt64
    private var head = EntryHead(bits: 0)
    /// How many bytes the key has, and where those stand that it does not share.
    private var keyCount = 0
    private var keyEnd = 0
    private var next: Int
    /// How many bytes of the last key are those of the position's, where that key was before it.
    private var matched = 0
    /// Whether the entry at hand has the position's key.
    private(set) var isOfKey = false

    /// Begins at an entry that has its whole key.
    init(_ bytes: Span<UInt8>, at place: Int, end: Int, base: UInt64) {
        self.place = place
        self.end = end
        self.base = base
        next = place
    }

    var isAtEnd: Bool { place >= end }
    var flags: IndexEntry.Flags { head.flags }

    mutating func advance() { place = next }

    /// Whether the entry at hand is before the position, which must be the same for all.
    @inline(__always)
    mutating func precedes(
        _ bytes: Span<UInt8>, _ position: borrowing IndexPosition
    ) throws(BlockLayout.Fault) -> Bool {
        let word = bytes.uint64(at: place)
        head = EntryHead(bits: UInt16(truncatingIfNeeded: word))
        let shared = Int(word >> 16 & 0xff)
        let rest = head.keepsLength ? keyCount - shared : Int(word >> 24 & 0xff)
        let start = place + (head.keepsLength ? 3 : 4)
        keyEnd = start + rest
        next = keyEnd + head.valueLength
        guard head.isValid, shared <= keyCount, rest >= 0, shared + rest <= IndexKey.limit,
            shared + rest > 0, next <= end
        else { throw BlockLayout.Fault(rule: .entry, byte: place) }
        keyCount = shared + rest
        if shared > matched { return true }
        let order = position.key.order(of: bytes, at: start, count: rest, behind: shared)
        matched = order.matched
        isOfKey = order.isEqual
        guard isOfKey else { return order.isBefore }
        return position.isBehind(stamp: try value(bytes).stamp)
    }

    /// What the entry at hand says.
    func value(_ bytes: Span<UInt8>) throws(BlockLayout.Fault) -> IndexValue {
        var place = keyEnd
        let value = head.value(bytes, &place, base: base)
        guard value.stamp < IndexEntry.stampLimit else {
            throw BlockLayout.Fault(rule: .entry, byte: self.place)
        }
        return value
    }
}

extension EntryHead {
    /// How many bytes stamp and words take.
    var valueLength: Int { stampSize + Self.size(firstCode) + Self.size(secondCode) }

    /// Reads stamp and words; behind the entries of a block at least eight bytes follow.
    @inline(__always)
    func value(_ bytes: Span<UInt8>, _ place: inout Int, base: UInt64) -> IndexValue {
        let stamp = base + Self.number(bytes, &place, stampSize)
        let first = Self.word(bytes, &place, firstCode, stamp)
        return IndexValue(
            stamp: stamp, first: first, second: Self.word(bytes, &place, secondCode, stamp))
    }

    private static func size(_ code: Int) -> Int { code == wordIsStamp ? 0 : code }

    @inline(__always)
    private static func word(
        _ bytes: Span<UInt8>, _ place: inout Int, _ code: Int, _ stamp: UInt64
    ) -> UInt64 {
        code == wordIsStamp ? stamp : number(bytes, &place, code)
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

extension IndexKey {
    /// How the key stands to one whose first `shared` bytes are this one's, and whose `count` bytes
    /// behind them are those of `bytes` at `place`: how many bytes both begin with, and whether the
    /// other is before this one.
    @inline(__always)
    fileprivate func order(
        of bytes: Span<UInt8>, at place: Int, count: Int, behind shared: Int
    ) -> (matched: Int, isBefore: Bool, isEqual: Bool) {
        let length = shared + count
        let least = min(length, self.count)
        var done = 0
        while shared + done < max(length, self.count) {
            let taken = min(8, count - done)
            let other =
                taken > 0
                ? bytes.uint64(at: place + done).byteSwapped & (~0 << UInt64(64 - taken * 8)) : 0
            let own = fileWord(at: shared + done).byteSwapped
            if other != own {
                let same = (other ^ own).leadingZeroBitCount / 8
                return (min(shared + done + same, least), other < own, false)
            }
            done += 8
        }
        return (least, length < self.count, length == self.count)
    }
}
