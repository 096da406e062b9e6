package import StratusIndex
package import StratusJournal

extension KeySpace {
    /// The notifications of a user: ``NotificationRow``. Their entries are kept for their sake.
    package static var notifications: KeySpace {
        KeySpace(42, "notifications", names: .parts, mayComeBack: true)
    }
    /// Those of them that subscriptions left which ended. The first word is their time.
    package static var zoneNotifications: KeySpace {
        KeySpace(55, "zoneNotifications", names: .elsewhere, mayComeBack: true, isRestated: true)
    }
    /// Those of all users, by time: ``NotificationRow``.
    package static var notificationTimes: KeySpace {
        KeySpace(43, "notificationTimes", names: .elsewhere, mayComeBack: true, isRestated: true)
    }
    /// The first word is how many notifications the rows of a user stand for, the second the offset of
    /// the last one that went for its age or their number, 0 where none did.
    package static var notificationCounts: KeySpace {
        KeySpace(44, "notificationCounts", names: .nothing, mayComeBack: true, isRestated: true)
    }
    /// The first word is the badge of a user, the second the length of the frame as in
    /// ``EntryLocation``.
    package static var badges: KeySpace { KeySpace(45, "badges") }
    /// The last read mark of a notification.
    package static var readMarks: KeySpace { KeySpace(46, "readMarks", mayComeBack: true) }
    /// How long notifications are kept, and how many: ``KeptNotifications``.
    package static var notificationPolicy: KeySpace {
        KeySpace(54, "notificationPolicy", names: .elsewhere)
    }
}

/// Which policy for notifications is in force, and the least that one ever said.
package struct KeptNotifications: Equatable, Sendable {
    package var policy = NotificationPolicyEntry.standard
    /// What went by an earlier policy is not back where a later one keeps more.
    package var least = NotificationPolicyEntry.standard

    init() {}

    /// - Parameter value: what the index has under a key.
    package init<Failure>(
        reading value: (IndexKey) throws(Failure) -> IndexValue?
    ) throws(Failure) {
        guard let policy = try value(.notificationPolicy).flatMap({ Self.entry($0) }),
            let least = try value(.leastNotificationPolicy).flatMap({ Self.entry($0) })
        else { return }
        (self.policy, self.least) = (policy, least)
    }

    private static func entry(_ value: IndexValue) -> NotificationPolicyEntry? {
        NotificationPolicyEntry(
            lifetime: Int64(bitPattern: value.first), count: Int(truncatingIfNeeded: value.second))
    }

    mutating func set(_ policy: NotificationPolicyEntry) {
        self.policy = policy
        least.lifetime = min(least.lifetime, policy.lifetime)
        least.count = min(least.count, policy.count)
    }

    /// The rows, where an entry at `stamp` set the policy.
    func rows(at stamp: UInt64) -> [(key: IndexKey, value: IndexValue)] {
        [(IndexKey.notificationPolicy, policy), (IndexKey.leastNotificationPolicy, least)].map {
            (
                $0,
                IndexValue(
                    stamp: stamp, first: UInt64(bitPattern: $1.lifetime), second: UInt64($1.count))
            )
        }
    }
}

extension IndexKey {
    fileprivate static var notificationPolicy: IndexKey {
        KeySpace.notificationPolicy.key().appending(UInt8(0))
    }
    fileprivate static var leastNotificationPolicy: IndexKey {
        KeySpace.notificationPolicy.key().appending(UInt8(1))
    }
}

extension IndexKey {
    /// Of the notifications of a user that the entry at `offset` brought, or of the read mark there.
    package static func notification(_ user: UInt32, _ offset: JournalOffset) -> IndexKey {
        KeySpace.notifications.key().appending(user).appending(offset.rawValue)
    }
    /// Those of a user that come from entries at `offset` or behind it.
    package static func notifications(
        of user: UInt32, from offset: JournalOffset = .zero
    ) -> Range<IndexKey> {
        let all = KeySpace.notifications.key().appending(user).asPrefix
        return notification(user, offset)..<all.upperBound
    }

