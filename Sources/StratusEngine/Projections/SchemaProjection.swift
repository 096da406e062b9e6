internal import StratusBytes
internal import StratusIndex
package import StratusJournal

extension EntryKind {
    package static let names = EntryKind(rawValue: 36)
    package static let schema = EntryKind(rawValue: 48)
}

extension KeySpace {
    /// The schema that was declared last, at one key.
    package static var schemaText: KeySpace { KeySpace(31, "schemaText") }
}

/// The names of types and fields, and the kinds of fields, which are kept in memory; and the schema
/// as it was declared.
struct SchemaProjection: Projection {
    package static let entries = [
        EntryForm(.names, "names", definesNumbers: true, selection: .all),
        EntryForm(.preamble, "preamble"), EntryForm(.schema, "schema", selection: .all),
    ]
    package static let keyspaces: [KeySpace] = [.schemaText]

    package mutating func apply(
        _ entry: inout FoldedEntry, _ payload: Span<UInt8>, to state: inout FoldState
    ) throws(FormatError) {
        if entry.header.kind == .schema {
            _ = try SchemaTextEntry(payload)
            state.index.set(KeySpace.schemaText.key(), entry.location())
        } else if entry.header.kind == .preamble {
            // All that it says is known from the segments before it.
            _ = try SchemaPreamble(payload, at: entry.offset)
        } else {
            let addition = try SchemaAddition(payload)
            try state.numbers.add(addition, at: entry.offset)
            // What saves have prepared with a kind that a field has no more is prepared again.
            if addition.columns.contains(where: { $1 == nil }) {
                state.index.set(KeySpace.indexes.key(), IndexValue(stamp: entry.stamp))
            }
        }
    }

    package static func validate(
        _ payload: Span<UInt8>, of entry: JournalEntry, _ numbers: inout NumberCheck
    ) throws(FormatError) {
        if entry.kind == .schema {
            _ = try SchemaTextEntry(payload)
        } else if entry.kind == .preamble {
            numbers.use(try SchemaPreamble(payload, at: entry.offset))
        } else {
            numbers.define(try SchemaAddition(payload), at: entry.offset)
        }
    }

    package static func describe(
        _ payload: Span<UInt8>, _ kind: EntryKind, _ schema: Schema
    ) throws(FormatError) -> EntryDescription {
        if kind == .schema {
            let length = try SchemaTextEntry(payload).text.utf8.count
            return EntryDescription(detail: "\(length) bytes")
        }
        var words: [String]
        if kind == .preamble {
            let preamble = try SchemaPreamble(payload)
            words = preamble.names
            words += preamble.locations.map { "\($0.firstNumber)@\($0.offset)" }
        } else {
            words = try SchemaAddition(payload).names
        }
        return EntryDescription(detail: words.joined(separator: " "))
    }
}
