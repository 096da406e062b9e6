internal import StratusBytes
internal import StratusEngine
internal import StratusIndex
internal import StratusJournal
internal import StratusLanguage

/// What a call does to a subscription.
package enum SubscriptionItem: Sendable {
    /// - Parameter isUpdate: whether there must be one of its ID.
    case save(Subscription, isUpdate: Bool)
    case delete(Subscription.ID)

    package var id: Subscription.ID {
        switch self {
        case .save(let subscription, _): subscription.subscriptionID
        case .delete(let id): id
        }
    }
}

extension SubscriptionItem: NamedItem {
    var itemName: String { id }
    var title: String { "the subscription '\(id)'" }

    func wantsSame(as other: SubscriptionItem) -> Bool {
        switch (self, other) {
        case (.save(let one, let isUpdate), .save(let other, let isOtherUpdate)):
            one.normalized == other.normalized && isUpdate == isOtherUpdate
        case (.delete, .delete): true
        case (.save, .delete), (.delete, .save): false
        }
    }

    fileprivate var isDeletion: Bool { if case .delete = self { true } else { false } }
}

/// Saves and ends of subscriptions of one user in one database: one commit of those that can be.
struct SubscriptionChange: ItemizedTransaction {
    private let scope: DatabaseScope
    private let principal: Principal
    private let user: UserID
    /// The user's name as the host gave it.
    private let userName: String
    private let profile: Profile?
    let items: DistinctItems<SubscriptionItem>

    /// Fails where two items want different things of one subscription.
    init(
        _ items: [SubscriptionItem], of user: UserID, named userName: String,
        in scope: DatabaseScope, as principal: Principal, _ profile: Profile?
    ) throws(EngineError) {
        self.scope = scope
        self.principal = principal
        self.user = user
        self.userName = userName
        self.profile = profile
        self.items = try DistinctItems(items)
    }

    /// What one that ends had to tell of zones is read of the feed of their database, which has the
    /// changes of a group when it ends.
    var beginsGroup: Bool { true }

    func draft(
        _ reading: StoreReading, _ context: PreparationContext, sink: PartSink
    ) throws(EngineError) -> Draft? {
        var draft = Draft(reading)
        var numbers = NumberAssignment(reading, context)
        let view = DatabaseView(reading, scope, principal)
        var known = try reading.user(user)
        if known == nil {
            draft.readSet.append(.user(user.bits))
            // Only who saves one becomes known by it.
            if items.distinct.contains(where: { !$0.isDeletion }) {
                guard let number = try numbers.user(user, name: userName) else { return nil }
                known = number
                try numbers.write(to: &draft)
            }
        }
        var teller = try known.map { number throws(EngineError) in
            NotificationReader(
                reading, of: user, numbered: number,
                entryLimit: context.isSerial ? Self.serialLimit : .max)
        }
        var staged: [SubscriptionEntry] = []
        var isAny = false
        for item in items.distinct {
            do throws(EngineError) {
                var written: Written?
                if let known {
                    written = try entry(for: item, of: known, in: view, staged, &draft)
                }
                guard let written else {
                    draft.results.append(.unchanged)
                    continue
                }
                if let ended = written.ended {
                    guard try leave(ended, &teller, context, sink, &draft) else { return nil }
                }
                // Many long ones are a long commit, which nothing comes between.
                guard try draft.flushIfFull(context, sink) else { return nil }
                let place = draft.buffer.count
                switch written.entry {
                case .saved(let entry):
                    try draft.buffer.add(.subscription, limit: context.payloadLimit) {
                        entry.write(to: &$0)
                    }
                    staged.append(entry)
                case .ended(let entry):
                    try draft.buffer.add(.subscriptionRemoval, limit: context.payloadLimit) {
                        entry.write(to: &$0)
                    }
                }
                isAny = true
                draft.results.append(.staged(place: place))
            } catch {
                if error.wouldBlock { throw error }
                draft.results.append(.failed(StoreError(error)))
            }
        }
        // Without a subscription there is no need of a user either.
        if !isAny { draft.buffer = CommitBuffer() }
        return draft
    }

    /// What is to be written for an item.
    private struct Written {
        enum Entry {
            case saved(SubscriptionEntry)
            case ended(SubscriptionRemovalEntry)
        }

        var entry: Entry
        /// What ends by it without another one that goes on telling the same.
        var ended: StoredSubscription?
    }

    /// So many entries are read to tell what subscriptions had to tell, while others wait.
    private static let serialLimit = 4096

