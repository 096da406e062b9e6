internal import StratusBytes
internal import StratusFiles

// A walk through a whole table: `Formats/Index.md`, "Validity".
extension Table {
    func verify() throws(IndexError) {
        // What is in memory was read once; here the file counts.
        let reading = Reading(mode: .blocking, cache: nil)
        let file = try open(.blocking)
        try check(ends: file)
        var walk = TableWalk()
        var leafPlace = info.footer.indexPlace
        for leaf in try pointers(topRange, to: indexPart, reading) {
            guard leaf.range.lowerBound == leafPlace else {
                throw damage(.place, at: topRange.lowerBound)
            }
            leafPlace = leaf.range.upperBound
            let blocks = try pointers(leaf.range, to: dataPart, reading)
            guard blocks.first?.first == leaf.first else {
                throw damage(.place, at: leaf.range.lowerBound)
            }
            for block in blocks {
                guard block.range.lowerBound == walk.place else {
                    throw damage(.place, at: leaf.range.lowerBound)
                }
                try walk.add(try entries(block.range, reading), block, self)
            }
        }
        guard leafPlace == indexPart.upperBound, walk.place == dataPart.upperBound else {
            throw damage(.place, at: topRange.lowerBound)
        }
        try check(walk)
        try checkFilter(walk.hashes, reading)
    }

    /// A block that an index block names, and the position of its first entry.
    struct Pointer {
        var range: Range<Int>
        var first: IndexPosition
    }

    private func pointers(
        _ index: Range<Int>, to part: Range<Int>, _ reading: Reading
    ) throws(IndexError) -> [Pointer] {
        var pointers: [Pointer] = []
        for (entry, _) in try entries(index, reading) {
            guard entry.flags.isEmpty else { throw damage(.entry, at: index.lowerBound) }
            let range = try target(entry.value, in: part, namedAt: index.lowerBound)
            pointers.append(Pointer(range: range, first: entry.position))
        }
        return pointers
    }

    /// All entries of a block, strictly in order and in their shortest form, with their sizes.
    private func entries(
        _ range: Range<Int>, _ reading: Reading
    ) throws(IndexError) -> [(entry: IndexEntry, size: Int)] {
        let block = try data(range, reading)
        let base = block.bytes.span.uint64(at: 0)
        var builder = BlockBuilder(base: base)
        var found: [(entry: IndexEntry, size: Int)] = []
        for interval in 0..<block.layout.intervalCount {
            do throws(BlockLayout.Fault) {
                for entry in try block.entries(interval) {
                    guard !builder.isFull else { throw BlockLayout.Fault(rule: .entry, byte: 0) }
                    if let last = found.last?.entry, !(last.position < entry.position) {
                        throw BlockLayout.Fault(rule: .order, byte: 0)
                    }
                    found.append((entry, builder.append(entry)))
                }
            } catch {
                throw damage(error, inBlockAt: range.lowerBound)
            }
        }
        // A block has one encoding: writing the same entries again must give the same bytes.
        var again = ByteWriter()
        builder.finish(into: &again, number: 0)
        let end = again.count - TableFormat.checksumLength
        guard block.bytes.dropLast(TableFormat.checksumLength) == again.bytes[..<end] else {
            throw damage(.entry, at: range.lowerBound)
        }
        return found
    }

    private func check(_ walk: TableWalk) throws(IndexError) {
        guard walk.first == info.first, walk.last == info.last else {
            throw damage(.order, at: dataPart.lowerBound)
        }
        var counted = walk.counts
        counted.filterPlace = info.footer.filterPlace
        counted.indexPlace = info.footer.indexPlace
        counted.topPlace = info.footer.topPlace
        counted.footerPlace = info.footer.footerPlace
        counted.filterCells = info.footer.filterCells
        guard counted == info.footer else { throw damage(.count, at: info.footer.footerPlace) }
    }

    private func checkFilter(_ hashes: [UInt64], _ reading: Reading) throws(IndexError) {
        var place = info.footer.filterPlace
        let cells = info.footer.filterCells
        var blocks: [[UInt8]] = []
        for cell in stride(from: 0, to: cells, by: KeyFilter.cellsPerBlock) {
            let length = KeyFilter.length(ofBlockWithCell: cell, of: cells)
            blocks.append(
                try withBytes(place..<place + length, reading, preferred: true) { $0.array })
            place += length
        }
        for hash in hashes {
            let cell = KeyFilter.cell(hash, of: cells)
            let block = blocks[cell / KeyFilter.cellsPerBlock]
            guard KeyFilter.mayHold(hash, cell: cell, in: block.span) else {
                throw damage(
                    .filter, at: info.footer.filterPlace + KeyFilter.place(ofCell: cell))
            }
        }
    }
}

/// What was found on the way through a table's data blocks.
private struct TableWalk {
    var place = TableFormat.headerLength
    var counts = TableFooter()
    var hashes: [UInt64] = []
    var first: IndexPosition?
    var last: IndexPosition?

    mutating func add(
        _ entries: [(entry: IndexEntry, size: Int)], _ block: Table.Pointer, _ table: Table
    ) throws(IndexError) {
        place = block.range.upperBound
        guard entries.first?.entry.position == block.first else {
            throw table.damage(.place, at: block.range.lowerBound)
        }
        if let last, !(last < block.first) { throw table.disorder(at: block.range) }
        if first == nil { first = block.first }
        for (entry, size) in entries {
            if last?.key != entry.key { hashes.append(entry.key.filterHash) }
            last = entry.position
            counts.count(entry, bytes: size)
        }
    }
}

extension OrderedIndex {
    /// Walks through one table completely.
    package func verify(_ number: UInt64) throws(IndexError) {
        let table = runs.lazy.flatMap(\.tables).first { $0.info.number == number }
        try table?.verify()
    }
}
