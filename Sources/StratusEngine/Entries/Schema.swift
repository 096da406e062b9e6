package import StratusBytes
package import StratusJournal

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

    private struct Name: Sendable {
        var text: String
        /// Where the entry `names` lies that brought it.
        var entry: JournalOffset

        var hash: UInt64 { Checksum.quick(text) }
    }

    private let names: NumberTable<Name>
    /// The kinds of fields, in the order in which they were fixed.
    private let columns: NumberTable<(column: Column, kind: FieldKind)>
    /// The fields whose strings are compared by their bytes, not folded.
    package let binaryColumns: Set<Column>

    /// All are kept in memory and in the state of each checkpoint, which has 32 MiB: so many of the
    /// longest, with as many fields as there may be, take three quarters of that.
    package static let nameLimit = 1 << 16
    /// Fields of types.
    package static let columnLimit = 1 << 20
    package static let empty = Schema(
        names: NumberTable(), columns: NumberTable(), binaryColumns: [])

    private init(
        names: NumberTable<Name>, columns: NumberTable<(column: Column, kind: FieldKind)>,
        binaryColumns: Set<Column>
    ) {
        self.names = names
        self.columns = columns
        self.binaryColumns = binaryColumns
    }

    /// Everything at once, the names being those of the entries at `locations`.
    package convenience init(_ whole: SchemaAddition, at locations: [NamesLocation]) {
        var names = NumberTable<Name>()
        var columns = NumberTable<(column: Column, kind: FieldKind)>()
        let ends = locations.dropFirst().map { Int($0.firstNumber) } + [whole.names.count]
        for (location, end) in zip(locations, ends) {
            let new = whole.names[Int(location.firstNumber)..<end]
            names.append(new.map { Name(text: $0, entry: location.offset) }, hash: \.hash)
        }
        columns.append(whole.kinds, hash: \.column.hash)
        self.init(names: names, columns: columns, binaryColumns: whole.binaryColumns)
    }

    package var nameCount: Int { names.count }
    package var columnCount: Int { columns.count }

    package func name(_ number: UInt32) -> String? {
        number < names.count ? names[Int(number)].text : nil
    }

    package func number(_ name: String) -> UInt32? {
        names.number(Checksum.quick(name)) { $0.text == name }.map { UInt32($0) }
    }

    /// The kind that a field of a type was given, where it was.
    package func kind(of column: Column) -> FieldKind? {
        columns.number(column.hash) { $0.column == column }.map { columns[$0].kind }
    }

    /// The fields of a type and their kinds, in the order in which they were fixed.
    package func fields(of type: UInt32) -> [(field: UInt32, kind: FieldKind)] {
        columns.elements.compactMap { $0.column.type == type ? ($0.column.field, $0.kind) : nil }
    }

    /// Whether a name is that of a type: it has fields, or is the name of none.
    package func mayBeType(_ number: UInt32) -> Bool {
        columns.contains { $0.column.type == number }
            || !columns.contains { $0.column.field == number }
    }

    /// Everything, as an addition to nothing.
    package var whole: SchemaAddition {
        var addition = SchemaAddition(firstNumber: 0)
        addition.names = names.elements.map(\.text)
        addition.columns = columns.elements.map { ($0.column, $0.kind) }
        addition.binaryColumns = binaryColumns
        return addition
    }

    /// With what the entry at `offset` brings.
    package func adding(_ addition: SchemaAddition, at offset: JournalOffset) -> Schema {
        var (names, columns, binaryColumns) = (names, columns, binaryColumns)
        names.append(addition.names.map { Name(text: $0, entry: offset) }, hash: \.hash)
        let forgotten = Set(addition.columns.compactMap { $1 == nil ? $0 : nil })
        if !forgotten.isEmpty {
            let kept = columns.elements.filter { !forgotten.contains($0.column) }
            columns = NumberTable()
            columns.append(kept, hash: \.column.hash)
            binaryColumns.subtract(forgotten)
        }
        let new = addition.kinds.filter { new in
            columns.number(new.column.hash) { $0.column == new.column } == nil
        }
        columns.append(new, hash: \.column.hash)
        for (column, _) in new where addition.binaryColumns.contains(column) {
            binaryColumns.insert(column)
        }
        return Schema(names: names, columns: columns, binaryColumns: binaryColumns)
    }
}

// Where the names stand in the journal.
extension Schema {
    /// Of the entries that have names, in their order.
    package var locations: [NamesLocation] {
        var found: [NamesLocation] = []
        for (number, name) in names.elements.enumerated() where name.entry != found.last?.offset {
            found.append(NamesLocation(firstNumber: UInt32(number), offset: name.entry))
        }
        return found
    }