    /// Puts down what a subscription to zones had to tell; false where that needs a serial preparation.
    private func leave(
        _ ended: StoredSubscription, _ teller: inout NotificationReader?,
        _ context: PreparationContext, _ sink: PartSink, _ draft: inout Draft
    ) throws(EngineError) -> Bool {
        if ended.entry.kind == .query { return true }
        let user = ended.entry.user
        if case .shared = scope {
            // What it was told depends on the shares of others.
            if !context.isSerial { return false }
        } else {
            let feed = KeySpace.databaseFeed.key().appending(user).asPrefix
            let first = IndexKey.databaseFeed(user, JournalOffset(rawValue: ended.number))
            draft.readRanges.append(first..<feed.upperBound)
        }
        var changes = try teller?.changes(toldBy: ended)[...] ?? []
        while !changes.isEmpty {
            guard try draft.flushIfFull(context, sink) else { return false }
            let entry = ZoneNotificationsEntry(
                user: user, time: context.now, subscription: ended.number,
                changes: Array(changes.prefix(ZoneNotificationsEntry.limit)))
            try draft.buffer.add(.zoneNotifications, limit: context.payloadLimit) {
                entry.write(to: &$0)
            }
            changes = changes.dropFirst(ZoneNotificationsEntry.limit)
        }
        return true
    }

    /// Nil where an item changes nothing.
    private func entry(
        for item: SubscriptionItem, of number: UInt32, in view: DatabaseView,
        _ staged: [SubscriptionEntry],
        _ draft: inout Draft
    ) throws(EngineError) -> Written? {
        let reading = try view.reading
        draft.readSet.append(
            .subscription(number, scope.storedScope, reading.hash(item.id)))
        let last = try reading.subscription(item.id, of: number, in: scope)
        switch item {
        case .save(let subscription, let isUpdate):
            if isUpdate, last == nil { throw .refused(.noSubscription(item.id)) }
            var entry = try entry(subscription, of: number, in: view, &draft)
            if let last, last.entry.content == entry.content { return nil }
            try checkUnique(entry, of: number, staged, reading, &draft)
            guard let last else { return Written(entry: .saved(entry)) }
            entry.former = last.entry.former(at: last.number)
            let goesOn = entry.kind != .query && entry.goesOn(with: last.entry)
            if goesOn { entry.origin = last.origin }
            return Written(entry: .saved(entry), ended: goesOn ? nil : last)
        case .delete:
            guard let last else { return nil }
            return Written(
                entry: .ended(SubscriptionRemovalEntry(last.entry, at: last.number)), ended: last)
        }
    }

    /// The entry of a subscription that can be saved.
    private func entry(
        _ subscription: Subscription, of number: UInt32, in view: DatabaseView,
        _ draft: inout Draft
    ) throws(EngineError) -> SubscriptionEntry {
        let reading = try view.reading
        try checkForm(subscription)
        if case .query(let predicate, let type, let zone, _) = subscription.kind {
            try check(type: type, reading)
            try view.check(predicate, ofType: type, in: zone, profile)
        }
        if let zone = subscription.zoneID { try check(zone, of: number, in: view, &draft) }
        var entry = SubscriptionEntry(subscription, user: number, in: scope)
        guard entry.predicate.utf8.count <= SubscriptionEntry.predicateLimit else {
            throw .refused(
                .invalidArguments,
                "the text of a predicate has at most \(SubscriptionEntry.predicateLimit) bytes")
        }
        if case .query(_, let type, _, _) = subscription.kind {
            // What is kept is the text, and records are tested by that.
            guard let tree = try? PredicateParser.parse(entry.predicate),
                tree.fields.allSatisfy({ $0.name.utf8.count <= NameRules.limit })
            else {
                throw .refused(
                    .invalidArguments,
                    "expected a predicate without lists in lists, and names of fields of at most "
                        + "\(NameRules.limit) bytes")
            }
            entry.anchors = tree.anchors(
                ofType: type, zone: entry.zone, secret: reading.identity.secret, reading.schema)
        }
        var writer = ByteWriter()
        entry.write(to: &writer)
        let bytes = writer.bytes
        // An entry that cannot be read would fail others that commit with it.
        guard (try? SubscriptionEntry(bytes.span)) != nil else {
            throw .refused(.invalidArguments, "the subscription cannot be stored as it is")
        }
        return entry
    }

