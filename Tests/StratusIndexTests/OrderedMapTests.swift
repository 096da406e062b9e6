import StratusIndex
import Support
import Testing

/// The map against a dictionary that is sorted whenever it is asked.
@Suite struct OrderedMapTests {
    private typealias Model = [IndexKey: IndexValue]

    private static let whole = IndexKey()..<IndexKey().appending(UInt8(0xff))

    /// Few enough that they meet, with prefixes of each other and of several lengths.
    private func key(_ generator: inout SeededGenerator) -> IndexKey {
        let key = IndexKey().appending(UInt8(generator.below(4)))
        switch generator.below(3) {
        case 0: return key.appending(UInt32(generator.below(300)))
        case 1:
            return key.appending(UInt32(generator.below(20))).appending(UInt8(generator.below(9)))
        default: return key.appending(UInt64(generator.below(300)))
        }
    }

    private func check(_ map: OrderedMap, _ model: Model, _ range: Range<IndexKey>) {
        let expected = model.filter { range.contains($0.key) }.sorted { $0.key < $1.key }
        var found: [(IndexKey, IndexValue)] = []
        map.scan(range) { key, value in
            found.append((key, value))
            return true
        }
        #expect(found.map(\.0) == expected.map(\.key))
        #expect(found.map(\.1) == expected.map(\.value))
        let last = map.last(in: range)
        #expect(last?.key == expected.last?.key)
        #expect(last?.value == expected.last?.value)
    }

    private func range(_ generator: inout SeededGenerator) -> Range<IndexKey> {
        let first = key(&generator)
        let second = key(&generator)
        if generator.oneIn(4) { return first..<first.afterPrefix }
        return min(first, second)..<max(first, second)
    }

    @Test(arguments: UInt64(0)..<50)
    func `random operations leave what they leave in a sorted dictionary`(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        var map = OrderedMap()
        var model: Model = [:]
        var snapshots: [(OrderedMap, Model)] = []
        // Some runs mostly grow, some mostly shrink, so that nodes split and vanish.
        let growth = 1 + generator.below(4)
        for step in 0..<3000 {
            let key = key(&generator)
            switch generator.below(growth + 2) {
            case 0:
                map.remove(key)
                model[key] = nil
            case 1 where generator.oneIn(25):
                let range = range(&generator)
                map.remove(range)
                model = model.filter { !range.contains($0.key) }
            default:
                let value = IndexValue(stamp: UInt64(step), first: generator.next())
                map.set(key, value)
                model[key] = value
            }
            #expect(map.count == model.count)
            #expect(map[key] == model[key])
            if step % 300 == 0 { snapshots.append((map, model)) }
            if step % 100 == 0 { check(map, model, range(&generator)) }
        }
        check(map, model, Self.whole)
        for (key, value) in model { #expect(map[key] == value) }
        // What was copied is as it was.
        for (map, model) in snapshots {
            #expect(map.count == model.count)
            check(map, model, Self.whole)
        }
    }

    @Test(arguments: [true, false])
    func `keys in order, up or down, are all there`(isRising: Bool) {
        var map = OrderedMap()
        let numbers = (0..<5000).map { UInt64(isRising ? $0 : 4999 - $0) }
        for number in numbers { map.set(IndexKey().appending(number), IndexValue(stamp: number)) }
        var found: [UInt64] = []
        map.scan(Self.whole) { key, value in
            #expect(key.uint64(at: 0) == value.stamp)
            found.append(value.stamp)
            return true
        }
        #expect(found == Array(0..<5000))
        for number in numbers { map.remove(IndexKey().appending(number)) }
        #expect(map.count == 0)
        #expect(map.last(in: Self.whole)?.key == nil)
        map.set(IndexKey(), IndexValue(stamp: 1))
        #expect(map[IndexKey()]?.stamp == 1)
    }

    @Test func `a scan ends when it is told to`() {
        var map = OrderedMap()
        for number in UInt64(0)..<1000 {
            map.set(IndexKey().appending(number), IndexValue(stamp: number))
        }
        var seen = 0
        map.scan(Self.whole) { _, _ in
            seen += 1
            return seen < 100
        }
        #expect(seen == 100)
    }

    @Test func `removing everything at once leaves an empty map that works`() {
        var map = OrderedMap()
        for number in UInt64(0)..<2000 {
            map.set(IndexKey().appending(number), IndexValue(stamp: number))
        }
        let copy = map
        map.remove(Self.whole)
        #expect(map.count == 0)
        #expect(copy.count == 2000)
        map.set(IndexKey().appending(UInt8(1)), IndexValue(stamp: 1))
        #expect(map.count == 1)
    }
}
