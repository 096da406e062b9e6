internal import StratusBytes
internal import StratusIndex
package import StratusJournal

extension EntryKind {
    package static let historyPolicy = EntryKind(rawValue: 39)
    package static let deletionPolicy = EntryKind(rawValue: 45)
}

extension KeySpace {
    package static var historyPolicy: KeySpace { KeySpace(25, "historyPolicy") }
    package static var deletionPolicy: KeySpace { KeySpace(26, "deletionPolicy") }
}

/// The policies that say how much of the past is kept, and how long deletions are remembered.
struct HistoryProjection: Projection {
    package static let entries = [
        EntryForm(.historyPolicy, "history policy", beginsState: true, retention: .always),
        EntryForm(.deletionPolicy, "deletion policy"),
    ]
    package static let keyspaces: [KeySpace] = [.historyPolicy, .deletionPolicy]

    package mutating func apply(
        _ entry: inout FoldedEntry, _ payload: Span<UInt8>, to state: inout FoldState
    ) throws(FormatError) {
        if entry.header.kind == .deletionPolicy {
            state.deletions.set(
                try DeletionPolicyEntry(payload).policy, from: state.deletions.begin)
            state.index.set(KeySpace.deletionPolicy.key(), entry.location())
            return
        }
        let said = try HistoryPolicyEntry(payload)
        guard said.start <= entry.offset else { throw .value("start") }
        if state.history.isKept { state.noteForgotten() }
        state.keep { $0.set(said) }
        state.index.set(KeySpace.historyPolicy.key(), entry.location())
    }

    package static func validate(
        _ payload: Span<UInt8>, of entry: JournalEntry, _ numbers: inout NumberCheck
    ) throws(FormatError) {
        if entry.kind == .deletionPolicy {
            _ = try DeletionPolicyEntry(payload)
            return
        }
        guard try HistoryPolicyEntry(payload).start <= entry.offset else { throw .value("start") }
    }

    package static func describe(
        _ payload: Span<UInt8>, _ kind: EntryKind, _ schema: Schema
    ) throws(FormatError) -> EntryDescription {
        if kind == .deletionPolicy {
            return EntryDescription(detail: "\(try DeletionPolicyEntry(payload).policy)")
        }
        let entry = try HistoryPolicyEntry(payload)
        return EntryDescription(detail: "\(entry.policy), from \(entry.start)")
    }
}
