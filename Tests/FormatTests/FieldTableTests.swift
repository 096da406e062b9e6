import StratusBytes
import StratusEngine
import Support
import Testing

/// Field tables, written and read.
@Suite struct FieldTableTests {
    /// Numbers with and without gaps, and ends of one, two and four bytes.
    @Test(arguments: [1, 200, 20_000])
    func `every field of a table is found, and no other`(longest: Int) throws {
        var generator = SeededGenerator(seed: UInt64(longest))
        for count in [0, 1, 2, 8, 40, 300] {
            for gaps in [1, 2, 9] {
                var number: UInt32 = UInt32(generator.below(5))
                let rows = (0..<count).map { _ in
                    number += 1 + UInt32(generator.below(gaps))
                    return FieldTable.Row(
                        number: number, kind: FieldKind(generator.oneIn(2) ? .string : .int64),
                        length: generator.below(longest + 1))
                }
                try check(rows)
            }
        }
    }

    private func check(_ rows: [FieldTable.Row]) throws {
        var writer = ByteWriter()
        writer.uint8(0)
        FieldTable.write(count: rows.count, to: &writer) { rows[$0] }
        let values = writer.count
        let length = rows.reduce(0) { $0 + $1.length }
        writer.zeros(length)
        let bytes = writer.bytes
        let table = try FieldTable(bytes.span, at: ByteCursor(at: 1))
        #expect(table.count == rows.count)
        var end = values
        for (place, row) in rows.enumerated() {
            #expect(table.number(place, bytes.span) == row.number)
            #expect(table.kind(place, bytes.span) == row.kind)
            #expect(table.range(place, bytes.span) == end..<end + row.length)
            end += row.length
        }
        #expect(end == bytes.count)
        let places = Dictionary(uniqueKeysWithValues: rows.enumerated().map { ($1.number, $0) })
        for number in 0..<(rows.last?.number ?? 0) + 3 {
            #expect(table.place(of: number, bytes.span) == places[number])
        }
        // Neither a byte less nor one more is a table with its values.
        #expect(throws: FormatError.self) {
            try FieldTable(bytes.span.extracting(0..<bytes.count - 1), at: ByteCursor(at: 1))
        }
        let longer = bytes + [0]
        #expect(throws: FormatError.self) {
            try FieldTable(longer.span, at: ByteCursor(at: 1))
        }
    }

    @Test func `an end of four bytes far behind the last byte is no end`() throws {
        var writer = ByteWriter()
        FieldTable.write(count: 1, to: &writer) { _ in
            FieldTable.Row(number: 1, kind: FieldKind(.bytes), length: 70_000)
        }
        let place = writer.count - 4
        writer.zeros(70_000)
        _ = try FieldTable(writer.bytes.span, at: ByteCursor())
        for end: UInt32 in [0, 69_999, 70_001, 0x7fff_ffff, .max] {
            writer.set(end, at: place)
            let bytes = writer.bytes
            #expect(throws: FormatError.self) { try FieldTable(bytes.span, at: ByteCursor()) }
        }
    }
}
