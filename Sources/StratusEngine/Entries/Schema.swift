package import StratusBytes

/// The names of record types and fields with their numbers, and the kind of each field of a type.
///
/// One schema serves all databases of a store, as in CloudKit. A value: it changes rarely, and a
/// reader keeps the one it began with.
package final class Schema: Sendable {
    package struct Column: Hashable, Sendable {
        package var type: UInt32
        package var field: UInt32

        package init(type: UInt32, field: UInt32) {
            self.type = type
            self.field = field
        }

        /// Spreads the two small numbers over all bits.
        fileprivate var hash: UInt64 {
            let product = (UInt64(type) << 32 | UInt64(field)) &* 0x9e37_79b9_7f4a_7c15
            return product ^ product >> 32
        }
    }

    /// By number.
    package let names: [String]
    /// The kinds of fields, in the order in which they were fixed.
    package let columns: [(column: Column, kind: FieldKind)]
    private let numbers: NumberTable
    private let columnPlaces: NumberTable
    /// What all names take in a preamble, at most.
    package let lengthInBytes: Int
    /// All names with their numbers, as every segment begins with them.
    package let preamble: [UInt8]

    package static let nameLimit = 1 << 16
    /// Fields of types.
    package static let columnLimit = 1 << 20
    /// What a name takes in a preamble beside its text, at most.
    package static let nameOverhead = 5
    /// Of all names together in a preamble, in bytes.
    package static let lengthLimit = 8 << 20
    package static let empty = Schema(names: [], columns: [])

    private init(names: [String], columns: [(Column, FieldKind)]) {
        self.names = names
        self.columns = columns
        numbers = NumberTable(names.map { Checksum.quick($0) })
        columnPlaces = NumberTable(columns.map { $0.0.hash })
        var all = SchemaAddition(firstNumber: 0)
        all.names = names
        var writer = ByteWriter()
        if !names.isEmpty { all.write(to: &writer) }
        preamble = writer.bytes
        lengthInBytes = names.reduce(8) { $0 + $1.utf8.count + Self.nameOverhead }
    }

    package func name(_ number: UInt32) -> String? {
        number < names.count ? names[Int(number)] : nil
    }

    package func number(_ name: String) -> UInt32? {
        numbers.place(Checksum.quick(name)) { names[$0] == name }.map { UInt32($0) }
    }

    /// The kind that a field of a type was given, where it was.
    package func kind(of column: Column) -> FieldKind? {
        columnPlaces.place(column.hash) { columns[$0].column == column }.map { columns[$0].kind }
    }

    /// Whether a name is that of a type: it has fields, or is the name of none.
    package func mayBeType(_ number: UInt32) -> Bool {
        columns.contains { $0.column.type == number }
            || !columns.contains { $0.column.field == number }
    }

    /// Everything, as an addition to nothing.
    package var whole: SchemaAddition {
        var addition = SchemaAddition(firstNumber: 0)
        addition.names = names
        addition.columns = columns
        return addition
    }

    package func adding(_ addition: SchemaAddition) -> Schema {
        let new = addition.columns.filter { kind(of: $0.0) == nil }
        return Schema(names: names + addition.names, columns: columns + new)
    }
}

/// Names and columns that a commit brings with it: the entry `names` of `Formats/Record.md`.
package struct SchemaAddition: Sendable, Equatable {
    /// The number of the first name; the others follow.
    package var firstNumber: UInt32
    package var names: [String] = []
    package var columns: [(Schema.Column, FieldKind)] = []

    package var isEmpty: Bool { names.isEmpty && columns.isEmpty }

    package static func == (left: SchemaAddition, right: SchemaAddition) -> Bool {
        left.firstNumber == right.firstNumber && left.names == right.names
            && left.columns.elementsEqual(right.columns, by: ==)
    }

    package func write(to writer: inout ByteWriter) {
        writer.varint(firstNumber)
        writer.varint(names.count)
        for name in names { writer.countedText(name) }
        writer.varint(columns.count)
        for (column, kind) in columns {
            writer.varint(column.type)
            writer.varint(column.field)
            writer.uint8(kind.rawValue)
        }
    }

    package init(firstNumber: UInt32) { self.firstNumber = firstNumber }

    package init(_ bytes: Span<UInt8>) throws(FormatError) {
        var cursor = ByteCursor()
        firstNumber = try cursor.varint32(bytes)
        let nameCount = try cursor.count(bytes, upTo: cursor.remaining(bytes))
        guard Int(firstNumber) + nameCount <= Schema.nameLimit else { throw .value("names") }
        for _ in 0..<nameCount { names.append(try cursor.text(bytes, upTo: 255)) }
        let columnCount = try cursor.count(bytes, upTo: cursor.remaining(bytes))
        for _ in 0..<columnCount {
            let type = try cursor.varint32(bytes)
            let field = try cursor.varint32(bytes)
            guard max(type, field) < Schema.nameLimit else { throw .value("column") }
            guard let kind = FieldKind(rawValue: try cursor.uint8(bytes)) else {
                throw .value("field kind")
            }
            columns.append((Schema.Column(type: type, field: field), kind))
        }
        try cursor.end(bytes)
    }
}
