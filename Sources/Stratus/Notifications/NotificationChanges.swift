internal import StratusEngine

/// A page of a user's notifications.
public struct NotificationChanges: Sendable {
    /// In the order in which what they tell of was committed, or a subscription to the shared database
    /// ended that had to tell of it; what other subscriptions to that tell comes last.
    public internal(set) var notifications: [StoreNotification] = []
    /// From where the next page goes on.
    public internal(set) var notificationToken: NotificationToken
    /// Whether there is more already, or may be.
    public internal(set) var moreComing = false
}

/// What a listener is given of a user's notifications at a time.
public struct NotificationPage: Sendable {
    /// The latest of each subscription, and the latest read mark, in their order.
    public internal(set) var notifications: [StoreNotification] = []
    /// Whether the notifications since the last page were more than these: ``Container`` gives all
    /// of them.
    public internal(set) var hasMore = false
    /// From where the next page goes on.
    public internal(set) var notificationToken: NotificationToken
}
