import StratusIndex

/// What an index should say: every version of every key, never forgotten.
struct IndexModel {
    private var versions: [IndexKey: [Version]] = [:]
    private var drops: [UInt32: [UInt64]] = [:]

    private struct Version {
        var stamp: UInt64
        var value: IndexValue?
    }

    func knows(_ key: IndexKey) -> Bool { versions[key] != nil }

    mutating func set(_ key: IndexKey, _ value: IndexValue) {
        versions[key, default: []].append(Version(stamp: value.stamp, value: value))
    }

    mutating func remove(_ key: IndexKey, at stamp: UInt64) {
        versions[key, default: []].append(Version(stamp: stamp, value: nil))
    }

    mutating func drop(_ partition: UInt32, at stamp: UInt64) {
        drops[partition, default: []].append(stamp)
    }

    func value(of key: IndexKey, at point: UInt64) -> IndexValue? {
        guard let last = versions[key]?.last(where: { $0.stamp <= point }) else { return nil }
        let isDropped = drops[key.uint32(at: 0)]?.contains { last.stamp < $0 && $0 <= point }
        return isDropped == true ? nil : last.value
    }

    /// Whether a key is now other than it was before a stamp, since it was set or removed.
    func differs(_ key: IndexKey, since stamp: UInt64) -> Bool {
        guard let versions = versions[key],
            drops[key.uint32(at: 0)]?.contains(where: { $0 >= stamp }) != true
        else { return false }
        let isDropped = drops[key.uint32(at: 0)]?.contains { drop in
            (versions.last?.stamp ?? 0) < drop
        }
        if isDropped == true { return false }
        let before = versions.last { $0.stamp < stamp }
        return before?.value != versions.last?.value
    }

    /// What is there at a point, in order.
    func entries(
        in range: Range<IndexKey>, at point: UInt64
    ) -> [(key: IndexKey, value: IndexValue)] {
        versions.keys.filter { range.contains($0) }.sorted().compactMap { key in
            value(of: key, at: point).map { (key, $0) }
        }
    }
}
