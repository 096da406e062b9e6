internal import FoundationEssentials
internal import StratusEngine

/// What a device is sent of a notification: `Formats/Notification.md`, "Payload".
struct NotificationPayload {
    private var alert: [String: PayloadValue] = [:]
    private var aps: [String: PayloadValue] = [:]
    private var cloud: [String: PayloadValue] = [:]
    /// What the part of ``cloud`` is called that is of the notification's kind; nil of a read mark.
    private let part: String?
    private var partMembers: [String: PayloadValue] = [:]
    /// Whether something was left out.
    private(set) var isPruned = false
    /// What a device is sent.
    private(set) var json = ""

    /// With at most `limit` bytes, where what is never left out takes no more.
    init(_ notification: StoreNotification, limit: Int) {
        part =
            switch notification.kind {
            case .query: "qry"
            case .zone: "fet"
            case .database: "met"
            case .readMark: nil
            }
        cloud["cid"] = .text(notification.containerIdentifier)
        cloud["nid"] = .text((notification.markedID ?? notification.id).description)
        cloud["ce"] = .integer(notification.environment == .production ? 1 : 2)
        if part != nil {
            addPart(notification)
            addAlert(notification)
        }
        json = written
        prune(to: limit)
    }

    private mutating func addPart(_ notification: StoreNotification) {
        partMembers["sid"] = .text(notification.subscriptionID)
        if let scope = notification.databaseScope {
            partMembers["dbs"] = .integer(Int64(scope.rawValue))
        }
        if let zone = notification.zoneID {
            partMembers["zid"] = .text(zone.zoneName)
            let isOwn =
                notification.databaseScope == .private
                && zone.ownerName == RecordZone.ID.currentUser
            let owner = isOwn ? notification.subscriptionOwner?.recordName : nil
            partMembers["zoid"] = .text(owner ?? zone.ownerName)
        }
        guard notification.kind == .query else { return }
        partMembers["rid"] = notification.recordID.map { .text($0.recordName) }
        partMembers["fo"] = notification.reason.map { .integer(Int64($0.rawValue)) }
        if !notification.recordFields.isEmpty {
            partMembers["af"] = .object(notification.recordFields.mapValues { $0.payloadValue })
        }
    }

    private mutating func addAlert(_ notification: StoreNotification) {
        let info = notification.notificationInfo ?? Subscription.NotificationInfo()
        if let key = info.alertLocalizationKey {
            alert["loc-key"] = .text(key)
            alert["loc-args"] = notification.alertLocalizationArgs.map { .texts($0) }
        } else {
            alert["body"] = info.alertBody.map { .text($0) }
        }
        if let key = info.titleLocalizationKey {
            alert["title-loc-key"] = .text(key)
            alert["title-loc-args"] = notification.titleLocalizationArgs.map { .texts($0) }
        } else {
            alert["title"] = info.title.map { .text($0) }
        }
        if let key = info.subtitleLocalizationKey {
            alert["subtitle-loc-key"] = .text(key)
            alert["subtitle-loc-args"] = notification.subtitleLocalizationArgs.map { .texts($0) }
        } else {
            alert["subtitle"] = info.subtitle.map { .text($0) }
        }
        alert["action-loc-key"] = info.alertActionLocalizationKey.map { .text($0) }
        alert["launch-image"] = info.alertLaunchImage.map { .text($0) }
        aps["badge"] = notification.badge.map { .integer(Int64($0)) }
        aps["sound"] = info.soundName.map { .text($0) }
        aps["category"] = info.category.map { .text($0) }
        if info.shouldSendContentAvailable { aps["content-available"] = .integer(1) }
        if info.shouldSendMutableContent { aps["mutable-content"] = .integer(1) }
    }

    private var written: String {
        var aps = aps
        if !alert.isEmpty { aps["alert"] = .object(alert) }
        // What says nothing to the user, whatever was left out, is sent for the app itself.
        let isVisible = aps.keys.contains { $0 != "content-available" }
        if part != nil, !isVisible { aps["content-available"] = .integer(1) }
        var cloud = cloud
        cloud["p"] = .integer(isPruned ? 1 : 0)
        if let part { cloud[part] = .object(partMembers) }
        return PayloadValue.object(["aps": .object(aps), "ck": .object(cloud)]).json
    }

