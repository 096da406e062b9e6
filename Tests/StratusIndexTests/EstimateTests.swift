import StratusBytes
import StratusFiles
import StratusIndex
import Support
import Testing

/// How many entries a range has, as the blocks of tables tell.
@Suite struct EstimateTests {
    private static func key(_ number: Int) -> IndexKey {
        IndexKey().appending(UInt32(5)).appending(UInt8(4)).appending(UInt64(number), 7)
    }

    @Test func `about as many entries are said to lie in a range as do`() throws {
        var index = OrderedIndex(
            in: TableStore(
                MemoryStorage(), cache: BlockCache(limit: 8 << 20, pinLimit: 1 << 20),
                storeID: TableFixture.storeID, groupings: [:]))
        // In two runs.
        for half in 0..<2 {
            for number in stride(from: half, to: 100_000, by: 2) {
                index.set(Self.key(number), IndexValue(stamp: UInt64(half * 100 + 1)))
            }
            try index.writeMemtable()
        }
        for (low, high) in [
            (0, 100_000), (0, 50_000), (20_000, 60_000), (70_000, 99_999), (99_000, 100_000),
            (500, 600), (7, 8), (100_000, 200_000),
        ] {
            let estimate = try index.estimatedCount(Self.key(low)..<Self.key(high), .blocking)
            let count = min(high, 100_000) - min(low, 100_000)
            // At both ends a block of each run.
            #expect((estimate - count).magnitude <= 1000, "\(low) to \(high): \(estimate)")
        }
        #expect(try index.estimatedCount(Self.key(9)..<Self.key(9), .blocking) == 0)
        for number in 200_000..<300_000 {
            index.set(Self.key(number), IndexValue(stamp: 300))
        }
        #expect(
            try index.estimatedCount(Self.key(200_000)..<Self.key(300_000), .blocking) <= 1000)
    }
}
