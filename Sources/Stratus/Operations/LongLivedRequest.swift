public import FoundationEssentials

/// What a long-lived operation is to do: a call that is kept in the store before it is made.
///
/// Rules: `Formats/README.md`, "Long-lived operations" (after CloudKit's `isLongLived`).
public enum LongLivedRequest: Sendable {
    /// Saves and deletes records; what lies in one zone is one commit.
    case modify(Modification)
    /// Moves records into another zone, as ``Database/moveRecords(_:to:operationID:)`` does.
    case move([Record.ID], to: RecordZone.ID)
    /// Fetches records, as ``Database/records(for:desiredKeys:)`` does.
    case records([Record.ID], desiredKeys: [String]?)
    /// Fetches a page of what a query finds.
    case query(QueryFetch)
    /// Fetches a page of the changes of each of these zones.
    case zoneChanges([ZoneFetch])
    /// Fetches a page of the zones that changed, as
    /// ``Database/databaseChanges(since:resultsLimit:)`` does.
    case databaseChanges(since: ChangeToken?, resultsLimit: Int?)
    /// Makes and deletes zones: one commit of what can be done.
    case modifyZones(ZoneModification)
    /// Saves and deletes subscriptions: one commit of what can be done.
    case modifySubscriptions(SubscriptionModification)

    /// Whether it changes the store.
    var isChange: Bool {
        switch self {
        case .modify, .move, .modifyZones, .modifySubscriptions: true
        case .records, .query, .zoneChanges, .databaseChanges: false
        }
    }

    /// Whether the commit that makes the call ends the request, too.
    var endsInItsCommit: Bool {
        switch self {
        case .modifyZones, .modifySubscriptions: true
        case .modify, .move, .records, .query, .zoneChanges, .databaseChanges: false
        }
    }

    /// Records to be saved and deleted. Their assets are stored along with the request, and stay as
    /// long as it does.
    public struct Modification: Sendable {
        package var items: [RecordItem]
        package var policy: SavePolicy
        /// Whether in each zone all or nothing is done.
        public var atomically: Bool
        /// As of a call that is made at once.
        public var clientChangeTokenData: Data?

        /// Saves and deletes these records.
        public init(
            saving records: [Record], deleting recordIDs: [Record.ID] = [],
            savePolicy: SavePolicy = .ifServerRecordUnchanged, atomically: Bool = true,
            clientChangeTokenData: Data? = nil
        ) {
            self.init(
                Database.items(saving: records, deleting: recordIDs, savePolicy), savePolicy,
                atomically: atomically, clientChangeTokenData: clientChangeTokenData)
        }

        /// Does what each item says.
        package init(
            _ items: [RecordItem], _ policy: SavePolicy = .ifServerRecordUnchanged,
            atomically: Bool, clientChangeTokenData: Data? = nil
        ) {
            self.items = items
            self.policy = policy
            self.atomically = atomically
            self.clientChangeTokenData = clientChangeTokenData
        }
    }

    /// Zones to be made and deleted.
    public struct ZoneModification: Sendable {
        package var items: [ZoneItem]

        /// Makes and deletes these zones, as
        /// ``Database/modifyRecordZones(saving:deleting:reason:)`` does.
        public init(
            saving zones: [RecordZone], deleting ids: [RecordZone.ID] = [],
            reason: DatabaseChanges.Deletion.Reason = .deleted
        ) {
            self.init(ZoneItem.all(saving: zones, deleting: ids, reason))
        }

        /// Does what each item says.
        package init(_ items: [ZoneItem]) { self.items = items }
    }

    /// Subscriptions to be saved and deleted.
    public struct SubscriptionModification: Sendable {
        package var items: [SubscriptionItem]

        /// Saves and deletes these subscriptions, as
        /// ``Database/modifySubscriptions(saving:deleting:)`` does.
        public init(saving subscriptions: [Subscription], deleting ids: [Subscription.ID] = []) {
            self.init(SubscriptionItem.all(saving: subscriptions, deleting: ids))
        }

        /// Does what each item says.
        package init(_ items: [SubscriptionItem]) { self.items = items }
    }

    /// A page of a query.
    public struct QueryFetch: Sendable {
        /// What is asked for.
        public var query: Query
        /// Where to look; nil: as of a query that is asked at once.
        public var zoneID: RecordZone.ID?
        /// The fields that the records have; nil: all.
        public var desiredKeys: [String]?
        /// The most records in the page.
        public var resultsLimit: Int?
        /// Where the page begins: the cursor of the one before.
        public var cursor: QueryPage.Cursor?

        /// A page of the records that `query` finds.
        public init(
            _ query: Query, inZoneWith zoneID: RecordZone.ID? = nil, desiredKeys: [String]? = nil,
            resultsLimit: Int? = nil, from cursor: QueryPage.Cursor? = nil
        ) {
            self.query = query
            self.zoneID = zoneID
            self.desiredKeys = desiredKeys
            self.resultsLimit = resultsLimit
            self.cursor = cursor
        }
    }

