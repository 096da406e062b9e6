public import FoundationEssentials
internal import StratusBytes
internal import StratusEngine

extension Share {
    /// A user who has a part in a share, or was invited to.
    public struct Participant: Hashable, Sendable {
        /// 32 hexadecimal digits, which stay as long as the participant does.
        public let participantID: String
        /// Who it is, as far as is known.
        public let userIdentity: UserIdentity
        /// What the participant is.
        public var role: Role
        /// What the participant may do.
        public var permission: Permission
        /// How far the participant has got; changed by acceptance, leaving and removal only.
        public internal(set) var acceptanceStatus: AcceptanceStatus
        /// When the participant was added; nil until saved.
        public internal(set) var dateAddedToShare: Date?

        /// One to be invited.
        public init(
            _ identity: UserIdentity, role: Role = .privateUser,
            permission: Permission = .readOnly
        ) {
            let id = UUID().uuid
            self.init(
                Hash128(
                    high: [id.0, id.1, id.2, id.3, id.4, id.5, id.6, id.7].number,
                    low: [id.8, id.9, id.10, id.11, id.12, id.13, id.14, id.15].number),
                identity, role, permission, .pending, added: nil)
        }

        /// One that was given before, by its ID.
        package init?(
            participantID: String, _ identity: UserIdentity, role: Role, permission: Permission
        ) {
            guard let id = Hash128(hexDigits: participantID) else { return nil }
            self.init(id, identity, role, permission, .pending, added: nil)
        }

        /// One to be invited by address or user record name.
        public init(
            _ lookupInfo: UserIdentity.LookupInfo, role: Role = .privateUser,
            permission: Permission = .readOnly
        ) {
            self.init(
                UserIdentity(lookupInfo: lookupInfo), role: role, permission: permission)
        }

        init(
            _ id: Hash128, _ identity: UserIdentity, _ role: Role, _ permission: Permission,
            _ status: AcceptanceStatus, added: Date?
        ) {
            participantID = id.hexDigits
            userIdentity = identity
            self.role = role
            self.permission = permission
            acceptanceStatus = status
            dateAddedToShare = added
        }

        /// The same without the address by which it was invited.
        var withoutAddress: Participant {
            guard let bits else { return self }
            var identity = userIdentity
            identity.lookupInfo = nil
            return Participant(
                bits, identity, role, permission, acceptanceStatus, added: dateAddedToShare)
        }

        /// As entries have it.
        var bits: Hash128? { Hash128(hexDigits: participantID) }

        /// Whether both stand for the same user or the same invitation.
        func isSameIdentity(as other: Participant) -> Bool {
            if participantID == other.participantID { return true }
            let (left, right) = (userIdentity, other.userIdentity)
            if let id = left.userID, id == right.userID { return true }
            if let info = left.lookupInfo, let others = right.lookupInfo {
                return info.isSame(as: others)
            }
            return false
        }
    }

    /// What a link tells a user of a share.
    public struct Metadata: Sendable {
        /// The link.
        public let shortGUID: String
        /// As far as the caller may see it.
        public let share: Share
        /// The zone as it is named in the shared database.
        public let zoneID: RecordZone.ID
        /// Nil where the whole zone is shared.
        public let hierarchicalRootRecordID: Record.ID?
        /// Where the call asked for it.
        public let rootRecord: Record?
        /// Whose zone it is.
        public let ownerIdentity: UserIdentity
        /// What the caller is or, by accepting, would be.
        public let participantRole: Role
        /// How far the caller has got.
        public let participantStatus: AcceptanceStatus
        /// What the caller may do or, once accepted, could.
        public let participantPermission: Permission
    }
}

extension [UInt8] {
    /// Eight bytes as a number, the first one the greatest.
    fileprivate var number: UInt64 { reduce(0) { $0 << 8 | UInt64($1) } }
}
