package import StratusFiles

// How many entries a range has, without reading them.
extension OrderedIndex {
    /// About how many entries of a range lie in tables, all versions of all keys counted: by how many
    /// blocks lie between its ends. What is in memory alone does not count.
    package func estimatedCount(
        _ range: Range<IndexKey>, _ mode: ReadMode
    ) throws(IndexError) -> Int {
        let reading = reading(mode)
        var count = 0
        for run in runs { count += try run.estimatedCount(range, reading) }
        return count
    }
}

extension Run {
    fileprivate func estimatedCount(
        _ range: Range<IndexKey>, _ reading: Reading
    ) throws(IndexError) -> Int {
        let (low, high) = (IndexPosition(range.lowerBound), IndexPosition(range.upperBound))
        var count = 0
        for table in tables[table(endingFrom: low)...] {
            guard table.info.first < high else { break }
            let isWhole = low < table.info.first && table.info.last < high
            count +=
                isWhole
                ? table.info.footer.entryCount
                : try table.estimatedCount(from: low, to: high, reading)
        }
        return count
    }
}

extension Table {
    fileprivate func estimatedCount(
        from low: IndexPosition, to high: IndexPosition, _ reading: Reading
    ) throws(IndexError) -> Int {
        let first = try block(beginningBefore: low, reading)
        let last = try block(beginningBefore: high, reading)
        let blocks = try blockCount(reading)
        return blocks > 0 ? max(0, last - max(0, first)) * info.footer.entryCount / blocks : 0
    }
}
