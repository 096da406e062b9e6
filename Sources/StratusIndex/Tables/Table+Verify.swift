internal import StratusBytes
internal import StratusFiles

// A walk through a whole table: `Formats/Index.md`, "Validity".
extension Table {
    /// Checks everything: what is in memory was read once, here the file counts.
    ///
    /// A table has one encoding. So its entries, which must be in order, are written again, and any
    /// difference is damage of the part where it lies.
    func verify() throws(IndexError) {
        let file = try checkedFile()
        let directory = try block(try checkedBlock(directoryRange, of: file), at: directoryRange)
        let ranges = try dataBlocks(directory)
        var blocks: [Block] = []
        var builder = TableBuilder(number: info.number, in: store)
        var last: IndexPosition?
        var place = dataPart.lowerBound
        for range in ranges {
            guard range.lowerBound == place else {
                throw damage(.place, at: directoryRange.lowerBound)
            }
            let block = try block(try checkedBlock(range, of: file), at: range)
            for number in 0..<block.count {
                let entry: IndexEntry
                do {
                    entry = try block.entry(number)
                } catch {
                    throw damage(error, inBlockAt: place)
                }
                if let last, !(last < entry.position) { throw disorder(at: range) }
                last = entry.position
                guard builder.append(entry) else { throw damage(.entry, at: place) }
            }
            blocks.append(block)
            place = range.upperBound
        }
        guard place == dataPart.upperBound else {
            throw damage(.place, at: directoryRange.lowerBound)
        }
        let filter = try checkedFilter(of: file)
        let (found, bytes) = builder.finish(storeID: store.storeID)
        func check(
            _ own: [UInt8], in range: Range<Int>, _ rule: IndexDamage.Rule
        ) throws(IndexError) {
            guard bytes.count >= range.upperBound, own[...] == bytes[range] else {
                throw damage(rule, at: range.lowerBound)
            }
        }
        for (range, block) in zip(ranges, blocks) { try check(block.bytes, in: range, .entry) }
        try check(filter, in: filterPart, .filter)
        try check(directory.bytes, in: directoryRange, .place)
        guard found.first == info.first, found.last == info.last else {
            throw damage(.order, at: dataPart.lowerBound)
        }
        guard found.footer == info.footer else {
            throw damage(.count, at: info.footer.footerPlace)
        }
    }

    /// Where the data blocks lie, in their order.
    private func dataBlocks(_ directory: Block) throws(IndexError) -> [Range<Int>] {
        var ranges: [Range<Int>] = []
        for number in 0..<directory.count {
            let value: IndexValue
            do {
                value = try directory.layout.value(number, directory.bytes.span)
            } catch {
                throw damage(error, inBlockAt: directoryRange.lowerBound)
            }
            ranges.append(try target(value))
        }
        return ranges
    }
}

extension OrderedIndex {
    /// Walks through one table completely.
    package func verify(_ number: UInt64) throws(IndexError) {
        try table(number)?.verify()
    }

    /// How long the file of a table is, in bytes; 0 where there is no such table.
    package func length(ofTable number: UInt64) -> Int { table(number)?.info.length ?? 0 }

    private func table(_ number: UInt64) -> Table? {
        runs.lazy.flatMap(\.tables).first { $0.info.number == number }
    }
}
