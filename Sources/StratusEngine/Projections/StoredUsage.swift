package import StratusIndex

/// What a zone or a database holds, as the index keeps it.
package struct StoredUsage: Sendable, Equatable {
    /// Records that are there, not counting what was deleted.
    package var recordCount = 0
    /// What these take in bytes, as quotas count them: `Formats/README.md`, "Limits".
    package var bytes = 0
}

extension StoredUsage {
    /// Wraps around where a file says nonsense.
    package init(_ value: IndexValue?) {
        self.init(
            recordCount: Int(truncatingIfNeeded: value?.first ?? 0),
            bytes: Int(truncatingIfNeeded: value?.second ?? 0))
    }

    package func value(at stamp: UInt64) -> IndexValue {
        IndexValue(
            stamp: stamp, first: UInt64(truncatingIfNeeded: recordCount),
            second: UInt64(truncatingIfNeeded: bytes))
    }

    package mutating func add(_ other: StoredUsage) {
        recordCount &+= other.recordCount
        bytes &+= other.bytes
    }

    package var negated: StoredUsage {
        StoredUsage(recordCount: 0 &- recordCount, bytes: 0 &- bytes)
    }
}
