import StratusBytes
import StratusFiles
import StratusIndex
import Support
import Testing

/// Groups of keys, of which filters say that a table has none: `Formats/Index.md`, "Filter blocks".
@Suite struct KeyGroupTests {
    private static let keyspace: UInt8 = 4
    private let storage = MemoryStorage()
    private var index: OrderedIndex

    init() throws {
        index = OrderedIndex(
            in: TableStore(
                storage, cache: BlockCache(limit: 8 << 20, pinLimit: 1 << 20),
                storeID: TableFixture.storeID,
                groupings: [
                    Self.keyspace: KeyGrouping(prefixLength: 21),
                    7: KeyGrouping(prefixLength: 25, keyLength: 41),
                ]))
    }

    /// What the keys of a group begin with.
    private static func group(_ number: UInt64, keyspace: UInt8 = keyspace) -> IndexKey {
        var generator = SeededGenerator(seed: number)
        return IndexKey().appending(UInt32(5)).appending(keyspace)
            .appending(generator.next(), generator.next())
    }

    private static func range(_ group: IndexKey) -> Range<IndexKey> { group..<group.afterPrefix }

    private mutating func add(_ groups: Range<UInt64>, keys: Int, at stamp: UInt64) {
        for group in groups {
            for key in 0..<UInt64(keys) {
                index.set(
                    Self.group(group).appending(key &* 0x9e37_79b9_7f4a_7c15, group),
                    IndexValue(stamp: stamp))
            }
        }
    }

    private func isEmpty(_ group: IndexKey) throws -> Bool {
        try index.isEmptyGroup(Self.range(group), .blocking)
    }

    @Test mutating func `a group that is there is never taken for empty, others nearly always`()
        throws
    {
        add(0..<2000, keys: 3, at: 1000)
        try index.writeMemtable()
        add(2000..<3000, keys: 1, at: 2000)
        index.freeze()
        add(3000..<3100, keys: 1, at: 3000)
        for group in UInt64(0)..<3100 { #expect(try !isEmpty(Self.group(group))) }
        let others = try (UInt64(10_000)..<20_000).filter { try !isEmpty(Self.group($0)) }
        #expect(others.count < 300)
        for table in index.tableNumbers { try index.verify(table) }
    }

    @Test mutating func `a group that goes through several tables is in the filter of each`() throws
    {
        add(0..<10, keys: 1, at: 1000)
        add(10..<11, keys: 600_000, at: 1001)
        try index.writeMemtable()
        let tables = index.tableNumbers
        #expect(tables.count > 2)
        #expect(try !isEmpty(Self.group(10)))
        for table in tables { try index.verify(table) }
        // What is left of it lies in the last of its tables.
        var keys: [IndexKey] = []
        var cursor = index.cursor(Self.range(Self.group(10)), .blocking)
        while let next = try cursor.next() { keys.append(next.key) }
        for key in keys.dropLast() { index.remove(key, at: 2000) }
        try index.writeMemtable()
        let merge = try #require(try index.fullMergeJob()?.run())
        _ = index.install(merge)
        #expect(try !isEmpty(Self.group(10)))
    }

    @Test
    mutating func `layers of a memtable tell of groups, and keys of another length are of none`()
        throws
    {
        // Groups of a step are merged into layers in other steps than they came.
        for start in stride(from: UInt64(0), to: 6000, by: 60) {
            add(start..<start + 60, keys: Int(start / 60 % 3) + 1, at: 1000 + start)
            for other in start..<start + 60 {
                let key = IndexKey(partition: 5, keyspace: 3, high: other, low: start)
                index.set(key, IndexValue(stamp: 1000 + start))
            }
            index.endGroup()
        }
        for group in UInt64(0)..<6000 { #expect(try !isEmpty(Self.group(group))) }
        // Nothing is taken for there in memory: the hash says where to look, no more.
        for group in UInt64(10_000)..<20_000 { #expect(try isEmpty(Self.group(group))) }
        // Of a keyspace of which only keys of one length form groups.
        let (digest, longer) = (Self.digest(1), Self.digest(2))
        index.set(digest.appending(1, 2), IndexValue(stamp: 9000))
        index.set(longer.appending(1, 2).appending(UInt8(0)), IndexValue(stamp: 9000))
        index.endGroup()
        try index.writeMemtable()
        #expect(try !isEmpty(digest))
        #expect(try isEmpty(longer) && isEmpty(Self.digest(3)))
        for table in index.tableNumbers { try index.verify(table) }
    }

    /// What the keys of a group of another keyspace begin with.
    private static func digest(_ number: UInt64) -> IndexKey {
        IndexKey().appending(UInt32(5)).appending(7 as UInt8).appending(UInt32(0))
            .appending(number, number)
    }

    @Test mutating func `only a whole group of a grouped keyspace can be told to be empty`() throws
    {
        add(0..<100, keys: 1, at: 1000)
        try index.writeMemtable()
        let absent = Self.group(5000)
        #expect(try isEmpty(absent))
        for range in [
            absent..<absent.appending(UInt64(1)), absent.appending(UInt8(0))..<absent.afterPrefix,
            Self.range(Self.group(5000, keyspace: 3)), Self.range(IndexKey().appending(UInt32(9))),
        ] {
            #expect(try !index.isEmptyGroup(range, .blocking))
        }
    }
}
