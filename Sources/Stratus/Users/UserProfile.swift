internal import StratusBytes
internal import StratusEngine
internal import StratusLanguage

/// Whether a user's account can be used (after CloudKit's `CKAccountStatus`).
///
/// The calls of a user fail unless the status is ``available``: with
/// `accountTemporarilyUnavailable` where it is ``temporarilyUnavailable``, and otherwise with
/// `notAuthenticated`. Only the public database can still be read, as by an anonymous caller.
public enum AccountStatus: Int, Hashable, Sendable, CaseIterable {
    /// It is not known.
    case couldNotDetermine = 0
    /// The account can be used.
    case available = 1
    /// It may not be used.
    case restricted = 2
    /// There is none.
    case noAccount = 3
    /// It is there and cannot be used yet.
    case temporarilyUnavailable = 4
}

/// What the host says of a user. Rules: `Formats/README.md`, "Users".
public struct UserProfile: Hashable, Sendable {
    /// Nil where no name is known.
    public var name: PersonName?
    /// Each of 1 to 255 bytes, and of one user only. They are compared without case.
    public var emailAddresses: [String]
    /// Each of 1 to 255 bytes, and of one user only. They are compared as they are given.
    public var phoneNumbers: [String]
    /// Whether other users find the user by an address, and learn the name.
    public var isDiscoverable: Bool
    /// Whether the user may make calls.
    public var accountStatus: AccountStatus

    /// What holds of a user of whom the host has said nothing, but for what is given here.
    public init(
        name: PersonName? = nil, emailAddresses: [String] = [], phoneNumbers: [String] = [],
        isDiscoverable: Bool = false, accountStatus: AccountStatus = .available
    ) {
        self.name = name
        self.emailAddresses = emailAddresses
        self.phoneNumbers = phoneNumbers
        self.isDiscoverable = isDiscoverable
        self.accountStatus = accountStatus
    }

    /// All addresses, as users are looked for by them.
    public var addresses: [UserIdentity.LookupInfo] {
        emailAddresses.map { UserIdentity.LookupInfo(emailAddress: $0) }
            + phoneNumbers.map { UserIdentity.LookupInfo(phoneNumber: $0) }
    }

    init(_ entry: IdentityEntry) {
        name = entry.personName
        emailAddresses = entry.texts(of: .email)
        phoneNumbers = entry.texts(of: .phone)
        isDiscoverable = entry.isDiscoverable
        accountStatus = AccountStatus(entry.status)
    }
}

extension AccountStatus {
    init(_ stored: IdentityEntry.AccountStatus) {
        switch stored {
        case .couldNotDetermine: self = .couldNotDetermine
        case .available: self = .available
        case .restricted: self = .restricted
        case .noAccount: self = .noAccount
        case .temporarilyUnavailable: self = .temporarilyUnavailable
        }
    }

    /// As entries have it.
    var stored: IdentityEntry.AccountStatus {
        switch self {
        case .couldNotDetermine: .couldNotDetermine
        case .available: .available
        case .restricted: .restricted
        case .noAccount: .noAccount
        case .temporarilyUnavailable: .temporarilyUnavailable
        }
    }
}

extension IdentityEntry {
    /// What a profile says of the user of that number. Fails where it breaks a limit.
    init(
        _ profile: UserProfile, of user: UInt32, formerAddresses: Set<Hash128> = []
    ) throws(EngineError) {
        let given = profile.name?.givenName ?? ""
        let family = profile.name?.familyName ?? ""
        guard max(given.utf8.count, family.utf8.count) <= Self.nameLimit else {
            throw .refused(
                .invalidArguments, "each part of a user's name has at most \(Self.nameLimit) bytes")
        }
        let count = profile.emailAddresses.count + profile.phoneNumbers.count
        guard count <= Self.addressLimit else {
            throw .refused(
                .limitExceeded, "a user has at most \(Self.addressLimit) addresses, not \(count)")
        }
        var addresses: [Address] = []
        for text in profile.emailAddresses { try addresses.add(text, .email) }
        for text in profile.phoneNumbers { try addresses.add(text, .phone) }
        self.init(
            user: user, status: profile.accountStatus.stored,
            isDiscoverable: profile.isDiscoverable, givenName: given, familyName: family,
            addresses: addresses, formerAddresses: formerAddresses)
    }

    /// Nil where no part of it is known.
    var personName: PersonName? {
        if givenName.isEmpty, familyName.isEmpty { return nil }
        return PersonName(
            givenName: givenName.isEmpty ? nil : givenName,
            familyName: familyName.isEmpty ? nil : familyName)
    }

    fileprivate func texts(of kind: AddressKey.Kind) -> [String] {
        addresses.filter { $0.key.kind == kind }.map(\.text)
    }

    /// Whether it says what another one says, to the byte.
    func isSame(as other: IdentityEntry) -> Bool { payload == other.payload }

    private var payload: [UInt8] {
        var writer = ByteWriter()
        write(to: &writer)
        return writer.bytes
    }
}

extension IdentityEntry.AddressKey {
    /// Of an address as it was given: e-mail addresses are compared without case.
    init(comparing text: String, _ kind: Kind) {
        self.init(kind, kind == .email ? text.folded(.case) : text)
    }
}

extension [IdentityEntry.Address] {
    fileprivate mutating func add(
        _ text: String, _ kind: IdentityEntry.AddressKey.Kind
    ) throws(EngineError) {
        let limit = IdentityEntry.Address.textLimit
        guard (1...limit).contains(text.utf8.count) else {
            throw .refused(.invalidArguments, "an address has 1 to \(limit) bytes")
        }
        let key = IdentityEntry.AddressKey(comparing: text, kind)
        guard !contains(where: { $0.key == key }) else {
            throw .refused(.invalidArguments, "an address is given twice")
        }
        append(IdentityEntry.Address(text, key: key))
    }
}
