package import StratusBytes

/// The rows of a field table: number, kind, length of the value.
package enum FieldTable {
    @inline(__always)
    package static func next(
        _ bytes: Span<UInt8>, _ cursor: inout ByteCursor
    ) throws(FormatError) -> (number: UInt32, kind: FieldKind, length: Int) {
        let place = cursor.position
        if place + 4 <= bytes.count, let row = usual(bytes.uint32(at: place)),
            row.length <= bytes.count
        {
            cursor.position = place + row.size
            return (row.number, row.kind, row.length)
        }
        let number = try cursor.varint32(bytes)
        guard let kind = FieldKind(rawValue: try cursor.uint8(bytes)) else {
            throw .value("field kind")
        }
        return (number, kind, try cursor.count(bytes, upTo: bytes.count))
    }

    /// A row with a number of one byte and a length of one or two, out of its first four bytes:
    /// what every look at a field passes.
    @inline(__always)
    private static func usual(
        _ word: UInt32
    ) -> (number: UInt32, kind: FieldKind, length: Int, size: Int)? {
        guard word & 0x80 == 0,
            let kind = FieldKind(rawValue: UInt8(truncatingIfNeeded: word >> 8))
        else { return nil }
        let low = Int(word >> 16 & 0x7f)
        if word & 0x80_0000 == 0 { return (word & 0x7f, kind, low, 3) }
        let high = Int(word >> 24)
        guard 1..<0x80 ~= high else { return nil }
        return (word & 0x7f, kind, low | high << 7, 4)
    }

    package static func write(
        number: UInt32, kind: FieldKind, length: Int, to writer: inout ByteWriter
    ) {
        writer.varint(number)
        writer.uint8(kind.rawValue)
        writer.varint(length)
    }
}
