import FoundationEssentials
import Stratus
import StratusEngine
import StratusJournal
import Support
import Testing

/// Zones, subscriptions and shares that long-lived operations change: `Formats/README.md`, "Long-lived
/// operations", 3.
@Suite struct LongLivedItemTests {
    private static let missing = RecordZone.ID(zoneName: "missing")
    private static let made = RecordZone.ID(zoneName: "made")

    private static func zones(
        saving zones: [RecordZone.ID], deleting ids: [RecordZone.ID] = [],
        reason: DatabaseChanges.Deletion.Reason = .deleted
    ) -> LongLivedRequest {
        .modifyZones(
            LongLivedRequest.ZoneModification(
                saving: zones.map { RecordZone(zoneID: $0) }, deleting: ids, reason: reason))
    }

    private static func subscriptions(
        saving subscriptions: [Subscription], deleting ids: [Subscription.ID] = []
    ) -> LongLivedRequest {
        .modifySubscriptions(
            LongLivedRequest.SubscriptionModification(saving: subscriptions, deleting: ids))
    }

    /// What became of zones, in their order; it is not delivered by that.
    private static func zoneResults(
        _ operation: LongLivedOperation
    ) async throws -> [Result<RecordZone?, StoreError>] {
        guard case .zoneItems(_, let outcomes) = try await operation.answer() else {
            Issue.record("it changes no zones")
            return []
        }
        return outcomes
    }

    private static func subscriptionResults(
        _ operation: LongLivedOperation
    ) async throws -> [Result<Subscription?, StoreError>] {
        guard case .subscriptionItems(_, let outcomes) = try await operation.answer() else {
            Issue.record("it changes no subscriptions")
            return []
        }
        return outcomes
    }

    /// The kinds of the entries of the journal, a list for each commit.
    private static func commits(_ container: Container) throws -> [[EntryKind]] {
        var commits: [[EntryKind]] = []
        var open: [EntryKind] = []
        var log = container.log()
        while let entry = try log.nextLine()?.entry {
            open.append(entry.kind)
            guard entry.commitTime != nil else { continue }
            commits.append(open)
            open = []
        }
        return commits
    }

