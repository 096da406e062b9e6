internal import Stratus

/// What the caller was notified of since a token, on all devices.
struct NotificationChangesCall: Call {
    enum Key: String { case syncToken, resultsLimit }

    private let token: NotificationToken?
    private let limit: Int?

    init(_ keys: JSONKeys<Key>) throws(Mismatch) {
        token = try keys.optional(.syncToken, as: NotificationTokenInput.self)?.token
        limit = try keys.optional(.resultsLimit, as: PageLimit.self)?.value
    }

    func run(in session: Session) async throws(StoreError) -> JSONObject {
        let user = try session.user()
        let page = try await session.container.notificationChanges(
            for: user, since: token, resultsLimit: limit)
        var items: [JSONValue] = []
        for notification in page.notifications {
            items.append(.object(try notification.itemJSON()))
        }
        return [
            "notifications": .array(items),
            "syncToken": .string(page.notificationToken.description),
            "moreComing": .boolean(page.moreComing),
        ]
    }
}

/// Marks notifications of the caller as read, for all devices.
struct MarkNotificationsRead: Call {
    enum Key: String { case notificationIDs }

    private let ids: [NotificationIdentifier]

    init(_ keys: JSONKeys<Key>) throws(Mismatch) {
        ids = try keys.required(.notificationIDs, as: [NotificationIDInput].self).map(\.id)
    }

    func run(in session: Session) async throws(StoreError) -> JSONObject {
        let results = try await session.container.markNotificationsRead(
            ids, for: try session.user())
        let items = ids.map { id -> JSONValue in
            var object: JSONObject = ["notificationID": .string(id.description)]
            switch results[id] {
            case .success?: object.append("isRead", true)
            case .failure(let error)?: object.append(session.json(error))
            case nil:
                object.append(
                    session.json(StoreError(.unknownItem, "there is no such notification")))
            }
            return .object(object)
        }
        return ["notifications": .array(items)]
    }
}

/// Sets the badge of the caller, for all devices.
struct SetBadge: Call {
    enum Key: String { case value }

    private let value: Int

    init(_ keys: JSONKeys<Key>) throws(Mismatch) {
        value = try keys.required(.value)
        guard (0...Int(UInt32.max)).contains(value) else {
            try keys.refuse(.value, "must be 0 to \(UInt32.max)")
        }
    }

    func run(in session: Session) async throws(StoreError) -> JSONObject {
        try await session.container.setBadge(value, for: try session.user())
        return ["value": .integer(value)]
    }
}

/// How far a client has come in its notifications, as text.
private struct NotificationTokenInput: JSONReadable {
    let token: NotificationToken

    init(_ json: JSONValue) throws(Mismatch) {
        guard let token = NotificationToken(try String(json)) else {
            throw Mismatch("is no token of notifications")
        }
        self.token = token
    }
}

/// Which notification is meant, as text.
private struct NotificationIDInput: JSONReadable {
    let id: NotificationIdentifier

    init(_ json: JSONValue) throws(Mismatch) {
        guard let id = NotificationIdentifier(try String(json)) else {
            throw Mismatch("is no ID of a notification")
        }
        self.id = id
    }
}

extension StoreNotification {
    /// As the gateway answers it. A read mark has the ID of the notification that was marked.
    fileprivate func itemJSON() throws(StoreError) -> JSONObject {
        let payload = try payloadJSON()
        return [
            "notificationID": .string((markedID ?? id).description),
            "type": .integer(kind.rawValue), "payload": payload, "isRead": .boolean(isRead),
            "created": .integer(ExactDate(created).milliseconds),
        ]
    }
}
