internal import StratusBytes
internal import StratusIndex
internal import StratusJournal

extension EntryKind {
    static let mark = EntryKind(rawValue: 37)
}

extension KeySpace {
    static var marks: KeySpace { KeySpace(22, "marks") }
}

extension IndexKey {
    static func mark(_ offset: JournalOffset) -> IndexKey {
        KeySpace.marks.key().appending(offset.rawValue)
    }
}

/// Marks, in the order of history.
struct MarkProjection: Projection {
    static let entries = [EntryForm(.mark, "mark")]
    static let keyspaces: [KeySpace] = [.marks]

    mutating func apply(
        _ entry: inout FoldedEntry, _ payload: Span<UInt8>, to state: inout FoldState
    ) throws(FormatError) {
        _ = try MarkEntry(payload)
        state.index.set(.mark(entry.offset), entry.location())
    }

    static func validate(
        _ payload: Span<UInt8>, of entry: JournalEntry, _ numbers: inout NumberCheck
    ) throws(FormatError) { _ = try MarkEntry(payload) }

    static func describe(
        _ payload: Span<UInt8>, _ kind: EntryKind, _ schema: Schema
    ) throws(FormatError) -> EntryDescription {
        EntryDescription(detail: try MarkEntry(payload).name)
    }
}
