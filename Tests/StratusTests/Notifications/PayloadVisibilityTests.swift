import FoundationEssentials
import Stratus
import Testing

/// Visible and silent notifications: semantics 6.2;
/// `Formats/Notification.md`, "Payload".
@Suite struct PayloadVisibilityTests {
    /// A subscription of each kind that is told of a record saved in `notes`.
    enum Kind: CaseIterable {
        case query, zone, database

        func subscription(_ info: Subscription.NotificationInfo?) -> Subscription {
            switch self {
            case .query: querySubscription("s", info: info)
            case .zone:
                Subscription(.zone(notes, recordType: nil), id: "s", notificationInfo: info)
            case .database:
                Subscription(.database(recordType: nil), id: "s", notificationInfo: info)
            }
        }
    }

    /// An info that says one thing.
    struct Part: Sendable, CustomTestStringConvertible {
        let testDescription: String
        /// Whether a notification of a query is shown, heard, or seen in the badge by it.
        let isVisible: Bool
        /// The members of `aps` that say it.
        let aps: [String: JSON]
        let info: Subscription.NotificationInfo

        init(
            _ name: String, isVisible: Bool = true, _ aps: [String: JSON],
            _ edit: (inout Subscription.NotificationInfo) -> Void
        ) {
            testDescription = name
            self.isVisible = isVisible
            self.aps = aps
            var info = Subscription.NotificationInfo()
            edit(&info)
            self.info = info
        }

        /// Of a member of the alert.
        init(
            _ name: String, isVisible: Bool = true, alert: String,
            _ edit: (inout Subscription.NotificationInfo) -> Void
        ) {
            self.init(
                name, isVisible: isVisible, ["alert": .object([alert: .text("x")])], edit)
        }
    }

    static let parts: [Part] = [
        Part("nothing", isVisible: false, [:]) { _ in },
        Part("alertBody", alert: "body") { $0.alertBody = "x" },
        Part("alertLocalizationKey", alert: "loc-key") { $0.alertLocalizationKey = "x" },
        Part("title", alert: "title") { $0.title = "x" },
        Part("titleLocalizationKey", alert: "title-loc-key") { $0.titleLocalizationKey = "x" },
        Part("subtitle", alert: "subtitle") { $0.subtitle = "x" },
        Part("subtitleLocalizationKey", alert: "subtitle-loc-key") {
            $0.subtitleLocalizationKey = "x"
        },
        Part("soundName", ["sound": .text("x")]) { $0.soundName = "x" },
        Part("shouldBadge", ["badge": .number("1")]) { $0.shouldBadge = true },
        Part("alertActionLocalizationKey", alert: "action-loc-key") {
            $0.alertActionLocalizationKey = "x"
        },
        Part("alertLaunchImage", alert: "launch-image") { $0.alertLaunchImage = "x" },
        Part("category", ["category": .text("x")]) { $0.category = "x" },
        Part("shouldSendMutableContent", ["mutable-content": .number("1")]) {
            $0.shouldSendMutableContent = true
        },
        Part("collapseIDKey", isVisible: false, [:]) { $0.collapseIDKey = "x" },
        Part("desiredKeys", isVisible: false, [:]) { $0.desiredKeys = ["n"] },
        // Arguments without their key say nothing.
        Part("alertLocalizationArgs", isVisible: false, [:]) { $0.alertLocalizationArgs = ["n"] },
        Part("titleLocalizationArgs", isVisible: false, [:]) { $0.titleLocalizationArgs = ["n"] },
        Part("subtitleLocalizationArgs", isVisible: false, [:]) {
            $0.subtitleLocalizationArgs = ["n"]
        },
    ]

