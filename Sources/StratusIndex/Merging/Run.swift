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
    /// What it has in common with those that took its place with the same tables.
    let identity: Identity

    final class Identity: Sendable {}

    init(_ tables: [Table], _ identity: Identity = Identity()) {
        self.identity = identity
        self.tables = tables
        lasts = tables.map(\.info.last)
        entryCount = tables.reduce(0) { $0 + $1.info.footer.entryCount }
        dropCount = tables.reduce(0) { $0 + $1.info.footer.dropCount }
        bytes = tables.reduce(0) { $0 + $1.info.length }
    }

    /// The same where tables that have an idle place in memory give it up, and those that lack one try
    /// again to get it: these are opened anew when they are read next.
    func withPinsMoved() -> Run {
        guard tables.contains(where: { $0.lacksPin || $0.hasIdlePin }) else { return self }
        return Run(
            tables.map { table in
                table.lacksPin || table.hasIdlePin ? Table(table.info, in: table.store) : table
            }, identity)
    }

    /// The number of the first table that ends at or behind `position`.
    func table(endingFrom position: IndexPosition) -> Int {
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
        guard !(position.key < table.info.first.key) else { return nil }
        return try table.entry(at: position, hash: hash, reading)
    }

    /// Whether any key of a group may be there; `hash` is that of what they have in common. If one is,
    /// the first of them lies in the first table that does not end before.
    func mayHold(
        _ group: Range<IndexKey>, hash: UInt64, _ reading: Reading
    ) throws(IndexError) -> Bool {
        let place = table(endingFrom: IndexPosition(group.lowerBound))
        guard place < tables.count, tables[place].info.first.key < group.upperBound else {
            return false
        }
        let table = tables[place]
        return try table.mayHold(hash, in: try table.open(reading.mode), reading)
    }
}
