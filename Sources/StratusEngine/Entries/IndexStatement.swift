package import StratusBytes
internal import StratusLanguage

/// The rows that an entry adds to declared indexes and removes from them, so that the fold need not
/// read the version before: `Formats/Record.md`, "Index rows".
package struct IndexStatement: Equatable, Sendable {
    package struct Row: Hashable, Sendable {
        package var index: UInt32
        package var value: IndexedValue
        package var isRemoved = false

        package init(index: UInt32, value: IndexedValue, isRemoved: Bool = false) {
            self.index = index
            self.value = value
            self.isRemoved = isRemoved
        }
    }

    package private(set) var rows: [Row] = []

    package static let none = IndexStatement()
    package var isEmpty: Bool { rows.isEmpty }

    package init() {}

    /// What changes where an index had the values `old` of a record and has `new`: both in order, each
    /// value once.
    package mutating func add(_ index: FieldIndex, old: [IndexedValue], new: [IndexedValue]) {
        var (left, right) = (0, 0)
        while left < old.count || right < new.count {
            if left < old.count, right < new.count, old[left] == new[right] {
                left += 1
                right += 1
            } else if right == new.count || left < old.count && old[left] < new[right] {
                rows.append(Row(index: index.number, value: old[left], isRemoved: true))
                left += 1
            } else {
                rows.append(Row(index: index.number, value: new[right]))
                right += 1
            }
        }
    }

    /// All rows that a record with this head and these fields has in the indexes of its type, added or
    /// taken away.
    package init(
        allOf head: RecordHead, _ fields: StoredFields, _ indexes: [FieldIndex],
        isRemoved: Bool = false
    ) throws(FormatError) {
        for index in indexes {
            for value in try index.values(of: head, fields) {
                rows.append(Row(index: index.number, value: value, isRemoved: isRemoved))
            }
        }
    }

    /// What changes where a version with the same fields has another head.
    package init(
        from old: RecordHead, to new: RecordHead, _ fields: StoredFields, _ indexes: [FieldIndex]
    ) throws(FormatError) {
        for index in indexes
        where index.columns.contains(where: { SystemField(column: $0)?.changes == true }) {
            add(
                index, old: try index.values(of: old, fields),
                new: try index.values(of: new, fields))
        }
    }

    package func write(to writer: inout ByteWriter) {
        writer.varint(rows.count)
        for row in rows {
            writer.varint(UInt64(row.index) << 1 | (row.isRemoved ? 1 : 0))
            writer.uint8(UInt8(row.value.count))
            row.value.write(to: &writer)
        }
    }

    package init(_ bytes: Span<UInt8>, _ cursor: inout ByteCursor) throws(FormatError) {
        var rows: [Row] = []
        try Self.forEach(bytes, &cursor) { rows.append($0) }
        self.rows = rows
    }

    /// Gives `body` each row.
    private static func forEach(
        _ bytes: Span<UInt8>, _ cursor: inout ByteCursor, _ body: (Row) -> Void
    ) throws(FormatError) {
        let count = try cursor.count(bytes, upTo: cursor.remaining(bytes) / 10)
        guard count > 0 else { throw .value("index rows") }
        for _ in 0..<count {
            let number = try cursor.varint(bytes)
            guard number < UInt64(IndexTable.limit) << 1 else { throw .value("index number") }
            let value = try indexedValue(bytes, &cursor)
            body(
                Row(
                    index: UInt32(truncatingIfNeeded: number >> 1), value: value,
                    isRemoved: number & 1 != 0))
        }
    }

    /// A value behind its length.
    package static func indexedValue(
        _ bytes: Span<UInt8>, _ cursor: inout ByteCursor
    ) throws(FormatError) -> IndexedValue {
        let length = Int(try cursor.uint8(bytes))
        guard 8...IndexedValue.lengthLimit ~= length else { throw .value("index value") }
        return IndexedValue(bytes.extracting(try cursor.range(bytes, count: length)))
    }

    /// Passes over it.
    package static func skip(
        _ bytes: Span<UInt8>, _ cursor: inout ByteCursor
    ) throws(FormatError) {
        try forEach(bytes, &cursor) { _ in }
    }
}
