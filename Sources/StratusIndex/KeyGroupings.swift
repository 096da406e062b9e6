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
    /// A place for each keyspace: most have none, and each key that is written asks.
    private let groupings: [KeyGrouping?]

    init(_ groupings: [UInt8: KeyGrouping] = [:]) {
        self.groupings = (0...UInt8.max).map { groupings[$0] }
    }

    /// Whether a key is of a group.
    @inline(__always)
    func contain(_ key: borrowing IndexKey) -> Bool { grouping(of: key) != nil }

    /// The group of a key, as the bytes that its keys begin with; nil where it is of none, or of that of
    /// the key before it.
    @inline(__always)
    func group(begunBy key: borrowing IndexKey, after before: borrowing IndexKey) -> IndexKey? {
        guard let grouping = grouping(of: key) else { return nil }
        // A prefix has the keyspace.
        if grouping.containsKey(ofLength: before.count),
            key.sharedCount(with: before) >= grouping.prefixLength
        {
            return nil
        }
        return key.prefix(grouping.prefixLength)
    }

    @inline(__always)
    private func grouping(of key: borrowing IndexKey) -> KeyGrouping? {
        let length = key.count
        guard let grouping = groupings[Int(key.keyspace)], grouping.containsKey(ofLength: length)
        else { return nil }
        return grouping
    }

    /// Whether these are all keys of a group.
    func isGroup(_ range: Range<IndexKey>) -> Bool {
        let first = range.lowerBound
        return groupings[Int(first.keyspace)]?.prefixLength == first.count
            && range.upperBound == first.afterPrefix
    }
}
