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

    /// What the provider is given: JSON of at most 4,096 bytes, as of
    /// ``StoreNotification/payload(limit:)``.
    public var payload: Data { notification.payload() }
}
