package import StratusBytes

/// Where the fields of a record stand in its entry: `Formats/Record.md`, "Record".
///
/// Its rows, number and kind of each field, are equally long, and so are the places where values end: a
/// field is found without reading those before it.
package struct FieldTable: Sendable {
    package let count: Int
    /// Where number and kind of the first field lie.
    private let rows: Int
    /// Where the end of the first value lies, which takes 1, 2 or 4 bytes.
    private let ends: Int
    private let width: Int
    /// Where the first value begins.
    private let values: Int
    /// Whether any of the fields is flagged as encrypted.
    package let hasEncrypted: Bool
    /// Whether any of them is an asset, or a list of assets.
    package let hasAssets: Bool

    /// Of number and kind.
    private static let rowLength = 3

    package static let empty = FieldTable()

    private init() {
        (count, rows, ends, width, values) = (0, 0, 0, 1, 0)
        (hasEncrypted, hasAssets) = (false, false)
    }

    /// Reads the table that begins at `cursor` and checks it; the values take all bytes behind it. What
    /// they say is not looked at.
    package init(_ bytes: Span<UInt8>, at cursor: ByteCursor) throws(FormatError) {
        var cursor = cursor
        count = try cursor.count(bytes, upTo: cursor.remaining(bytes) / 4)
        width = count == 0 ? 1 : Int(try cursor.uint8(bytes))
        rows = cursor.position
        ends = rows + count * Self.rowLength
        values = ends + count * width
        guard [1, 2, 4].contains(width) else { throw .value("width") }
        let length = bytes.count - values
        guard length >= 0 else { throw .truncated }
        guard count > 0 || length == 0 else { throw .value("length") }
        guard width == 1 || length >> (width * 4) > 0 else { throw .value("width") }
        var hasEncrypted = false
        var hasAssets = false
        var last = -1
        var end = 0
        for place in 0..<count {
            // Behind the last row lies an end at least.
            let row = bytes.uint32(at: rows &+ place &* Self.rowLength)
            let code = UInt8(truncatingIfNeeded: row >> 16)
            guard let kind = FieldKind(rawValue: code) else { throw .newer("field kind") }
            let number = Int(row & 0xffff)
            guard last < number else { throw .value("field order") }
            last = number
            if kind.isEncrypted { hasEncrypted = true }
            if kind.isAsset { hasAssets = true }
            let next = Self.end(bytes, at: ends &+ place &* width, width)
            guard end <= next else { throw .value("length") }
            end = next
        }
        guard end == length else { throw .value("length") }
        self.hasEncrypted = hasEncrypted
        self.hasAssets = hasAssets
    }

    @inline(__always)
    package func number(_ place: Int, _ bytes: Span<UInt8>) -> UInt32 {
        UInt32(bytes.uint16(at: rows &+ place &* Self.rowLength))
    }

    /// Of a table that was checked.
    @inline(__always)
    package func kind(_ place: Int, _ bytes: Span<UInt8>) -> FieldKind {
        FieldKind(checked: bytes.uint8(at: rows &+ place &* Self.rowLength &+ 2))
    }

    /// Where the value lies.
    @inline(__always)
    package func range(_ place: Int, _ bytes: Span<UInt8>) -> Range<Int> {
        let start = place == 0 ? values : values &+ end(place &- 1, bytes)
        return start..<values &+ end(place, bytes)
    }

    /// Where the value ends, from the first value on.
    @inline(__always)
    private func end(_ place: Int, _ bytes: Span<UInt8>) -> Int {
        Self.end(bytes, at: ends &+ place &* width, width)
    }

    @inline(__always)
    private static func end(_ bytes: Span<UInt8>, at place: Int, _ width: Int) -> Int {
        switch width {
        case 1: Int(bytes.uint8(at: place))
        case 2: Int(bytes.uint16(at: place))
        default: Int(bytes.uint32(at: place))
        }
    }

    /// The place of the field with this number; nil where there is none.
    @inline(__always)
    package func place(of number: UInt32, _ bytes: Span<UInt8>) -> Int? {
        guard count > 0 else { return nil }
        // Fields of a type that came together have numbers without gaps.
        let usual = Int(number) - Int(self.number(0, bytes))
        if usual >= 0, usual < count, self.number(usual, bytes) == number { return usual }
        return search(for: number, bytes)
    }

    private func search(for number: UInt32, _ bytes: Span<UInt8>) -> Int? {
        var low = 0
        var high = count
        while low < high {
            let middle = (low + high) / 2
            if self.number(middle, bytes) < number { low = middle + 1 } else { high = middle }
        }
        return low < count && self.number(low, bytes) == number ? low : nil
    }

    /// A field that is to be written.
    package struct Row {
        package var number: UInt32
        package var kind: FieldKind
        /// Of the value, in bytes.
        package var length: Int

        package init(number: UInt32, kind: FieldKind, length: Int) {
            self.number = number
            self.kind = kind
            self.length = length
        }
    }

    /// Writes the table of `count` fields in order of number, of which `row` gives each; the values
    /// follow. Numbers are below ``Schema/nameLimit``, and the values together fit an entry.
    package static func write(
        count: Int, to writer: inout ByteWriter, _ row: (Int) -> Row
    ) {
        writer.varint(count)
        if count == 0 { return }
        var length = 0
        writer.append(upTo: 1 + count * rowLength) { output in
            output.append(0)
            for place in 0..<count {
                let row = row(place)
                output.append(integer: UInt16(row.number))
                output.append(row.kind.rawValue)
                length += row.length
            }
        }
        let width = length < 1 << 8 ? 1 : length < 1 << 16 ? 2 : 4
        writer.set(UInt8(width), at: writer.count - 1 - count * rowLength)
        writer.append(upTo: count * width) { output in
            var end = 0
            for place in 0..<count {
                end += row(place).length
                switch width {
                case 1: output.append(UInt8(end))
                case 2: output.append(integer: UInt16(end))
                default: output.append(integer: UInt32(end))
                }
            }
        }
    }
}
