package import StratusBytes
package import StratusFiles
internal import Synchronization

/// Where the tables of a store lie, and the memory that their blocks share.
package final class TableStore: Sendable {
    let storage: any Storage
    let cache: BlockCache
    let storeID: Hash128
    /// No table had this number or a higher one. One count for all indexes that are made here,
    /// also where one of them is given up for another.
    private let next = Mutex<UInt64>(1)

    package init(_ storage: any Storage, cache: BlockCache, storeID: Hash128) {
        self.storage = storage
        self.cache = cache
        self.storeID = storeID
    }

    var nextNumber: UInt64 { next.withLock { $0 } }

    /// Numbers that nobody else gets.
    func takeNumbers(_ count: Int) -> Range<UInt64> {
        next.withLock { next in
            let first = next
            next += UInt64(count)
            precondition(next <= TableFormat.numberLimit, "numbers of tables last for ever")
            return first..<next
        }
    }

    /// Numbers below `number` were given already.
    func keepNumbers(below number: UInt64) { next.withLock { $0 = max($0, number) } }

    /// Keeps numbers from being given that files have, whether or not anybody names these.
    package func keepNumbers(ofFiles names: [String]) {
        for name in names {
            if let number = TableFormat.number(ofFile: name) { keepNumbers(below: number + 1) }
        }
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
