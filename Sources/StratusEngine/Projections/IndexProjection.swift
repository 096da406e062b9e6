package import StratusBytes
package import StratusIndex
package import StratusJournal

extension EntryKind {
    package static let index = EntryKind(rawValue: 46)
    package static let builtRows = EntryKind(rawValue: 47)
}

extension KeySpace {
    /// The rows of declared indexes. The first word of a row is 1 where the row was built for a record
    /// that was there before the index, otherwise 0.
    package static var declared: KeySpace {
        KeySpace(7, "declared", names: .built, isRestated: true, groups: .ofValue)
    }
    /// The last change of any index, at one key.
    package static var indexes: KeySpace { KeySpace(30, "indexes", names: .elsewhere) }
}

extension KeyGrouping {
    /// The rows that have one value of 16 bytes: those of a unique index, or of one on several fields that
    /// ends with a hash. The values of an index are equally long.
    fileprivate static let ofValue = KeyGrouping(prefixLength: 25, keyLength: 41)
}

extension IndexTable {
    /// The rows of those that are kept no more, which no state is asked with; nil: there are none.
    package var dropped: DroppedKeys? {
        let numbers = all.filter { $0.state == .dropped }.map(\.number)
        return numbers.isEmpty
            ? nil
            : DroppedKeys(keyspace: KeySpace.declared.rawValue, numbers: Set(numbers))
    }
}

extension IndexKey {
    /// The prefix of the rows of an index in a zone.
    package static func declared(_ zone: UInt32, _ index: UInt32) -> IndexKey {
        KeySpace.declared.key(zone: zone).appending(index)
    }
    /// The prefix of the rows that have a value there.
    package static func declared(
        _ zone: UInt32, _ index: UInt32, _ value: IndexedValue
    ) -> IndexKey {
        value.appended(to: declared(zone, index))
    }
    /// The index that a row is of; nil of other keys.
    package var declaredIndex: UInt32? {
        keyspace == KeySpace.declared.rawValue && count >= 9 ? uint32(at: 5) : nil
    }
    /// What a row of a declared index has of the value.
    package var indexedValue: IndexedValue {
        var writer = ByteWriter(capacity: IndexedValue.lengthLimit)
        for place in 9..<max(9, count - 16) { writer.uint8(byte(at: place)) }
        let bytes = writer.bytes
        return IndexedValue(bytes.span)
    }
    /// The number that a row of an index of numbers has, in the order of numbers; nil: none.
    package var indexedNumber: UInt64? { count >= 18 && byte(at: 9) == 1 ? uint64(at: 10) : nil }
    /// The record that a row of a declared index, or of a type, is of; nil where the key is too short.
    package var namedRecord: Hash128? {
        guard count >= 25 else { return nil }
        return Hash128(high: uint64(at: count - 16), low: uint64(at: count - 8))
    }
}

/// Declared indexes. What a record or tombstone adds to them and removes stands in its entry, so that
/// nothing is folded, divided into words or read here: `Formats/Record.md`, "Index rows".
struct IndexProjection: Projection {
    package static let entries = [
        EntryForm(.index, "index", definesNumbers: true, selection: .all),
        EntryForm(.builtRows, "built rows", isInZone: true),
    ]
    package static let alsoReads: [EntryKind] = [.record, .tombstone]
    package static let keyspaces: [KeySpace] = [.declared, .indexes]

    package mutating func apply(
        _ entry: inout FoldedEntry, _ payload: Span<UInt8>, to state: inout FoldState
    ) throws(FormatError) {
        switch entry.header.kind {
        case .index:
            let index = try FieldIndex(payload)
            guard index.numbers.allSatisfy({ $0 < state.schema.nameCount }) else {
                throw .value("index field")
            }
            state.indexes = try state.indexes.setting(index, at: entry.offset)
            state.index.set(KeySpace.indexes.key(), IndexValue(stamp: entry.stamp))
        case .builtRows: try addBuiltRows(entry, payload, &state)
        case .tombstone:
            let tombstone = try entry.tombstone(payload)
            if let standing = tombstone.standing {
                try removeAll(of: standing, tombstone.name, entry, &state)
            } else {
                for row in tombstone.entry.indexRows.rows {
                    apply(row, tombstone.name, entry, &state)
                }
            }
        default: try update(entry.record(payload), entry, payload, &state)
        }
    }

