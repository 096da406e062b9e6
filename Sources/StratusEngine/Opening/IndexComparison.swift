internal import StratusFiles
package import StratusIndex
package import StratusJournal

/// Where the state that a checkpoint names differs from the same state made anew of the journal:
/// `Formats/Index.md`, "Keys".
package struct IndexComparison {
    /// Whether the names, their locations, the counts of zones and users, or what of the past is
    /// kept, differ.
    package let differsInState: Bool
    /// The keyspaces that differ, and of each the earliest entry whose row is missing or another
    /// one; nil where there are only rows too many.
    package private(set) var keyspaces: [UInt8: JournalOffset?] = [:]

    /// So many marks are looked at, the latest.
    private static let markLimit = 4

    /// Reads both from one end to the other, as they are and as they were at marks. With
    /// `looseStamps`, since not all entries were kept, those of the keyspaces of which `registry`
    /// says so need not be equal.
    package init(
        _ named: FoldState, with rebuilt: FoldState, _ registry: ProjectionRegistry,
        looseStamps: Bool
    ) throws(IndexError) {
        differsInState =
            named.zoneCount != rebuilt.zoneCount || named.userCount != rebuilt.userCount
            || named.schema.whole != rebuilt.schema.whole
            || named.schema.locations != rebuilt.schema.locations
            || named.history != rebuilt.history || named.indexes != rebuilt.indexes
        for point in named.history.points.marks.suffix(Self.markLimit) + [.max] {
            try compare(
                Rows(named, at: point), Rows(rebuilt, at: point), registry,
                looseStamps: looseStamps)
        }
    }

    private mutating func compare(
        _ named: Rows, _ rebuilt: Rows, _ registry: ProjectionRegistry, looseStamps: Bool
    ) throws(IndexError) {
        var (named, rebuilt) = (named, rebuilt)
        var (left, right) = (try named.next(), try rebuilt.next())
        while left != nil || right != nil {
            switch (left, right) {
            case (let row?, let expected?) where row.key == expected.key:
                var value = row.value
                if looseStamps {
                    value = registry.loosened(value, of: row.key, to: expected.value)
                }
                if value != expected.value { note(row.key, expected.value) }
                (left, right) = (try named.next(), try rebuilt.next())
            case (let row?, let expected) where expected.map({ row.key < $0.key }) ?? true:
                if !looseStamps || !registry.mayGo(row.key) { note(row.key, nil) }
                left = try named.next()
            case (_, let expected):
                if let expected, !looseStamps || !registry.mayComeBack(expected.key) {
                    note(expected.key, expected.value)
                }
                right = try rebuilt.next()
            }
        }
    }

    private mutating func note(_ key: IndexKey, _ expected: IndexValue?) {
        let offset = expected.map { JournalOffset(rawValue: $0.stamp) }
        let known = keyspaces[key.keyspace] ?? nil
        keyspaces.updateValue([known, offset].compactMap(\.self).min(), forKey: key.keyspace)
    }
}

/// The rows of an index at a point, but for those that may or may not be there: of deletions that are
/// forgotten by now, and of declared indexes that did not have all records.
private struct Rows {
    private var cursor: IndexCursor
    private let index: OrderedIndex
    private let indexes: IndexTable
    private let point: UInt64

    init(_ state: FoldState, at point: UInt64) {
        index = state.index
        indexes = state.indexes
        cursor = index.cursor(IndexKey.all, at: point, .blocking, hidesLapsed: true)
        self.point = point
    }

    mutating func next() throws(IndexError) -> (key: IndexKey, value: IndexValue)? {
        while let row = try cursor.next() {
            if let number = row.key.declaredIndex, indexes.areRowsLoose(number, at: point) {
                continue
            }
            // The last change of a zone may have been one. Now the horizon itself comes behind it.
            if point != .max, let zone = ActivityProjection.zone(of: row.key, row.value),
                row.value.stamp <= (try index.horizon(ofPartition: zone, .blocking))
            {
                continue
            }
            return row
        }
        return nil
    }
}
