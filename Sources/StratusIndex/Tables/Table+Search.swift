internal import StratusBytes
internal import StratusFiles

// Finding blocks, and entries in them.
extension Table {
    /// The data block that is the last to begin before `position`.
    func block(
        beginningBefore position: IndexPosition, _ reading: Reading
    ) throws(IndexError) -> Range<Int>? {
        guard let leaf = try leaf(beginningBefore: position, reading),
            let found = try value(before: position, in: leaf, reading)
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
        guard let next = try ceiling(position, in: topRange, preferred: true, reading) else {
            return nil
        }
        let leaf = try target(next.value, in: indexPart, namedAt: topRange.lowerBound)
        return try block(beginningFrom: position, inLeaf: leaf, reading)
    }

    private func block(
        beginningFrom position: IndexPosition, inLeaf leaf: Range<Int>, _ reading: Reading
    ) throws(IndexError) -> (range: Range<Int>, first: IndexPosition)? {
        guard let found = try ceiling(position, in: leaf, preferred: true, reading) else {
            return nil
        }
        let range = try target(found.value, in: dataPart, namedAt: leaf.lowerBound)
        return (range, found.position)
    }

    private func leaf(
        beginningBefore position: IndexPosition, _ reading: Reading
    ) throws(IndexError) -> Range<Int>? {
        guard let found = try value(before: position, in: topRange, reading) else { return nil }
        return try target(found, in: indexPart, namedAt: topRange.lowerBound)
    }

    /// The newest entry of the key that is not newer than the position's stamp.
    func entry(
        at position: IndexPosition, _ reading: Reading
    ) throws(IndexError) -> IndexEntry? {
        if let range = try block(beginningBefore: position.next, reading) {
            let found = try withBlock(range, reading, preferred: false) {
                layout, bytes throws(BlockLayout.Fault) in
                try layout.value(from: position, bytes)
            }
            if let found {
                guard found.isOfKey else { return nil }
                return IndexEntry(key: position.key, value: found.value, flags: found.flags)
            }
        }
        // The first of the next block, which is looked at only if it is of the key.
        guard let next = try block(beginningFrom: position, reading),
            next.first.key == position.key
        else { return nil }
        return try ceiling(position, in: next.range, preferred: false, reading)
    }

    /// A data block that the caller keeps.
    func data(_ range: Range<Int>, _ reading: Reading) throws(IndexError) -> Block {
        let bytes = try withBytes(range, reading, preferred: false) { $0.array }
        do {
            return try Block(bytes)
        } catch {
            throw damage(error, inBlockAt: range.lowerBound)
        }
    }

    var dataPart: Range<Int> { TableFormat.headerLength..<info.footer.filterPlace }
    var indexPart: Range<Int> { info.footer.indexPlace..<info.footer.topPlace }
    var topRange: Range<Int> { info.footer.topPlace..<info.footer.footerPlace }

    /// The first entry at or behind `position` of the block in `range`.
    private func ceiling(
        _ position: IndexPosition, in range: Range<Int>, preferred: Bool, _ reading: Reading
    ) throws(IndexError) -> IndexEntry? {
        try withBlock(range, reading, preferred: preferred) {
            layout, bytes throws(BlockLayout.Fault) in
            try layout.ceiling(position, bytes)
        }
    }

    /// What the last entry before `position` of the index block in `range` says.
    private func value(
        before position: IndexPosition, in range: Range<Int>, _ reading: Reading
    ) throws(IndexError) -> IndexValue? {
        try withBlock(range, reading, preferred: true) {
            layout, bytes throws(BlockLayout.Fault) in
            try layout.value(before: position, bytes)
        }
    }
}
