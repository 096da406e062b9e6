internal import StratusBytes
package import StratusIndex
package import StratusJournal

extension EntryKind {
    package static let mark = EntryKind(rawValue: 37)
}

extension KeySpace {
    package static var marks: KeySpace { KeySpace(22, "marks") }
}

extension IndexKey {
    package static func mark(_ offset: JournalOffset) -> IndexKey {
        KeySpace.marks.key().appending(offset.rawValue)
    }
}

/// Marks, in the order of history.
struct MarkProjection: Projection {
    package static let entries = [EntryForm(.mark, "mark")]
    package static let keyspaces: [KeySpace] = [.marks]

    package mutating func apply(
        _ entry: inout FoldedEntry, _ payload: Span<UInt8>, to state: inout FoldState
    ) throws(FormatError) {
        _ = try MarkEntry(payload)
        state.index.set(.mark(entry.offset), entry.location())
    }

    package static func validate(
        _ payload: Span<UInt8>, of entry: JournalEntry, _ numbers: inout NumberCheck
    ) throws(FormatError) { _ = try MarkEntry(payload) }

    package static func describe(
        _ payload: Span<UInt8>, _ kind: EntryKind, _ schema: Schema
    ) throws(FormatError) -> EntryDescription {
        EntryDescription(detail: try MarkEntry(payload).name)
    }
}
