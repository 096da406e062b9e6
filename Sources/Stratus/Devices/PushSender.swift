public import FoundationEssentials

/// What a host does to reach devices: it hands payloads to a push provider.
///
/// The library opens no connections. ``Container/deliverPushes(through:)`` asks for one push of a
/// device at a time, and for those of several devices at once.
public protocol PushSender: Sendable {
    /// Sends a push, and says what came of it.
    ///
    /// It is asked again as soon as it answers ``PushOutcome/retry``: there is no timer. A sender
    /// waits before it gives that answer for as long as the provider wants it to. Its task is
    /// cancelled when the delivery ends; it then answers soon.
    func send(_ push: Push) async -> PushOutcome
}

/// What came of a push.
public enum PushOutcome: Hashable, Sendable {
    /// The provider has taken it: the next one follows.
    case delivered
    /// It was not sent and is to be tried again now, or in its place a later one of the same
    /// subscription, if there is one by now.
    case retry
    /// The provider knows the token no more: the device is removed, unless it was registered with
    /// another token meanwhile.
    case unregistered
}

/// What a device is to be sent.
public struct Push: Sendable {
    /// How soon a provider delivers a push (CloudKit's: by what its subscription says of it). The raw
    /// values are those of `apns-priority`.
    public enum Priority: Int, Hashable, Sendable {
        /// When it suits the device: it is for the app alone.
        case medium = 5
        /// At once: it is for the user.
        case high = 10
    }

    /// Whose device it is.
    public let user: Record.ID
    /// Which device, with its token.
    public let device: PushDevice
    /// What is told, with ``StoreNotification/collapseIDKey``.
    public let notification: StoreNotification
    /// Whether there may be notifications that wait for the device and are not sent, since a later
    /// one of their subscription is, or since they were not kept that long. The device fetches them
    /// by ``Container/notificationChanges(for:since:resultsLimit:)``.
    public let hasMore: Bool

    /// How soon it is to be delivered: at once where the subscription says how a notification is shown,
    /// heard, answered or counted.
    public var priority: Priority {
        notification.notificationInfo?.isVisible == true ? .high : .medium
    }

    /// What the provider is given: JSON of at most 4,096 bytes, as of
    /// ``StoreNotification/payload(limit:)``.
    public var payload: Data { notification.payload() }
}
