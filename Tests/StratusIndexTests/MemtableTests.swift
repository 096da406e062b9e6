import StratusFiles
import StratusIndex
import Support
import Testing

/// Large memtables that are filled by small groups: their layers are merged step by step.
@Suite struct MemtableTests {
    private static let keyCount = 20_000

    private static func key(_ number: Int) -> IndexKey {
        let hash = UInt64(number) &* 0x9e37_79b9_7f4a_7c15
        return IndexKey(partition: UInt32(1 + number % 40), keyspace: 1, high: hash, low: ~hash)
    }

    @Test(arguments: 0..<4 as Range<UInt64>)
    func `many small groups leave what the model says, at all points`(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        var index = OrderedIndex()
        var model = IndexModel()
        var stamp: UInt64 = 1
        var held: [(point: UInt64, snapshot: OrderedIndex)] = []
        for group in 0..<1500 {
            // What was staged and could not be written is taken back.
            let (before, modelBefore) = (index, model)
            let isTakenBack = generator.oneIn(20)
            for _ in 0..<1 + generator.below(60) {
                stamp += UInt64(generator.below(3))
                let key = Self.key(generator.below(Self.keyCount))
                if generator.oneIn(5) {
                    index.remove(key, at: stamp)
                    model.remove(key, at: stamp)
                } else {
                    let value = IndexValue(stamp: stamp, first: generator.next())
                    index.set(key, value, isFresh: !model.knows(key) && generator.oneIn(2))
                    model.set(key, value)
                }
            }
            if seed % 2 == 1, generator.oneIn(100) {
                let partition = UInt32(1 + generator.below(40))
                stamp += 1
                index.drop(partition: partition, at: stamp)
                model.drop(partition, at: stamp)
            }
            index.endGroup()
            if isTakenBack { (index, model) = (before, modelBefore) }
            stamp += 1
            if group % 300 == 299 {
                held.append((stamp, index))
                if held.count > 3 { held.removeFirst() }
                index.points = NeededPoints(held.map(\.point))
                stamp += 1
            }
        }
        var found = 0
        for (point, snapshot) in held + [(.max, index)] {
            for number in 0..<Self.keyCount {
                let key = Self.key(number)
                let expected = model.value(of: key, at: point)
                #expect(try index.value(of: key, at: point, .blocking) == expected)
                #expect(try snapshot.value(of: key, at: point, .blocking) == expected)
                if expected != nil { found += 1 }
            }
            var cursor = index.cursor(IndexKey.all, at: point, .blocking)
            var keys: [IndexKey] = []
            while let (key, _) = try cursor.next() { keys.append(key) }
            #expect(keys == model.entries(in: IndexKey.all, at: point).map(\.key))
        }
        #expect(found > Self.keyCount)
    }

    @Test func `memory tells when a key was removed last, whatever was merged`() {
        var index = OrderedIndex()
        // What was removed first is needed, too.
        index.points = NeededPoints([6])
        let key = Self.key(0)
        for stamp in 1..<40 as Range<UInt64> {
            if stamp == 5 || stamp == 9 { index.remove(key, at: stamp) }
            index.set(Self.key(Int(stamp)), IndexValue(stamp: stamp))
            index.endGroup()
        }
        #expect(index.mayHaveChanged(key, since: 9))
        #expect(!index.mayHaveChanged(key, since: 10))
    }

    @Test func `of two values with one stamp the later one counts, whatever was merged`() throws {
        var index = OrderedIndex()
        let key = Self.key(0)
        for group in 1..<40 {
            index.set(key, IndexValue(stamp: 100, first: UInt64(group)))
            index.set(Self.key(group), IndexValue(stamp: 100))
            index.endGroup()
            #expect(try index.value(of: key, .blocking)?.first == UInt64(group))
        }
    }
}
