package import StratusBytes

/// The fields of a record as they lie in its entry, all checked, decoded one at a time.
package struct StoredFields: Sendable {
    /// The bytes of the entry, shared with it.
    package let bytes: [UInt8]
    private let table: FieldTable
    package let schema: Schema
    /// The fields that a fetch asked for; nil: all.
    package var visible: Set<UInt32>?

    package static let none = StoredFields()

    private init() {
        bytes = []
        table = .empty
        schema = .empty
    }

    /// Checks the field table, which begins at `cursor`, and every value; the payload ends at `end`.
    /// Fails where any of it cannot be decoded, so that no field is taken for absent. Without a
    /// schema the numbers of the fields are not checked; values are checked unless this process has
    /// just encoded them.
    package init(
        _ bytes: [UInt8], at cursor: ByteCursor, end: Int, schema: Schema?,
        checksValues: Bool = true
    ) throws(FormatError) {
        let span = bytes.span.extracting(0..<end)
        table = try FieldTable(span, at: cursor)
        self.bytes = bytes
        self.schema = schema ?? .empty
        if let schema { try checkNumbers(schema) }
        guard checksValues else { return }
        for place in 0..<table.count {
            try ValueFormat.check(span, in: table.range(place, span), table.kind(place, span))
        }
    }

    package var count: Int { table.count }
    /// Whether any of the fields is flagged as encrypted.
    package var hasEncrypted: Bool { table.hasEncrypted }
    /// Whether any of them is an asset, or a list of assets.
    package var hasAssets: Bool { table.hasAssets }

    /// Whether every field has a name; their numbers rise.
    package func checkNumbers(_ schema: Schema) throws(FormatError) {
        if nameCount > schema.nameCount { throw .value("field number") }
    }

    /// How many names there must be at least, for each field to have one.
    package var nameCount: Int { count == 0 ? 0 : Int(table.number(count - 1, bytes.span)) + 1 }

    /// What the field table says of a field, and where its value lies.
    package struct Field {
        package var number: UInt32
        package var kind: FieldKind
        package var range: Range<Int>
    }

    @inline(__always)
    private func field(at place: Int, _ bytes: Span<UInt8>) -> Field {
        Field(
            number: table.number(place, bytes), kind: table.kind(place, bytes),
            range: table.range(place, bytes))
    }

    /// Gives `body` every visible field in order of number, until it returns false.
    package func forEach(_ body: (Field) -> Bool) {
        let span = bytes.span
        for place in 0..<count {
            let field = field(at: place, span)
            if let visible, !visible.contains(field.number) { continue }
            guard body(field) else { return }
        }
    }

    package func field(_ number: UInt32) -> Field? {
        if let visible, !visible.contains(number) { return nil }
        let span = bytes.span
        return table.place(of: number, span).map { field(at: $0, span) }
    }
}
