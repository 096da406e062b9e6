internal import StratusEngine

extension Subscription {
    /// What the notifications of a subscription say (after CloudKit's
    /// `CKSubscription.NotificationInfo`).
    ///
    /// A text has at most 4,096 bytes, a list at most 64 names of fields, each at most 255 bytes
    /// (`invalidArguments`). Where a text and a localization key are given, the key is used. The
    /// arguments of a key are names of fields, whose values are inserted.
    public struct NotificationInfo: Hashable, Sendable {
        /// The text of the alert.
        public var alertBody: String?
        /// The key of the text in the app's localized strings.
        public var alertLocalizationKey: String?
        /// The fields whose values are inserted into that text.
        public var alertLocalizationArgs: [String]?
        /// The title of the alert.
        public var title: String?
        /// The key of the title in the app's localized strings.
        public var titleLocalizationKey: String?
        /// The fields whose values are inserted into that title.
        public var titleLocalizationArgs: [String]?
        /// The subtitle of the alert.
        public var subtitle: String?
        /// The key of the subtitle in the app's localized strings.
        public var subtitleLocalizationKey: String?
        /// The fields whose values are inserted into that subtitle.
        public var subtitleLocalizationArgs: [String]?
        /// The key of the title of the alert's button.
        public var alertActionLocalizationKey: String?
        /// The image that the app shows when it is launched by the alert.
        public var alertLaunchImage: String?
        /// The sound: `default`, or a file of the app.
        public var soundName: String?
        /// The category of the alert's actions.
        public var category: String?
        /// What a sender gives along so that a later notification replaces this one. It is no part
        /// of the payload.
        public var collapseIDKey: String?
        /// The fields whose values the notification brings: at most 3. Strings, numbers, dates,
        /// locations and references are brought, lists and encrypted fields are not. Of a string at
        /// most 100 Unicode scalars are.
        public var desiredKeys: [String]?
        /// Whether each notification adds one to the user's badge.
        public var shouldBadge = false
        /// Whether the app is woken in the background.
        public var shouldSendContentAvailable = false
        /// Whether an extension of the app may change the notification before it is shown.
        public var shouldSendMutableContent = false

        /// Says nothing: such notifications are silent.
        public init() {}

        /// Whether a notification is for the user, and not for the app alone: whether it says anything of
        /// how it is shown, heard, answered or counted.
        var isVisible: Bool {
            let texts = [
                alertBody, alertLocalizationKey, title, titleLocalizationKey, subtitle,
                subtitleLocalizationKey, alertActionLocalizationKey, alertLaunchImage, soundName,
                category,
            ]
            return shouldBadge || shouldSendMutableContent || texts.contains { $0 != nil }
        }

        /// The texts, under their names.
        var texts: [(name: String, text: String?)] {
            [
                ("alertBody", alertBody), ("alertLocalizationKey", alertLocalizationKey),
                ("title", title), ("titleLocalizationKey", titleLocalizationKey),
                ("subtitle", subtitle), ("subtitleLocalizationKey", subtitleLocalizationKey),
                ("alertActionLocalizationKey", alertActionLocalizationKey),
                ("alertLaunchImage", alertLaunchImage), ("soundName", soundName),
                ("category", category), ("collapseIDKey", collapseIDKey),
            ]
        }

        /// The lists of fields, under their names.
        var fields: [(name: String, fields: [String]?)] {
            [
                ("alertLocalizationArgs", alertLocalizationArgs),
                ("titleLocalizationArgs", titleLocalizationArgs),
                ("subtitleLocalizationArgs", subtitleLocalizationArgs),
                ("desiredKeys", desiredKeys),
            ]
        }
    }
}

extension Subscription.NotificationInfo {
    /// The most fields of which a notification brings the values.
    static let desiredKeyLimit = 3
    /// Of a text, in bytes.
    static let textLimit = 4096
    /// Of a list of fields.
    static let fieldLimit = 64

    /// Fails where a subscription cannot have it.
    ///
    /// - Parameter isStrict: whether notifications that are shown cannot wake the app in the
    ///   background, too.
    func check(isStrict: Bool) throws(EngineError) {
        for (name, text) in texts {
            guard let count = text?.utf8.count, count > Self.textLimit else { continue }
            throw .refused(
                .invalidArguments,
                "expected at most \(Self.textLimit) bytes in \(name), found \(count)")
        }
        for (name, list) in fields {
            guard let list else { continue }
            let limit = name == "desiredKeys" ? Self.desiredKeyLimit : Self.fieldLimit
            guard list.count <= limit else {
                throw .refused(
                    .invalidArguments,
                    "expected at most \(limit) fields in \(name), found \(list.count)")
            }
            for field in list where !NameRules.isField(field) {
                throw .refused(
                    .invalidArguments, "'\(field)' in \(name) is not the name of a field")
            }
        }
        if isStrict, shouldSendContentAvailable, isVisible {
            throw .refused(
                .invalidArguments,
                "shouldSendContentAvailable is for notifications that say nothing to the user")
        }
    }
}

extension NameRules {
    /// Whether any record may have a field of that name.
    fileprivate static func isField(_ name: String) -> Bool {
        isTypeName(name) && !isReserved(name) || isShareField(name)
    }
}