    /// Takes one step after the other until the payload is short enough.
    private mutating func prune(to limit: Int) {
        // The first eleven are CloudKit's, which say nothing of title, subtitle and category.
        let steps: [(inout NotificationPayload) -> Void] = [
            { $0.partMembers["af"] = nil },
            { $0.cloud["cid"] = nil },
            { payload in payload.partMembers = payload.partMembers.filter { $0.key == "sid" } },
            { $0.aps["sound"] = nil },
            { $0.alert["launch-image"] = nil },
            { $0.alert["action-loc-key"] = nil },
            { $0.alert["body"] = nil },
            { $0.alert["loc-args"] = nil },
            { $0.alert["loc-key"] = nil },
            { $0.aps["badge"] = nil },
            { $0.cloud["nid"] = nil },
            { $0.removeKey(of: "subtitle") },
            { $0.removeKey(of: "title") },
            { $0.aps["category"] = nil },
            { $0.cut("subtitle", to: limit) },
            { $0.cut("title", to: limit) },
        ]
        for step in steps {
            if json.utf8.count <= limit { return }
            let before = json
            let wasPruned = isPruned
            isPruned = true
            step(&self)
            json = written
            // A step that finds nothing to leave out leaves out nothing.
            if !wasPruned, json.utf8.count >= before.utf8.count {
                isPruned = false
                json = before
            }
        }
    }

    private mutating func removeKey(of text: String) {
        alert["\(text)-loc-args"] = nil
        alert["\(text)-loc-key"] = nil
    }

    /// Keeps as much of the beginning of a text as there is room for.
    private mutating func cut(_ name: String, to limit: Int) {
        guard case .text(let text)? = alert[name] else { return }
        alert[name] = nil
        var (fitting, longer) = (0, text.unicodeScalars.count)
        // With none of it the text is left out as a whole.
        while fitting + 1 < longer {
            let count = (fitting + longer) / 2
            alert[name] = .text(text.prefix(scalars: count))
            if written.utf8.count <= limit { fitting = count } else { longer = count }
        }
        alert[name] = fitting > 0 ? .text(text.prefix(scalars: fitting)) : nil
    }
}

extension PayloadValue {
    fileprivate static func texts(_ values: [String]) -> PayloadValue {
        .list(values.map { .text($0) })
    }

    /// A number, or the text of one that JSON has no words for.
    fileprivate init(_ number: Double) {
        self = number.isFinite ? .number(number) : .text(number.description)
    }
}

extension RecordValue {
    /// As a payload has it; of a kind that none has, an empty text.
    fileprivate var payloadValue: PayloadValue {
        switch self {
        case .string(let text): .text(text)
        case .int64(let number): .integer(number)
        case .double(let number): PayloadValue(number)
        case .date(let date): date.payloadValue
        case .location(let place):
            .object([
                "latitude": PayloadValue(place.latitude),
                "longitude": PayloadValue(place.longitude),
            ])
        case .reference(let reference): .text(reference.recordID.recordName)
        case .bytes, .asset, .list: .text("")
        }
    }

    /// As it is inserted into an alert; of a kind that is not, nothing.
    var insertedText: String {
        switch self {
        case .string(let text): text
        case .int64(let number): String(number)
        case .double(let number): number.description
        case .date(let date): date.payloadValue.plainText
        case .location(let place): "\(place.latitude),\(place.longitude)"
        case .reference(let reference): reference.recordID.recordName
        case .bytes, .asset, .list: ""
        }
    }
}

extension PayloadValue {
    fileprivate var plainText: String {
        if case .text(let text) = self { text } else { json }
    }
}

extension Date {
    /// In whole milliseconds since 1970, rounded down; of a date that is too far off for that, the
    /// number of seconds.
    fileprivate var payloadValue: PayloadValue {
        let seconds = timeIntervalSince1970
        let milliseconds = (seconds * 1000).rounded(.down)
        return Int64(exactly: milliseconds).map { .integer($0) } ?? PayloadValue(seconds)
    }
}
