internal import StratusBytes

/// Which part of a store a scrub reads: for stores that take too long to be read at once.
///
/// A store is read in an order that stays the same: the files of its journal, the tables of its index, and
/// the chunks of its assets by their addresses, in 65,536 groups. What begins is read to its end. In
/// parts, all bytes are checked that are read; that the index says what the journal does, and which
/// records a damaged chunk is of, only a reading of the whole store can tell; and it alone reads chunks where
/// the index is damaged, which says where they lie.
public struct ScrubPart: Hashable, Sendable {
    /// One of several parts of which each file and each group of chunks is in exactly one, and stays in it.
    public struct Subset: Hashable, Sendable {
        /// From 1 to ``count``.
        public var number: Int
        /// How many there are, 1 or more.
        public var count: Int

        /// The part of that number. Numbers that are none are refused where it is used.
        public init(_ number: Int, of count: Int) {
            self.number = number
            self.count = count
        }

        var isValid: Bool { number >= 1 && number <= count }

        fileprivate func holds(_ place: ScrubPlace) -> Bool {
            let words: InlineArray<2, UInt64> = [UInt64(place.kind.rawValue), place.number]
            return Int(Checksum.xxh3(words: words.span) % UInt64(count)) == number - 1
        }
    }

    /// Nil: all.
    public var subset: Subset?
    /// Where to begin, as ``ScrubReport/next`` says; nil: at the beginning.
    public var start: ScrubPlace?
    /// After so long nothing more begins; nil: it goes to the end. However short it is, something is
    /// read.
    public var duration: Duration?

    /// The whole store, unless more is said.
    public init(subset: Subset? = nil, from start: ScrubPlace? = nil, for duration: Duration? = nil)
    {
        self.subset = subset
        self.start = start
        self.duration = duration
    }

    /// Whether it is the whole store.
    var isWhole: Bool { subset == nil && start == nil && duration == nil }
}

/// A place in the order in which a store is read. As text such as `journal-0000000000400000`,
/// `index-0000000000000012` or `assets-8a3f`.
public struct ScrubPlace: Hashable, Sendable, Comparable, LosslessStringConvertible {
    /// In the order in which they are read.
    enum Kind: UInt8, CaseIterable {
        case journal
        case index
        case assets

        fileprivate var prefix: String { "\(self)-" }

        /// How many digits its numbers have.
        fileprivate var digits: Int { self == .assets ? 4 : 16 }
    }

    let kind: Kind
    /// The offset where a file of the journal begins, or one in it, the number of a table, or the first
    /// two bytes of addresses.
    let number: UInt64

    init(_ kind: Kind, _ number: UInt64) {
        self.kind = kind
        self.number = number
    }

    /// Nil of what is no such place.
    public init?(_ description: String) {
        for kind in Kind.allCases where description.hasPrefix(kind.prefix) {
            let digits = description.dropFirst(kind.prefix.count)
            guard digits.count == kind.digits, let number = UInt64(digits, radix: 16) else {
                return nil
            }
            self.init(kind, number)
            if self.description == description { return }
        }
        return nil
    }

    /// The text that ``init(_:)`` reads.
    public var description: String {
        let digits = String(number, radix: 16)
        return kind.prefix + String(repeating: "0", count: max(0, kind.digits - digits.count))
            + digits
    }

    /// Whether the first is read before the second.
    public static func < (first: ScrubPlace, second: ScrubPlace) -> Bool {
        (first.kind.rawValue, first.number) < (second.kind.rawValue, second.number)
    }
}

/// Says of the places of a store, which come in their order, whether they are read.
struct ScrubWalk {
    private let part: ScrubPart
    private let end: ContinuousClock.Instant?
    private var hasRead = false
    /// The first place that there was no time for.
    private(set) var next: ScrubPlace?

    init(_ part: ScrubPart) {
        self.part = part
        end = part.duration.map { .now + $0 }
    }

    /// - Parameter last: the last place that belongs to it.
    mutating func reads(_ place: ScrubPlace, through last: ScrubPlace? = nil) -> Bool {
        if next != nil { return false }
        if let start = part.start, (last ?? place) < start { return false }
        if let subset = part.subset, !subset.holds(place) { return false }
        if let end, hasRead, ContinuousClock.now >= end {
            next = place
            return false
        }
        hasRead = true
        return true
    }
}
