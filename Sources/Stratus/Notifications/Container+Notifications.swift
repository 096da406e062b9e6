internal import StratusEngine
internal import StratusIndex
internal import StratusJournal

// The notifications of users: `Formats/README.md`, "Subscriptions and notifications".

extension Container {
    /// What a user was notified of since `token`; without one, all that is kept.
    ///
    /// Query subscriptions notify once of each change, zone and database subscriptions once of each
    /// zone, however much has changed in it. None is ever passed over: a token whose successors are
    /// not all kept is refused. What the user may not read by now is left out.
    ///
    /// - Parameters:
    ///   - user: named as in ``publicDatabase(as:device:)``.
    ///   - resultsLimit: the most notifications in the page, 1,000 unless given; at least 1, at
    ///     most 10,000. What several subscriptions are told of one zone is not divided, so that
    ///     there may be more.
    /// - Throws: ``StoreError`` with `changeTokenExpired` where the token is not, or no longer, one
    ///   of this user's, `invalidArguments` for an empty name, and with what ``AccountStatus`` says
    ///   where the account of the user cannot be used.
    public nonisolated(nonsending) func notificationChanges(
        for user: String, since token: NotificationToken? = nil, resultsLimit: Int? = nil
    ) async throws(StoreError) -> NotificationChanges {
        try await notificationChanges(
            for: user, onDevice: nil, since: token, resultsLimit: resultsLimit)
    }

    /// The same for one of the user's devices, without what that device changed itself. So a page may
    /// have none although there is more.
    package nonisolated(nonsending) func notificationChanges(
        for user: String, onDevice device: String?, since token: NotificationToken?,
        resultsLimit: Int?
    ) async throws(StoreError) -> NotificationChanges {
        let limit = Page(resultsLimit).limit
        return try await answer { () async throws(EngineError) -> NotificationChanges in
            let id = try namedUser(user)
            try limits?.admit(id)
            return try await read { reading throws(EngineError) -> NotificationChanges in
                guard var reader = try NotificationReader(reading, of: id, device: device) else {
                    return NotificationChanges(
                        notificationToken: try NotificationToken(unknown: token, in: reading))
                }
                var page = try reader.page(since: token, limit: limit)
                page.notifications.removeAll { $0.isFromThisDevice }
                return page
            }
        }
    }

    /// The notifications of a user since `token`, or all that are kept, and then every new one: for
    /// a listener, who is given the latest of each subscription.
    ///
    /// - Parameters:
    ///   - user: named as in ``publicDatabase(as:device:)``.
    ///   - device: on which device of the user; notifications of what that device changed are left
    ///     out. Without a name none are.
    public func notifications(
        for user: String, device: String? = nil, since token: NotificationToken? = nil
    ) -> Notifications {
        Notifications(container: self, user: user, device: device, start: token)
    }

    /// Marks notifications of a user as read, for all devices. What is marked already stays as it
    /// is. Each mark is a notification of its own: ``StoreNotification/Kind/readMark``.
    ///
    /// - Returns: for each nothing, or why it was not marked: `unknownItem` where the user has no
    ///   such notification.
    /// - Throws: ``StoreError`` with `invalidArguments` for an empty name, `limitExceeded`, and
    ///   with what ``AccountStatus`` says where the account of the user cannot be used.
    @discardableResult
    public nonisolated(nonsending) func markNotificationsRead(
        _ ids: [NotificationIdentifier], for user: String
    ) async throws(StoreError) -> [NotificationIdentifier: Result<Void, StoreError>] {
        try await answer {
            () async throws(EngineError) -> [NotificationIdentifier: Result<Void, StoreError>] in
            let id = try namedUser(user)
            try limits?.admit(id)
            try limits?.check(itemCount: ids.count)
            let edit = ReadMarks(ids, of: id)
            return edit.outcomes(of: try await engine().commit(edit))
        }
    }

    /// Sets the badge of a user, for all devices. Notifications that badge count on from there.
    ///
    /// - Parameter value: at most 4,294,967,295.
    /// - Throws: ``StoreError`` with `invalidArguments` where it is negative or too large, or the
    ///   name is empty, and with what ``AccountStatus`` says where the account of the user cannot
    ///   be used.
    public nonisolated(nonsending) func setBadge(
        _ value: Int, for user: String
    ) async throws(StoreError) {
        try await answer { () async throws(EngineError) in
            let id = try namedUser(user)
            try limits?.admit(id)
            guard let badge = UInt32(exactly: value) else {
                throw .refused(
                    .invalidArguments, "expected a badge of 0 to \(UInt32.max), found \(value)")
            }
            _ = try await engine().commit(BadgeChange(user: id, userName: user, value: badge))
        }
    }

    /// The badge of a user: what was set last, and one for each notification since that badges.
    ///
    /// - Throws: as ``setBadge(_:for:)``.
    public nonisolated(nonsending) func badge(
        for user: String
    ) async throws(StoreError) -> Int {
        try await answer { () async throws(EngineError) -> Int in
            let id = try namedUser(user)
            try limits?.admit(id)
            return try await read { reading throws(EngineError) -> Int in
                guard let reader = try NotificationReader(reading, of: id) else { return 0 }
                return Int(clamping: try reading.badge(of: reader.number))
            }
        }
    }
}

extension StoreReading {
    /// Of the last commit, and of the making of a store without any.
    var lastNotableTime: Int64 { max(lastTime, identity.created) }

    func badge(of user: UInt32) throws(EngineError) -> UInt64 {
        try value(.badge(user))?.first ?? 0
    }
}

extension NotificationToken {
    /// The token of a user who is not known, given another one before.
    init(unknown last: NotificationToken?, in reading: StoreReading) throws(EngineError) {
        try last?.check(of: 0, reading)
        self.init(
            user: 0, at: .none, time: reading.lastNotableTime, head: reading.lastVersion,
            shared: nil, of: reading.identity)
    }
}
