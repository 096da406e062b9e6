internal import StratusBytes

/// A table under construction, in memory. Layout: `Formats/Index.md`, "Layout".
struct TableBuilder {
    private let number: UInt64
    private var file = ByteWriter(capacity: TableFormat.fullTable + TableFormat.fullTable / 8)
    private var footer = TableFooter()
    private var data: BlockBuilder
    /// The first entries of the data blocks; where they begin and how long they are.
    private var blocks: [IndexEntry] = []
    private var blockStart: IndexPosition?
    /// Of different keys.
    private var hashes: [UInt64] = []
    private var first: IndexPosition?
    private var last: IndexPosition?

    /// No entry's stamp may be below `base`.
    init(number: UInt64, base: UInt64) {
        self.number = number
        data = BlockBuilder(base: base)
        file.uint64(TableFormat.magic)
        file.uint16(TableFormat.version)
        file.uint16(TableFormat.version)
        file.uint32(0)
        file.uint64(number)
        file.uint64(Checksum.xxh3(file.bytes.span, seed: number))
    }

    var isEmpty: Bool { footer.entryCount == 0 }

    /// Whether the table should be ended.
    var isFull: Bool { file.count >= TableFormat.fullTable }

    /// Adds the entry that comes next in order.
    mutating func append(_ entry: IndexEntry) {
        let position = entry.position
        if last?.key != entry.key { hashes.append(entry.key.filterHash) }
        if first == nil { first = position }
        if blockStart == nil { blockStart = position }
        last = position
        footer.count(entry, bytes: data.append(entry))
        if data.isFull { finishBlock() }
    }

    /// Ends the table; returns its bytes and what is known of it. There must be an entry.
    mutating func finish(storeID: Hash128) -> (info: TableInfo, bytes: [UInt8]) {
        guard let first, let last else { preconditionFailure("a table has an entry") }
        finishBlock()
        footer.filterPlace = file.count
        footer.filterCells = KeyFilter.cells(forKeys: hashes.count)
        KeyFilter.append(hashes, to: &file, number: number)
        footer.indexPlace = file.count
        var tops: [IndexEntry] = []
        var start = 0
        var builder = BlockBuilder(base: footer.leastStamp)
        for place in blocks.indices {
            _ = builder.append(blocks[place])
            guard builder.isFull || place == blocks.count - 1 else { continue }
            let begin = file.count
            builder.finish(into: &file, number: number)
            tops.append(Self.pointer(blocks[start].position, begin..<file.count))
            start = place + 1
        }
        footer.topPlace = file.count
        for top in tops { _ = builder.append(top) }
        builder.finish(into: &file, number: number)
        footer.footerPlace = file.count
        footer.append(to: &file, number: number, storeID: storeID)
        let info = TableInfo(number: number, first: first, last: last, footer: footer)
        return (info, file.bytes)
    }

    private mutating func finishBlock() {
        guard let start = blockStart else { return }
        let begin = file.count
        data.finish(into: &file, number: number)
        blocks.append(Self.pointer(start, begin..<file.count))
        blockStart = nil
    }

    /// What the index says of the block at `range`, whose first entry stands at `start`.
    private static func pointer(_ start: IndexPosition, _ range: Range<Int>) -> IndexEntry {
        let value = IndexValue(
            stamp: start.stamp, first: UInt64(range.lowerBound), second: UInt64(range.count))
        return IndexEntry(key: start.key, value: value, flags: [])
    }
}