    @Test func `zones are made and deleted once, in one commit with the end of the request`()
        async throws
    {
        let (container, database) = try await makeDatabase()
        let operation = try await database.submit(
            Self.zones(saving: [Self.made, notes], deleting: [Self.missing]), operationID: "one")
        #expect(try await database.allRecordZones().map(\.zoneID) == [.default, notes])
        let before = try Self.commits(container)
        let first = try await Self.zoneResults(operation)
        #expect(try Self.commits(container) == before + [[.zone, .requestState]])
        #expect(try first[0].get() == (try await database.recordZone(for: Self.made)))
        #expect(try first[1].get() == (try await database.recordZone(for: notes)))
        #expect(first[2].code == .zoneNotFound)
        // Whatever became of them since, the outcome is the same, and nothing is done again.
        try await database.deleteRecordZone(withID: Self.made)
        try await database.save(RecordZone(zoneID: Self.missing))
        let offset = container.snapshot().offset
        let found = try #require(try await container.longLivedOperation("one", for: "alice"))
        #expect(found.state == .finished)
        for again in [try await Self.zoneResults(operation), try await Self.zoneResults(found)] {
            #expect(again == first)
        }
        #expect(container.snapshot().offset == offset)
        #expect(
            try await database.allRecordZones().map(\.zoneID) == [.default, Self.missing, notes])
        guard case .modifyZones(let result) = try await found.outcome() else {
            Issue.record("it changes no zones")
            return
        }
        #expect(try result.saveResults[Self.made]?.get() == first[0].get())
        let failures = try #require(result.partialFailure).partialErrors
        #expect(failures.mapValues(\.code) == [.zone(Self.missing): .zoneNotFound])
        #expect(try await container.longLivedOperation("one", for: "alice") == nil)
    }

    @Test func `a zone that is purged is reported so`() async throws {
        let (_, database) = try await makeDatabase()
        let token = try await database.databaseChanges().changeToken
        let operation = try await database.submit(
            Self.zones(saving: [], deleting: [notes], reason: .purged), operationID: "one")
        _ = try await operation.outcome()
        let changes = try await database.databaseChanges(since: token)
        #expect(changes.deletions.map(\.reason) == [.purged])
    }

    @Test func `subscriptions are saved and deleted once`() async throws {
        let (container, database) = try await makeDatabase()
        let old = Subscription(.database(recordType: nil), id: "old")
        try await database.save(old)
        var info = Subscription.NotificationInfo()
        info.alertBody = "new"
        info.desiredKeys = ["n"]
        info.shouldBadge = true
        let saved = [
            Subscription(
                .query(
                    try .init("n > 3 AND text BEGINSWITH %@", "a"), recordType: "Note",
                    zoneID: notes, options: [.firesOnRecordCreation, .firesOnce]),
                id: "query", notificationInfo: info),
            Subscription(.zone(notes, recordType: "Note"), id: "zone"),
            Subscription(.database(recordType: nil), id: "database"),
        ]
        let lost = Subscription(.zone(Self.missing, recordType: nil), id: "lost")
        let operation = try await database.submit(
            Self.subscriptions(saving: saved + [lost], deleting: ["old", "never"]),
            operationID: "one")
        let first = try await Self.subscriptionResults(operation)
        for (subscription, outcome) in zip(saved, first) {
            #expect(try outcome.get() == subscription)
            let stored = try await database.subscription(for: subscription.subscriptionID)
            #expect(stored == subscription)
        }
        #expect(first[3].code == .zoneNotFound)
        #expect(try first[4].get() == nil && first[5].get() == nil)
        #expect(try await database.allSubscriptions().count == 3)
        // One that is gone since does not come back.
        try await database.deleteSubscription(withID: "zone")
        try await database.save(old)
        let found = try #require(try await container.longLivedOperation("one", for: "alice"))
        #expect(try await Self.subscriptionResults(found) == first)
        #expect(
            try await database.allSubscriptions().map(\.subscriptionID)
                == ["database", "old", "query"])
        guard case .modifySubscriptions(let result) = try await found.outcome() else {
            Issue.record("it changes no subscriptions")
            return
        }
        let failures = try #require(result.partialFailure).partialErrors
        #expect(failures.mapValues(\.code) == [.zone(Self.missing): .zoneNotFound])
        #expect(Set(result.deleteResults.keys) == ["old", "never"])
    }

    @Test func `a subscription applies to what is committed after it was saved`() async throws {
        let (container, database) = try await makeDatabase()
        let subscription = Subscription(
            .query(.all, recordType: "Note", zoneID: nil, options: .firesOnRecordCreation),
            id: "all")
        let operation = try await database.submit(
            Self.subscriptions(saving: [subscription]), operationID: "one")
        try await database.save(note("before"))
        _ = try await operation.outcome()
        try await database.save(note("after"))
        let told = try await FollowedNotifications(of: container)
        #expect(told.items.compactMap(\.recordID) == [noteID("after")])
    }

    /// Requests that are pending when the store is closed, and what holds once they were run.
    @Test(arguments: ["zones", "subscriptions", "share"])
    func `what is pending is done by the next opening, and its outcome is found`(
        kind: String
    ) async throws {
        var disk = DiskStore()
        disk.steppedByCaller = false
        var container = try disk.open()
        var database = container.privateDatabase(for: "alice")
        try await database.save(RecordZone(zoneID: notes))
        let root = note("root", ["n": 1])
        var share = Share(rootRecord: root)
        share.title = "Trip"
        try share.addParticipant(
            Share.Participant(
                UserIdentity.LookupInfo(emailAddress: "Bob@Example.com"),
                permission: .readWrite))
        try share.addParticipant(
            Share.Participant(
                UserIdentity.LookupInfo(
                    userRecordID: container.userRecordID(for: "carol")),
                role: .administrator))
        let subscription = Subscription(.zone(notes, recordType: nil), id: "zone")
        let request: LongLivedRequest =
            switch kind {
            case "zones": Self.zones(saving: [Self.made], deleting: [Self.missing])
            case "subscriptions": Self.subscriptions(saving: [subscription], deleting: ["x"])
            default:
                .modify(LongLivedRequest.Modification(saving: [root, share.record]))
            }
        try await database.submit(request, operationID: "one")
        try await container.close()
        container = try disk.open()
        database = container.privateDatabase(for: "alice")
        try await container.continueLongLivedOperations()
        let found = try #require(try await container.longLivedOperation("one", for: "alice"))
        #expect(found.state == .finished)
        switch try await found.outcome() {
        case .modifyZones(let result):
            #expect(try result.saveResults[Self.made]?.get().zoneID == Self.made)
            #expect(result.deleteResults[Self.missing]?.code == .zoneNotFound)
            #expect(try await database.recordZone(for: Self.made).capabilities.contains(.sharing))
        case .modifySubscriptions(let result):
            #expect(try result.saveResults["zone"]?.get() == subscription)
            #expect(try await database.allSubscriptions() == [subscription])
        case .modify(let result):
            #expect(result.partialFailure == nil)
            let record = try #require(try result.saveResults[share.recordID]?.get())
            let saved = try #require(Share(record))
            #expect(saved.title == "Trip" && saved.rootRecordID == noteID("root"))
            #expect(saved.shortGUID != nil && saved.publicPermission == .none)
            let stored = try #require(Share(try await database.record(for: share.recordID)))
            let invited = stored.participants.filter { $0.role != .owner }
            #expect(
                Set(invited.map(\.participantID))
                    == Set(share.participants.map(\.participantID)))
            #expect(Set(invited.map(\.permission)) == [.readWrite, .readOnly])
            #expect(Set(invited.map(\.role)) == [.privateUser, .administrator])
            #expect(
                invited.compactMap(\.userIdentity.lookupInfo?.emailAddress) == ["Bob@Example.com"])
        default: Issue.record("it is another call")
        }
        try await container.close()
    }

    @Test func `a share is changed and made public by a request`() async throws {
        let (container, database) = try await makeDatabase()
        let root = note("root")
        let made = Share(rootRecord: root)
        let saved = try await database.modifyRecords(saving: [root, made.record])
        let record = try #require(try saved.saveResults[made.recordID]?.get())
        var share = try #require(Share(record))
        share.publicPermission = .readOnly
        let operation = try await database.submit(
            .modify(LongLivedRequest.Modification(saving: [share.record])), operationID: "one")
        _ = try await operation.outcome()
        let now = try #require(Share(try await database.record(for: made.recordID)))
        #expect(now.publicPermission == .readOnly && now.shortGUID == share.shortGUID)
        // A whole zone.
        let whole = Share(recordZoneID: RecordZone.ID(zoneName: "whole"))
        try await database.save(RecordZone(zoneName: "whole"))
        let other = try await database.submit(
            .modify(LongLivedRequest.Modification(saving: [whole.record])), operationID: "two")
        _ = try await other.outcome()
        #expect(Share(try await database.record(for: whole.recordID))?.isZoneWide == true)
        try await container.close()
    }

    @Test(arguments: ["action", "zone", "more", "order"])
    func `another change of zones under the same ID makes no sense`(
        difference: String
    ) async throws {
        let (_, database) = try await makeDatabase()
        let all = [Self.made, Self.missing]
        try await database.submit(Self.zones(saving: all, deleting: [notes]), operationID: "one")
        let request: LongLivedRequest =
            switch difference {
            case "action": Self.zones(saving: all, deleting: [notes], reason: .purged)
            case "zone": Self.zones(saving: [Self.made, .default], deleting: [notes])
            case "more": Self.zones(saving: all, deleting: [notes, .default])
            default: Self.zones(saving: all.reversed(), deleting: [notes])
            }
        guard difference != "order" else {
            try await database.submit(request, operationID: "one")
            return
        }
        let error = await failure { try await database.submit(request, operationID: "one") }
        #expect(error.code == .invalidArguments)
    }

    @Test func `a call that is refused as a whole has that as its outcome`() async throws {
        let (container, database) = try await makeDatabase()
        let twice = try await database.submit(
            Self.zones(saving: [Self.made], deleting: [Self.made]), operationID: "twice")
        let others = try await container.publicDatabase(as: "alice").submit(
            Self.zones(saving: [Self.made]), operationID: "public")
        for (operation, code) in [
            (twice, StoreError.Code.invalidArguments), (others, .badDatabase),
        ] {
            let first = await failure { try await operation.answer() }
            #expect(first.code == code)
            #expect(await failure { try await operation.outcome() } == first)
            #expect(await failure { try await operation.outcome() }.code == .unknownItem)
        }
        #expect(try await database.allRecordZones().count == 2)
    }

    @Test func `nothing is made of a request that was cancelled`() async throws {
        let (container, database) = try await makeDatabase()
        let zones = try await database.submit(
            Self.zones(saving: [Self.made]), operationID: "zones")
        let subscriptions = try await database.submit(
            Self.subscriptions(saving: [Subscription(.database(recordType: nil), id: "s")]),
            operationID: "subscriptions")
        for operation in [zones, subscriptions] {
            try await operation.cancel()
            #expect(await failure { try await operation.outcome() }.code == .operationCancelled)
        }
        try await container.continueLongLivedOperations()
        #expect(try await database.allRecordZones().count == 2)
        #expect(try await database.allSubscriptions() == [])
    }
}
