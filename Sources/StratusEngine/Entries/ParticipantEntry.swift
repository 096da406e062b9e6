package import StratusBytes
package import StratusJournal

/// The entry of a participant of a share who is not its owner: `Formats/Record.md`, "Participant".
package struct ParticipantEntry: Equatable, Sendable {
    /// CloudKit's numbers.
    package enum Status: UInt8, Sendable {
        case pending = 1
        case accepted = 2
        /// Left, or was removed.
        case removed = 3
    }

    package var share: UInt32
    /// Stays as long as the participant does.
    package var id: Hash128
    /// The number of the user; 0: not known.
    package var user: UInt32
    /// Owner, administrator, private user, public user: CloudKit's numbers.
    package var role: UInt8
    /// As of ``ShareEntry/permission``.
    package var permission: UInt8
    package var status: Status
    /// The version of the entry with which the participation began: the user's acceptance; none:
    /// there is no participation or, where the status is accepted, it begins with this entry.
    package var since: Version
    /// When the participant was added, in milliseconds since 1970.
    package var added: Int64
    /// How the participant was looked up: 0 not at all, 1 e-mail address, 2 phone number, 3 user
    /// record name.
    package var lookupKind: UInt8
    package var lookup: String

    /// Of the text of a look-up, in bytes.
    package static let lookupLimit = 1024
    static let roles: ClosedRange<UInt8> = 1...4
    private static let lookupKinds: ClosedRange<UInt8> = 0...3

    package init(
        share: UInt32, id: Hash128, user: UInt32, role: UInt8, permission: UInt8,
        status: Status, since: Version, added: Int64, lookupKind: UInt8, lookup: String
    ) {
        self.share = share
        self.id = id
        self.user = user
        self.role = role
        self.permission = permission
        self.status = status
        self.since = since
        self.added = added
        self.lookupKind = lookupKind
        self.lookup = lookup
    }

    /// As the participant's next entry goes on from it: with the version of the entry with which
    /// the participation began, which may be this one.
    ///
    /// - Parameter version: that of the entry.
    package func continued(from version: Version) -> ParticipantEntry {
        guard status == .accepted, since == .none else { return self }
        var participant = self
        participant.since = version
        return participant
    }

    package func write(to writer: inout ByteWriter) {
        writer.varint(share)
        writer.hash(id)
        writer.varint(user)
        writer.uint8(role)
        writer.uint8(permission)
        writer.uint8(status.rawValue)
        writer.varint(since.rawValue)
        writer.signedVarint(added)
        writer.uint8(lookupKind)
        writer.countedText(lookup)
    }

    package init(_ bytes: Span<UInt8>) throws(FormatError) {
        var cursor = ByteCursor()
        share = try cursor.varint32(bytes)
        guard share > 0 else { throw .value("share") }
        id = try cursor.hash(bytes)
        user = try cursor.varint32(bytes)
        role = try cursor.uint8(bytes)
        guard Self.roles.contains(role) else { throw .newer("role") }
        permission = try cursor.uint8(bytes)
        guard ShareEntry.permissions.contains(permission) else { throw .newer("permission") }
        guard let status = Status(rawValue: try cursor.uint8(bytes)) else {
            throw .newer("status")
        }
        self.status = status
        guard status != .accepted || user > 0 else { throw .value("user") }
        since = Version(rawValue: try cursor.varint(bytes))
        guard status != .pending || since == .none else { throw .value("since") }
        added = try cursor.signedVarint(bytes)
        guard added.magnitude < 1 << 53 else { throw .value("added") }
        lookupKind = try cursor.uint8(bytes)
        guard Self.lookupKinds.contains(lookupKind) else { throw .newer("lookup kind") }
        lookup = try cursor.text(bytes, upTo: Self.lookupLimit)
        guard (lookupKind == 0) == lookup.isEmpty else { throw .value("lookup") }
        try ExtensionBlock.end(bytes, &cursor)
    }
}
