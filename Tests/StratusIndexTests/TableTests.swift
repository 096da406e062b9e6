import StratusBytes
import StratusFiles
import StratusIndex
import Support
import Testing

extension OrderedIndex {
    /// Writes what is in memory as a run of its own.
    mutating func writeMemtable() throws {
        freeze()
        let output = try #require(try checkpointJob()?.run())
        _ = install(output)
    }
}

/// An index of which all is on disk.
struct TableFixture {
    let storage = MemoryStorage()
    let cache: BlockCache
    private(set) var index: OrderedIndex
    private(set) var keys: [IndexKey] = []

    static let storeID = Hash128(high: 7, low: 11)
    static let whole = IndexKey()..<IndexKey().appending(UInt8(0xff))

    static func record(_ number: UInt64) -> IndexKey {
        var generator = SeededGenerator(seed: number)
        return IndexKey().appending(UInt32(5)).appending(UInt8(1))
            .appending(generator.next()).appending(generator.next())
    }

    static func feed(_ number: UInt64) -> IndexKey {
        IndexKey().appending(UInt32(5)).appending(UInt8(2)).appending(number)
    }

    static func value(_ number: Int) -> IndexValue {
        let stamp = UInt64(512 + number * 40)
        return IndexValue(stamp: stamp, first: stamp, second: 640)
    }

    /// One run with these keys, in the order of their stamps.
    init(_ keys: [IndexKey], pinLimit: Int = 0) throws {
        try self.init(keys, cache: BlockCache(limit: 64 << 20, pinLimit: pinLimit))
    }

    init(_ keys: [IndexKey], cache: BlockCache) throws {
        self.keys = keys
        self.cache = cache
        index = OrderedIndex(in: TableStore(storage, cache: cache, storeID: Self.storeID))
        for (number, key) in keys.enumerated() {
            index.set(key, Self.value(number), isFresh: true)
        }
        try index.writeMemtable()
    }

    func bytes(_ name: String) throws -> [UInt8] {
        let file = try storage.open(name)
        return try file.read(0..<file.length, .blocking)
    }

    /// The same index over other files; of its tables `pinLimit` bytes may stay in memory.
    func reopened(
        holding files: [String: [UInt8]], storeID: Hash128 = storeID, pinLimit: Int = 0
    ) throws -> OrderedIndex {
        let storage = MemoryStorage()
        for (name, bytes) in files { try storage.put(name, bytes) }
        let cache = BlockCache(limit: 1 << 20, pinLimit: pinLimit)
        let store = TableStore(storage, cache: cache, storeID: storeID)
        let description = index.description
        return try OrderedIndex(description: description.span, file: "manifest", in: store)
    }
}

@Suite struct TableTests {
    @Test func `a run of several tables is read whole, from both ends and in the middle`() throws {
        let count = 600_000
        let fixture = try TableFixture((0..<count).map { TableFixture.feed(UInt64($0) << 36) })
        let index = fixture.index
        let statistics = index.statistics
        #expect(statistics.runs.count == 1)
        #expect(statistics.runs[0].tables > 1)
        #expect(statistics.keyspaces[2]?.entries == count)
        for number in index.tableNumbers { try index.verify(number) }
        for direction in [IndexDirection.forward, .backward] {
            var cursor = index.cursor(TableFixture.whole, .blocking, direction)
            var number = direction == .forward ? 0 : count - 1
            var isRight = true
            var seen = 0
            while let next = try cursor.next() {
                isRight = isRight && next.key == fixture.keys[number]
                isRight = isRight && next.value == TableFixture.value(number)
                number += direction == .forward ? 1 : -1
                seen += 1
            }
            #expect(isRight && seen == count)
        }
        for (low, high) in [(0, count), (1, count - 1), (77_777, 500_001), (5, 6)] {
            var cursor = index.cursor(
                fixture.keys[low]..<TableFixture.feed(UInt64(high) << 36), .blocking)
            #expect(try cursor.count(upTo: .max).count == high - low)
        }
        for number in stride(from: 0, to: count, by: 997) {
            let found = try index.value(of: fixture.keys[number], .blocking)
            #expect(found == TableFixture.value(number))
            let between = TableFixture.feed(UInt64(number) << 36 + 1)
            #expect(try index.value(of: between, .blocking) == nil)
            var cursor = index.cursor(between..<TableFixture.feed(.max), .blocking)
            let next = number + 1 < count ? fixture.keys[number + 1] : nil
            #expect(try cursor.next()?.key == next)
            cursor = index.cursor(TableFixture.feed(0)..<between, .blocking, .backward)
            #expect(try cursor.next()?.key == fixture.keys[number])
        }
    }