    /// Whether an entry that lies there has this number as its first.
    package func has(_ location: NamesLocation) -> Bool {
        let number = Int(location.firstNumber)
        guard number < names.count, names[number].entry == location.offset else { return false }
        return number == 0 || names[number - 1].entry != location.offset
    }

    /// What a segment begins with, in at most `limit` bytes, which are 256 or more; nothing while
    /// nothing has a name.
    package func preamble(limit: Int) -> [UInt8] {
        if names.count == 0 { return [] }
        var preamble = SchemaPreamble(nameCount: names.count)
        let room = limit - SchemaAddition.countsLength
        preamble.names = names(upTo: room)
        if preamble.names.count < names.count {
            preamble.names = names(upTo: room - limit / 4)
            preamble.locations = locations(from: preamble.names.count, upTo: limit / 4)
        }
        var writer = ByteWriter()
        preamble.write(to: &writer)
        return writer.bytes
    }

    /// As many names, from number 0 on, as take at most `limit` bytes with their lengths.
    private func names(upTo limit: Int) -> [String] {
        var found: [String] = []
        var length = 0
        for number in 0..<names.count {
            let name = names[number].text
            length += SchemaAddition.lengthOf(name)
            if length > limit { break }
            found.append(name)
        }
        return found
    }

    /// The locations of the entries with the names from `number` on; where these take more than
    /// `limit` bytes every second, fourth, … of them.
    private func locations(from number: Int, upTo limit: Int) -> [NamesLocation] {
        let all = locations
        let start = all.lastIndex { $0.firstNumber <= number } ?? 0
        var step = 1
        while true {
            let some = stride(from: start, to: all.count, by: step).map { all[$0] }
            if some.reduce(0, { $0 + $1.lengthInBytes }) <= limit { return some }
            step *= 2
        }
    }
}

/// Names and columns that a commit brings with it: the entry `names` of `Formats/Record.md`.
package struct SchemaAddition: Sendable, Equatable {
    /// The number of the first name; the others follow.
    package var firstNumber: UInt32
    package var names: [String] = []
    /// Without a kind: the field has none any more, until a later addition gives it one.
    package var columns: [(Schema.Column, FieldKind?)] = []
    /// Those of them whose strings are compared by their bytes.
    package var binaryColumns: Set<Schema.Column> = []

    /// Beside the kind of such a column.
    private static let binaryBit: UInt8 = 0x80

    /// What its three numbers take, and those of a preamble, at most, in bytes.
    package static let countsLength = 3 + 3 + 3
    /// What a column takes, at most, in bytes.
    package static let columnLength = 3 + 3 + 1

    /// What a name takes, in bytes.
    package static func lengthOf(_ name: String) -> Int {
        ByteWriter.varintLength(UInt64(name.utf8.count)) + name.utf8.count
    }

    package var isEmpty: Bool { names.isEmpty && columns.isEmpty }

    /// The columns that are given a kind.
    package var kinds: [(column: Schema.Column, kind: FieldKind)] {
        columns.compactMap { column, kind in kind.map { (column, $0) } }
    }

    package static func == (left: SchemaAddition, right: SchemaAddition) -> Bool {
        left.firstNumber == right.firstNumber && left.names == right.names
            && left.columns.elementsEqual(right.columns, by: ==)
            && left.binaryColumns == right.binaryColumns
    }

    package func write(to writer: inout ByteWriter) {
        writer.varint(firstNumber)
        writer.varint(names.count)
        for name in names { writer.countedText(name) }
        writer.varint(columns.count)
        for (column, kind) in columns {
            writer.varint(column.type)
            writer.varint(column.field)
            let isBinary = kind != nil && binaryColumns.contains(column)
            writer.uint8((kind?.rawValue ?? 0) | (isBinary ? Self.binaryBit : 0))
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
        var areBinary: [Bool] = []
        for _ in 0..<columnCount {
            let type = try cursor.varint32(bytes)
            let field = try cursor.varint32(bytes)
            guard max(type, field) < Schema.nameLimit else { throw .value("column") }
            let column = Schema.Column(type: type, field: field)
            let byte = try cursor.uint8(bytes)
            let kind = FieldKind(rawValue: byte & ~Self.binaryBit)
            guard kind != nil || byte == 0 else { throw .newer("field kind") }
            let isBinary = byte & Self.binaryBit != 0
            guard !isBinary || kind?.canBeBinary == true else { throw .value("collation") }
            columns.append((column, kind))
            areBinary.append(isBinary)
        }
        try cursor.end(bytes)
        // Of several columns of one field the first counts.
        for place in columns.indices.reversed() where columns[place].1 != nil {
            if areBinary[place] {
                binaryColumns.insert(columns[place].0)
            } else {
                binaryColumns.remove(columns[place].0)
            }
        }
    }
}