    private func update(
        _ record: FoldedRecord, _ entry: borrowing FoldedEntry, _ payload: Span<UInt8>,
        _ state: inout FoldState
    ) throws(FormatError) {
        if let standing = record.standing {
            // The entry says what differs from a version that is not there.
            try removeAll(of: standing, record.name, entry, &state)
            let indexes = state.indexes.of(type: record.head.type)
            if indexes.isEmpty { return }
            var writer = ByteWriter(capacity: payload.count)
            writer.append(payload)
            // Damaged fields are found where they are asked for.
            guard
                let fields = try? StoredFields(
                    writer.bytes, at: record.fields, end: payload.count, schema: nil)
            else { return }
            for row in try IndexStatement(allOf: record.head, fields, indexes).rows {
                apply(row, record.name, entry, &state)
            }
        } else if let place = record.head.indexRows {
            var cursor = ByteCursor(at: place.lowerBound)
            for row in try IndexStatement(payload, &cursor).rows {
                apply(row, record.name, entry, &state)
            }
        }
    }

    private func removeAll(
        of standing: Standing, _ name: Hash128, _ entry: borrowing FoldedEntry,
        _ state: inout FoldState
    ) throws(FormatError) {
        guard let head = standing.head, let fields = standing.fields else { return }
        let indexes = state.indexes.of(type: head.type)
        for row in try IndexStatement(allOf: head, fields, indexes, isRemoved: true).rows {
            apply(row, name, entry, &state)
        }
    }

    /// Of an index that is kept no more nothing is said.
    private func apply(
        _ row: IndexStatement.Row, _ name: Hash128, _ entry: borrowing FoldedEntry,
        _ state: inout FoldState
    ) {
        guard state.indexes.isKept(row.index) else { return }
        let key = IndexKey.declared(entry.zone, row.index, row.value).appending(name)
        if row.isRemoved {
            state.index.remove(key, at: entry.stamp)
        } else {
            state.index.set(key, IndexValue(stamp: entry.stamp))
        }
    }

    private func addBuiltRows(
        _ entry: borrowing FoldedEntry, _ payload: Span<UInt8>, _ state: inout FoldState
    ) throws(FormatError) {
        let rows = try BuiltRowsEntry(payload)
        guard state.indexes.isKept(rows.index) else { return }
        for record in rows.records where !entry.isOutdated(record.name) {
            for value in record.values {
                let key = IndexKey.declared(entry.zone, rows.index, value).appending(record.name)
                state.index.set(key, IndexValue(stamp: entry.stamp, first: 1))
            }
        }
    }

    package static func validate(
        _ payload: Span<UInt8>, of entry: JournalEntry, _ numbers: inout NumberCheck
    ) throws(FormatError) {
        if entry.kind == .builtRows {
            _ = try BuiltRowsEntry(payload)
            return
        }
        let index = try FieldIndex(payload)
        for number in index.numbers { numbers.useType(number) }
        numbers.define(index, at: entry.offset)
    }

    package static func describe(
        _ payload: Span<UInt8>, _ kind: EntryKind, _ schema: Schema
    ) throws(FormatError) -> EntryDescription {
        if kind == .builtRows {
            let rows = try BuiltRowsEntry(payload)
            return EntryDescription(detail: "index \(rows.index), records \(rows.records.count)")
        }
        let index = try FieldIndex(payload)
        let columns = index.columns.map { schema.columnName($0) ?? "\($0)" }
        return EntryDescription(
            recordType: schema.name(index.type),
            detail: "index \(index.number), \(index.state), \(index.form) of "
                + columns.joined(separator: ", "))
    }
}

extension FieldIndex {
    /// All numbers of names that it uses.
    fileprivate var numbers: [UInt32] { [type] + columns.filter { $0 < Schema.nameLimit } }
}
