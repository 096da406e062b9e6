internal import StratusEngine
internal import StratusLanguage

// What is done to zones and subscriptions, as the entry of a request has it: `Formats/Record.md`,
// "Request".

extension RequestBody.ZoneItem {
    init(_ item: Stratus.ZoneItem) {
        let action: Action =
            switch item {
            case .save: .save
            case .delete(_, .deleted): .delete
            case .delete(_, .purged): .purge
            }
        self.init(action, RequestBody.Zone(item.id))
    }

    var item: Stratus.ZoneItem {
        switch action {
        case .save: .save(zone.id)
        case .delete: .delete(zone.id, .deleted)
        case .purge: .delete(zone.id, .purged)
        }
    }
}

extension RequestBody.SubscriptionItem {
    /// Fails where it cannot be kept.
    init(_ item: Stratus.SubscriptionItem) throws(EngineError) {
        switch item {
        case .save(let subscription, let isUpdate):
            self = .save(try RequestBody.Subscription(subscription), isUpdate: isUpdate)
        case .delete(let id): self = .delete(id)
        }
    }

    /// Fails where the predicate is none.
    var item: Stratus.SubscriptionItem {
        get throws {
            switch self {
            case .save(let subscription, let isUpdate):
                .save(try subscription.subscription, isUpdate: isUpdate)
            case .delete(let id): .delete(id)
            }
        }
    }
}

extension RequestBody.Subscription {
    fileprivate init(_ subscription: Stratus.Subscription) throws(EngineError) {
        let kind: Kind
        switch subscription.kind {
        case .query(let predicate, let type, let zone, let options):
            kind = .query(
                recordType: type,
                predicate: try predicate.storedText(upTo: RequestBody.predicateLimit),
                zone: zone.map { RequestBody.Zone($0) }, options: options.rawValue)
        case .zone(let zone, let type): kind = .zone(RequestBody.Zone(zone), recordType: type)
        case .database(let type): kind = .database(recordType: type)
        }
        self.init(
            id: subscription.subscriptionID, kind: kind,
            info: subscription.notificationInfo.map { SubscriptionInfo($0) })
    }

    fileprivate var subscription: Stratus.Subscription {
        get throws {
            let kind: Stratus.Subscription.Kind =
                switch self.kind {
                case .query(let type, let predicate, let zone, let options):
                    .query(
                        Stratus.Query.Predicate(try PredicateParser.parse(predicate)),
                        recordType: type,
                        zoneID: zone?.id,
                        options: Stratus.Subscription.QueryOptions(rawValue: options))
                case .zone(let zone, let type): .zone(zone.id, recordType: type)
                case .database(let type): .database(recordType: type)
                }
            return Stratus.Subscription(
                kind, id: id,
                notificationInfo: info.map { Stratus.Subscription.NotificationInfo($0) })
        }
    }
}

extension Query.Predicate {
    /// The text that is kept of it, and by which records are tested. Fails where it is longer than
    /// that, or no predicate.
    func storedText(upTo limit: Int) throws(EngineError) -> String {
        let text = description
        guard text.utf8.count <= limit, (try? PredicateParser.parse(text)) != nil else {
            throw .refused(
                .invalidArguments,
                "expected a predicate without lists in lists, of at most \(limit) bytes as text")
        }
        return text
    }
}
