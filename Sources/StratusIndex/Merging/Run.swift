internal import StratusFiles

/// A sorted sequence of entries on disk: tables with ascending ranges.
final class Run: Sendable {
    let tables: [Table]
    /// The positions of the tables' last entries.
    private let lasts: [IndexPosition]
    let entryCount: Int
    let dropCount: Int
    /// Of all files.
    let bytes: Int
    /// No entry's stamp is smaller.
    let leastStamp: UInt64

    init(_ tables: [Table]) {
        self.tables = tables
        lasts = tables.map(\.info.last)
        entryCount = tables.reduce(0) { $0 + $1.info.footer.entryCount }
        dropCount = tables.reduce(0) { $0 + $1.info.footer.dropCount }
        bytes = tables.reduce(0) { $0 + $1.info.length }
        leastStamp = tables.map(\.info.footer.leastStamp).min() ?? .max
    }

    /// The number of the first table that ends at or behind `position`.
    private func table(endingFrom position: IndexPosition) -> Int {
        var low = 0
        var high = lasts.count
        while low < high {
            let middle = (low + high) / 2
            if lasts[middle] < position { low = middle + 1 } else { high = middle }
        }
        return low
    }

    /// The newest entry of the key that is not newer than the position's stamp; `hash` is the
    /// key's.
    func entry(
        at position: IndexPosition, hash: UInt64, _ reading: Reading
    ) throws(IndexError) -> IndexEntry? {
        let place = table(endingFrom: position)
        guard place < tables.count else { return nil }
        let table = tables[place]
        guard !(position.key < table.info.first.key), try table.mayHold(hash, reading) else {
            return nil
        }
        return try table.entry(at: position, reading)
    }

    /// A data block of one of the tables.
    struct Place {
        let table: Table
        let range: Range<Int>
    }

    /// The block that is the last to begin before `position`.
    func block(
        beginningBefore position: IndexPosition, _ reading: Reading
    ) throws(IndexError) -> Place? {
        var place = table(endingFrom: position)
        if place == tables.count || !(tables[place].info.first < position) { place -= 1 }
        guard place >= 0 else { return nil }
        let range = try tables[place].block(beginningBefore: position, reading)
        return range.map { Place(table: tables[place], range: $0) }
    }

    /// The block that is the first to begin at or behind `position`.
    func block(
        beginningFrom position: IndexPosition, _ reading: Reading
    ) throws(IndexError) -> Place? {
        let first = table(endingFrom: position)
        for table in tables[first...].prefix(2) {
            if let found = try table.block(beginningFrom: position, reading) {
                return Place(table: table, range: found.range)
            }
        }
        return nil
    }
}
