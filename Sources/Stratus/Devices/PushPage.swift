internal import StratusEngine
internal import StratusJournal

/// What a device has to be sent, in one state of the store.
struct PushPage: Sendable {
    var user: UserID
    var device: StoredDevice
    /// In their order.
    var pushes: [Push] = []
    /// Behind what they lie; nil where the user's account cannot be used.
    var start: PushPosition?
    /// How far it was sent its pushes once it was sent these; nil where ``start`` is.
    var position: PushPosition?
    /// What has to change before there is more.
    var watched: [ChangeSubject]
    /// Where the journal ended.
    var head: JournalOffset
}

extension StoreReading {
    /// Whether a push of a page that was read before may be sent yet.
    func maySend(
        _ push: Push, of page: PushPage, to device: DeviceKey
    ) throws(EngineError) -> Bool {
        guard try self.device(device)?.offset == page.device.offset else { return false }
        let refusal = try accountRefusal(
            of: .user(page.user), in: .private(owner: page.user), isWrite: false)
        guard refusal == nil, let id = push.notification.id.entryID,
            var reader = try NotificationReader(self, of: page.user)
        else { return false }
        return try reader.mayTell(id)
    }

    /// What a device has to be sent behind `known`, if that is of its registration, and otherwise
    /// behind the position that the store has. Nil where the device is not registered.
    func pushPage(
        for key: DeviceKey, behind known: PushPosition?
    ) throws(EngineError) -> PushPage? {
        guard let device = try device(key) else { return nil }
        guard let user = try user(key.user) else { throw damaged(at: device.offset) }
        var page = PushPage(
            user: user, device: device, watched: [.database(key.user)], head: head)
        let refusal = try accountRefusal(
            of: .user(user), in: .private(owner: user), isWrite: false)
        // That it can be used again concerns the user's database.
        if refusal != nil { return page }
        guard var reader = try NotificationReader(self, of: user, device: device.name) else {
            throw damaged(at: device.offset)
        }
        page.watched = try reader.watched
        var position: PushPosition
        if let known, known.start == device.start {
            position = known
        } else {
            position = try pushPosition(of: device, key)
        }
        // Read marks are of what the user has seen.
        func isSent(_ notification: StoreNotification) -> Bool { notification.kind != .readMark }
        let latest: NotificationPage
        do throws(EngineError) {
            latest = try reader.latest(since: position.token, where: isSent)
        } catch {
            guard !error.wouldBlock, StoreError(error).code == .changeTokenExpired else {
                throw error
            }
            position = firstPushPosition(of: device, key)
            latest = try reader.latest(since: position.token, where: isSent)
        }
        page.start = position
        let hasMore = latest.hasMore || position.hasMore
        page.position = PushPosition(
            start: device.start, token: latest.notificationToken,
            hasMore: hasMore && latest.notifications.isEmpty)
        let owner = Record.ID(recordName: user.recordName)
        page.pushes = latest.notifications.map {
            Push(
                user: owner, device: PushDevice(device), notification: $0,
                hasMore: hasMore)
        }
        return page
    }
}
