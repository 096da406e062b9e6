import StratusEngine
import Support
import Testing

/// The set of numbers that filters are made of.
struct NumberSetTests {
    @Test func `an empty set has nothing`() {
        let set = NumberSet()
        #expect(set.count == 0)
        for value: UInt64 in [0, 1, .max] { #expect(!set.contains(value)) }
    }

    @Test func `zero is a number like others`() {
        var set = NumberSet()
        set.insert(1)
        #expect(!set.contains(0))
        set.insert(0)
        set.insert(0)
        #expect(set.contains(0) && set.contains(1) && set.count == 2)
    }

    @Test func `a set has what was inserted and nothing else, whatever order it came in`() {
        var random = SeededGenerator(seed: 5)
        let groups: [[UInt64]] = [
            // Neighbours, as offsets are.
            (1...5000).map { UInt64($0) },
            // The low bits are equal.
            (1...5000).map { UInt64($0) << 40 },
            // Hashes.
            (0..<5000).map { _ in random.next() },
        ]
        for group in groups {
            var set = NumberSet()
            var all: Set<UInt64> = []
            for value in group.shuffled(using: &random) {
                set.insert(value)
                all.insert(value)
                // Nothing changes by it.
                set.insert(value)
            }
            #expect(set.count == all.count)
            #expect(group.allSatisfy { set.contains($0) })
            let others = group.map { $0 ^ 1 << 63 }.filter { !all.contains($0) }
            #expect(!others.contains { set.contains($0) })
        }
    }
}
