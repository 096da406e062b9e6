package import Stratus

extension RecordWriter {
    /// A subscription, as a request may give it again.
    func json(_ subscription: Subscription) -> JSONObject {
        typealias Key = SubscriptionInput.Key
        var object: JSONObject = [
            Key.subscriptionID.rawValue: .string(subscription.subscriptionID),
            Key.subscriptionType.rawValue:
                .string(SubscriptionTypeWord(of: subscription.kind).rawValue),
        ]
        var zone: RecordZone.ID?
        switch subscription.kind {
        case .query(let predicate, let recordType, let zoneID, let options):
            zone = zoneID
            object.append(
                Key.query.rawValue,
                [
                    "recordType": .string(recordType),
                    "predicate": .string(predicate.description),
                ])
            object.append(Key.firesOn.rawValue, .strings(options.firesOn))
            object.append(Key.firesOnce.rawValue, .boolean(options.contains(.firesOnce)))
        case .zone(let zoneID, let recordType):
            zone = zoneID
            object.append(Key.recordType.rawValue, recordType.map(JSONValue.string))
        case .database(let recordType):
            object.append(Key.recordType.rawValue, recordType.map(JSONValue.string))
        }
        object.append(Key.zoneID.rawValue, zone.map { json($0) })
        if zone == nil { object.append(Key.zoneWide.rawValue, true) }
        object.append(
            Key.notificationInfo.rawValue,
            subscription.notificationInfo.map { .object($0.json) })
        return object
    }
}

extension Subscription.QueryOptions {
    /// What it fires on, by the words of Web Services.
    package var firesOn: [String] {
        FiresOnWord.allCases.filter { contains($0.option) }.map(\.rawValue)
    }
}

extension Subscription {
    /// As the gateway answers it, in the database of a user.
    ///
    /// - Parameter owner: the user record name of the owner of the database; nil of one in which
    ///   zones name their owners, or have none.
    package func json(ownedBy owner: String?) -> JSONObject {
        RecordWriter(owner: owner).json(self)
    }
}