    @Test func `entries take few bytes`() throws {
        let records = try TableFixture((0..<20_000).map { TableFixture.record($0) })
        #expect(records.index.statistics.runs[0].bytes <= 21 * 20_000)
        let feed = try TableFixture((0..<20_000).map { TableFixture.feed(512 + $0 * 40) })
        #expect(feed.index.statistics.runs[0].bytes <= 8 * 20_000)
    }

    @Test func `filters answer for nearly all keys that are not there, and let all others pass`()
        throws
    {
        let fixture = try TableFixture((0..<20_000).map { TableFixture.record($0) })
        for (number, key) in fixture.keys.enumerated() {
            let found = try fixture.index.value(of: key, .blocking)
            #expect(found == TableFixture.value(number))
        }
        let before = fixture.cache.statistics
        for number in UInt64(50_000)..<60_000 {
            #expect(try fixture.index.value(of: TableFixture.record(number), .blocking) == nil)
        }
        // One block each for the filter, and directory and data where it was of no help.
        let blocks = fixture.cache.statistics.hits - before.hits
        #expect(blocks < 10_000 + 2 * 300)
        #expect(fixture.cache.statistics.misses == before.misses)
    }

    @Test func `pinned directories and filters answer without the cache, as far as there is room`()
        throws
    {
        let keys = (UInt64(0)..<20_000).map { TableFixture.record($0) }
        // Neither, the directory, whose few kilobytes come first, and both: blocks of the cache.
        for (pinLimit, blocks) in [(0, 3), (8 << 10, 2), (1 << 20, 1)] {
            let fixture = try TableFixture(keys, pinLimit: pinLimit)
            let found = try fixture.index.value(of: keys[7], .blocking)
            #expect(found == TableFixture.value(7))
            #expect(fixture.cache.statistics.misses == blocks)
        }
        // What a table has pinned is free again when it is gone.
        let cache = BlockCache(limit: 0, pinLimit: 64 << 10)
        for _ in 0..<10 {
            let fixture = try TableFixture(keys, cache: cache)
            #expect(try fixture.index.value(of: keys[7], .blocking) != nil)
            #expect(!cache.pin(64 << 10))
        }
        #expect(cache.pin(64 << 10))
    }

    @Test func `versions of one key may fill many blocks`() throws {
        let key = TableFixture.feed(1)
        let neighbours = [TableFixture.feed(0), TableFixture.feed(2)]
        let storage = MemoryStorage()
        var index = OrderedIndex(
            in: TableStore(
                storage, cache: BlockCache(limit: 1 << 20), storeID: TableFixture.storeID))
        index.points = NeededPoints(floor: 0)
        for neighbour in neighbours { index.set(neighbour, IndexValue(stamp: 1)) }
        for stamp in UInt64(2)..<5000 {
            index.set(key, IndexValue(stamp: stamp * 10, first: stamp), isFresh: stamp == 2)
        }
        try index.writeMemtable()
        for number in index.tableNumbers { try index.verify(number) }
        for stamp in UInt64(2)..<5000 {
            for point in [stamp * 10, stamp * 10 + 9] {
                #expect(try index.value(of: key, at: point, .blocking)?.first == stamp)
            }
        }
        #expect(try index.value(of: key, at: 19, .blocking) == nil)
        for direction in [IndexDirection.forward, .backward] {
            var cursor = index.cursor(TableFixture.whole, at: 30_000, .blocking, direction)
            var seen: [UInt64] = []
            while let next = try cursor.next() { seen.append(next.value.stamp) }
            #expect(seen == [1, 30_000, 1])
        }
        // Once no point needs them, a merge leaves one.
        index.points = NeededPoints()
        let merged = try #require(try index.fullMergeJob()?.run())
        let obsolete = index.install(merged)
        #expect(obsolete == ["index-0000000000000001"])
        #expect(index.statistics.runs[0].entries == 3)
    }

