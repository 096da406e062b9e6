internal import StratusBytes

/// Says of most keys that are not in a table that they are not: a split-block Bloom filter with
/// about ten bits a key, in blocks of a few KiB. Layout: `Formats/Index.md`, "Layout".
enum KeyFilter {
    static let cellLength = 32
    static let cellsPerBlock = 127
    private static let keysPerCell = 25
    private static let salts: InlineArray<8, UInt32> = [
        0x47b6_137b, 0x4497_4d91, 0x8824_ad5b, 0xa2b7_289d,
        0x7054_95c7, 0x2df1_424b, 0x9efc_4947, 0x5c6b_fb31,
    ]

    /// How many cells a table with so many keys has.
    static func cells(forKeys count: Int) -> Int { count / keysPerCell + 1 }

    /// The cell that a hash belongs to.
    static func cell(_ hash: UInt64, of cells: Int) -> Int { hash.place(among: cells) }

    /// Where the block begins that holds a cell, counted from the first filter block.
    static func place(ofCell cell: Int) -> Int {
        cell / cellsPerBlock * (cellsPerBlock * cellLength + TableFormat.checksumLength)
    }

    /// How long the block is that holds a cell.
    static func length(ofBlockWithCell cell: Int, of cells: Int) -> Int {
        let first = cell / cellsPerBlock * cellsPerBlock
        return min(cellsPerBlock, cells - first) * cellLength + TableFormat.checksumLength
    }

    /// How long all blocks are.
    static func length(ofCells cells: Int) -> Int {
        place(ofCell: cells - 1) + length(ofBlockWithCell: cells - 1, of: cells)
    }

    /// Whether a key with this hash may be in the table; `block` is what begins at `place` with the
    /// block that holds its cell.
    static func mayHold(
        _ hash: UInt64, cell: Int, in block: Span<UInt8>, at place: Int = 0
    ) -> Bool {
        let start = place + cell % cellsPerBlock * cellLength
        var missing: UInt32 = 0
        for word in 0..<8 {
            missing |= bit(hash, word) & ~block.uint32(at: start + word * 4)
        }
        return missing == 0
    }

    /// Appends the filter of keys with these hashes.
    static func append(_ hashes: [UInt64], to file: inout ByteWriter, number: UInt64) {
        let cells = cells(forKeys: hashes.count)
        var words = [UInt32](repeating: 0, count: cells * 8)
        for hash in hashes {
            let start = cell(hash, of: cells) * 8
            for word in 0..<8 { words[start + word] |= bit(hash, word) }
        }
        for first in stride(from: 0, to: cells, by: cellsPerBlock) {
            let place = file.count
            let next = min(cells, first + cellsPerBlock)
            for word in first * 8..<next * 8 { file.uint32(words[word]) }
            file.checksum(from: place, number: number)
        }
    }

    private static func bit(_ hash: UInt64, _ word: Int) -> UInt32 {
        1 << ((UInt32(truncatingIfNeeded: hash) &* salts[word]) >> 27)
    }
}
