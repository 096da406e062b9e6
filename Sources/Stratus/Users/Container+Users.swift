internal import StratusEngine

// Users, as the host manages them: `Formats/README.md`, "Users".

extension Container {
    /// Says who a user is and whether the user's account can be used, in place of all that was said
    /// before. The user is known from then on.
    ///
    /// - Parameter user: named as in ``publicDatabase(as:device:)``.
    /// - Throws: ``StoreError`` with `constraintViolation` where another user has one of the
    ///   addresses, `invalidArguments` where a name or an address is too long, or an address empty
    ///   or given twice, and `limitExceeded` where there are more than 32.
    public nonisolated(nonsending) func setUserProfile(
        _ profile: UserProfile, for user: String
    ) async throws(StoreError) {
        try await answer { () async throws(EngineError) in
            let id = try namedUser(user)
            _ = try await engine().commit(
                ProfileChange(user: id, userName: user, profile: profile))
        }
    }

    /// What ``setUserProfile(_:for:)`` said last of a user; nil where it was never called.
    public nonisolated(nonsending) func userProfile(
        for user: String
    ) async throws(StoreError) -> UserProfile? {
        try await answer { () async throws(EngineError) -> UserProfile? in
            let id = try namedUser(user)
            return try await read { reading throws(EngineError) in try reading.profile(of: id) }
        }
    }

    /// Whether a user's account can be used: ``AccountStatus/available`` where the host has said
    /// nothing of the user, ``AccountStatus/noAccount`` of an anonymous caller.
    public nonisolated(nonsending) func accountStatus(
        of user: String?
    ) async throws(StoreError) -> AccountStatus {
        guard let user else { return .noAccount }
        return try await answer { () async throws(EngineError) -> AccountStatus in
            let id = try namedUser(user)
            return try await read { reading throws(EngineError) in
                try reading.accountStatus(of: id)
            }
        }
    }

    /// The status of a user's account as it is now, and then each time that it changes.
    public func accountStatusChanges(of user: String) -> AccountStatusChanges {
        AccountStatusChanges(container: self, user: user)
    }

    /// The users that the store knows, a page at a time.
    ///
    /// - Parameter resultsLimit: the most users in the page, at most 1,000.
    public nonisolated(nonsending) func users(
        resultsLimit: Int? = nil, from cursor: UserPage.Cursor? = nil
    ) async throws(StoreError) -> UserPage {
        try await answer { () async throws(EngineError) -> UserPage in
            try await read { reading throws(EngineError) in
                try reading.users(from: cursor, resultsLimit)
            }
        }
    }

    /// The user that a caller looks for; nil where there is none that the caller may find.
    ///
    /// By an address only users are found who are discoverable; by the identity of their record all
    /// whom the store knows, and the name only of those. Users find themselves in any case.
    ///
    /// - Parameter caller: named as in ``publicDatabase(as:device:)``.
    /// - Throws: ``StoreError`` with `notAuthenticated` where the caller is anonymous, and with
    ///   what ``AccountStatus`` says where the account of the caller cannot be used.
    public nonisolated(nonsending) func userIdentity(
        for info: UserIdentity.LookupInfo, as caller: String?
    ) async throws(StoreError) -> UserIdentity? {
        try await answer { () async throws(EngineError) -> UserIdentity? in
            guard let caller else { throw .refused(.noUser) }
            let user = try namedUser(caller)
            if let limits { try limits.admit(user) }
            return try await read { reading throws(EngineError) -> UserIdentity? in
                let refusal = try reading.accountRefusal(
                    of: .user(user), in: .private(owner: user), isWrite: false)
                if let refusal { throw .refused(refusal) }
                return try reading.discoveredUser(info, by: user)
            }
        }
    }

    /// Gives a user these roles in place of all others: what the schema grants them, the user may
    /// do in the public database.
    ///
    /// - Throws: ``StoreError`` with `invalidArguments` where the schema declares no such role with
    ///   `CREATE ROLE`. The roles that begin with `_` are not given: callers have them anyway.
    public nonisolated(nonsending) func setRoles(
        _ roles: Set<String>, of user: String
    ) async throws(StoreError) {
        try await answer { () async throws(EngineError) in
            let id = try namedUser(user)
            _ = try await engine().commit(RolesChange(user: id, userName: user, roles: roles))
        }
    }

    /// The roles that ``setRoles(_:of:)`` gave a user.
    public nonisolated(nonsending) func roles(
        of user: String
    ) async throws(StoreError) -> Set<String> {
        try await answer { () async throws(EngineError) -> Set<String> in
            let id = try namedUser(user)
            return try await read { reading throws(EngineError) in try reading.roles(of: id) }
        }
    }

    /// The user that a host names.
    func namedUser(_ name: String) throws(EngineError) -> UserID {
        guard !name.isEmpty else { throw .refused(.emptyUserName) }
        return userID(name)
    }
}

// Users in one state of the store, whatever the host has said since.
extension Snapshot {
    /// The users that the store knew then, a page at a time: as of ``Container/users(resultsLimit:from:)``.
    package func users(
        resultsLimit: Int? = nil, from cursor: UserPage.Cursor? = nil
    ) throws(StoreError) -> UserPage {
        return try answering { () throws(EngineError) -> UserPage in
            try reading().users(from: cursor, resultsLimit)
        }
    }

    /// What the host had said last of a user by then; nil where it had said nothing.
    package func userProfile(for user: String) throws(StoreError) -> UserProfile? {
        try answering { () throws(EngineError) -> UserProfile? in
            try reading().profile(of: container.namedUser(user))
        }
    }

    /// The roles that a user had then.
    package func roles(of user: String) throws(StoreError) -> Set<String> {
        try answering { () throws(EngineError) -> Set<String> in
            try reading().roles(of: container.namedUser(user))
        }
    }
}
