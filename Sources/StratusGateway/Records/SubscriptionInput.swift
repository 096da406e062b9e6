internal import FoundationEssentials
internal import Stratus

/// A subscription, as a request gives it to be saved.
struct SubscriptionInput: JSONBody {
    enum Key: String {
        case subscriptionID, subscriptionType, recordType, query, zoneID, zoneWide
        case firesOn, firesOnce, notificationInfo
    }

    /// Nil where the request gives none.
    let id: String?
    private let trigger: Trigger
    private let info: Subscription.NotificationInfo?

    private enum Trigger {
        case query(QueryInput, zone: RecordZone.ID?, Subscription.QueryOptions)
        case zone(RecordZone.ID, recordType: String?)
        case database(recordType: String?)
    }

    init(_ keys: JSONKeys<Key>) throws(Mismatch) {
        id = try keys.optional(.subscriptionID)
        let type: SubscriptionTypeWord = try keys.required(.subscriptionType)
        switch type {
        case .query: trigger = try Self.query(keys)
        case .zone:
            try Self.refuseKeysOfQueries(keys)
            let zone = try keys.required(.zoneID, as: ZoneIDInput.self).id
            trigger = .zone(zone, recordType: try keys.optional(.recordType))
        case .database:
            try Self.refuseKeysOfQueries(keys)
            if try keys.optional(.zoneID, as: ZoneIDInput.self) != nil {
                try keys.refuse(.zoneID, "is for the types query and zone")
            }
            trigger = .database(recordType: try keys.optional(.recordType))
        }
        try Self.checkZoneWide(keys)
        info = try keys.optional(.notificationInfo, as: NotificationInfoInput.self)?.info
    }

    private static func query(_ keys: JSONKeys<Key>) throws(Mismatch) -> Trigger {
        let query: QueryInput = try keys.required(.query)
        if keys.isGiven(.recordType) {
            try keys.refuse(.recordType, "is part of the query of the type query")
        }
        let zone = try keys.optional(.zoneID, as: ZoneIDInput.self)?.id
        let words: [FiresOnWord] = try keys.required(.firesOn)
        var options: Subscription.QueryOptions = []
        for word in words { options.insert(word.option) }
        if try keys.optional(.firesOnce) ?? false { options.insert(.firesOnce) }
        return .query(query, zone: zone, options)
    }

    private static func refuseKeysOfQueries(_ keys: JSONKeys<Key>) throws(Mismatch) {
        for key in [Key.query, .firesOn, .firesOnce] where keys.isGiven(key) {
            try keys.refuse(key, "is for the type query")
        }
    }

    /// The key says once more whether the subscription is of all zones.
    private static func checkZoneWide(_ keys: JSONKeys<Key>) throws(Mismatch) {
        guard let isZoneWide: Bool = try keys.optional(.zoneWide) else { return }
        guard isZoneWide != keys.isGiven(.zoneID) else {
            try keys.refuse(
                .zoneWide, isZoneWide ? "is true beside a zoneID" : "is false without a zoneID")
        }
    }

    /// The subscription under an ID, as the schema of the container has its query.
    ///
    /// - Parameter now: the moment of `now()` in its predicate.
    func subscription(
        id: String, in container: Container, now: Date
    ) throws(Mismatch) -> Subscription {
        let kind: Subscription.Kind
        switch trigger {
        case .zone(let zone, let type): kind = .zone(zone, recordType: type)
        case .database(let type): kind = .database(recordType: type)
        case .query(let input, let zone, let options):
            let scope = QueryScope(
                container: container, recordType: input.recordType, zone: zone, now: now)
            do throws(Mismatch) {
                let query = try input.query(scope)
                kind = .query(
                    query.predicate, recordType: query.recordType, zoneID: zone, options: options)
            } catch {
                throw error.under(Key.query.rawValue)
            }
        }
        return Subscription(kind, id: id, notificationInfo: info)
    }
}

/// A subscription that is asked for by its ID. What a response says of one may be given back.
struct SubscriptionIDInput: JSONBody {
    typealias Key = SubscriptionInput.Key

    let id: String

    init(_ keys: JSONKeys<Key>) throws(Mismatch) { id = try keys.required(.subscriptionID) }
}

/// The kinds of subscriptions, by their names in Web Services.
enum SubscriptionTypeWord: String, JSONWord {
    case query, zone, database

    init(of kind: Subscription.Kind) {
        switch kind {
        case .query: self = .query
        case .zone: self = .zone
        case .database: self = .database
        }
    }
}

/// What a query subscription fires on. `unmatch` is no word of Web Services.
enum FiresOnWord: String, JSONWord {
    case create, update, delete, unmatch

    var option: Subscription.QueryOptions {
        switch self {
        case .create: .firesOnRecordCreation
        case .update: .firesOnRecordUpdate
        case .delete: .firesOnRecordDeletion
        case .unmatch: .firesOnRecordUnmatched
        }
    }
}

extension JSONKeys {
    /// Whether the key was given with a value that is not null.
    fileprivate func isGiven(_ key: Key) -> Bool {
        given(key).map { $0 != .null } ?? false
    }
}
