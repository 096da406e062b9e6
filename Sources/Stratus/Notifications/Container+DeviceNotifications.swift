internal import StratusEngine

extension Container {
    /// What a user was notified of, for one of the user's devices: as
    /// ``notificationChanges(for:since:resultsLimit:)``, without what that device changed itself. So a
    /// page may have none although there is more.
    package nonisolated(nonsending) func notificationChanges(
        for user: String, onDevice device: String, since token: NotificationToken? = nil,
        resultsLimit: Int? = nil
    ) async throws(StoreError) -> NotificationChanges {
        let limit = Page(resultsLimit).limit
        return try await answering { () async throws(EngineError) -> NotificationChanges in
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
}
