internal import Stratus

/// What the notifications of a subscription say, as a request gives it. The fields have their names
/// in Web Services, the others those of the Swift API.
struct NotificationInfoInput: JSONBody {
    enum Key: String {
        case alertBody, alertLocalizationKey, alertLocalizationArgs
        case title, titleLocalizationKey, titleLocalizationArgs
        case subtitle, subtitleLocalizationKey, subtitleLocalizationArgs
        case alertActionLocalizationKey, alertLaunchImage, soundName
        case category, collapseIDKey
        /// The desired keys.
        case additionalFields
        case shouldBadge, shouldSendContentAvailable, shouldSendMutableContent
    }

    let info: Subscription.NotificationInfo

    init(_ keys: JSONKeys<Key>) throws(Mismatch) {
        var info = Subscription.NotificationInfo()
        info.alertBody = try keys.optional(.alertBody)
        info.alertLocalizationKey = try keys.optional(.alertLocalizationKey)
        info.alertLocalizationArgs = try keys.optional(.alertLocalizationArgs)
        info.title = try keys.optional(.title)
        info.titleLocalizationKey = try keys.optional(.titleLocalizationKey)
        info.titleLocalizationArgs = try keys.optional(.titleLocalizationArgs)
        info.subtitle = try keys.optional(.subtitle)
        info.subtitleLocalizationKey = try keys.optional(.subtitleLocalizationKey)
        info.subtitleLocalizationArgs = try keys.optional(.subtitleLocalizationArgs)
        info.alertActionLocalizationKey = try keys.optional(.alertActionLocalizationKey)
        info.alertLaunchImage = try keys.optional(.alertLaunchImage)
        info.soundName = try keys.optional(.soundName)
        info.category = try keys.optional(.category)
        info.collapseIDKey = try keys.optional(.collapseIDKey)
        info.desiredKeys = try keys.optional(.additionalFields)
        info.shouldBadge = try keys.optional(.shouldBadge) ?? false
        info.shouldSendContentAvailable = try keys.optional(.shouldSendContentAvailable) ?? false
        info.shouldSendMutableContent = try keys.optional(.shouldSendMutableContent) ?? false
        self.info = info
    }
}

extension Subscription.NotificationInfo {
    /// As a request may give it again.
    var json: JSONObject {
        typealias Key = NotificationInfoInput.Key
        var object = JSONObject()
        func text(_ key: Key, _ value: String?) {
            object.append(key.rawValue, value.map(JSONValue.string))
        }
        func texts(_ key: Key, _ values: [String]?) {
            object.append(key.rawValue, values.map { JSONValue.strings($0) })
        }
        text(.alertBody, alertBody)
        text(.alertLocalizationKey, alertLocalizationKey)
        texts(.alertLocalizationArgs, alertLocalizationArgs)
        text(.title, title)
        text(.titleLocalizationKey, titleLocalizationKey)
        texts(.titleLocalizationArgs, titleLocalizationArgs)
        text(.subtitle, subtitle)
        text(.subtitleLocalizationKey, subtitleLocalizationKey)
        texts(.subtitleLocalizationArgs, subtitleLocalizationArgs)
        text(.alertActionLocalizationKey, alertActionLocalizationKey)
        text(.alertLaunchImage, alertLaunchImage)
        text(.soundName, soundName)
        text(.category, category)
        text(.collapseIDKey, collapseIDKey)
        texts(.additionalFields, desiredKeys)
        object.append(Key.shouldBadge.rawValue, .boolean(shouldBadge))
        object.append(
            Key.shouldSendContentAvailable.rawValue, .boolean(shouldSendContentAvailable))
        object.append(Key.shouldSendMutableContent.rawValue, .boolean(shouldSendMutableContent))
        return object
    }
}
