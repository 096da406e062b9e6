internal import StratusBytes

/// The numbers of the format of tables. Layout: `Formats/Index.md`.
enum TableFormat {
    static let version: UInt16 = 1
    static let magic: UInt64 = 0x0a1a_0a0d_4954_5389
    static let filePrefix = "index-"
    static let headerLength = 32
    static let checksumLength = 8
    /// The length that a table may not reach; what is read is never larger.
    static let lengthLimit = 1 << 24
    static let numberLimit: UInt64 = 1 << 40
    /// A table that has so many bytes of data is ended.
    static let fullTable = 4 << 20
    /// A block of entries that has so many bytes is ended.
    static let fullBlock = 4 << 10
    static let blockLimit = 1 << 16
    static let entriesPerRestart = 16
    /// Head, shared, rest, key, stamp and two words.
    static let longestEntry = 2 + 1 + 1 + IndexKey.limit + 7 + 8 + 8

    static func fileName(_ number: UInt64) -> String { filePrefix + Hex.encode(number) }

    static func number(ofFile name: String) -> UInt64? {
        guard name.hasPrefix(filePrefix) else { return nil }
        return Hex.number(name.dropFirst(filePrefix.count)).flatMap { $0 < numberLimit ? $0 : nil }
    }

    static func seed(_ number: UInt64, at place: Int) -> UInt64 {
        number + UInt64(place) << 40
    }
}

/// The first two bytes of an entry.
struct EntryHead {
    var bits: UInt16

    static let wordIsStamp = 9
    static let wordLimit = 10

    var flags: IndexEntry.Flags { IndexEntry.Flags(rawValue: UInt8(bits & 3)) }
    var stampSize: Int { Int(bits >> 2 & 7) }
    var firstCode: Int { Int(bits >> 5 & 15) }
    var secondCode: Int { Int(bits >> 9 & 15) }
    var keepsLength: Bool { bits & 1 << 13 != 0 }
    var isValid: Bool {
        bits >> 14 == 0 && firstCode < Self.wordLimit && secondCode < Self.wordLimit
    }

    init(bits: UInt16) { self.bits = bits }

    init(_ entry: IndexEntry, base: UInt64, keepsLength: Bool) {
        let stamp = entry.value.stamp
        bits = UInt16(entry.flags.rawValue) | UInt16(Self.size(stamp - base)) << 2
        bits |= UInt16(Self.code(entry.value.first, stamp)) << 5
        bits |= UInt16(Self.code(entry.value.second, stamp)) << 9
        if keepsLength { bits |= 1 << 13 }
    }

    /// How many bytes hold a number.
    static func size(_ value: UInt64) -> Int { (71 - value.leadingZeroBitCount) >> 3 }

    private static func code(_ word: UInt64, _ stamp: UInt64) -> Int {
        word != 0 && word == stamp ? wordIsStamp : size(word)
    }
}