    /// A page of the changes of a zone.
    public struct ZoneFetch: Sendable {
        /// Which zone.
        public var zoneID: RecordZone.ID
        /// What was seen before; nil: nothing.
        public var token: ChangeToken?
        /// A token of the zone up to which the page goes; nil: to the end.
        public var point: ChangeToken?
        /// The fields that the records have; nil: all.
        public var desiredKeys: [String]?
        /// The types of the records in the page; nil: all.
        public var desiredRecordTypes: [String]?
        /// The most changes in the page.
        public var resultsLimit: Int?

        /// What changed in a zone since `token`.
        public init(
            inZoneWith zoneID: RecordZone.ID, since token: ChangeToken? = nil,
            asOf point: ChangeToken? = nil, desiredKeys: [String]? = nil,
            desiredRecordTypes: [String]? = nil, resultsLimit: Int? = nil
        ) {
            self.zoneID = zoneID
            self.token = token
            self.point = point
            self.desiredKeys = desiredKeys
            self.desiredRecordTypes = desiredRecordTypes
            self.resultsLimit = resultsLimit
        }
    }
}

/// What came of a long-lived operation, as the call gives it that is made at once.
public enum LongLivedOutcome: Sendable {
    /// What became of each record.
    case modify(ModifyRecordsResult)
    /// The records that were moved.
    case move([Record])
    /// For each record what it is, or why it cannot be had.
    case records([Record.ID: Result<Record, StoreError>])
    /// The page.
    case query(QueryPage)
    /// For each zone the page, or why it cannot be had.
    case zoneChanges([RecordZone.ID: Result<RecordZoneChanges, StoreError>])
    /// The page.
    case databaseChanges(DatabaseChanges)
    /// What became of each zone. Of what failed, code and reason are kept.
    case modifyZones(ModifyRecordZonesResult)
    /// What became of each subscription, likewise.
    case modifySubscriptions(ModifySubscriptionsResult)

    init(_ answer: LongLivedAnswer) {
        switch answer {
        case .items(let items, let outcomes):
            self = .modify(ModifyRecordsResult(items, outcomes))
        case .moved(let records): self = .move(records)
        case .records(_, let results): self = .records(results)
        case .query(let page): self = .query(page)
        case .zones(let zones, let pages):
            var results: [RecordZone.ID: Result<RecordZoneChanges, StoreError>] = [:]
            for (zone, page) in zip(zones, pages) { results[zone.zoneID] = page }
            self = .zoneChanges(results)
        case .database(let page, _): self = .databaseChanges(page)
        case .zoneItems(let items, let outcomes):
            self = .modifyZones(ModifyRecordZonesResult(items, outcomes))
        case .subscriptionItems(let items, let outcomes):
            self = .modifySubscriptions(ModifySubscriptionsResult(items, outcomes))
        }
    }
}

/// The same in the order of the request, along with what was asked for.
package enum LongLivedAnswer: Sendable {
    case items([RecordItem], [Result<Record?, StoreError>])
    case moved([Record])
    case records([Record.ID], [Record.ID: Result<Record, StoreError>])
    case query(QueryPage)
    case zones([LongLivedRequest.ZoneFetch], [Result<RecordZoneChanges, StoreError>])
    /// `isFirst`: no token was given.
    case database(DatabaseChanges, isFirst: Bool)
    case zoneItems([ZoneItem], [Result<RecordZone?, StoreError>])
    case subscriptionItems([SubscriptionItem], [Result<Subscription?, StoreError>])

    /// Why each item of a modification of records failed.
    var recordErrors: [StoreError?] {
        guard case .items(_, let outcomes) = self else { return [] }
        return outcomes.map { outcome in
            if case .failure(let error) = outcome { error } else { nil }
        }
    }
}

/// How a host wants a request to be answered: kept along with it, and unread here.
package struct AnswerForm: Sendable, Equatable {
    /// What the host says of one zone of several.
    package struct Zone: Sendable, Equatable {
        package var isReversed: Bool
        package var numbersAsStrings: Bool

        package init(isReversed: Bool, numbersAsStrings: Bool) {
            self.isReversed = isReversed
            self.numbersAsStrings = numbersAsStrings
        }
    }

    package var numbersAsStrings = false
    /// The fields of the records that a modification answers with; nil: all.
    package var desiredKeys: [String]?
    /// The moment of `now()` in the predicates of a query or of subscriptions, in milliseconds since
    /// 1970.
    package var moment = 0
    /// The places of the items that were to make records.
    package var creations: Set<Int> = []
    /// The types that deletions named, by the places of the items.
    package var types: [Int: String] = [:]
    /// Of each zone whose changes are asked for.
    package var zones: [Zone] = []

    package init() {}
}
