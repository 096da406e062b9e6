internal import StratusBytes

/// A table under construction, in memory. Layout: `Formats/Index.md`, "Layout".
struct TableBuilder {
    private let number: UInt64
    private let groupings: KeyGroupings
    private var file = ByteWriter(
        capacity: TableFormat.blocksPerTable * TableFormat.blockLimit / 8 * 9)
    private var footer = TableFooter()
    private var data = BlockBuilder(limit: TableFormat.blockLimit)
    /// The first entries of the data blocks; where they begin and how long they are.
    private var directory = BlockBuilder(limit: TableFormat.directoryLimit)
    /// Of different keys, and of groups of keys.
    private var hashes: [UInt64] = []
    /// Of the blocks that are finished.
    private var first: IndexPosition?
    private var last: IndexEntry?

    init(number: UInt64, in store: TableStore) {
        self.number = number
        groupings = store.groupings
        file.uint64(TableFormat.magic)
        file.uint16(TableFormat.version)
        file.uint16(TableFormat.version)
        file.uint32(0)
        file.uint64(number)
        file.uint64(Checksum.xxh3(file.bytes.span, seed: number))
    }

    /// Adds the entry that comes next in order; returns false, and adds nothing, where the table is
    /// full.
    mutating func append(_ entry: borrowing IndexEntry) -> Bool {
        if data.append(entry) { return true }
        // The block that the entry would begin is one more.
        guard directory.entries.count + 1 < TableFormat.blocksPerTable else { return false }
        finishBlock()
        let isFirst = data.append(entry)
        precondition(isFirst, "the first entry fits")
        return true
    }

    /// Ends the table; returns its bytes and what is known of it. There must be an entry.
    mutating func finish(storeID: Hash128) -> (info: TableInfo, bytes: [UInt8]) {
        finishBlock()
        guard let first, let last else { preconditionFailure("a table has an entry") }
        footer.filterPlace = file.count
        footer.filterCells = KeyFilter.cells(forKeys: hashes.count)
        KeyFilter.append(hashes, to: &file, number: number)
        footer.directoryPlace = file.count
        directory.finish(into: &file, number: number)
        footer.footerPlace = file.count
        footer.append(to: &file, number: number, storeID: storeID)
        let info = TableInfo(number: number, first: first, last: last.position, footer: footer)
        return (info, file.bytes)
    }

    private mutating func finishBlock() {
        let place = file.count
        data.finish(into: &file, number: number)
        let length = file.count - place
        footer.count(data.entries, ofBlockWith: length)
        addHashes()
        let begin = data.entries[0]
        if first == nil { first = begin.position }
        last = data.entries.last
        let value = IndexValue(
            stamp: begin.stamp, first: UInt64(place), second: UInt64(length))
        data.removeAll()
        let isAdded = directory.append(IndexEntry(key: begin.key, value: value, flags: []))
        precondition(isAdded, "the directory has room for all blocks of a table")
    }

    /// Those of the block at hand, of keys and groups that are not those of the entry before.
    private mutating func addHashes() {
        let held = data.entries
        let entries = held.span
        for place in entries.indices {
            // No key is empty.
            let before = place > 0 ? entries[place - 1].key : last?.key ?? IndexKey()
            if before == entries[place].key { continue }
            hashes.append(entries[place].key.filterHash)
            if let group = groupings.group(begunBy: entries[place].key, after: before) {
                hashes.append(group.filterHash)
            }
        }
    }
}
