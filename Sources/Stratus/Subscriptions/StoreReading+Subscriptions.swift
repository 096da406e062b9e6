internal import StratusBytes
internal import StratusEngine
internal import StratusIndex
internal import StratusJournal
internal import StratusLanguage

/// A subscription as the store keeps it.
struct StoredSubscription: Sendable {
    /// Where its entry lies, which is its number.
    let number: UInt64
    let entry: SubscriptionEntry

    /// Of one to zones the number of the first of those that told the same, one after the other.
    var origin: UInt64 { entry.origin == 0 ? number : entry.origin }
}

// What the store says of subscriptions.
extension StoreReading {
    /// The subscription of that ID; nil where there is none.
    func subscription(
        _ id: Subscription.ID, of user: UInt32, in scope: DatabaseScope
    ) throws(EngineError) -> StoredSubscription? {
        guard let value = try value(.subscription(user, scope.storedScope, hash(id))) else {
            return nil
        }
        let found = try storedSubscription(entry(EntryLocation(value)))
        // The index knows only a hash of it.
        guard found.entry.id.utf8.elementsEqual(id.utf8) else { throw .refused(.hashCollision) }
        return found
    }

    /// Whether a database has query subscriptions, or had some.
    func hasQuerySubscriptions(in database: UInt32) throws(EngineError) -> Bool {
        guard try hasSubscriptions() else { return false }
        return try value(.subscriptionChanges(database)) != nil
    }

    /// The last entry that began or ended a query subscription to records of a type; nil where none did.
    func subscriptionChange(
        ofType name: String, in database: UInt32
    ) throws(EngineError) -> JournalOffset? {
        try value(subscriptionChanges(ofType: name, in: database)).map {
            JournalOffset(rawValue: $0.stamp)
        }
    }

    /// Where the index has that.
    func subscriptionChanges(ofType name: String, in database: UInt32) -> IndexKey {
        .subscriptionChanges(
            database, SubscriptionAnchor.hash(ofType: name, seed: identity.secret))
    }

    /// Those of a user in a database.
    func subscriptions(
        of user: UInt32, in scope: DatabaseScope
    ) throws(EngineError) -> [StoredSubscription] {
        try storedSubscriptions(places(of: user, in: scope.storedScope))
    }

    /// Those of a user to zones and databases. Of the others no entry is read.
    func zoneSubscriptions(of user: UInt32) throws(EngineError) -> [StoredSubscription] {
        var found = try places(of: user, in: .shared)
        for place in try places(of: user, in: .private) {
            let number = place.offset.rawValue
            if try value(.subscriptionNumber(user, number)) == nil { found.append(place) }
        }
        return try storedSubscriptions(found)
    }

    private func places(
        of user: UInt32, in scope: SubscriptionEntry.Scope
    ) throws(EngineError) -> [EntryLocation] {
        var places: [EntryLocation] = []
        try scan(IndexKey.subscriptions(user, scope)) { _, value in
            places.append(EntryLocation(value))
            return true
        }
        return places
    }

    private func storedSubscriptions(
        _ places: [EntryLocation]
    ) throws(EngineError) -> [StoredSubscription] {
        var found: [StoredSubscription] = []
        for entry in try entries(places) { found.append(try storedSubscription(entry)) }
        return found
    }

    /// The subscription of that number, which may have ended; nil where none ever had it.
    func subscription(
        numbered number: UInt64
    ) throws(EngineError) -> StoredSubscription? {
        guard let entry = try keptEntry(at: JournalOffset(rawValue: number)),
            entry.kind == .subscription
        else { return nil }
        return try storedSubscription(entry)
    }

    func storedSubscription(
        _ entry: JournalEntry
    ) throws(EngineError) -> StoredSubscription {
        guard entry.kind == .subscription,
            let content = entry.withPayload({ try? SubscriptionEntry($0) })
        else { throw .damaged(entry) }
        return StoredSubscription(number: entry.offset.rawValue, entry: content)
    }

    /// As its user sees it.
    func shown(_ stored: StoredSubscription) throws(EngineError) -> Subscription {
        guard let subscription = Subscription(stored.entry) else {
            throw damaged(at: JournalOffset(rawValue: stored.number))
        }
        return subscription
    }
}

extension DatabaseScope {
    /// As entries and keys of subscriptions have it; CloudKit's number.
    var storedScope: SubscriptionEntry.Scope {
        switch self {
        case .public: .public
        case .private: .private
        case .shared: .shared
        }
    }
}

