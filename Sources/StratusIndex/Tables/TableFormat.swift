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
    /// A table has no more data blocks, and no data block is longer, in bytes with its checksum.
    static let blocksPerTable = 1024
    static let blockLimit = 4 << 10
    /// Of the directory: so many entries of the greatest length fit.
    static let directoryLimit = 1 << 16
    /// A block of entries has at least a head, a byte of keys and its checksum.
    static let leastBlock = BlockLayout.headLength + 1 + checksumLength
    /// Key, length, stamp, two words and flags.
    static let longestEntry = IndexKey.limit + 1 + 7 + 8 + 8 + 1
    /// The entries of a table that is full: a block ends where one more does not fit.
    static let entriesOfFullTable = blocksPerTable * (leastEntries(ofBlock: blockLimit) - 1)

    /// How many entries of the greatest length fit into a block of that length.
    static func leastEntries(ofBlock length: Int) -> Int {
        (length - BlockLayout.headLength - IndexKey.limit - checksumLength) / longestEntry
    }

    static func fileName(_ number: UInt64) -> String { filePrefix + Hex.encode(number) }

    static func number(ofFile name: String) -> UInt64? {
        guard name.hasPrefix(filePrefix) else { return nil }
        return Hex.number(name.dropFirst(filePrefix.count)).flatMap { $0 < numberLimit ? $0 : nil }
    }

    static func seed(_ number: UInt64, at place: Int) -> UInt64 {
        number + UInt64(place) << 40
    }
}

extension ByteWriter {
    /// The checksum of a table's block that began at `place`.
    mutating func checksum(from place: Int, number: UInt64) {
        let seed = TableFormat.seed(number, at: place)
        uint64(Checksum.xxh3(bytes.span, in: place..<count, seed: seed))
    }
}
