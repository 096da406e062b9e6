import StratusEngine
import Support
import Testing

/// The set of numbers that filters are made of.
struct SlotTableTests {
    @Test func `an empty table has nothing`() {
        let table = SlotTable()
        #expect(table.count == 0)
        for value: UInt64 in [0, 1, .max] { #expect(!table.contains(value)) }
    }

    @Test func `zero is a number like others`() {
        var table = SlotTable()
        table.insert(1)
        #expect(!table.contains(0))
        table.insert(0)
        table.insert(0)
        #expect(table.contains(0) && table.contains(1) && table.count == 2)
    }

    @Test func `a table has what was inserted and nothing else, whatever order it came in`() {
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
            var table = SlotTable()
            var all: Set<UInt64> = []
            for value in group.shuffled(using: &random) {
                table.insert(value)
                all.insert(value)
                // Nothing changes by it.
                table.insert(value)
            }
            #expect(table.count == all.count)
            #expect(group.allSatisfy { table.contains($0) })
            let others = group.map { $0 ^ 1 << 63 }.filter { !all.contains($0) }
            #expect(!others.contains { table.contains($0) })
        }
    }
}
