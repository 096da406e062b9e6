/// How a scalar behaves at the boundaries of words: the property Word_Break of Unicode.
///
/// The order is that of `Tools/unicode-tables`.
enum WordBreak: UInt8, Sendable {
    case other, carriageReturn, lineFeed, newline, extend, zeroWidthJoiner, format, katakana
    case hebrewLetter, letter, singleQuote, doubleQuote, midNumberLetter, midLetter, midNumber
    case numeric, extendNumberLetter, spaceSegment, regionalIndicator

    var isNewline: Bool { self == .carriageReturn || self == .lineFeed || self == .newline }
    /// What belongs to the scalar before it, whatever that is (rule WB4).
    var isIgnored: Bool { self == .extend || self == .zeroWidthJoiner || self == .format }
    /// `AHLetter` of the rules.
    var isLetter: Bool { self == .letter || self == .hebrewLetter }
    var isLetterOrNumber: Bool { isLetter || self == .numeric }
    /// `MidNumLetQ` of the rules.
    var joinsBoth: Bool { self == .midNumberLetter || self == .singleQuote }
}

/// What word division needs to know of a scalar.
struct WordProperties: Sendable {
    private let bits: UInt16

    init(bits: UInt16) { self.bits = bits }

    @inline(__always) var wordBreak: WordBreak { WordBreak(rawValue: UInt8(bits & 0x1f)) ?? .other }
    var isPictographic: Bool { bits & 0x20 != 0 }
    /// A letter, a number, an emoji or half a flag: what makes a piece of text a word.
    var isWord: Bool { bits & 0x40 != 0 }
}

/// The properties of all scalars. One object, so that an iterator over a text keeps one reference.
final class WordTable: Sendable {
    static let shared = WordTable()

    private let table: ScalarTable
    /// Those of ASCII once more, found with one lookup.
    private let ascii: [WordProperties]

    private init() {
        var numbers = PackedNumbers(UnicodeTables.words)
        let table = ScalarTable(&numbers)
        self.table = table
        ascii = (0..<0x80).map { WordProperties(bits: table[$0]) }
    }

    /// The properties of the scalar that begins at `place` in the UTF-8 of a string, and where it
    /// ends.
    @inline(__always)
    func properties(_ bytes: [UInt8], at place: Int) -> (WordProperties, end: Int) {
        let first = bytes[place]
        return first < 0x80 ? (ascii[Int(first)], place + 1) : decoded(bytes, at: place)
    }

    private func decoded(_ bytes: [UInt8], at place: Int) -> (WordProperties, end: Int) {
        let first = UInt32(bytes[place])
        // The bytes are those of a string, so they are complete.
        let count = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4
        var scalar = first & (0x7f >> UInt32(count))
        for next in place + 1..<place + count { scalar = scalar << 6 | UInt32(bytes[next] & 0x3f) }
        return (WordProperties(bits: table[scalar]), place + count)
    }
}
