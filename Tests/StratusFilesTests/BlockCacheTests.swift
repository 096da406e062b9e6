import StratusFiles
import Support
import Testing

@Suite struct BlockCacheTests {
    private func block(_ number: Int, count: Int = 1000) -> [UInt8] {
        [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: count)
    }

    @Test(arguments: UInt64(0)..<10)
    func `what is found is what was put there last, and memory has its limit`(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        let cache = BlockCache(limit: 16 * 8_000)
        var model: [[UInt64]: [UInt8]] = [:]
        var found = 0
        for step in 0..<20_000 {
            let file = UInt64(generator.below(5))
            let place = UInt64(generator.below(100)) * 4096
            switch generator.below(10) {
            case 0..<4:
                let bytes = block(step, count: generator.below(3000))
                cache.insert(file, place, bytes.span, preferred: generator.oneIn(4))
                model[[file, place]] = bytes
            case 4 where generator.oneIn(100):
                cache.remove(file: file)
                model = model.filter { $0.key[0] != file }
            default:
                guard let bytes = cache.block(file, place) else { break }
                found += 1
                let isLast = bytes == model[[file, place]]
                #expect(isLast)
            }
            #expect(cache.statistics.bytes <= cache.limit)
        }
        #expect(found > 1000)
        #expect(cache.statistics.hits == found)
        for file in UInt64(0)..<5 { cache.remove(file: file) }
        #expect(cache.statistics.bytes == 0)
        #expect(model.keys.allSatisfy { cache.block($0[0], $0[1]) == nil })
    }

    @Test func `what fits stays`() {
        let cache = BlockCache(limit: 1 << 20)
        for place in UInt64(0)..<200 {
            cache.insert(1, place, block(Int(place)).span, preferred: false)
        }
        for place in UInt64(0)..<200 { #expect(cache.block(1, place) == block(Int(place))) }
        #expect(cache.block(2, 0) == nil)
        let statistics = cache.statistics
        #expect(statistics.hits == 200 && statistics.misses == 1)
        #expect(statistics.bytes == 200 * 1024)
    }

    @Test func `a block larger than its share is not kept, and pushes nothing out`() {
        let cache = BlockCache(limit: 2_000)
        cache.insert(1, 0, block(1).span, preferred: false)
        for place in UInt64(1)..<100 {
            cache.insert(1, place, block(2, count: 2_000).span, preferred: true)
            #expect(cache.block(1, place) == nil)
        }
        #expect(cache.block(1, 0) == block(1))
    }

    @Test func `what is preferred outlives what is used once`() {
        let cache = BlockCache(limit: 1 << 20)
        for place in UInt64(0)..<100 { cache.insert(1, place, block(1).span, preferred: true) }
        for place in UInt64(0)..<3000 { cache.insert(2, place, block(2).span, preferred: false) }
        #expect((UInt64(0)..<100).allSatisfy { cache.block(1, $0) != nil })
        #expect((UInt64(0)..<1000).count { cache.block(2, $0) != nil } < 100)
    }

    @Test func `what comes once drives nothing out, and what comes again does`() {
        let cache = BlockCache(limit: 1 << 20)
        func insert(_ file: UInt64, _ place: UInt64) {
            cache.insert(
                file, place, block(Int(place)).span, preferred: false, onlyRepeated: true)
        }
        // While there is room, everything is kept.
        for place in UInt64(0)..<3000 { insert(1, place) }
        let kept = (UInt64(0)..<3000).filter { cache.block(1, $0) != nil }
        #expect(kept.count > 500)
        for place in UInt64(0)..<3000 { insert(2, place) }
        #expect(kept.allSatisfy { cache.block(1, $0) != nil })
        #expect((UInt64(0)..<3000).allSatisfy { cache.block(2, $0) == nil })
        for place in UInt64(3000)..<3100 {
            insert(2, place)
            insert(2, place)
        }
        #expect((UInt64(3000)..<3100).count { cache.block(2, $0) != nil } > 90)
    }

    @Test func `what is asked for outlives what is not`() {
        let cache = BlockCache(limit: 1 << 20)
        for place in UInt64(0)..<3000 {
            cache.insert(1, place, block(1).span, preferred: false)
            // Few enough that every shard has room for its part.
            for used in 0..<min(place, 50) { _ = cache.block(1, used) }
        }
        #expect((UInt64(0)..<50).allSatisfy { cache.block(1, $0) != nil })
    }
}
