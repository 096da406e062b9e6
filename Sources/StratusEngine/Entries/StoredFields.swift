package import StratusBytes

/// The fields of a record as they lie in its entry, all checked, decoded one at a time.
package struct StoredFields: Sendable {
    /// The bytes of the entry, shared with it.
    package let bytes: [UInt8]
    /// Where the field table begins behind its count, and where the values begin behind it.
    private let table: Int
    private let values: Int
    package let count: Int
    /// Whether any of the fields is flagged as encrypted.
    package let hasEncrypted: Bool
    /// Whether any of them is an asset, or a list of assets.
    package let hasAssets: Bool
    package let schema: Schema
    /// The greatest number of a field.
    private let greatest: UInt32?
    /// The fields that a fetch asked for; nil: all.
    package var visible: Set<UInt32>?

    package static let none = StoredFields()

    private init() {
        bytes = []
        table = 0
        values = 0
        count = 0
        hasEncrypted = false
        hasAssets = false
        schema = .empty
        greatest = nil
    }

    /// Checks the field table, which begins at `cursor`, and every value; the payload ends at `end`.
    /// Fails where any of it cannot be decoded, so that no field is taken for absent. Without a
    /// schema the numbers of the fields are not checked.
    package init(
        _ bytes: [UInt8], at cursor: ByteCursor, end: Int, schema: Schema?
    ) throws(FormatError) {
        self.bytes = bytes
        self.schema = schema ?? .empty
        var cursor = cursor
        let span = bytes.span.extracting(0..<end)
        count = try cursor.count(span, upTo: cursor.remaining(span) / 3)
        table = cursor.position
        var length = 0
        var last: UInt32?
        var hasEncrypted = false
        var hasAssets = false
        for _ in 0..<count {
            let column = try FieldTable.next(span, &cursor)
            guard last.map({ $0 < column.number }) ?? true else { throw .value("field order") }
            last = column.number
            if column.kind.isEncrypted { hasEncrypted = true }
            if column.kind.element == .asset { hasAssets = true }
            length += column.length
            guard length <= end else { throw .truncated }
        }
        guard cursor.remaining(span) == length else { throw .value("length") }
        values = cursor.position
        self.hasEncrypted = hasEncrypted
        self.hasAssets = hasAssets
        greatest = last
        if let schema { try checkNumbers(schema) }
        var start = values
        cursor.position = table
        for _ in 0..<count {
            let column = try FieldTable.next(span, &cursor)
            try ValueFormat.check(span, in: start..<start + column.length, column.kind)
            start += column.length
        }
    }

    /// Whether every field has a name; their numbers rise.
    package func checkNumbers(_ schema: Schema) throws(FormatError) {
        if let greatest, schema.name(greatest) == nil { throw .value("field number") }
    }

    /// One row of the field table, and where its value lies.
    package struct Field {
        package var number: UInt32
        package var kind: FieldKind
        package var range: Range<Int>
    }

    /// Gives `body` every visible field in order of number, until it returns false.
    package func forEach(_ body: (Field) -> Bool) {
        guard count > 0 else { return }
        let span = bytes.span
        var cursor = ByteCursor(at: table)
        var start = values
        for _ in 0..<count {
            guard let column = try? FieldTable.next(span, &cursor) else { return }
            let range = start..<start + column.length
            start += column.length
            if let visible, !visible.contains(column.number) { continue }
            let field = Field(number: column.number, kind: column.kind, range: range)
            guard body(field) else { return }
        }
    }

    package func field(_ number: UInt32) -> Field? {
        if let visible, !visible.contains(number) { return nil }
        let span = bytes.span
        var cursor = ByteCursor(at: table)
        var start = values
        for _ in 0..<count {
            guard let column = try? FieldTable.next(span, &cursor), column.number <= number
            else { return nil }
            if column.number == number {
                return Field(
                    number: number, kind: column.kind, range: start..<start + column.length)
            }
            start += column.length
        }
        return nil
    }
}
