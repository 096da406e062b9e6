internal import StratusFiles

// Finding blocks, and entries in them.
extension Table {
    /// The data block that is the last to begin before `position`.
    func block(
        beginningBefore position: IndexPosition, _ reading: Reading
    ) throws(IndexError) -> Range<Int>? {
        guard let leaf = try leaf(beginningBefore: position, reading),
            let found = try value(
                before: position, in: try index(leaf, reading), at: leaf.lowerBound)
        else { return nil }
        return try target(found, in: dataPart, namedAt: leaf.lowerBound)
    }

    /// The data block that is the first to begin at or behind `position`.
    func block(
        beginningFrom position: IndexPosition, _ reading: Reading
    ) throws(IndexError) -> (range: Range<Int>, first: IndexPosition)? {
        if let leaf = try leaf(beginningBefore: position, reading),
            let found = try block(beginningFrom: position, inLeaf: leaf, reading)
        {
            return found
        }
        let top = try index(topRange, reading)
        guard let next = try ceiling(position, in: top, at: topRange.lowerBound) else {
            return nil
        }
        let leaf = try target(next.value, in: indexPart, namedAt: topRange.lowerBound)
        return try block(beginningFrom: position, inLeaf: leaf, reading)
    }

    private func block(
        beginningFrom position: IndexPosition, inLeaf leaf: Range<Int>, _ reading: Reading
    ) throws(IndexError) -> (range: Range<Int>, first: IndexPosition)? {
        let block = try index(leaf, reading)
        guard let found = try ceiling(position, in: block, at: leaf.lowerBound) else { return nil }
        let range = try target(found.value, in: dataPart, namedAt: leaf.lowerBound)
        return (range, found.position)
    }

    private func leaf(
        beginningBefore position: IndexPosition, _ reading: Reading
    ) throws(IndexError) -> Range<Int>? {
        let top = try index(topRange, reading)
        guard let found = try value(before: position, in: top, at: topRange.lowerBound) else {
            return nil
        }
        return try target(found, in: indexPart, namedAt: topRange.lowerBound)
    }

    /// The newest entry of the key that is not newer than the position's stamp.
    func entry(
        at position: IndexPosition, _ reading: Reading
    ) throws(IndexError) -> IndexEntry? {
        if let range = try block(beginningBefore: position.next, reading) {
            let block = try data(range, reading)
            do {
                if let found = try block.value(from: position) {
                    guard found.isOfKey else { return nil }
                    return IndexEntry(
                        key: position.key, value: found.value, flags: found.flags)
                }
            } catch {
                throw damage(error, inBlockAt: range.lowerBound)
            }
        }
        // The first of the next block, which is looked at only if it is of the key.
        guard let next = try block(beginningFrom: position, reading),
            next.first.key == position.key
        else { return nil }
        return try ceiling(
            position, in: try data(next.range, reading), at: next.range.lowerBound)
    }

    func data(_ range: Range<Int>, _ reading: Reading) throws(IndexError) -> Block {
        try block(range, reading, preferred: false)
    }

    var dataPart: Range<Int> { TableFormat.headerLength..<info.footer.filterPlace }
    var indexPart: Range<Int> { info.footer.indexPlace..<info.footer.topPlace }
    var topRange: Range<Int> { info.footer.topPlace..<info.footer.footerPlace }

    func index(_ range: Range<Int>, _ reading: Reading) throws(IndexError) -> Block {
        try block(range, reading, preferred: true)
    }

    private func ceiling(
        _ position: IndexPosition, in block: Block, at place: Int
    ) throws(IndexError) -> IndexEntry? {
        do {
            return try block.ceiling(position)
        } catch {
            throw damage(error, inBlockAt: place)
        }
    }

    private func value(
        before position: borrowing IndexPosition, in block: Block, at place: Int
    ) throws(IndexError) -> IndexValue? {
        do {
            return try block.value(before: position)
        } catch {
            throw damage(error, inBlockAt: place)
        }
    }
}
