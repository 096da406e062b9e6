import StratusBytes
import StratusFiles
import StratusIndex
import Support
import Testing

/// What a copy or a compaction reads of an index.
@Suite struct NeededRowsTests {
    private static func rows(
        of index: OrderedIndex, passingOver keyspaces: Set<UInt8>
    ) throws -> [NeededRows.Row] {
        var needed = NeededRows(index, at: index.points, passingOver: keyspaces)
        var (all, rows): ([NeededRows.Row], [NeededRows.Row]) = ([], [])
        while try needed.next(into: &rows) { all += rows }
        return all
    }

    @Test(arguments: UInt64(1)...8)
    func `of all other keyspaces each row is given`(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let store = TableStore(
            MemoryStorage(), cache: BlockCache(limit: 8 << 20), storeID: TableFixture.storeID)
        var index = OrderedIndex(in: store)
        // From less than a block of a keyspace to many.
        let counts = (0..<12).map { _ in [3, 90, 700][generator.below(3)] }
        var stamp: UInt64 = 1
        for _ in 0..<3 {
            for _ in 0..<12_000 {
                let partition = generator.below(counts.count)
                let key = IndexKey(
                    partition: UInt32(partition + 1), keyspace: UInt8(1 + generator.below(4))
                ).appending(UInt64(generator.below(counts[partition])))
                stamp += 1
                if generator.oneIn(6) {
                    index.remove(key, at: stamp)
                } else {
                    index.set(key, IndexValue(stamp: stamp), isLapsing: generator.oneIn(9))
                }
                if generator.oneIn(4000) {
                    index.drop(
                        partition: UInt32(1 + generator.below(counts.count)), at: stamp)
                    index.points = NeededPoints(index.points.listed + [stamp])
                }
            }
            if !generator.oneIn(4) { try index.writeMemtable() }
        }
        let all = try Self.rows(of: index, passingOver: [])
        #expect(Set(all.map(\.key.keyspace)).isSuperset(of: [1, 2, 3, 4]))
        for passedOver: Set<UInt8> in [[1], [2, 3], [1, 4], [1, 2, 3, 4]] {
            func others(_ rows: [NeededRows.Row]) -> [NeededRows.Row] {
                rows.filter { !passedOver.contains($0.key.keyspace) }
            }
            let found = others(try Self.rows(of: index, passingOver: passedOver))
            let expected = others(all)
            #expect(found.map(\.key) == expected.map(\.key))
            #expect(found.map(\.value) == expected.map(\.value))
            #expect(found.map(\.isLapsing) == expected.map(\.isLapsing))
        }
    }

    @Test func `blocks that have nothing else are not read`() throws {
        let fixture = try TableFixture(
            (0..<100_000).map { number in
                IndexKey(partition: 5, keyspace: number < 90_000 ? 1 : 2)
                    .appending(UInt64(number))
            })
        let name = try #require(fixture.index.fileNames.first)
        var bytes = try fixture.bytes(name)
        // Its block has entries of the first keyspace alone, and reading it fails.
        bytes[bytes.count / 3] ^= 1
        let damaged = try fixture.reopened(holding: [name: bytes])
        #expect(throws: IndexError.self) { try Self.rows(of: damaged, passingOver: [2]) }
        let rows = try Self.rows(of: damaged, passingOver: [1])
        #expect(rows.count { $0.key.keyspace == 2 } == 10_000)
    }
}
