internal import Stratus

/// What a request says of a share beside the fields of its record.
struct ShareInput: Sendable {
    /// The record that a new share is to share.
    struct Root: JSONBody {
        enum Key: String { case recordName, recordChangeTag }

        let recordName: String
        /// Where it is given, the root must be as it was with this tag.
        let recordChangeTag: String?

        init(_ keys: JSONKeys<Key>) throws(Mismatch) {
            recordName = try keys.required(.recordName)
            recordChangeTag = try keys.optional(.recordChangeTag)
        }
    }

    /// Nil: what it is stays.
    let publicPermission: Share.Permission?
    /// The whole list; nil: it stays.
    private let participants: [ParticipantInput]?
    /// Nil of a share that is there, and of one of a whole zone.
    let root: Root?

    init(_ keys: JSONKeys<RecordInput.Key>) throws(Mismatch) {
        publicPermission =
            try keys.optional(.publicPermission, as: PermissionWord.self)?.permission
        participants = try keys.optional(.participants)
        root = try keys.optional(.forRecord)
    }

    /// Makes the edits that were sent.
    ///
    /// - Parameter owner: the user record name of the owner of the zone.
    func apply(
        to share: inout Share, _ container: Container, owner: String
    ) throws(Mismatch) {
        if let publicPermission { share.publicPermission = publicPermission }
        guard let participants else { return }
        var list: [Share.Participant] = []
        for (index, input) in participants.enumerated() {
            let participant = input.participant(in: container)
            let identity = participant.userIdentity
            let id = identity.userRecordID ?? identity.lookupInfo?.userRecordID
            if participant.role == .owner, id?.recordName != owner {
                throw Mismatch("is OWNER, which only the owner of the zone is").under("role")
                    .at(index).under(RecordInput.Key.participants.rawValue)
            }
            if !input.isRemoved { list.append(participant) }
        }
        share.setParticipants(list)
    }
}

/// A participant of a share. What a response says of one may be given back: what the store alone
/// decides is read and has no effect.
private struct ParticipantInput: JSONBody {
    enum Key: String { case participantId, userIdentity, role, type, permission, acceptanceStatus }

    private let identity: UserIdentityInput
    private let role: Share.Role
    private let permission: Share.Permission
    /// Whether the request says itself that it is none any more.
    let isRemoved: Bool

    init(_ keys: JSONKeys<Key>) throws(Mismatch) {
        // The identity tells participants apart.
        _ = try keys.optional(.participantId, as: String.self)
        identity = try keys.required(.userIdentity)
        let role: RoleWord? = try keys.optional(.role)
        let type: RoleWord? = try keys.optional(.type)
        if let role, let type, role != type { try keys.refuse(.type, "is not the role") }
        self.role = (role ?? type)?.role ?? .privateUser
        permission =
            try keys.optional(.permission, as: PermissionWord.self)?.permission ?? .readOnly
        isRemoved = try keys.optional(.acceptanceStatus, as: AcceptanceWord.self) == .removed
    }

    func participant(in container: Container) -> Share.Participant {
        Share.Participant(identity.identity(in: container), role: role, permission: permission)
    }
}