    @Test func `what was dropped is gone after a full merge`() throws {
        var fixture = try TableFixture((0..<3000).map { TableFixture.record($0) }).index
        fixture.drop(partition: 5, at: 1 << 40)
        try fixture.writeMemtable()
        #expect(fixture.statistics.runs.map(\.entries) == [1, 3000])
        #expect(try fixture.value(of: TableFixture.record(1), .blocking) == nil)
        #expect(try fixture.value(of: TableFixture.record(1), at: 1 << 39, .blocking) != nil)
        let merge = try #require(try fixture.fullMergeJob()?.run())
        #expect(fixture.install(merge).count == 2)
        #expect(fixture.statistics.runs == [])
    }

    @Test func `a job that is told to stop leaves no files`() throws {
        var index = try TableFixture((0..<10_000).map { TableFixture.record($0) }).index
        let fixture = try TableFixture((0..<10_000).map { TableFixture.record($0) })
        var other = fixture.index
        let names = try fixture.storage.list()
        #expect(try other.fullMergeJob()?.run(stop: { true }) == nil)
        #expect(try fixture.storage.list() == names)
        // What is installed in another index than it was made from changes nothing.
        let merge = try #require(try other.fullMergeJob()?.run())
        #expect(index.install(merge) != other.install(merge))
        #expect(index.fileNames == ["index-0000000000000001"])
    }

    @Test func `what was fresh and is removed leaves nothing, in memory or in a merge`() throws {
        var index = try TableFixture([TableFixture.feed(1)]).index
        let key = TableFixture.feed(2)
        index.set(key, IndexValue(stamp: 1000), isFresh: true)
        index.set(key, IndexValue(stamp: 1001))
        index.remove(key, at: 1002)
        #expect(index.statistics.memtableEntries == 0)
        // Unless a point sees it.
        index.points = NeededPoints([1003])
        index.set(key, IndexValue(stamp: 1003), isFresh: true)
        index.freeze()
        index.remove(key, at: 1004)
        index.freeze()
        #expect(index.statistics.memtableEntries == 2)
        let kept = try #require(try index.checkpointJob()?.run())
        index.points = NeededPoints()
        let annihilated = try #require(try index.checkpointJob()?.run())
        var other = index
        _ = other.install(kept)
        #expect(other.statistics.runs.map(\.entries) == [2, 1])
        _ = index.install(annihilated)
        #expect(index.statistics.runs.map(\.entries) == [1])
    }

    @Test func `a removal of what may be in a run is kept until the oldest run is merged`() throws {
        var index = try TableFixture([TableFixture.feed(1)]).index
        index.remove(TableFixture.feed(1), at: 1000)
        try index.writeMemtable()
        #expect(index.statistics.runs.map(\.entries) == [1, 1])
        let merge = try #require(try index.fullMergeJob()?.run())
        _ = index.install(merge)
        #expect(index.statistics.runs == [])
    }

    @Test func `merges keep runs few and write an entry a few times`() throws {
        let storage = MemoryStorage()
        var index = OrderedIndex(
            in: TableStore(
                storage, cache: BlockCache(limit: 1 << 20), storeID: TableFixture.storeID))
        var written = 0
        for part in UInt64(0)..<60 {
            for number in UInt64(0)..<3000 {
                let stamp = 512 + part * 3000 + number
                index.set(TableFixture.record(stamp), IndexValue(stamp: stamp), isFresh: true)
            }
            index.freeze()
            let checkpoint = try #require(try index.checkpointJob()?.run(pace: { written += $0 }))
            _ = index.install(checkpoint)
            while let output = try index.mergeJob()?.run(pace: { written += $0 }) {
                _ = index.install(output)
            }
            #expect(index.statistics.runs.count <= 8)
        }
        let bytes = index.statistics.runs.reduce(0) { $0 + $1.bytes }
        #expect(index.statistics.runs.reduce(0) { $0 + $1.entries } == 60 * 3000)
        #expect(written < 6 * bytes)
    }
}
