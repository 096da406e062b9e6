internal import StratusBytes
internal import StratusIndex
package import StratusJournal

extension EntryKind {
    package static let historyPolicy = EntryKind(rawValue: 39)
}

extension KeySpace {
    package static var historyPolicy: KeySpace { KeySpace(25, "historyPolicy") }
}

/// The policy that says how much of the past is kept.
struct HistoryProjection: Projection {
    package static let entries = [
        EntryForm(
            .historyPolicy, "history policy", beginsState: true, retention: .always,
            selection: .all)
    ]
    package static let keyspaces: [KeySpace] = [.historyPolicy]

    package mutating func apply(
        _ entry: inout FoldedEntry, _ payload: Span<UInt8>, to state: inout FoldState
    ) throws(FormatError) {
        let said = try HistoryPolicyEntry(payload)
        guard said.start <= entry.offset else { throw .value("start") }
        if state.history.isKept { state.noteForgotten() }
        state.keep { $0.set(said) }
        state.index.set(KeySpace.historyPolicy.key(), entry.location())
    }

    package static func validate(
        _ payload: Span<UInt8>, of entry: JournalEntry, _ numbers: inout NumberCheck
    ) throws(FormatError) {
        guard try HistoryPolicyEntry(payload).start <= entry.offset else { throw .value("start") }
    }

    package static func describe(
        _ payload: Span<UInt8>, _ kind: EntryKind, _ schema: Schema
    ) throws(FormatError) -> EntryDescription {
        let entry = try HistoryPolicyEntry(payload)
        return EntryDescription(detail: "\(entry.policy), from \(entry.start)")
    }
}
