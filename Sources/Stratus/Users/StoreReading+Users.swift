internal import StratusBytes
internal import StratusEngine
internal import StratusIndex
internal import StratusJournal

// What the host said of users.
extension StoreReading {
    /// What it said last of the user of that number; nil: nothing.
    func identity(of user: UInt32) throws(EngineError) -> IdentityEntry? {
        guard try hasIdentities(), let value = try value(.identity(user)) else { return nil }
        let entry = try entry(EntryLocation(value))
        guard entry.kind == .identity,
            let stated = entry.withPayload({ try? IdentityEntry($0) })
        else { throw .damaged(entry) }
        return stated
    }

    func profile(of user: UInt32) throws(EngineError) -> UserProfile? {
        try identity(of: user).map { UserProfile($0) }
    }

    /// Nil, too, where the store does not know the user.
    func profile(of user: UserID) throws(EngineError) -> UserProfile? {
        guard let number = try self.user(user) else { return nil }
        return try profile(of: number)
    }

    /// The user with an address, of which the kind is as entries have it.
    func user(withAddress kind: UInt8, _ text: String) throws(EngineError) -> UInt32? {
        guard let kind = IdentityEntry.AddressKey.Kind(rawValue: kind) else { return nil }
        return try user(withAddress: IdentityEntry.AddressKey(comparing: text, kind))
    }

    func user(withAddress address: IdentityEntry.AddressKey) throws(EngineError) -> UInt32? {
        guard try hasIdentities(), let number = try user(ofAddress: hash(of: address)),
            let stated = try identity(of: number),
            // The index knows only a hash of it.
            stated.addresses.contains(where: { $0.key == address })
        else { return nil }
        return number
    }

    /// The user with an address, as the index says.
    func user(ofAddress hash: Hash128) throws(EngineError) -> UInt32? {
        try value(.address(hash)).map { UInt32(truncatingIfNeeded: $0.first) }
    }

    func hash(of address: IdentityEntry.AddressKey) -> Hash128 {
        let store: StoreIdentity = self.identity
        return address.hash(seed: store.secret)
    }

    /// The roles that the host gave a user.
    func roles(of user: UserID) throws(EngineError) -> Set<String> {
        guard let number = try self.user(user), let value = try value(.roles(number)) else {
            return []
        }
        let entry = try entry(EntryLocation(value))
        guard entry.kind == .roles, let roles = entry.withPayload({ try? RolesEntry($0) }) else {
            throw .damaged(entry)
        }
        return Set(roles.names)
    }
}

// Accounts: behaviour-cases C97 and C98.
extension StoreReading {
    /// `available` where the host said nothing.
    func accountStatus(of user: UserID) throws(EngineError) -> AccountStatus {
        guard try hasIdentities(), let number = try self.user(user),
            let value = try value(.identity(number))
        else { return .available }
        guard let status = AccountStatus(rawValue: Int(truncatingIfNeeded: value.first)) else {
            throw damaged(at: JournalOffset(rawValue: value.stamp))
        }
        return status
    }

    /// Why a user may make no call because of the account; nil where the user may. What counts is
    /// the status now, whatever point this looks from. The host and anonymous callers have no
    /// account.
    func accountRefusal(
        of principal: Principal, in scope: DatabaseScope, isWrite: Bool
    ) throws(EngineError) -> StoreError? {
        guard case .user(let user) = principal, isWrite || scope != .public else { return nil }
        switch try newest.accountStatus(of: user) {
        case .available: return nil
        case .temporarilyUnavailable: return .accountUnavailable
        case .couldNotDetermine, .restricted, .noAccount: return .noUsableAccount
        }
    }

    /// Fails where a user may write nothing because of the account.
    func checkAccount(of principal: Principal, in scope: DatabaseScope) throws(EngineError) {
        if let refusal = try accountRefusal(of: principal, in: scope, isWrite: true) {
            throw .refused(refusal)
        }
    }

    /// Who reads the public database: anonymous where the account of the user cannot be used.
    func publicReader(_ principal: Principal) throws(EngineError) -> Principal {
        guard case .user(let user) = principal else { return principal }
        let status = try newest.accountStatus(of: user)
        return status == .available ? principal : .anonymous
    }
}

// Looking for users.
extension StoreReading {
    /// The user that a lookup names, discoverable or not; nil where the store knows none.
    func user(_ info: UserIdentity.LookupInfo) throws(EngineError) -> UInt32? {
        if let address = info.address { return try self.user(withAddress: address) }
        guard let user = info.userID else { return nil }
        return try self.user(user)
    }

    /// Who a user is, for a caller: with the name where the user is discoverable, or the caller.
    func userIdentity(
        of number: UInt32, _ info: UserIdentity.LookupInfo? = nil, for caller: UserID?
    ) throws(EngineError) -> UserIdentity {
        let user = try self.user(number)
        let stated = try identity(of: number)
        let isVisible = stated?.isDiscoverable == true || user != nil && user == caller
        return UserIdentity(
            userRecordID: user.map { Record.ID(recordName: $0.recordName) }, lookupInfo: info,
            nameComponents: isVisible ? stated?.personName : nil,
            hasAccount: stated?.status != .noAccount)
    }

    /// The user that a caller finds: by an address only one who is discoverable, or the caller.
    func discoveredUser(
        _ info: UserIdentity.LookupInfo, by caller: UserID
    ) throws(EngineError) -> UserIdentity? {
        guard let number = try user(info) else { return nil }
        if info.address != nil, try identity(of: number)?.isDiscoverable != true,
            try self.user(number) != caller
        {
            return nil
        }
        return try userIdentity(of: number, info, for: caller)
    }
}

extension StoreError {
    static let noUsableAccount = StoreError(
        .notAuthenticated,
        "expected a user whose account can be used, found one without an account, with a "
            + "restricted one or with one of unknown status")
    static let accountUnavailable = StoreError(
        .accountTemporarilyUnavailable, "the account of the user cannot be used yet")
}
