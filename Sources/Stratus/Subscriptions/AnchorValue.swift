internal import StratusBytes
internal import StratusEngine
internal import StratusLanguage

/// What an anchor has of a value: all values that one comparison holds for equal have the same, so
/// that a record finds by its own values what waits for them. `Formats/Record.md`, "Subscription".
///
/// A hash of long values; the predicate decides. Strings are folded by case, references count by
/// their record name alone.
struct AnchorValue: Hashable, Sendable {
    /// Keeps values apart that are never equal.
    enum Kind: UInt8, Sendable {
        /// Of an anchor that has no value.
        case nothing = 0
        /// A number that a Double has exactly, whatever its own kind.
        case number = 1
        /// An integer that no Double has.
        case integer = 2
        case date = 3
        case text = 4
        case bytes = 5
        case reference = 6
        case location = 7
        case word = 8
        case cell = 9
    }

    var kind: Kind
    var bits: UInt64

    init(_ kind: Kind, _ bits: UInt64 = 0) {
        self.kind = kind
        self.bits = bits
    }

    static let nothing = AnchorValue(.nothing)

    init(_ number: Int64) {
        if let double = Double(exactly: number) {
            self.init(.number, Self.bits(double))
        } else {
            self.init(.integer, UInt64(bitPattern: number))
        }
    }

    /// A number or a date; nil of what is not a number, which equals nothing.
    init?(_ kind: Kind, _ number: Double) {
        if number.isNaN { return nil }
        self.init(kind, Self.bits(number))
    }

    /// Nil where a coordinate is not a number.
    init?(_ point: GeographicPoint) {
        if point.latitude.isNaN || point.longitude.isNaN { return nil }
        let words: InlineArray<2, UInt64> = [
            Self.bits(point.latitude), Self.bits(point.longitude),
        ]
        self.init(.location, Checksum.xxh3(words: words.span))
    }

    /// Of a string, of which that part of `folded` is the beginning or all.
    init(folded: Span<UInt8>, in range: Range<Int>, seed: UInt64) {
        self.init(.text, Checksum.xxh3(folded, in: range, seed: seed))
    }

    init(_ word: SearchWord, seed: UInt64) {
        self.init(.word, hashOf: word.text, seed: seed)
    }

    init(_ kind: Kind, hashOf text: String, seed: UInt64) {
        let bytes = text.utf8.span
        self.init(kind, Checksum.xxh3(bytes, seed: seed))
    }

    /// The two zeros are equal.
    private static func bits(_ number: Double) -> UInt64 { number == 0 ? 0 : number.bitPattern }

    /// Where anchors of a shape with this value stand; `zone` is the hash of the name of their zone,
    /// 0 where they are of no zone.
    func slot(_ shape: UInt64, zone: UInt64, secret: UInt64) -> UInt64 {
        let words: InlineArray<5, UInt64> = [secret, shape, zone, UInt64(kind.rawValue), bits]
        return Checksum.xxh3(words: words.span)
    }
}

/// A number or a date in the order of its kind, as anchors of intervals have it.
struct AnchorOrder: Hashable, Sendable {
    /// ``AnchorValue/Kind/number`` for integers too, or a date.
    var kind: AnchorValue.Kind
    /// Rises with the value; integers that no Double has share those of their neighbours.
    var bits: UInt64

    init(_ number: Int64) {
        kind = .number
        bits = SortKey.bits(of: .double(Double(number))) ?? 0
    }

    /// Nil of what is not a number.
    init?(_ kind: AnchorValue.Kind, _ number: Double) {
        guard let bits = SortKey.bits(of: .double(number)) else { return nil }
        self.kind = kind
        self.bits = bits
    }

    init(_ kind: AnchorValue.Kind, place bits: UInt64) {
        self.kind = kind
        self.bits = bits
    }

    /// The block that it lies in, of those that have 2 to the power of `level` places each.
    func block(_ level: UInt8) -> AnchorValue { AnchorValue(kind, bits >> UInt64(level)) }

    /// The levels and first places of one block or two that hold all places of a range, and few
    /// others.
    static func blocks(_ range: ClosedRange<UInt64>) -> [(level: UInt8, place: UInt64)] {
        let (low, high) = (range.lowerBound, range.upperBound)
        let level = level(low, high)
        if level == 0 { return [(0, low)] }
        // Where the upper half of the block begins, in which the range ends.
        let middle = high & (UInt64.max << UInt64(level - 1))
        let (left, right) = (Self.level(low, middle - 1), Self.level(middle, high))
        // Numbers to both sides of a power of two have no small block in common, and near zero there
        // are more places than numbers in use.
        return min(left, right) + 1 < level ? [(left, low), (right, high)] : [(level, low)]
    }

    /// Of the smallest block that holds both.
    private static func level(_ low: UInt64, _ high: UInt64) -> UInt8 {
        UInt8(64 - (low ^ high).leadingZeroBitCount)
    }
}

/// The squares of one size, in degrees, into which anchors divide the earth.
struct AnchorGrid: Sendable {
    /// The earth has 2 to the power of it columns, and half as many rows.
    let level: UInt8

    /// Has squares of some metres.
    static let finest: UInt8 = 24

    private var columns: Int { 1 << Int(level) }
    /// In degrees.
    private var side: Double { 360 / Double(columns) }

    private func row(_ latitude: Double) -> Int { Int(((latitude + 90) / side).rounded(.down)) }

    /// Counted on beyond the meridian of 180 degrees.
    private func column(_ longitude: Double) -> Int {
        Int(((longitude + 180) / side).rounded(.down))
    }

    private func cell(row: Int, column: Int) -> AnchorValue {
        AnchorValue(.cell, UInt64(row) << 32 | UInt64(column & (columns - 1)))
    }

    /// The square of a place on the earth whose longitude is fine.
    func cell(of point: GeographicPoint) -> AnchorValue {
        cell(row: row(point.latitude), column: column(point.turnedLongitude))
    }

    /// The squares that hold every place within so many kilometres of `center`, which lies on the
    /// earth; nil where that takes squares about a pole, or very large ones.
    static func cells(
        around center: GeographicPoint, kilometres: Double
    ) -> (grid: AnchorGrid, cells: [AnchorValue])? {
        let bounds = CircleBounds(around: center, kilometres: kilometres)
        guard center.hasFineLongitude, let width = bounds.width else { return nil }
        let height = bounds.height
        guard
            let level = (2...finest).last(where: {
                AnchorGrid(level: $0).side >= 2 * max(height, width)
            })
        else { return nil }
        let grid = AnchorGrid(level: level)
        let longitude = center.turnedLongitude
        var cells: [AnchorValue] = []
        for row in grid.row(center.latitude - height)...grid.row(center.latitude + height) {
            for column in grid.column(longitude - width)...grid.column(longitude + width) {
                cells.append(grid.cell(row: row, column: column))
            }
        }
        return (grid, cells)
    }
}
