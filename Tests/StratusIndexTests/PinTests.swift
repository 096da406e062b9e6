import StratusBytes
import StratusFiles
import StratusIndex
import Support
import Testing

/// Which tables keep their directories and filters in memory.
@Suite struct PinTests {
    private static func key(_ partition: UInt32, _ number: Int) -> IndexKey {
        var generator = SeededGenerator(seed: UInt64(number))
        return IndexKey().appending(partition).appending(UInt8(4))
            .appending(generator.next(), generator.next())
    }

    /// Room for one of two tables: that which is looked into gets it, though the other one had it first.
    @Test func `a table that is not looked into makes room for one that is`() throws {
        let cache = BlockCache(limit: 8 << 20, pinLimit: 180 << 10)
        var index = OrderedIndex(
            in: TableStore(MemoryStorage(), cache: cache, storeID: TableFixture.storeID))
        var stamp: UInt64 = 1
        func write(_ partition: UInt32, _ numbers: Range<Int>) throws {
            stamp += 1
            for number in numbers {
                index.set(Self.key(partition, number), IndexValue(stamp: stamp))
            }
            try index.writeMemtable()
        }
        /// How many of 1,000 looks for keys that are not there go through the cache.
        func cachedLooks(_ partition: UInt32) throws -> Int {
            let before = cache.statistics
            for number in 1_000_000..<1_001_000 {
                #expect(try index.value(of: Self.key(partition, number), .blocking) == nil)
            }
            let after = cache.statistics
            return after.hits + after.misses - before.hits - before.misses
        }
        try write(1, 0..<100_000)
        // But for those keys that the filter takes for others.
        #expect(try cachedLooks(1) < 50)
        try write(2, 0..<50_000)
        #expect(try cachedLooks(2) > 900)
        for round in 0..<10 {
            try write(3, round * 10..<round * 10 + 10)
            _ = try cachedLooks(2)
        }
        #expect(try cachedLooks(2) < 50)
        // What was left out is found as before.
        for number in stride(from: 0, to: 100_000, by: 997) {
            #expect(try index.value(of: Self.key(1, number), .blocking)?.stamp == 2)
        }
        #expect(try cachedLooks(1) > 900)
    }
}
