internal import StratusBytes

/// A table under construction, in memory. Layout: `Formats/Index.md`, "Layout".
struct TableBuilder {
    private let number: UInt64
    private let groupedKeyspaces: [UInt8]
    private var file = ByteWriter(
        capacity: TableFormat.blocksPerTable * TableFormat.blockLimit / 8 * 9)
    private var footer = TableFooter()
    private var data = BlockBuilder(limit: TableFormat.blockLimit)
    /// The first entries of the data blocks; where they begin and how long they are.
    private var directory = BlockBuilder(limit: TableFormat.directoryLimit)
    /// Of different keys, and of groups of keys.
    private var hashes: [UInt64] = []
    private var first: IndexPosition?
    private var last: IndexPosition?

    init(number: UInt64, in store: TableStore) {
        self.number = number
        groupedKeyspaces = store.groupedKeyspaces
        file.uint64(TableFormat.magic)
        file.uint16(TableFormat.version)
        file.uint16(TableFormat.version)
        file.uint32(0)
        file.uint64(number)
        file.uint64(Checksum.xxh3(file.bytes.span, seed: number))
    }

    /// Adds the entry that comes next in order; returns false, and adds nothing, where the table is
    /// full.
    mutating func append(_ entry: IndexEntry) -> Bool {
        if !data.append(entry) {
            // The block that the entry would begin is one more.
            guard directory.entries.count + 1 < TableFormat.blocksPerTable else { return false }
            finishBlock()
            let isFirst = data.append(entry)
            precondition(isFirst, "the first entry fits")
        }
        if last?.key != entry.key {
            hashes.append(entry.key.filterHash)
            if let group = entry.key.group(in: groupedKeyspaces),
                last?.key.group(in: groupedKeyspaces) != group
            {
                hashes.append(group.filterHash)
            }
        }
        if first == nil { first = entry.position }
        last = entry.position
        return true
    }

    /// Ends the table; returns its bytes and what is known of it. There must be an entry.
    mutating func finish(storeID: Hash128) -> (info: TableInfo, bytes: [UInt8]) {
        guard let first, let last else { preconditionFailure("a table has an entry") }
        finishBlock()
        footer.filterPlace = file.count
        footer.filterCells = KeyFilter.cells(forKeys: hashes.count)
        KeyFilter.append(hashes, to: &file, number: number)
        footer.directoryPlace = file.count
        directory.finish(into: &file, number: number)
        footer.footerPlace = file.count
        footer.append(to: &file, number: number, storeID: storeID)
        let info = TableInfo(number: number, first: first, last: last, footer: footer)
        return (info, file.bytes)
    }

    private mutating func finishBlock() {
        let place = file.count
        data.finish(into: &file, number: number)
        let length = file.count - place
        footer.count(data.entries, ofBlockWith: length)
        let first = data.entries[0]
        let value = IndexValue(
            stamp: first.value.stamp, first: UInt64(place), second: UInt64(length))
        data.removeAll()
        let isAdded = directory.append(IndexEntry(key: first.key, value: value, flags: []))
        precondition(isAdded, "the directory has room for all blocks of a table")
    }
}
