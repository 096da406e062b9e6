/// Which keys of a keyspace form groups: those that begin with the same bytes. Filters and memtables say of a
/// group, as they do of a key, that they have none of it.
package struct KeyGrouping: Sendable {
    /// Below 64.
    let keyspace: UInt8
    /// How many bytes of a key are its group's.
    let prefixLength: Int
    /// Of the keys that are in groups; nil: of all that are longer than the prefix.
    let keyLength: Int?

    package init(keyspace: UInt8, prefixLength: Int, keyLength: Int? = nil) {
        precondition(keyspace < 64 && 5..<IndexKey.limit ~= prefixLength)
        self.keyspace = keyspace
        self.prefixLength = prefixLength
        self.keyLength = keyLength
    }

    func contains(_ key: borrowing IndexKey) -> Bool {
        if key.keyspace != keyspace { return false }
        return if let keyLength { key.count == keyLength } else { key.count > prefixLength }
    }
}

/// Those of all keyspaces.
struct KeyGroupings: Sendable {
    private let groupings: [KeyGrouping]
    /// A bit for each keyspace that has one: most keys are of none of these.
    private let keyspaces: UInt64

    init(_ groupings: [KeyGrouping] = []) {
        self.groupings = groupings
        keyspaces = groupings.reduce(0) { $0 | 1 << UInt64($1.keyspace) }
    }

    /// Whether a key is of a group.
    @inline(__always)
    func contain(_ key: borrowing IndexKey) -> Bool {
        mayContain(key) ? grouping(of: key) != nil : false
    }

    /// The group of a key, as the bytes that its keys begin with; nil where it is of none, or of that of
    /// the key before it.
    @inline(__always)
    func group(begunBy key: borrowing IndexKey, after before: borrowing IndexKey) -> IndexKey? {
        mayContain(key) ? find(key, after: before) : nil
    }

    @inline(__always)
    private func mayContain(_ key: borrowing IndexKey) -> Bool {
        let keyspace = key.keyspace
        return keyspace < 64 && keyspaces >> UInt64(keyspace) & 1 != 0
    }

    private func find(
        _ key: borrowing IndexKey, after before: borrowing IndexKey
    ) -> IndexKey? {
        guard let grouping = grouping(of: key) else { return nil }
        if grouping.contains(before) {
            let shared = key.sharedCount(with: copy before)
            if shared >= grouping.prefixLength { return nil }
        }
        return key.beginning(grouping.prefixLength)
    }

    private func grouping(of key: borrowing IndexKey) -> KeyGrouping? {
        for grouping in groupings where grouping.contains(key) { return grouping }
        return nil
    }

    /// Whether these are all keys of a group.
    func isGroup(_ range: Range<IndexKey>) -> Bool {
        let first = range.lowerBound
        return groupings.contains {
            $0.keyspace == first.keyspace && $0.prefixLength == first.count
        } && range.upperBound == first.afterPrefix
    }
}
