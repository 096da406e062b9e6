/// What the index says of a key: two words whose meaning is the keyspace's own, and a stamp.
@usableFromInline package struct IndexValue: Equatable, Sendable {
    /// Where in the journal the entry was made: it differs for each entry a key ever had.
    @usableFromInline package var stamp: UInt64
    @usableFromInline package var first: UInt64
    @usableFromInline package var second: UInt64

    @inlinable package init(stamp: UInt64, first: UInt64 = 0, second: UInt64 = 0) {
        self.stamp = stamp
        self.first = first
        self.second = second
    }
}

/// A version of what the index says of a key.
struct IndexEntry: Sendable {
    let key: IndexKey
    /// Stamp and, from bit 52 on, flags; then the two words of the value. Together with the key 72 bytes:
    /// much of what a merge takes is copying entries.
    private(set) var words: InlineArray<3, UInt64>

    init(key: IndexKey, value: IndexValue, flags: Flags) {
        let flagged = value.stamp | UInt64(flags.rawValue) << Self.flagsShift
        self.init(key: key, words: [flagged, value.first, value.second])
    }

    init(key: IndexKey, words: InlineArray<3, UInt64>) {
        self.key = key
        self.words = words
    }

    var value: IndexValue { IndexValue(stamp: stamp, first: words[1], second: words[2]) }

    var stamp: UInt64 { words[0] & (Self.stampLimit - 1) }

    var flags: Flags {
        get { Flags(rawValue: UInt8(truncatingIfNeeded: words[0] >> Self.flagsShift)) }
        set { words[0] = stamp | UInt64(newValue.rawValue) << Self.flagsShift }
    }

    struct Flags: OptionSet, Sendable {
        let rawValue: UInt8
        /// From the stamp on the key is not there.
        static let removed = Flags(rawValue: 1)
        /// Nothing older under the key exists anywhere.
        static let fresh = Flags(rawValue: 2)
        /// Says no more than a removal once the horizon of its partition has reached its stamp.
        static let lapsing = Flags(rawValue: 4)
        /// No flag has a greater value.
        static let limit: UInt8 = 8
    }

    private static var flagsShift: UInt64 { 52 }
    /// No stamp reaches it.
    static var stampLimit: UInt64 { 1 << flagsShift }

    var position: IndexPosition { IndexPosition(key, stamp: stamp) }

    /// Whether the entry's position is before another.
    @inline(__always)
    func precedes(_ position: borrowing IndexPosition) -> Bool {
        IndexPosition.precedes(key, Self.stampLimit &- stamp, position.key, position.rank)
    }

    /// Whether the entry's position is before that of another.
    @inline(__always)
    func precedes(_ other: borrowing IndexEntry) -> Bool {
        IndexPosition.precedes(key, other.stamp, other.key, stamp)
    }
}

/// A place in the order of entries: by key, then the newest first.
struct IndexPosition: Comparable, Sendable {
    let key: IndexKey
    /// The stamp, turned round: 0 is before all entries of the key.
    fileprivate let rank: UInt64

    /// Before all entries of the key that are not newer than `stamp`.
    init(_ key: IndexKey, stamp: UInt64 = .max) {
        self.init(key, rank: stamp < IndexEntry.stampLimit ? IndexEntry.stampLimit - stamp : 0)
    }

    private init(_ key: IndexKey, rank: UInt64) {
        self.key = key
        self.rank = rank
    }

    /// Of an entry that stands here.
    var stamp: UInt64 { IndexEntry.stampLimit - min(rank, IndexEntry.stampLimit) }

    /// Whether it is before all entries of the key.
    var isNewest: Bool { rank == 0 }

    /// Whether it is behind an entry of the key.
    func isBehind(stamp: UInt64) -> Bool { IndexEntry.stampLimit - stamp < rank }

    /// The next place: behind an entry that stands here.
    var next: IndexPosition { IndexPosition(key, rank: rank + 1) }

    @inline(__always)
    static func < (left: IndexPosition, right: IndexPosition) -> Bool {
        precedes(left.key, left.rank, right.key, right.rank)
    }

    /// Whether one key and rank come before others: the inner loop of every search.
    @inline(__always)
    fileprivate static func precedes(
        _ key: borrowing IndexKey, _ rank: UInt64, _ other: borrowing IndexKey, _ otherRank: UInt64
    ) -> Bool {
        for place in 0..<6 {
            let (left, right) = (key.words[place], other.words[place])
            if left != right { return left < right }
        }
        return rank < otherRank
    }

    static func == (left: IndexPosition, right: IndexPosition) -> Bool {
        left.rank == right.rank && left.key == right.key
    }
}

extension [IndexEntry] {
    /// The place of the first entry that is not before `position`; all before `start` are.
    func lowerBound(_ position: IndexPosition, from start: Int = 0) -> Int {
        var low = start
        var high = count
        while low < high {
            let middle = (low + high) / 2
            if self[middle].precedes(position) { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
