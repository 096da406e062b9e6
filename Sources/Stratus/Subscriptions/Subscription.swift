public import FoundationEssentials
internal import StratusEngine

/// What a user wants to be told of, in one of the user's databases.
///
/// It serves all devices of its user, and no other user sees it. In which databases there may be
/// which kind: `Formats/README.md`, "Subscriptions and notifications" (after CloudKit's
/// subscriptions). Of which changes it tells: `Formats/Notification.md`.
public struct Subscription: Hashable, Sendable {
    /// What tells a subscription from others of the same user and database: 1 to 255 bytes.
    public typealias ID = String

    /// What a subscription tells of.
    public enum Kind: Hashable, Sendable {
        /// Records of a type that satisfy a predicate are created, updated or deleted. In the
        /// public and the private database.
        ///
        /// Creations and updates are tested with what the record is then, deletions by what it was
        /// last. Without a zone, in all zones of a private database, and in the default zone of the
        /// public one.
        case query(
            Query.Predicate, recordType: String, zoneID: RecordZone.ID?, options: QueryOptions)
        /// Anything changes in a zone that its user made. In the private database.
        ///
        /// With a type: a record of it is saved or deleted, or the zone is deleted.
        case zone(RecordZone.ID, recordType: String?)
        /// Anything changes in any zone but the default one. In the private and the shared
        /// database.
        ///
        /// With a type: a record of it is saved or deleted, or a zone is deleted.
        case database(recordType: String?)
    }

    /// What happens to a record that a query subscription tells of, and how often.
    public struct QueryOptions: OptionSet, Hashable, Sendable {
        /// CloudKit's bits, and 16.
        public let rawValue: UInt8
        /// The options of these bits.
        public init(rawValue: UInt8) { self.rawValue = rawValue }

        /// It is created, and satisfies the predicate.
        public static let firesOnRecordCreation = QueryOptions(rawValue: 1)
        /// It is saved again, and satisfies the predicate.
        public static let firesOnRecordUpdate = QueryOptions(rawValue: 2)
        /// It is deleted, and satisfied the predicate.
        public static let firesOnRecordDeletion = QueryOptions(rawValue: 4)
        /// The subscription ends with the first notification.
        public static let firesOnce = QueryOptions(rawValue: 8)
        /// It is saved again, satisfied the predicate and does not any more. The reason is that of
        /// an update. Beyond CloudKit.
        public static let firesOnRecordUnmatched = QueryOptions(rawValue: 16)

        /// Those that say when it fires.
        static let triggers: QueryOptions = [
            .firesOnRecordCreation, .firesOnRecordUpdate, .firesOnRecordDeletion,
            .firesOnRecordUnmatched,
        ]
        static let known = triggers.union(.firesOnce)
    }

    /// The identity: saving another subscription under it replaces this one.
    public var subscriptionID: ID
    /// What it tells of.
    public var kind: Kind
    /// What its notifications say; nil: nothing, they are silent.
    public var notificationInfo: NotificationInfo?

    /// A subscription with a random ID, unless one is given.
    public init(
        _ kind: Kind, id: ID = UUID().uuidString, notificationInfo: NotificationInfo? = nil
    ) {
        subscriptionID = id
        self.kind = kind
        self.notificationInfo = notificationInfo
    }
}

/// What became of the subscriptions that a call was to save and delete.
public struct ModifySubscriptionsResult: Sendable {
    /// For each saved subscription what it is in the store now, or why it was not saved.
    public internal(set) var saveResults: [Subscription.ID: Result<Subscription, StoreError>] =
        [:]
    /// For each deleted subscription nothing, or why it was not deleted.
    public internal(set) var deleteResults: [Subscription.ID: Result<Void, StoreError>] = [:]

    /// Nil where everything was done, else an error of code `partialFailure` with one per subscription
    /// or, where its zone is the reason, of that zone: `Formats/README.md`, "Subscriptions and
    /// notifications", 2.
    public var partialFailure: StoreError? {
        StoreError.partial(
            saveResults, deleteResults, "some subscriptions could not be changed"
        ) { id, error in error.item ?? .subscription(id) }
    }

    init(_ items: [SubscriptionItem], _ outcomes: [Result<Subscription?, StoreError>]) {
        for (item, outcome) in zip(items, outcomes) {
            switch item {
            case .save(let subscription, _):
                saveResults[item.id] = outcome.map { $0 ?? subscription }
            case .delete: deleteResults[item.id] = outcome.map { _ in }
            }
        }
    }
}
