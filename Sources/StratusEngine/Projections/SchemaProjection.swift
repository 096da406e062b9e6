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
        if entry.header.kind == .preamble {
            // All that it says is known from the segments before it.
            _ = try SchemaPreamble(payload, at: entry.offset)
        } else {
            try state.numbers.add(SchemaAddition(payload), at: entry.offset)
        }
    }

    package static func validate(
        _ payload: Span<UInt8>, of entry: JournalEntry, _ numbers: inout NumberCheck
    ) throws(FormatError) {
        if entry.kind == .preamble {
            numbers.use(try SchemaPreamble(payload, at: entry.offset))
        } else {
            numbers.define(try SchemaAddition(payload), at: entry.offset)
        }
    }

    package static func describe(
        _ payload: Span<UInt8>, _ kind: EntryKind, _ schema: Schema
    ) throws(FormatError) -> EntryDescription {
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
