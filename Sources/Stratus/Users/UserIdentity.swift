internal import StratusEngine

/// Who a user is, as far as the caller may know (after CloudKit's `CKUserIdentity`).
public struct UserIdentity: Hashable, Sendable {
    /// The identity of the user's record; nil where the user is not known.
    public var userRecordID: Record.ID?
    /// By what the user was looked for.
    public var lookupInfo: LookupInfo?
    /// Nil where no name is known, or the caller may not know it.
    public var nameComponents: PersonName?
    /// Whether the store knows a user with an account.
    public var hasAccount: Bool

    /// An identity of these parts.
    public init(
        userRecordID: Record.ID? = nil, lookupInfo: LookupInfo? = nil,
        nameComponents: PersonName? = nil, hasAccount: Bool = false
    ) {
        self.userRecordID = userRecordID
        self.lookupInfo = lookupInfo
        self.nameComponents = nameComponents
        self.hasAccount = hasAccount
    }

    /// The user, where the identity names one.
    var userID: UserID? {
        userRecordID.flatMap { UserID(recordName: $0.recordName) } ?? lookupInfo?.userID
    }
}

extension UserIdentity {
    /// By what a user is looked for: an e-mail address, a phone number, or the user's record.
    public struct LookupInfo: Hashable, Sendable {
        private enum Content: Hashable, Sendable {
            case emailAddress(String)
            case phoneNumber(String)
            case userRecordID(Record.ID)
        }

        private let content: Content

        /// The user with an e-mail address. Case does not count.
        public init(emailAddress: String) { content = .emailAddress(emailAddress) }

        /// The user with a phone number, which is compared as it is given.
        public init(phoneNumber: String) { content = .phoneNumber(phoneNumber) }

        /// The user of a record of the type `Users`.
        public init(userRecordID: Record.ID) { content = .userRecordID(userRecordID) }

        /// Nil where it is something else that the user is looked for by; so are the others.
        public var emailAddress: String? {
            if case .emailAddress(let text) = content { text } else { nil }
        }

        /// The phone number.
        public var phoneNumber: String? {
            if case .phoneNumber(let text) = content { text } else { nil }
        }

        /// The identity of the user's record.
        public var userRecordID: Record.ID? {
            if case .userRecordID(let id) = content { id } else { nil }
        }
    }
}

extension UserIdentity.LookupInfo {
    /// The address that it is; nil where it is a user's record.
    var address: IdentityEntry.AddressKey? {
        switch content {
        case .emailAddress(let text): IdentityEntry.AddressKey(comparing: text, .email)
        case .phoneNumber(let text): IdentityEntry.AddressKey(comparing: text, .phone)
        case .userRecordID: nil
        }
    }

    /// The user whose record it is; nil where it is an address.
    var userID: UserID? { userRecordID.flatMap { UserID(recordName: $0.recordName) } }

    /// Whether both look for the same user by the same means.
    func isSame(as other: UserIdentity.LookupInfo) -> Bool {
        if let id = userRecordID { return id.recordName == other.userRecordID?.recordName }
        return address == other.address
    }

    /// As the entry of a participant has it: `Formats/Record.md`, "Participant".
    var stored: (kind: UInt8, text: String) {
        switch content {
        case .emailAddress(let text): (1, text)
        case .phoneNumber(let text): (2, text)
        case .userRecordID(let id): (3, id.recordName)
        }
    }

    /// Nil where the entry has none.
    init?(storedKind kind: UInt8, _ text: String) {
        switch kind {
        case 1: self.init(emailAddress: text)
        case 2: self.init(phoneNumber: text)
        case 3: self.init(userRecordID: Record.ID(recordName: text))
        default: return nil
        }
    }
}
