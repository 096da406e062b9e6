internal import StratusBytes
package import StratusIndex
package import StratusJournal

extension EntryKind {
    package static let mark = EntryKind(rawValue: 37)
    package static let markRemoval = EntryKind(rawValue: 38)
}

extension KeySpace {
    package static var marks: KeySpace { KeySpace(22, "marks") }
}

extension IndexKey {
    /// The mark of that offset or, once that was removed, what removed it.
    package static func mark(_ offset: JournalOffset) -> IndexKey {
        KeySpace.marks.key().appending(offset.rawValue)
    }
}

/// Marks, in the order of history.
struct MarkProjection: Projection {
    package static let entries = [
        EntryForm(.mark, "mark", beginsState: true, retention: .always, selection: .all),
        // What it takes away may still be there, in what is read before.
        EntryForm(.markRemoval, "mark removal", retention: .always, selection: .all),
    ]
    package static let keyspaces: [KeySpace] = [.marks]

    package mutating func apply(
        _ entry: inout FoldedEntry, _ payload: Span<UInt8>, to state: inout FoldState
    ) throws(FormatError) {
        if entry.header.kind == .markRemoval {
            let removal = try MarkRemovalEntry(payload)
            guard removal.offset <= entry.offset else { throw .value("offset") }
            state.keep { $0.removeMark(at: removal.offset) }
            state.noteForgotten()
            state.index.set(.mark(removal.offset), entry.location(isDeleted: true))
            return
        }
        let mark = try MarkEntry(payload)
        guard mark.offset <= entry.offset else { throw .value("offset") }
        state.keep { $0.addMark(at: mark.offset) }
        state.index.set(.mark(mark.offset), entry.location())
    }

    package static func validate(
        _ payload: Span<UInt8>, of entry: JournalEntry, _ numbers: inout NumberCheck
    ) throws(FormatError) {
        let offset =
            entry.kind == .mark
            ? try MarkEntry(payload).offset : try MarkRemovalEntry(payload).offset
        guard offset <= entry.offset else { throw .value("offset") }
    }

    package static func describe(
        _ payload: Span<UInt8>, _ kind: EntryKind, _ schema: Schema
    ) throws(FormatError) -> EntryDescription {
        if kind == .markRemoval {
            return EntryDescription(detail: "mark at \(try MarkRemovalEntry(payload).offset)")
        }
        return EntryDescription(detail: try MarkEntry(payload).name)
    }
}
