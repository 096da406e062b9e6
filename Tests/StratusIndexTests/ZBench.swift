import FoundationEssentials
import StratusBytes
import StratusFiles
import StratusIndex
import Support
import Testing

@Suite(.serialized, .enabled(if: ProcessInfo.processInfo.environment["BENCH"] != nil)) struct ZBench
{
    func time(_ name: String, _ count: Int, _ body: () throws -> Void) rethrows {
        let clock = ContinuousClock()
        let d = try clock.measure(body)
        let ns = Double(d.components.attoseconds) / 1e9 + Double(d.components.seconds) * 1e9
        print("BENCH \(name): \((ns / Double(count) * 10).rounded() / 10) ns, \(count)")
    }
    func record(_ n: UInt64) -> IndexKey {
        var g = SeededGenerator(seed: n)
        return IndexKey().appending(UInt32(5)).appending(UInt8(1)).appending(g.next()).appending(
            g.next())
    }
    @Test func bench() throws {
        let n = 200_000
        let cache = BlockCache(limit: 256 << 20)
        var store: TableStore {
            TableStore(
                MemoryStorage(), cache: BlockCache(limit: 256 << 20),
                storeID: Hash128(high: 1, low: 2))
        }
        let keys = (0..<n).map { record(UInt64($0)) }
        for _ in 0..<1 {
            var index = OrderedIndex(in: store)
            time("random insert", n) {
                for (i, key) in keys.enumerated() {
                    index.set(
                        key,
                        IndexValue(
                            stamp: UInt64(i) * 40 + 512, first: UInt64(i) * 40 + 512, second: 640),
                        isFresh: true)
                }
            }
            print("BENCH bytes", index.memtableBytes, index.memtableBytes / n)
            time("random overwrite", n) {
                for (i, key) in keys.enumerated() {
                    index.set(
                        key, IndexValue(stamp: UInt64(i + n) * 40 + 512, first: 1, second: 640))
                }
            }
            time("memtable hit", n) { for key in keys { _ = try! index.value(of: key, .resident) } }
            var g = OrderedIndex(in: store)
            time("random insert, published each 100", n) {
                var copies: [OrderedIndex] = []
                for (i, key) in keys.enumerated() {
                    g.set(key, IndexValue(stamp: UInt64(i) * 40 + 512), isFresh: true)
                    if i % 100 == 0 { copies = [g] }
                }
                precondition(copies.count == 1)
            }
            var a = OrderedIndex(in: store)
            time("ascending insert", n) {
                for i in 0..<n {
                    let s = UInt64(i) * 40 + 512
                    a.set(
                        IndexKey().appending(UInt32(5)).appending(UInt8(2)).appending(s),
                        IndexValue(stamp: s, first: s, second: 640), isFresh: true)
                }
            }
            print("BENCH ascending bytes", a.memtableBytes / n)
            var c = a.cursor(IndexKey()..<IndexKey().appending(UInt8(255)), .resident)
            var m = 0
            try time("memtable scan", n) { while try c.next() != nil { m += 1 } }
            c = a.cursor(IndexKey()..<IndexKey().appending(UInt8(255)), .resident, .backward)
            try time("memtable scan back", n) { while try c.next() != nil { m += 1 } }
            a.freeze()
            try time("checkpoint feed", n) { _ = a.install(try a.checkpointJob()!.run()!) }
            print(
                "BENCH feed bytes per entry", Double(a.statistics.runs[0].bytes) / Double(n),
                a.statistics.runs[0].tables)
            for _ in 0..<2 {
                c = a.cursor(IndexKey()..<IndexKey().appending(UInt8(255)), .blocking)
                try time("run scan feed", n) { while try c.next() != nil { m += 1 } }
            }
            c = a.cursor(IndexKey()..<IndexKey().appending(UInt8(255)), .blocking, .backward)
            try time("run scan feed back", n) { while try c.next() != nil { m += 1 } }
            index.freeze()
            try time("checkpoint records", n) {
                _ = index.install(try index.checkpointJob()!.run()!)
            }
            print(
                "BENCH record bytes per entry", Double(index.statistics.runs[0].bytes) / Double(n),
                index.statistics.runs[0].tables)
            for _ in 0..<2 {
                time("run hit", n) { for key in keys { _ = try! index.value(of: key, .blocking) } }
            }
            time("run miss", n) {
                for i in 0..<n { _ = try! index.value(of: record(UInt64(i + n)), .blocking) }
            }
            time("keygen", n) { for i in 0..<n { _ = record(UInt64(i + n)) } }
            try time("short scan of 10", n / 10) {
                for i in 0..<n / 10 {
                    var c = index.cursor(keys[i]..<IndexKey().appending(UInt8(255)), .blocking)
                    for _ in 0..<10 { _ = try c.next() }
                }
            }
            // four runs
            var four = OrderedIndex(in: store)
            for part in 0..<4 {
                for i in stride(from: part, to: n, by: 4) {
                    four.set(
                        keys[i],
                        IndexValue(stamp: UInt64(n * part + i) * 40 + 512, first: 7, second: 640),
                        isFresh: true)
                }
                four.freeze()
                _ = four.install(try four.checkpointJob()!.run()!)
            }
            c = four.cursor(IndexKey()..<IndexKey().appending(UInt8(255)), .blocking)
            try time("scan of four runs", n) { while try c.next() != nil { m += 1 } }
            time("four runs hit", n) { for key in keys { _ = try! four.value(of: key, .blocking) } }
            let job = four.mergeJob()!
            try time("merge four runs", n) { _ = four.install(try job.run()!) }
            cache.insert(1, 2, [1, 2, 3], preferred: false)
            var x = 0
            time("cache hit", 1_000_000) {
                for _ in 0..<1_000_000 { x += cache.block(1, 2)!.count }
            }
            for number in four.tableNumbers { try time("verify", n) { try four.verify(number) } }
        }
    }
}
