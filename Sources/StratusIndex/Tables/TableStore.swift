package import StratusBytes
package import StratusFiles

/// Where the tables of a store lie, and the memory that their blocks share.
package final class TableStore: Sendable {
    let storage: any Storage
    let cache: BlockCache
    let storeID: Hash128
    let groupings: KeyGroupings
    let recent: RecentEntries

    /// `recentLimit` is what entries that were found lately may take, in bytes.
    package init(
        _ storage: any Storage, cache: BlockCache, storeID: Hash128,
        groupings: [UInt8: KeyGrouping] = [:], recentLimit: Int = 0
    ) {
        recent = RecentEntries(limit: recentLimit)
        self.storage = storage
        self.cache = cache
        self.storeID = storeID
        self.groupings = KeyGroupings(groupings)
    }

    /// The name of a table's file in the cache: those of others do not have the highest bit.
    static func cacheFile(_ number: UInt64) -> UInt64 { number | 1 << 63 }
}

/// How something is read.
struct Reading {
    var mode: ReadMode
    /// Nil where there are no tables.
    var cache: BlockCache?
}

extension Reading {
    /// Of a run that is read once from end to end: a block and the directory.
    private static let bytesPerRun = 128 << 10
    /// Many runs are short ones, with short directories.
    private static let mostBytes = 4 << 20

    /// For going once through all of some runs: with a cache of its own, since their blocks would drive
    /// others out of that of the store.
    init(passingThrough runCount: Int) {
        let limit = min((runCount + 1) * Self.bytesPerRun, Self.mostBytes)
        self.init(mode: .blocking, cache: BlockCache(limit: limit, isShared: false))
    }
}
