internal import StratusBytes
internal import StratusIndex
package import StratusJournal

extension EntryKind {
    package static let horizon = EntryKind(rawValue: 44)
    package static let deletionPolicy = EntryKind(rawValue: 45)
}

extension KeySpace {
    /// That of a zone, at ``StratusIndex/IndexKey/horizon(ofPartition:)``: the first word is the
    /// last deletion that is forgotten. ``SharingProjection`` repeats it for the shares of the zone,
    /// without the length of the entry.
    package static var horizons: KeySpace { KeySpace(0, "horizons", isRestated: true) }
    package static var deletionPolicy: KeySpace { KeySpace(26, "deletionPolicy") }
}

/// How long deletions are remembered, and which are forgotten.
struct DeletionProjection: Projection {
    package static let entries = [
        EntryForm(.horizon, "horizon", isInZone: true),
        EntryForm(.deletionPolicy, "deletion policy", selection: .all),
    ]
    package static let keyspaces: [KeySpace] = [.horizons, .deletionPolicy]

    package mutating func apply(
        _ entry: inout FoldedEntry, _ payload: Span<UInt8>, to state: inout FoldState
    ) throws(FormatError) {
        var value = entry.location()
        if entry.header.kind == .horizon {
            value.first = try Self.through(payload, entry.offset).rawValue
            state.index.set(.horizon(ofPartition: entry.zone), value)
        } else {
            let policy = try DeletionPolicyEntry(payload).policy
            state.deletions.set(policy, from: state.deletions.begin)
            state.index.set(KeySpace.deletionPolicy.key(), value)
        }
    }

    /// What an entry of a horizon at `offset` says.
    private static func through(
        _ payload: Span<UInt8>, _ offset: JournalOffset
    ) throws(FormatError) -> JournalOffset {
        let through = try HorizonEntry(payload).through
        guard through < offset else { throw .value("through") }
        return through
    }

    package static func validate(
        _ payload: Span<UInt8>, of entry: JournalEntry, _ numbers: inout NumberCheck
    ) throws(FormatError) {
        if entry.kind == .horizon {
            _ = try through(payload, entry.offset)
        } else {
            _ = try DeletionPolicyEntry(payload)
        }
    }

    package static func describe(
        _ payload: Span<UInt8>, _ kind: EntryKind, _ schema: Schema
    ) throws(FormatError) -> EntryDescription {
        if kind == .horizon {
            return EntryDescription(
                detail: "deletions through \(try HorizonEntry(payload).through) are forgotten")
        }
        return EntryDescription(detail: "\(try DeletionPolicyEntry(payload).policy)")
    }
}