extension Subscription {
    /// Nil where the text of the predicate is none.
    init?(_ entry: SubscriptionEntry) {
        let type = entry.recordType.isEmpty ? nil : entry.recordType
        let zone = entry.zone.isEmpty ? nil : RecordZone.ID(zoneName: entry.zone)
        let info = entry.info.map { NotificationInfo($0) }
        switch entry.kind {
        case .query:
            guard let tree = try? PredicateParser.parse(entry.predicate) else { return nil }
            self.init(
                .query(
                    Query.Predicate(tree), recordType: entry.recordType, zoneID: zone,
                    options: QueryOptions(rawValue: entry.options.rawValue)),
                id: entry.id, notificationInfo: info)
        case .zone:
            guard let zone else { return nil }
            self.init(.zone(zone, recordType: type), id: entry.id, notificationInfo: info)
        case .database:
            self.init(.database(recordType: type), id: entry.id, notificationInfo: info)
        }
    }
}

extension SubscriptionEntry {
    /// The entry of a subscription that was checked, without its anchors.
    init(_ subscription: Subscription, user: UInt32, in scope: DatabaseScope) {
        self.init(
            user: user, scope: scope.storedScope, kind: .database, id: subscription.subscriptionID)
        info = subscription.notificationInfo.map { SubscriptionInfo($0) }
        switch subscription.kind {
        case .query(let predicate, let recordType, let zoneID, let options):
            kind = .query
            self.recordType = recordType
            zone = zoneID?.zoneName ?? ""
            self.predicate = predicate.description
            self.options = Options(rawValue: options.rawValue)
        case .zone(let zoneID, let recordType):
            kind = .zone
            self.recordType = recordType ?? ""
            zone = zoneID.zoneName
        case .database(let recordType):
            self.recordType = recordType ?? ""
        }
    }

    /// Whether it tells of zones what one did that it replaces.
    func goesOn(with former: SubscriptionEntry) -> Bool {
        kind == former.kind && zone == former.zone && recordType == former.recordType
    }

    /// All that it says but for the ID and what it replaces: equal bytes are equal content.
    var content: [UInt8] {
        var entry = self
        entry.id = "-"
        entry.former = nil
        entry.origin = 0
        entry.anchors = []
        var writer = ByteWriter()
        entry.write(to: &writer)
        return writer.bytes
    }
}

extension Subscription.NotificationInfo {
    init(_ stored: SubscriptionInfo) {
        self.init()
        alertBody = stored.alertBody
        alertLocalizationKey = stored.alertLocalizationKey
        alertLocalizationArgs = stored.alertLocalizationArgs
        title = stored.title
        titleLocalizationKey = stored.titleLocalizationKey
        titleLocalizationArgs = stored.titleLocalizationArgs
        subtitle = stored.subtitle
        subtitleLocalizationKey = stored.subtitleLocalizationKey
        subtitleLocalizationArgs = stored.subtitleLocalizationArgs
        alertActionLocalizationKey = stored.alertActionLocalizationKey
        alertLaunchImage = stored.alertLaunchImage
        soundName = stored.soundName
        category = stored.category
        collapseIDKey = stored.collapseIDKey
        desiredKeys = stored.desiredKeys
        shouldBadge = stored.shouldBadge
        shouldSendContentAvailable = stored.shouldSendContentAvailable
        shouldSendMutableContent = stored.shouldSendMutableContent
    }
}

extension SubscriptionInfo {
    init(_ info: Subscription.NotificationInfo) {
        self.init()
        alertBody = info.alertBody
        alertLocalizationKey = info.alertLocalizationKey
        alertLocalizationArgs = info.alertLocalizationArgs
        title = info.title
        titleLocalizationKey = info.titleLocalizationKey
        titleLocalizationArgs = info.titleLocalizationArgs
        subtitle = info.subtitle
        subtitleLocalizationKey = info.subtitleLocalizationKey
        subtitleLocalizationArgs = info.subtitleLocalizationArgs
        alertActionLocalizationKey = info.alertActionLocalizationKey
        alertLaunchImage = info.alertLaunchImage
        soundName = info.soundName
        category = info.category
        collapseIDKey = info.collapseIDKey
        desiredKeys = info.desiredKeys
        shouldBadge = info.shouldBadge
        shouldSendContentAvailable = info.shouldSendContentAvailable
        shouldSendMutableContent = info.shouldSendMutableContent
    }
}
