import FoundationEssentials
import Stratus
import Testing

extension Subscription.QueryOptions {
    /// Creations, updates and deletions.
    static let everyChange: Subscription.QueryOptions = [
        .firesOnRecordCreation, .firesOnRecordUpdate, .firesOnRecordDeletion,
    ]
}

/// A subscription to the records of a type that satisfy a predicate: to all of their changes unless
/// options are given.
func querySubscription(
    _ id: Subscription.ID, _ predicate: Query.Predicate = .all, type: String = "Note",
    in zone: RecordZone.ID? = nil, _ options: Subscription.QueryOptions = .everyChange,
    info: Subscription.NotificationInfo? = nil
) -> Subscription {
    Subscription(
        .query(predicate, recordType: type, zoneID: zone, options: options), id: id,
        notificationInfo: info)
}

/// The info of a notification that raises the badge.
let badging: Subscription.NotificationInfo = {
    var info = Subscription.NotificationInfo()
    info.shouldBadge = true
    return info
}()

/// The info of a notification that brings the values of some fields.
func bringing(_ keys: [String]) -> Subscription.NotificationInfo {
    var info = Subscription.NotificationInfo()
    info.desiredKeys = keys
    return info
}

extension StoreNotification {
    /// What it tells, in a line: which subscription, what happened, and to what.
    var told: String {
        switch kind {
        case .query: "\(subscriptionID) \(happened) \(recordID?.recordName ?? "nothing")"
        case .zone: "\(subscriptionID) zone \(zoneID?.zoneName ?? "none")"
        case .database: "\(subscriptionID) database \(zoneID?.zoneName ?? "none")"
        case .readMark: "read \(markedID?.description ?? "nothing")"
        }
    }

    private var happened: String {
        switch reason?.rawValue {
        case 1: "created"
        case 2: "updated"
        case 3: "deleted"
        default: "did nothing to"
        }
    }
}

/// A user's notifications since a token, page by page.
struct FollowedNotifications {
    var items: [StoreNotification] = []
    var token: NotificationToken
    var pageCount = 0

    init(
        of container: Container, for user: String = "alice",
        since token: NotificationToken? = nil, resultsLimit: Int? = nil
    ) async throws {
        var page = try await container.notificationChanges(
            for: user, since: token, resultsLimit: resultsLimit)
        var last = token
        items = page.notifications
        pageCount = 1
        while page.moreComing {
            // Else it would never end.
            try #require(page.notificationToken != last, "a page that leads nowhere")
            last = page.notificationToken
            page = try await container.notificationChanges(
                for: user, since: last, resultsLimit: resultsLimit)
            items += page.notifications
            pageCount += 1
        }
        self.token = page.notificationToken
    }

    var told: [String] { items.map { $0.told } }
}

extension Container {
    /// What a user's notifications tell, page by page.
    func told(
        to user: String = "alice", since token: NotificationToken? = nil
    ) async throws -> [String] {
        try await FollowedNotifications(of: self, for: user, since: token).told
    }

    /// The token of a user who has read everything.
    func notificationToken(
        of user: String = "alice", since token: NotificationToken? = nil
    ) async throws -> NotificationToken {
        try await FollowedNotifications(of: self, for: user, since: token).token
    }
}

/// One of the databases that a user has.
enum DatabaseKind: CaseIterable {
    case publicDatabase, privateDatabase, sharedDatabase

    func database(
        of container: Container, for user: String = "alice", device: String? = nil
    ) -> Database {
        switch self {
        case .publicDatabase: container.publicDatabase(as: user, device: device)
        case .privateDatabase: container.privateDatabase(for: user, device: device)
        case .sharedDatabase: container.sharedDatabase(for: user, device: device)
        }
    }
}
