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
            || named.history != rebuilt.history
        for point in named.history.points.marks.suffix(Self.markLimit) + [.max] {
            try compare(
                named.index.allRows(at: point), rebuilt.index.allRows(at: point), registry,
                looseStamps: looseStamps)
        }
    }

    private mutating func compare(
        _ named: IndexCursor, _ rebuilt: IndexCursor, _ registry: ProjectionRegistry,
        looseStamps: Bool
    ) throws(IndexError) {
        var (named, rebuilt) = (named, rebuilt)
        var (left, right) = (try named.next(), try rebuilt.next())
        while left != nil || right != nil {
            switch (left, right) {
            case (let row?, let expected?) where row.key == expected.key:
                var value = row.value
                if looseStamps, registry.hasLooseStamps(row.key.keyspace) {
                    value.stamp = expected.value.stamp
                }
                if value != expected.value { note(row.key, expected.value) }
                (left, right) = (try named.next(), try rebuilt.next())
            case (let row?, let expected) where expected.map({ row.key < $0.key }) ?? true:
                note(row.key, nil)
                left = try named.next()
            case (_, let expected):
                if let expected { note(expected.key, expected.value) }
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

extension OrderedIndex {
    fileprivate func allRows(at point: UInt64) -> IndexCursor {
        cursor(IndexKey.all, at: point, .blocking)
    }
}
