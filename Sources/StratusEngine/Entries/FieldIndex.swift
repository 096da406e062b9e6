package import StratusBytes
package import StratusJournal
internal import StratusLanguage

/// An index on fields of a record type, which the schema declares: `Formats/Record.md`, "Index".
package struct FieldIndex: Hashable, Sendable {
    /// What the keys say of the values.
    package enum Form: UInt8, Hashable, Sendable {
        /// A hash of each string, reference or byte string: they are found by equality.
        case hash = 1
        /// A number or date in order, or that there is none.
        case number = 2
        /// The beginning of a string in order, or that there is none.
        case prefix = 3
        /// A hash of each word of a text.
        case word = 4
        /// The cell of a place on the earth.
        case cell = 5
        /// The values of all columns, which no two records of a zone have in common.
        case digest = 6
    }

    package enum State: UInt8, Hashable, Sendable {
        /// Saves keep it, and it does not have all records yet.
        case building = 1
        case complete = 2
        /// It is kept no more, and its number is not used again.
        case dropped = 3
    }

    /// From 0 on, in the order in which indexes were declared.
    package var number: UInt32
    package var type: UInt32
    /// The columns before `field`, as numbers of names and system fields: records that agree in them have
    /// their rows together.
    package var leading: [UInt32]
    package var field: UInt32
    /// Those of the columns whose strings count as bytes, not folded.
    package var binaryColumns: Set<UInt32>
    package var form: Form
    package var state: State

    /// Beside the number of such a column.
    private static let binaryBit: UInt32 = 1 << 17
    /// So many columns at most.
    package static let columnLimit = SchemaDocument.Index.columnLimit

    package init(
        number: UInt32, type: UInt32, leading: [UInt32] = [], field: UInt32,
        binaryColumns: Set<UInt32> = [], form: Form, state: State = .building
    ) {
        self.number = number
        self.type = type
        self.leading = leading
        self.field = field
        self.binaryColumns = binaryColumns
        self.form = form
        self.state = state
    }

    package var columns: [UInt32] { leading + [field] }

    package var isUnique: Bool { form == .digest }

    /// Whether the strings of the last column count as bytes, not folded.
    package var isBinary: Bool { binaryColumns.contains(field) }

    /// Whether its rows are of one field, and have the values of its form.
    package var isPlain: Bool { leading.isEmpty && !isUnique }

    /// Whether both are the same but for number and state.
    package func isLike(_ other: FieldIndex) -> Bool {
        type == other.type && field == other.field && form == other.form
            && leading == other.leading && binaryColumns == other.binaryColumns
    }

    package func write(to writer: inout ByteWriter) {
        writer.varint(number)
        writer.uint8(state.rawValue)
        writer.varint(type)
        writer.varint(leading.count)
        for column in columns {
            writer.varint(column | (binaryColumns.contains(column) ? Self.binaryBit : 0))
        }
        writer.uint8(form.rawValue)
    }

    package init(_ bytes: Span<UInt8>) throws(FormatError) {
        var cursor = ByteCursor()
        try self.init(bytes, &cursor)
        try cursor.end(bytes)
    }

    package init(_ bytes: Span<UInt8>, _ cursor: inout ByteCursor) throws(FormatError) {
        number = try cursor.varint32(bytes)
        guard number < IndexTable.limit else { throw .value("index number") }
        guard let state = State(rawValue: try cursor.uint8(bytes)) else { throw .newer("state") }
        self.state = state
        type = try cursor.varint32(bytes)
        let count = try cursor.varint32(bytes)
        guard count < Self.columnLimit else { throw .value("index columns") }
        var columns: [UInt32] = []
        binaryColumns = []
        for _ in 0...count {
            let stated = try cursor.varint32(bytes)
            columns.append(stated & ~Self.binaryBit)
            if stated & Self.binaryBit != 0 { binaryColumns.insert(stated & ~Self.binaryBit) }
        }
        field = columns.removeLast()
        leading = columns
        guard let form = Form(rawValue: try cursor.uint8(bytes)) else { throw .newer("form") }
        self.form = form
        guard type < Schema.nameLimit, self.columns.allSatisfy(Schema.isColumn) else {
            throw .value("index field")
        }
        guard Set(self.columns).count == leading.count + 1, leading.isEmpty || form.endsColumns
        else {
            throw .value("index columns")
        }
    }
}

