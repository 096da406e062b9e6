package import StratusBytes
package import StratusIndex
package import StratusJournal

extension EntryKind {
    package static let user = EntryKind(rawValue: 35)
}

extension KeySpace {
    package static var users: KeySpace {
        KeySpace(20, "users", names: .elsewhere, isRestated: true)
    }
    package static var userNumbers: KeySpace {
        KeySpace(21, "userNumbers", names: .elsewhere, isRestated: true)
    }
}

extension IndexKey {
    package static func user(_ name: Hash128) -> IndexKey { KeySpace.users.key().appending(name) }
    package static func userNumber(_ user: UInt32) -> IndexKey {
        KeySpace.userNumbers.key().appending(user)
    }
}

/// Users by identity and by number.
struct UserProjection: Projection {
    package static let entries = [
        EntryForm(.user, "user", definesNumbers: true, selection: .rewritten)
    ]
    package static let keyspaces: [KeySpace] = [.users, .userNumbers]

    package mutating func apply(
        _ entry: inout FoldedEntry, _ payload: Span<UInt8>, to state: inout FoldState
    ) throws(FormatError) {
        let user = try UserEntry(payload)
        try state.numbers.add(user)
        state.index.set(
            .user(user.bits),
            IndexValue(
                stamp: entry.stamp, first: UInt64(user.number),
                second: UInt64(bitPattern: user.created)))
        state.index.set(
            .userNumber(user.number),
            IndexValue(stamp: entry.stamp, first: user.bits.high, second: user.bits.low))
        state.changes?.note(.users)
    }

    /// What the host calls the users whose databases the archive has none of is left out.
    package static func selected(
        _ payload: Span<UInt8>, of entry: JournalEntry, by zones: SelectedZones
    ) throws(FormatError) -> SelectedEntry {
        var user = try UserEntry(payload)
        if user.hostName.isEmpty || zones.contains(owner: user.number) { return .whole }
        user.hostName = ""
        return .instead(.user, zone: entry.zone) { user.write(to: &$0) }
    }

    package static func validate(
        _ payload: Span<UInt8>, of entry: JournalEntry, _ numbers: inout NumberCheck
    ) throws(FormatError) { numbers.define(try UserEntry(payload)) }

    package static func describe(
        _ payload: Span<UInt8>, _ kind: EntryKind, _ schema: Schema
    ) throws(FormatError) -> EntryDescription {
        let user = try UserEntry(payload)
        let recordName = UserID(bits: user.bits).recordName
        return EntryDescription(
            detail: user.hostName.isEmpty ? recordName : "\(recordName) \(user.hostName)")
    }
}
