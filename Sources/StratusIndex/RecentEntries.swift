internal import Synchronization

/// The newest entries of keys that were found in the runs lately.
///
/// Some keys are asked for with every call: users, zones. They change seldom and so lie on disk,
/// where even a block in memory has to be searched and decoded; here they are found at once. Of no
/// use once the runs have changed.
final class RecentEntries: Sendable {
    private let shards: [Shard]

    private static let shardCount = 16
    private static let slotsPerShard = 64

    init() { shards = (0..<Self.shardCount).map { _ in Shard() } }

    /// The newest entry of the key; `hash` is the key's.
    func entry(of key: IndexKey, hash: UInt64) -> IndexEntry? {
        let slot = Self.slot(hash)
        return shard(hash).entries.withLock { entries in
            guard slot < entries.count, let entry = entries[slot], entry.key == key else {
                return nil
            }
            return entry
        }
    }

    func remember(_ entry: IndexEntry, hash: UInt64) {
        let slot = Self.slot(hash)
        shard(hash).entries.withLock { entries in
            if entries.isEmpty {
                entries = [IndexEntry?](repeating: nil, count: Self.slotsPerShard)
            }
            entries[slot] = entry
        }
    }

    private func shard(_ hash: UInt64) -> Shard {
        shards[Int(truncatingIfNeeded: hash) & (Self.shardCount - 1)]
    }

    private static func slot(_ hash: UInt64) -> Int {
        Int(truncatingIfNeeded: hash >> 8) & (slotsPerShard - 1)
    }

    private final class Shard: Sendable {
        let entries = Mutex<[IndexEntry?]>([])
    }
}
