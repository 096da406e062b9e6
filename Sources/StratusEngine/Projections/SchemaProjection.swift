internal import StratusBytes
internal import StratusIndex
package import StratusJournal

extension EntryKind {
    package static let names = EntryKind(rawValue: 36)
}

/// The names of types and fields, and the kinds of fields. They are kept in memory.
struct SchemaProjection: Projection {
    package static let entries = [
        EntryForm(.names, "names", definesNumbers: true), EntryForm(.preamble, "preamble"),
    ]
    package static let keyspaces: [KeySpace] = []

    package mutating func apply(
        _ entry: inout FoldedEntry, _ payload: Span<UInt8>, to state: inout FoldState
    ) throws(FormatError) {
        let names = try SchemaAddition(payload)
        // All of a preamble is known from the segments before it.
        if entry.header.kind == .names { try state.numbers.add(names) }
    }

    package static func validate(
        _ payload: Span<UInt8>, of entry: JournalEntry, _ numbers: inout NumberCheck
    ) throws(FormatError) {
        let names = try SchemaAddition(payload)
        if entry.kind == .names { numbers.define(names) }
    }

    package static func describe(
        _ payload: Span<UInt8>, _ kind: EntryKind, _ schema: Schema
    ) throws(FormatError) -> EntryDescription {
        EntryDescription(detail: try SchemaAddition(payload).names.joined(separator: " "))
    }
}
