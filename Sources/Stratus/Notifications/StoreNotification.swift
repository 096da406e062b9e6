public import FoundationEssentials
internal import StratusEngine
internal import StratusJournal

/// A notification of a user: that something happened which a subscription of the user tells of, or
/// that an earlier notification was marked as read (after CloudKit's `CKNotification`).
///
/// What it holds, and who is shown what: `Formats/Notification.md`.
public struct StoreNotification: Hashable, Sendable, Identifiable {
    /// What a notification is. CloudKit's numbers.
    public enum Kind: Int, Hashable, Sendable {
        /// That of a query subscription: something happened to a record.
        case query = 1
        /// That of a zone subscription: something changed in the zone.
        case zone = 2
        /// Another notification was marked as read: ``StoreNotification/markedID``. It says no
        /// more.
        case readMark = 3
        /// That of a database subscription: something changed in a zone of the database.
        case database = 4
    }

    /// What happened to a record. CloudKit's numbers.
    public enum Reason: Int, Hashable, Sendable {
        /// It was created.
        case recordCreated = 1
        /// It was saved again.
        case recordUpdated = 2
        /// It was deleted.
        case recordDeleted = 3
    }

    /// In which database of the user. CloudKit's numbers.
    public enum Scope: Int, Hashable, Sendable {
        /// In the public one.
        case `public` = 1
        /// In the user's own.
        case `private` = 2
        /// In what others share with the user.
        case shared = 3
    }

    /// The identity: the same whenever the notification is read.
    public let id: NotificationIdentifier
    /// What it is.
    public let kind: Kind
    /// The store, in 32 hexadecimal digits: as the containerIdentifier of the payload.
    public let containerIdentifier: String
    /// What a save may bring to the store.
    public let environment: Container.Environment
    /// Of which subscription; empty of a read mark.
    public internal(set) var subscriptionID: Subscription.ID = ""
    /// Whose subscription it is, and whose notification.
    public internal(set) var subscriptionOwner: Record.ID?
    /// What happened; nil where it is not of a record.
    public internal(set) var reason: Reason?
    /// Which record; nil where it is not of one.
    public internal(set) var recordID: Record.ID?
    /// Which zone; nil of a read mark.
    public internal(set) var zoneID: RecordZone.ID?
    /// In which database; nil of a read mark.
    public internal(set) var databaseScope: Scope?
    /// The values of the desired keys that the record had, cut as
    /// ``Subscription/NotificationInfo/desiredKeys`` says.
    public internal(set) var recordFields: [String: RecordValue] = [:]
    /// What the badge became; nil where the notification does not count.
    public internal(set) var badge: Int?
    /// What its subscription says of its notifications; nil: it is silent.
    public internal(set) var notificationInfo: Subscription.NotificationInfo?
    /// The values for the alert's text, one for each field that
    /// ``Subscription/NotificationInfo/alertLocalizationArgs`` names.
    public internal(set) var alertLocalizationArgs: [String]?
    /// The same for the title.
    public internal(set) var titleLocalizationArgs: [String]?
    /// The same for the subtitle.
    public internal(set) var subtitleLocalizationArgs: [String]?
    /// When it was made: of a query notification and a read mark the time of the commit, otherwise
    /// that of the zone's last change as far as it is known.
    public let created: Date
    /// Whether the user has marked it as read, on any device.
    public internal(set) var isRead = false
    /// Of a read mark: which notification was marked.
    public internal(set) var markedID: NotificationIdentifier?
    /// Whether the device made the change for which the notifications are read.
    var isFromThisDevice = false

    init(
        _ id: NotificationIdentifier, _ kind: Kind, created: Date, of identity: StoreIdentity
    ) {
        self.id = id
        self.kind = kind
        self.created = created
        containerIdentifier = identity.storeID.description
        environment = Container.Environment(identity.environment)
    }

    /// The alert's text, where the subscription states one.
    public var alertBody: String? { notificationInfo?.alertBody }
    /// The alert's title, where the subscription states one.
    public var title: String? { notificationInfo?.title }
    /// The alert's subtitle, where the subscription states one.
    public var subtitle: String? { notificationInfo?.subtitle }
    /// The sound, where the subscription states one.
    public var soundName: String? { notificationInfo?.soundName }
    /// The category, where the subscription states one.
    public var category: String? { notificationInfo?.category }
    /// What a sender gives along, so that a later notification replaces this one.
    public var collapseIDKey: String? { notificationInfo?.collapseIDKey }

    /// What a device is sent: JSON (RFC 8259) with the members `aps` and `ck`, the same bytes
    /// whenever and wherever it is made.
    ///
    /// What is too much is left out, in the order of `Formats/Notification.md`, "Payload".
    ///
    /// - Parameter limit: how many bytes it may have. What is never left out takes less than 1,800.
    public func payload(limit: Int = 4096) -> Data {
        Data(NotificationPayload(self, limit: limit).json.utf8)
    }

    /// Whether the payload of at most 4,096 bytes leaves out anything.
    public var isPruned: Bool { NotificationPayload(self, limit: 4096).isPruned }
}
