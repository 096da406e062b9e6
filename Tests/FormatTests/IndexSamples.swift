import StratusBytes
import StratusEngine
import StratusFiles
import StratusIndex
import Support

/// Indexes as `Formats/Index.md` says: a description, and the tables that it names.
enum IndexSample {
    static let storeID = Hash128(high: 0x0011_2233_4455_6677, low: 0x8899_aabb_ccdd_eeff)
    static let wholeRange = IndexKey()..<IndexKey().appending(UInt8(0xff))

    static func store(_ storage: any Storage, _ storeID: Hash128 = storeID) -> TableStore {
        TableStore(
            storage, cache: BlockCache(limit: 1 << 20), storeID: storeID,
            groupings: ProjectionRegistry.store.groupings)
    }

    /// The index with all its memtables written, as files.
    static func files(of index: OrderedIndex, in storage: MemoryStorage) throws -> StoreFiles {
        var index = index
        index.freeze()
        if let output = try index.checkpointJob()?.run() { _ = index.install(output) }
        var files = [Sample.description: index.description]
        for name in index.fileNames {
            let file = try storage.open(name)
            files[name] = try file.read(0..<file.length, .blocking)
        }
        return files
    }

    static func key(_ partition: UInt32, _ keyspace: UInt8) -> IndexKey {
        IndexKey().appending(partition).appending(keyspace)
    }
}

extension SampleMaker {
    /// By their paths below the folder of samples.
    static func indexes() throws -> [String: StoreFiles] {
        let table = "index-0000000000000001"
        let versions = try versions()
        var samples = ["valid/index-versions": versions, "valid/index-blocks": try blocks()]
        func damage(_ name: String, _ change: (inout [UInt8]) -> Void) {
            var files = versions
            change(&files[table, default: []])
            samples["damaged/index-" + name] = files
        }
        damage("flipped") { $0[60] ^= 0x10 }
        damage("truncated") { $0.removeLast() }
        damage("newer-format") { bytes in
            bytes[10] = 2
            let sum = Checksum.xxh3(bytes.span, in: 0..<24, seed: 1)
            var span = bytes.mutableSpan
            span.set(sum, at: 24)
        }
        damage("newer-form") { bytes in
            bytes[32 + 31] |= 0x40
            sealFirstBlock(&bytes, like: versions[table] ?? [])
        }
        let foreign = try Self.versions(storeID: Hash128(high: 1, low: 2))
        samples["damaged/index-foreign"] = foreign
        var missing = versions
        missing[table] = nil
        samples["damaged/index-missing"] = missing
        var description = versions
        description[Sample.description]?.append(0)
        samples["damaged/index-description"] = description
        return samples
    }

    /// Gives the first block, which ends where its checksum held before, the one that holds now.
    private static func sealFirstBlock(_ bytes: inout [UInt8], like former: [UInt8]) {
        let seed = 1 + 32 << 40 as UInt64
        let end = (33..<former.count - 8).first { end in
            Checksum.xxh3(former.span, in: 32..<end, seed: seed) == former.span.uint64(at: end)
        }
        guard let end else { return }
        let sum = Checksum.xxh3(bytes.span, in: 32..<end, seed: seed)
        var span = bytes.mutableSpan
        span.set(sum, at: end)
    }

    /// Versions, removals and a drop, in two runs.
    private static func versions(storeID: Hash128 = IndexSample.storeID) throws -> StoreFiles {
        let storage = MemoryStorage()
        var index = OrderedIndex(in: IndexSample.store(storage, storeID))
        index.points = NeededPoints(floor: 0)
        let name = IndexSample.key(7, 1).appending(UInt64(1)).appending(UInt64(2))
        let gone = IndexSample.key(7, 1).appending(UInt64(1)).appending(UInt64(3))
        let long = IndexSample.key(9, 200).appending(UInt64.max).appending(UInt64(0))
            .appending(UInt64(0)).appending(UInt64(0)).appending(UInt64(5))
            .appending(UInt8(6)).appending(UInt8(7))
        index.set(name, IndexValue(stamp: 600, first: 600, second: 77), isFresh: true)
        index.set(gone, IndexValue(stamp: 640, first: 640, second: 300))
        index.set(long, IndexValue(stamp: 700, first: .max, second: 1 << 40))
        index.set(name, IndexValue(stamp: 800, first: 600, second: 0))
        index.remove(gone, at: 850)
        index.freeze()
        if let output = try index.checkpointJob()?.run() { _ = index.install(output) }
        index.drop(partition: 7, at: 900)
        index.set(gone, IndexValue(stamp: 1000, first: 1000, second: 1))
        return try IndexSample.files(of: index, in: storage)
    }

    /// Several data blocks in one table, with keys that form groups.
    private static func blocks() throws -> StoreFiles {
        let storage = MemoryStorage()
        var index = OrderedIndex(in: IndexSample.store(storage))
        var generator = SeededGenerator(seed: 13)
        for number in UInt64(0)..<300 {
            let stamp = 512 + number * 40
            let key = IndexSample.key(3, 1).appending(generator.next()).appending(generator.next())
            let value = IndexValue(stamp: stamp, first: stamp, second: 640)
            index.set(key, value, isFresh: true)
            index.set(IndexSample.key(3, 2).appending(stamp), value)
            // Three children of each parent; values of 16 bytes in a declared index, and of 8.
            let parent = IndexSample.key(3, 4).appending(number / 3, 0)
            index.set(parent.appending(number, number), IndexValue(stamp: stamp))
            for row in [
                IndexSample.key(3, 7).appending(UInt32(0)).appending(number / 2, number),
                IndexSample.key(3, 7).appending(UInt32(1)).appending(number / 2),
            ] { index.set(row.appending(number, number), IndexValue(stamp: stamp)) }
        }
        return try IndexSample.files(of: index, in: storage)
    }
}
