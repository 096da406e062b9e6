internal import StratusBytes
internal import StratusFiles

// Finding blocks, and entries in them.
extension Table {
    /// The number of the data block that is the last to begin before `position`; -1: there is none.
    func block(
        beginningBefore position: IndexPosition, _ reading: Reading
    ) throws(IndexError) -> Int {
        try withDirectory(of: try open(reading.mode), reading) {
            layout, bytes throws(BlockLayout.Fault) in
            try layout.lowerBound(position, bytes) - 1
        }
    }

    /// Where the data block with this number lies; nil behind the last.
    func place(ofBlock number: Int, _ reading: Reading) throws(IndexError) -> Range<Int>? {
        let value = try withDirectory(of: try open(reading.mode), reading) {
            layout, bytes throws(BlockLayout.Fault) in
            number < layout.count ? try layout.value(number, bytes) : nil
        }
        return try value.map { value throws(IndexError) in try target(value) }
    }

    /// How many data blocks there are.
    func blockCount(_ reading: Reading) throws(IndexError) -> Int {
        try withDirectory(of: try open(reading.mode), reading) { layout, _ in layout.count }
    }

    /// The newest entry of the key that is not newer than the position's stamp; `hash` is the
    /// key's.
    func entry(
        at position: IndexPosition, hash: UInt64, _ reading: Reading
    ) throws(IndexError) -> IndexEntry? {
        let table = try open(reading.mode)
        guard try mayHold(hash, in: table, reading) else { return nil }
        // It stands in the last block that begins at or before the position, or first in the next.
        let found = try withDirectory(of: table, reading) {
            layout, bytes throws(BlockLayout.Fault) -> (own: IndexValue?, next: IndexValue?) in
            let next = try layout.lowerBound(position.next, bytes)
            let own = next > 0 ? try layout.value(next - 1, bytes) : nil
            guard next < layout.count, try layout.isOf(position.key, next, bytes) else {
                return (own, nil)
            }
            return (own, try layout.value(next, bytes))
        }
        if let own = found.own, let entry = try entry(at: position, in: try target(own), reading) {
            return entry
        }
        guard let next = found.next else { return nil }
        return try entry(at: position, in: try target(next), reading)
    }

    /// The same in the block in `range`.
    private func entry(
        at position: IndexPosition, in range: Range<Int>, _ reading: Reading
    ) throws(IndexError) -> IndexEntry? {
        try withBlock(range, reading) { layout, bytes throws(BlockLayout.Fault) in
            let place = try layout.lowerBound(position, bytes)
            guard place < layout.count, try layout.isOf(position.key, place, bytes) else {
                return nil
            }
            return IndexEntry(
                key: position.key, value: try layout.value(place, bytes),
                flags: try layout.flags(place, bytes))
        }
    }
}
