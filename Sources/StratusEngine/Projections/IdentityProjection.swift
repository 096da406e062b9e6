package import StratusBytes
package import StratusIndex
package import StratusJournal

extension EntryKind {
    package static let identity = EntryKind(rawValue: 52)
    package static let roles = EntryKind(rawValue: 53)
}

extension KeySpace {
    /// The last identity of a user, by number: the first word is the account status, the second
    /// the length of the frame as in ``EntryLocation``.
    package static var identities: KeySpace { KeySpace(35, "identities") }
    /// Whose an address is: the first word is the user, of whose last identity the row is.
    package static var addresses: KeySpace { KeySpace(36, "addresses", names: .elsewhere) }
    /// The roles of a user, by number.
    package static var roles: KeySpace { KeySpace(37, "roles") }
}

extension IndexKey {
    package static func identity(_ user: UInt32) -> IndexKey {
        KeySpace.identities.key().appending(user)
    }
    package static func address(_ hash: Hash128) -> IndexKey {
        KeySpace.addresses.key().appending(hash)
    }
    package static func roles(_ user: UInt32) -> IndexKey {
        KeySpace.roles.key().appending(user)
    }
}

/// What the host says of users: names, addresses, account status and roles.
struct IdentityProjection: Projection {
    package static let entries = [
        EntryForm(.identity, "identity"), EntryForm(.roles, "roles"),
    ]
    package static let keyspaces: [KeySpace] = [.identities, .addresses, .roles]

    package mutating func apply(
        _ entry: inout FoldedEntry, _ payload: Span<UInt8>, to state: inout FoldState
    ) throws(FormatError) {
        if entry.header.kind == .roles {
            let roles = try RolesEntry(payload)
            guard state.numbers.hasUser(roles.user) else { throw .value("user number") }
            state.index.set(.roles(roles.user), entry.location())
            return
        }
        let identity = try IdentityEntry(payload)
        guard state.numbers.hasUser(identity.user) else { throw .value("user number") }
        var row = entry.location()
        row.first = UInt64(identity.status.rawValue)
        state.index.set(.identity(identity.user), row)
        let secret = entry.secret
        let addresses = identity.addresses.map { $0.key.hash(seed: secret) }
        for address in addresses {
            state.index.set(
                .address(address),
                IndexValue(stamp: entry.stamp, first: UInt64(identity.user)))
        }
        for address in identity.formerAddresses where !addresses.contains(address) {
            state.index.remove(.address(address), at: entry.stamp)
        }
        state.hasIdentities = true
        // Wakes those who wait for the user's account status.
        state.changes?.note(.database(identity.user))
    }

    package static func validate(
        _ payload: Span<UInt8>, of entry: JournalEntry, _ numbers: inout NumberCheck
    ) throws(FormatError) {
        let user =
            entry.kind == .roles
            ? try RolesEntry(payload).user : try IdentityEntry(payload).user
        numbers.useUser(user)
    }

    package static func describe(
        _ payload: Span<UInt8>, _ kind: EntryKind, _ schema: Schema
    ) throws(FormatError) -> EntryDescription {
        if kind == .roles {
            let roles = try RolesEntry(payload)
            return EntryDescription(
                detail: "user \(roles.user): \(roles.names.joined(separator: " "))")
        }
        let identity = try IdentityEntry(payload)
        return EntryDescription(
            detail: "user \(identity.user), \(identity.status), "
                + "\(identity.addresses.count) addresses")
    }
}
