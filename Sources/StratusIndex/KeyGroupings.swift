/// Which keys of a keyspace form groups: those that begin with the same bytes. Filters and memtables say of a
/// group, as they do of a key, that they have none of it.
package struct KeyGrouping: Sendable {
    /// How many bytes of a key are its group's.
    let prefixLength: Int
    /// Of the keys that are in groups; nil: of all that are longer than the prefix. Where it is given, all
    /// keys that begin with the prefix of a group have that length.
    let keyLength: Int?

    package init(prefixLength: Int, keyLength: Int? = nil) {
        precondition(5..<IndexKey.limit ~= prefixLength)
        self.prefixLength = prefixLength
        self.keyLength = keyLength
    }

    func containsKey(ofLength length: Int) -> Bool {
        if let keyLength { length == keyLength } else { length > prefixLength }
    }
}

/// Those of all keyspaces.
struct KeyGroupings: Sendable {
    private let groupings: [UInt8: KeyGrouping]
    /// A bit for each keyspace below 64 that has one: most keys are of none of these.
    private let keyspaces: UInt64

    init(_ groupings: [UInt8: KeyGrouping] = [:]) {
        precondition(groupings.keys.allSatisfy { $0 < 64 })
        self.groupings = groupings
        keyspaces = groupings.keys.reduce(0) { $0 | 1 << UInt64($1) }
    }

    /// Whether a key is of a group.
    @inline(__always)
    func contain(_ key: borrowing IndexKey) -> Bool { grouping(of: key) != nil }

    /// The group of a key, as the bytes that its keys begin with; nil where it is of none, or of that of
    /// the key before it.
    @inline(__always)
    func group(begunBy key: borrowing IndexKey, after before: borrowing IndexKey) -> IndexKey? {
        guard let grouping = grouping(of: key) else { return nil }
        let isAlike = key.keyspace == before.keyspace
        if isAlike, grouping.containsKey(ofLength: before.count) {
            let shared = key.sharedCount(with: before)
            if shared >= grouping.prefixLength { return nil }
        }
        return key.prefix(grouping.prefixLength)
    }

    @inline(__always)
    private func grouping(of key: borrowing IndexKey) -> KeyGrouping? {
        let (keyspace, length) = (key.keyspace, key.count)
        guard keyspace < 64, keyspaces >> UInt64(keyspace) & 1 != 0,
            let grouping = groupings[keyspace], grouping.containsKey(ofLength: length)
        else { return nil }
        return grouping
    }

    /// Whether these are all keys of a group.
    func isGroup(_ range: Range<IndexKey>) -> Bool {
        let first = range.lowerBound
        return groupings[first.keyspace]?.prefixLength == first.count
            && range.upperBound == first.afterPrefix
    }
}
