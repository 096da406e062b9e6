import FoundationEssentials
import Stratus
import Testing

/// A store whose users have subscriptions, and what they are told. It chooses no name at random, so
/// that the same calls give the same bytes.
struct SubscriptionStory {
    let maker: SampleMaker
    let container: Container
    /// Alice's own, where most of it happens.
    let alice: Database

    static let zone = SampleMaker.zone
    static let other = RecordZone.ID(zoneName: "other")
    /// Deleted with the matches of its records.
    static let gone = RecordZone.ID(zoneName: "gone")

    static let everyChange: Subscription.QueryOptions = [
        .firesOnRecordCreation, .firesOnRecordUpdate, .firesOnRecordDeletion,
    ]

    init(seed: UInt64) throws {
        maker = SampleMaker(seed: seed)
        container = try maker.open()
        alice = container.privateDatabase(for: "alice")
    }
}

// Records.
extension SubscriptionStory {
    func id(_ name: String, in zone: RecordZone.ID = zone) -> Record.ID {
        Record.ID(recordName: name, zoneID: zone)
    }

    func note(
        _ name: String, in zone: RecordZone.ID = zone, _ fields: [String: RecordValue]
    ) -> Record {
        maker.record(name, in: zone, fields)
    }

    /// One of each kind that a notification brings, a list and bytes.
    var fullFields: [String: RecordValue] {
        [
            "text": "Seven red boats", "n": 1, "size": 2.5,
            "day": .date(Date(timeIntervalSinceReferenceDate: 788_918_400.5)),
            "place": .location(Location(latitude: 52.52, longitude: 13.405)),
            "friend": .reference(Reference(recordID: id("full"))),
            "tags": ["red", "blue"], "raw": .bytes(Data([0, 1, 0x7f])),
        ]
    }

    func change(
        _ name: String, in zone: RecordZone.ID = zone, by database: Database? = nil,
        _ fields: [String: RecordValue]
    ) async throws {
        let database = database ?? alice
        var record = try await database.record(for: id(name, in: zone))
        for (key, value) in fields { record[key] = value }
        try await database.save(record)
    }
}

// Subscriptions and notifications.
extension SubscriptionStory {
    /// Its notifications badge.
    static let badging: Subscription.NotificationInfo = {
        var info = Subscription.NotificationInfo()
        info.title = "A note"
        info.soundName = "default"
        info.shouldBadge = true
        return info
    }()

    /// Its notifications bring all that they can.
    static let bringing: Subscription.NotificationInfo = {
        var info = Subscription.NotificationInfo()
        info.alertLocalizationKey = "changed"
        info.alertLocalizationArgs = [
            "text", "n", "size", "day", "place", "friend", "tags", "raw",
        ]
        info.desiredKeys = ["text", "n", "day"]
        info.category = "notes"
        info.collapseIDKey = "note"
        info.shouldSendMutableContent = true
        return info
    }()

    /// To records of the type Note.
    func query(
        _ id: Subscription.ID, _ text: String, _ arguments: [RecordValue?] = [],
        in zone: RecordZone.ID? = nil, on options: Subscription.QueryOptions = everyChange,
        info: Subscription.NotificationInfo? = nil
    ) throws -> Subscription {
        let predicate = try Query.Predicate(text, arguments: arguments)
        return Subscription(
            .query(predicate, recordType: "Note", zoneID: zone, options: options), id: id,
            notificationInfo: info)
    }

    func save(_ subscriptions: [Subscription]) async throws {
        let result = try await alice.modifySubscriptions(saving: subscriptions)
        for subscription in subscriptions {
            let saved = try #require(result.saveResults[subscription.subscriptionID])
            _ = try saved.get()
        }
    }

    /// Marks those of a user's notifications as read that are chosen.
    func read(as user: String, _ isChosen: (StoreNotification) -> Bool) async throws {
        let page = try await container.notificationChanges(for: user)
        let ids = page.notifications.filter(isChosen).map { $0.id }
        try #require(!ids.isEmpty)
        let results = try await container.markNotificationsRead(ids, for: user)
        for id in ids {
            let result = try #require(results[id])
            try result.get()
        }
    }
}
