import StratusFiles
import Testing

@Suite struct SlotTableTests {
    private static func key(_ number: UInt64) -> SlotTable.Key { [number, 2, 3, number &* 7] }
    private static func value(_ number: UInt64) -> SlotTable.Value {
        [number &* 11, number &* 13, number &* 17]
    }

    private static func insert(
        _ number: UInt64, into table: SlotTable, _ slots: (Int, Int), generation: UInt32 = 1
    ) {
        table.insert(key(number), value(number), in: slots, generation: generation)
    }

    private static func knows(
        _ number: UInt64, _ table: SlotTable, _ slots: (Int, Int), generation: UInt32 = 1
    ) -> Bool {
        guard let found = table.find(key(number), in: slots, generation: generation) else {
            return false
        }
        let expected = value(number)
        for word in 0..<3 { #expect(found[word] == expected[word]) }
        return true
    }

    @Test func `a value is found by its key, in its generation`() {
        let table = SlotTable(count: 4)
        #expect(!Self.knows(5, table, (1, 3)))
        Self.insert(5, into: table, (1, 3))
        #expect(Self.knows(5, table, (1, 3)))
        #expect(!Self.knows(6, table, (1, 3)))
        #expect(!Self.knows(5, table, (1, 3), generation: 2))
        #expect(!Self.knows(5, table, (2, 0)))
    }

    @Test func `two keys with the same slots have one each, and a third one waits`() {
        let table = SlotTable(count: 4)
        for number in 1...2 as ClosedRange<UInt64> { Self.insert(number, into: table, (1, 3)) }
        #expect(Self.knows(1, table, (1, 3)) && Self.knows(2, table, (1, 3)))
        Self.insert(3, into: table, (1, 3))
        #expect(!Self.knows(3, table, (1, 3)))
    }

    @Test func `what is found again keeps its slot, what is not gives way`() {
        let table = SlotTable(count: 2)
        for number in 1...2 as ClosedRange<UInt64> {
            Self.insert(number, into: table, (0, 1))
            #expect(Self.knows(1, table, (0, 1)))
        }
        #expect(Self.knows(2, table, (0, 1)))
        // Both are asked to give way, but 1 is found again.
        Self.insert(3, into: table, (0, 1))
        #expect(!Self.knows(3, table, (0, 1)))
        #expect(Self.knows(1, table, (0, 1)))
        Self.insert(3, into: table, (0, 1))
        #expect(Self.knows(1, table, (0, 1)))
        #expect(Self.knows(3, table, (0, 1)))
        #expect(!Self.knows(2, table, (0, 1)))
    }

    @Test func `another generation takes a slot at once`() {
        let table = SlotTable(count: 2)
        Self.insert(1, into: table, (0, 1))
        #expect(Self.knows(1, table, (0, 1)))
        Self.insert(2, into: table, (0, 1), generation: 2)
        #expect(Self.knows(2, table, (0, 1), generation: 2))
        #expect(!Self.knows(1, table, (0, 1)))
    }

    @Test func `threads that write and read at once find whole values only`() async throws {
        let table = SlotTable(count: 8)
        let found = await withTaskGroup(of: Int.self) { group in
            for thread in 0..<4 as Range<UInt64> {
                group.addTask {
                    var found = 0
                    for turn in 0..<100_000 as Range<UInt64> {
                        let number = (turn &* 31 &+ thread &* 7) % 12
                        let slots = (Int(number % 8), Int(number / 2))
                        if Self.knows(number, table, slots, generation: UInt32(turn >> 12)) {
                            found += 1
                        } else {
                            Self.insert(
                                number, into: table, slots, generation: UInt32(turn >> 12))
                        }
                    }
                    return found
                }
            }
            return await group.reduce(0, +)
        }
        #expect(found > 1000)
    }

    @Test func `what another thread is writing is not read half`() async throws {
        let table = SlotTable(count: 1)
        let (found, torn) = await withTaskGroup(of: (found: Int, torn: Int).self) { group in
            for thread in 0..<4 as Range<UInt64> {
                group.addTask {
                    var (found, torn) = (0, 0)
                    for turn in 0..<300_000 as Range<UInt64> {
                        if thread % 2 == 0 {
                            table.insert(
                                Self.key(1), Self.value(turn &* 4 &+ thread), in: (0, 0),
                                generation: 1)
                        } else if let value = table.find(Self.key(1), in: (0, 0), generation: 1) {
                            found += 1
                            let number = value[1] &- value[0]
                            if value[0] &* 2 != number &* 11 || value[2] &* 2 != number &* 17 {
                                torn += 1
                            }
                        }
                    }
                    return (found, torn)
                }
            }
            return await group.reduce(into: (0, 0)) { sum, part in
                sum = (sum.0 + part.found, sum.1 + part.torn)
            }
        }
        #expect(found > 1000)
        #expect(torn == 0)
    }
}