    /// Of what a subscription of a user left that ended: the entry at `offset`.
    package static func zoneNotification(_ user: UInt32, _ offset: JournalOffset) -> IndexKey {
        KeySpace.zoneNotifications.key().appending(user).appending(offset.rawValue)
    }
    /// All that subscriptions of a user left, by entries at `offset` or behind it.
    package static func zoneNotifications(
        of user: UInt32, from offset: JournalOffset = .zero
    ) -> Range<IndexKey> {
        let all = KeySpace.zoneNotifications.key().appending(user).asPrefix
        return zoneNotification(user, offset)..<all.upperBound
    }

    package static func notificationTime(
        _ time: Int64, _ offset: JournalOffset, _ user: UInt32
    ) -> IndexKey {
        notificationTime(time).appending(offset.rawValue).appending(user)
    }
    /// Those of all users from that time on.
    package static func notificationTimes(from time: Int64 = .min) -> Range<IndexKey> {
        notificationTime(time)..<KeySpace.notificationTimes.range().upperBound
    }
    private static func notificationTime(_ time: Int64) -> IndexKey {
        KeySpace.notificationTimes.key().appending(UInt64(bitPattern: time) ^ 1 << 63)
    }

    package static func notificationCount(_ user: UInt32) -> IndexKey {
        KeySpace.notificationCounts.key().appending(user)
    }
    package static func badge(_ user: UInt32) -> IndexKey {
        KeySpace.badges.key().appending(user)
    }

    /// Of what a user's read mark names.
    package static func readMark(_ user: UInt32, _ id: NotificationID) -> IndexKey {
        readMark(user, id.offset).appending(id.number).appending(id.place)
    }
    /// Those of all notifications of a user with that offset.
    package static func readMarks(of user: UInt32, _ offset: UInt64) -> Range<IndexKey> {
        readMark(user, offset).asPrefix
    }
    private static func readMark(_ user: UInt32, _ offset: UInt64) -> IndexKey {
        KeySpace.readMarks.key().appending(user).appending(offset)
    }
}

/// What the index says of the notifications of a user by one entry, by user and by time. A read mark is
/// one, too.
package struct NotificationRow: Equatable, Sendable {
    package enum Kind: UInt8, Sendable {
        case matches = 1
        case readMark = 2
        /// What a subscription to zones left that ended.
        case zones = 3
    }

    package var user: UInt32
    /// Of the entry.
    package var offset: JournalOffset
    package var kind: Kind
    /// Of the records; 0 where it is not of matches.
    package var zone: UInt32
    /// How many notifications there are; below 2^24.
    package var count: Int
    /// In microseconds since 1970.
    package var time: Int64

    package init(
        user: UInt32, offset: JournalOffset, kind: Kind, zone: UInt32, count: Int, time: Int64
    ) {
        self.user = user
        self.offset = offset
        self.kind = kind
        self.zone = zone
        self.count = count
        self.time = time
    }

    /// Of ``KeySpace/notifications`` or ``KeySpace/notificationTimes``; nil where it is of neither.
    package init?(_ key: IndexKey, _ value: IndexValue) {
        let kind = Kind(rawValue: UInt8(truncatingIfNeeded: value.first >> 32))
        guard let kind else { return nil }
        self.kind = kind
        zone = UInt32(truncatingIfNeeded: value.first)
        count = Int(value.first >> 40)
        switch (key.keyspace, key.count) {
        case (KeySpace.notifications.rawValue, 17):
            user = key.uint32(at: 5)
            offset = JournalOffset(rawValue: key.uint64(at: 9))
            time = Int64(bitPattern: value.second)
        case (KeySpace.notificationTimes.rawValue, 25):
            time = Int64(bitPattern: key.uint64(at: 5) ^ 1 << 63)
            offset = JournalOffset(rawValue: key.uint64(at: 13))
            user = key.uint32(at: 21)
        default: return nil
        }
    }

    /// Under ``StratusIndex/IndexKey/notification(_:_:)``.
    var value: IndexValue {
        IndexValue(
            stamp: offset.rawValue, first: words, second: UInt64(bitPattern: time))
    }

    /// Under ``StratusIndex/IndexKey/notificationTime(_:_:_:)``; of a read mark with the offset of
    /// the notification that was read, otherwise with 0.
    func value(readOffset: UInt64) -> IndexValue {
        IndexValue(stamp: offset.rawValue, first: words, second: readOffset)
    }

    private var words: UInt64 {
        UInt64(truncatingIfNeeded: count) << 40 | UInt64(kind.rawValue) << 32 | UInt64(zone)
    }
}