    /// The notification of a record that was saved, and the `aps` of its payload.
    private static func notification(
        of kind: Kind, _ info: Subscription.NotificationInfo?
    ) async throws -> (notification: StoreNotification, aps: JSON) {
        let (container, database) = try await makeDatabase()
        try await database.save(kind.subscription(info))
        try await database.save(note("a", ["n": 1]))
        let items = try await FollowedNotifications(of: container).items
        #expect(items.count == 1)
        let found = try #require(items.first)
        let json = try JSONDecoder().decode(JSON.self, from: found.payload())
        return (found, try #require(json["aps"]))
    }

    // Semantics 6.2 and 16, 18: the profile accepts what is shown and wakes the app besides.
    @Test(arguments: parts, [false, true])
    func `content-available is set on request, and where nothing is said to the user`(
        part: Part, wakes: Bool
    ) async throws {
        var info = part.info
        info.shouldSendContentAvailable = wakes
        var expected = part.aps
        if wakes || !part.isVisible { expected["content-available"] = .number("1") }
        let (found, aps) = try await Self.notification(of: .query, info)
        #expect(aps == .object(expected))
        #expect(found.notificationInfo == info)
        #expect(found.badge == (info.shouldBadge ? 1 : nil))
        #expect(!found.isPruned)
    }

    // Formats/README.md, "Subscriptions and notifications", 11.
    @Test(arguments: parts, [Kind.zone, .database])
    func `zones and databases show all of an info but a badge, which alone is silent`(
        part: Part, kind: Kind
    ) async throws {
        let isVisible = part.isVisible && !part.info.shouldBadge
        var expected = part.aps
        expected["badge"] = nil
        if !isVisible { expected["content-available"] = .number("1") }
        let (found, aps) = try await Self.notification(of: kind, part.info)
        #expect(aps == .object(expected))
        #expect(found.notificationInfo == part.info && found.badge == nil)
    }

    // Semantics 6.2: notificationInfo == nil.
    @Test(arguments: Kind.allCases)
    func `a subscription without an info is silent, like one with an empty info`(
        kind: Kind
    ) async throws {
        let silent = JSON.object(["content-available": .number("1")])
        let without = try await Self.notification(of: kind, nil)
        #expect(without.aps == silent && without.notification.notificationInfo == nil)
        let empty = try await Self.notification(of: kind, Subscription.NotificationInfo())
        #expect(empty.aps == silent && empty.notification.notificationInfo != nil)
    }

    /// Nothing, the badge, a title, and both.
    private static var infos: [Subscription.NotificationInfo] {
        var titled = Subscription.NotificationInfo()
        titled.title = "title"
        var both = badging
        both.title = "title"
        return [Subscription.NotificationInfo(), badging, titled, both]
    }

    // Semantics 6.2. A provider may refuse a push whose `aps` is empty.
    @Test(arguments: Kind.allCases, [false, true])
    func `every payload is shown or silent`(kind: Kind, wakes: Bool) async throws {
        for info in Self.infos {
            var info = info
            info.shouldSendContentAvailable = wakes
            let (found, aps) = try await Self.notification(of: kind, info)
            let isShown = aps["alert"] != nil || aps["badge"] != nil || aps["sound"] != nil
            let isSilent = aps["content-available"] == .number("1")
            #expect(aps != .object([:]), "\(info)")
            #expect(isShown || isSilent, "\(info)")
            #expect(isSilent == (wakes || !isShown), "\(info)")
            #expect((aps["badge"] != nil) == (found.badge != nil), "\(info)")
        }
    }

    // Semantics 16, 18.
    @Test(arguments: parts)
    func `CloudKit's profile refuses content-available beside anything for the user`(
        part: Part
    ) async throws {
        // Zone and database subscriptions do not count in the badge.
        for kind in part.info.shouldBadge ? [Kind.query] : Kind.allCases {
            let container = try Container.inMemory(profile: .cloudKit)
            let database = container.privateDatabase(for: "alice")
            try await database.save(RecordZone(zoneID: notes))
            let alone = kind.subscription(part.info)
            #expect(try await database.save(alone) == alone)
            var info = part.info
            info.shouldSendContentAvailable = true
            let waking = kind.subscription(info)
            if part.isVisible {
                let error = await failure { try await database.save(waking) }
                #expect(error.code == .invalidArguments, "\(kind)")
                #expect(error.reason.contains("shouldSendContentAvailable"), "\(error.reason)")
                // The earlier subscription stays.
                #expect(try await database.allSubscriptions() == [alone])
            } else {
                #expect(try await database.save(waking) == waking)
                #expect(try await database.allSubscriptions() == [waking])
            }
        }
    }
}