/// The indexes of a store. A value that changes rarely, shared by all states in between.
package final class IndexTable: Sendable {
    /// So many are ever declared in a store.
    package static let limit = 1 << 16
    package static let empty = IndexTable([], completeFrom: [])

    /// By their numbers, those that were dropped too.
    package let all: [FieldIndex]
    /// From which offset on each has all records; nil while it is being built.
    private let completeFrom: [JournalOffset?]
    /// Those that saves keep.
    private let byType: [UInt32: [FieldIndex]]

    private init(_ all: [FieldIndex], completeFrom: [JournalOffset?]) {
        self.all = all
        self.completeFrom = completeFrom
        byType = Dictionary(grouping: all.filter { $0.state != .dropped }, by: \.type)
    }

    /// The indexes of a type that saves keep.
    package func of(type: UInt32) -> [FieldIndex] { byType.isEmpty ? [] : byType[type] ?? [] }

    /// Whether saves keep the index of that number.
    package func isKept(_ number: UInt32) -> Bool {
        number < all.count && all[Int(number)].state != .dropped
    }

    /// Whether no two records of a zone have the values of a row of that number.
    package func isUnique(_ number: UInt32) -> Bool {
        number < all.count && all[Int(number)].isUnique
    }

    /// Whether the index of that number has all records of a state whose last entry may lie there.
    package func isComplete(_ number: UInt32, at last: UInt64) -> Bool {
        guard number < all.count, let from = completeFrom[Int(number)] else { return false }
        return from.rawValue <= last
    }

    /// Whether the rows of that number say nothing of such a state, and depend on what was kept of the
    /// journal.
    package func areRowsLoose(_ number: UInt32, at last: UInt64) -> Bool {
        number < all.count && !isComplete(number, at: last)
    }

    /// With what an entry at `offset` says: a new index has the next number, and of one that is there
    /// only the state changes.
    package func setting(
        _ index: FieldIndex, at offset: JournalOffset
    ) throws(FormatError) -> IndexTable {
        let place = Int(index.number)
        guard place <= all.count else { throw .value("index number") }
        var (all, completeFrom) = (all, completeFrom)
        if place == all.count {
            all.append(index)
            completeFrom.append(nil)
        } else {
            var known = all[place]
            known.state = index.state
            guard known == index, all[place].state != .dropped else { throw .value("index") }
            all[place] = index
        }
        if index.state == .complete {
            completeFrom[place] = completeFrom[place] ?? offset
        } else {
            completeFrom[place] = nil
        }
        return IndexTable(all, completeFrom: completeFrom)
    }

    /// With one more, of which it is not known yet where its entry will lie.
    package func declaring(_ index: FieldIndex) -> IndexTable {
        IndexTable(all + [index], completeFrom: completeFrom + [nil])
    }

    /// As a checkpoint keeps them.
    package func write(to writer: inout ByteWriter) {
        writer.varint(all.count)
        for (index, from) in zip(all, completeFrom) {
            index.write(to: &writer)
            writer.varint(from?.rawValue ?? 0)
        }
    }

    package convenience init(
        _ bytes: Span<UInt8>, _ cursor: inout ByteCursor
    ) throws(FormatError) {
        let count = try cursor.count(bytes, upTo: min(Self.limit, cursor.remaining(bytes) / 7))
        var all: [FieldIndex] = []
        var completeFrom: [JournalOffset?] = []
        for number in 0..<count {
            let index = try FieldIndex(bytes, &cursor)
            guard index.number == number else { throw .value("index number") }
            all.append(index)
            let from = JournalOffset(rawValue: try cursor.varint(bytes))
            completeFrom.append(from == .zero ? nil : from)
        }
        self.init(all, completeFrom: completeFrom)
    }
}

extension IndexTable: Equatable {
    package static func == (left: IndexTable, right: IndexTable) -> Bool {
        left.all == right.all && left.completeFrom == right.completeFrom
    }
}