    /// What needs no look at the store.
    private func checkForm(_ subscription: Subscription) throws(EngineError) {
        guard subscription.mayBe(in: scope) else {
            throw .refused(
                .badDatabase,
                "query subscriptions are for public and private databases, zone subscriptions for "
                    + "private ones, database subscriptions for private and shared ones")
        }
        let length = subscription.subscriptionID.utf8.count
        guard 1...NameRules.limit ~= length else {
            throw .refused(
                .invalidArguments,
                "expected 1 to \(NameRules.limit) bytes in the ID of a subscription, found "
                    + "\(length)")
        }
        switch subscription.kind {
        case .query(_, let type, _, let options):
            let known = Subscription.QueryOptions.known
            guard !options.isDisjoint(with: .triggers), options.isSubset(of: known) else {
                throw .refused(
                    .invalidArguments,
                    "a query subscription fires on creation, update, deletion or unmatching")
            }
            guard NameRules.isRecordType(type) else { throw .refused(.badName) }
        case .zone(let zone, let type):
            guard !zone.isDefault else {
                throw .refused(
                    StoreError(
                        .invalidArguments, "the default zone takes no part in zone subscriptions"
                    ).with(zone))
            }
            if let type, !NameRules.isRecordType(type) { throw .refused(.badName) }
        case .database(let type):
            if let type, !NameRules.isRecordType(type) { throw .refused(.badName) }
        }
        let isStrict = profile?.refusesUnusualSubscriptions ?? false
        try subscription.notificationInfo?.check(isStrict: isStrict)
    }

    /// In production a save brings no type, and a subscription none either.
    private func check(type: String, _ reading: StoreReading) throws(EngineError) {
        guard reading.identity.environment == .production, type != Record.userRecordType,
            reading.schema.number(type).map(reading.schema.mayBeType) != true
        else { return }
        throw .refused(
            .invalidArguments, "cannot create new type '\(type)' in production schema")
    }

    private func check(
        _ zone: RecordZone.ID, of number: UInt32, in view: DatabaseView, _ draft: inout Draft
    ) throws(EngineError) {
        try zone.checkName()
        let reading = try view.reading
        let database = scope == .public ? 0 : number
        draft.readSet.append(.zone(database, reading.hash(zone.zoneName)))
        do throws(EngineError) {
            _ = try view.usedZone(zone, reading)
        } catch {
            if error.wouldBlock { throw error }
            var refusal = StoreError(error)
            // Behaviour-cases C134: the zone may be on its way.
            if refusal.code == .zoneNotFound { refusal.retryAfter = .milliseconds(200) }
            throw .refused(refusal)
        }
    }

    /// In CloudKit's profile no two subscriptions of a user and database have the same content.
    private func checkUnique(
        _ entry: SubscriptionEntry, of number: UInt32, _ staged: [SubscriptionEntry],
        _ reading: StoreReading, _ draft: inout Draft
    ) throws(EngineError) {
        guard profile?.refusesUnusualSubscriptions == true else { return }
        draft.readRanges.append(IndexKey.subscriptions(number, scope.storedScope))
        let content = entry.content
        // What the call ends or replaces is not there any more.
        var gone = Set(staged.map { Array($0.id.utf8) })
        for item in items.distinct where item.isDeletion { gone.insert(Array(item.id.utf8)) }
        let kept = try reading.subscriptions(of: number, in: scope).map(\.entry)
            .filter { !gone.contains(Array($0.id.utf8)) }
        for other in kept + staged where !other.id.utf8.elementsEqual(entry.id.utf8) {
            guard other.content == content else { continue }
            var error = StoreError(
                .serverRejectedRequest, "subscription is duplicate of '\(other.id)'")
            error.cause = .duplicateSubscription(of: other.id)
            throw .refused(error)
        }
    }
}

extension Subscription {
    /// The zone that it names.
    var zoneID: RecordZone.ID? {
        switch kind {
        case .query(_, _, let zoneID, _): zoneID
        case .zone(let zoneID, _): zoneID
        case .database: nil
        }
    }

    /// Whether there are subscriptions of its kind in a database.
    fileprivate func mayBe(in scope: DatabaseScope) -> Bool {
        switch (kind, scope) {
        case (.query, .public), (_, .private), (.database, .shared): true
        case (_, .public), (_, .shared): false
        }
    }
}

extension DatabaseView {
    /// Fails where no query could have the predicate, and so no subscription: which needs no index.
    func check(
        _ predicate: Query.Predicate, ofType type: String, in zone: RecordZone.ID?,
        _ profile: Profile?
    ) throws(EngineError) {
        var profile = profile
        profile?.indexing = .declared
        _ = try QueryPlan(
            Query(recordType: type, predicate: predicate), in: zone, of: self, profile)
    }
}
