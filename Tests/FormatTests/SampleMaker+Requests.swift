import FoundationEssentials
import Stratus

// A store with long-lived operations. Its checkpoint can be used by readers, so that a verification
// compares its rows with the journal.
extension SampleMaker {
    /// Requests of every kind: pending, finished, failed as a whole, delivered and cancelled, with
    /// receipts of those that changed something or nothing; behind the checkpoint some more. Those that
    /// are pending read, so that no opening goes on with them.
    static func requests() async throws -> StoreFiles {
        let maker = SampleMaker(seed: 95)
        let container = try maker.open()
        let alice = container.privateDatabase(for: "alice", device: "phone")
        try await maker.fill(alice, saves: 3)
        let ids = ["note-0", "note-1", "nothing"].map {
            Record.ID(recordName: $0, zoneID: zone)
        }
        let stale = try await alice.record(for: ids[1])
        try await alice.save(stale)
        let archive = RecordZone.ID(zoneName: "archive")
        try await alice.save(RecordZone(zoneID: archive))
        let token = try await alice.recordZoneChanges(inZoneWith: zone).changeToken

        let saved = try await alice.submit(
            .modify(
                LongLivedRequest.Modification(
                    saving: [
                        maker.record(
                            "new",
                            [
                                "number": 1, "tags": .list([.string("a")]),
                                "file": .asset(Asset(data: Data("attached".utf8))),
                            ]), stale,
                    ],
                    deleting: [ids[2]], atomically: false,
                    clientChangeTokenData: Data([1, 2]))),
            operationID: "saved", priority: .high)
        _ = try await saved.answer()
        let unchanged = try await alice.submit(
            .modify(LongLivedRequest.Modification(saving: [stale])), operationID: "unchanged")
        _ = try await unchanged.answer()
        let failed = try await alice.submit(
            .move([ids[0]], to: RecordZone.ID(zoneName: "missing")), operationID: "failed")
        _ = try? await failed.answer()
        let moved = try await alice.submit(.move([ids[0]], to: archive), operationID: "zwölf Äpfel")
        _ = try await moved.outcome()
        let cancelled = try await alice.submit(
            .modify(LongLivedRequest.Modification(saving: [maker.record("never")])),
            operationID: "cancelled", priority: .low)
        try await cancelled.cancel()
        try await alice.submit(
            .records(ids, desiredKeys: ["number"]), operationID: "records")
        try await alice.submit(
            .zoneChanges([
                LongLivedRequest.ZoneFetch(inZoneWith: zone, since: token, resultsLimit: 2),
                LongLivedRequest.ZoneFetch(inZoneWith: archive, desiredRecordTypes: ["Note"]),
            ]), operationID: "zones")
        try await container.publicDatabase(as: "bob").submit(
            .query(
                LongLivedRequest.QueryFetch(
                    Query(
                        recordType: "Note", predicate: try Query.Predicate("number > %@", 1),
                        sortDescriptors: [Query.SortDescriptor(key: "number", ascending: false)]),
                    desiredKeys: [])), operationID: "query")
        try await container.checkpoint()
        try await alice.submit(
            .databaseChanges(since: nil, resultsLimit: 10), operationID: "database")
        let again = try await alice.submit(
            .records([ids[1]], desiredKeys: nil), operationID: "cancelled")
        _ = try await again.answer()
        for (name, request) in try changes(archive, container) {
            let operation = try await alice.submit(request, operationID: name)
            _ = try await operation.answer()
        }
        try await container.close()
        return maker.files
    }

    /// Changes of zones, subscriptions and shares, of which some fail.
    private static func changes(
        _ archive: RecordZone.ID, _ container: Container
    ) throws -> [(String, LongLivedRequest)] {
        var info = Subscription.NotificationInfo()
        info.alertLocalizationKey = "new"
        info.alertLocalizationArgs = ["number"]
        info.shouldBadge = true
        let lost = RecordZone.ID(zoneName: "lost")
        let zones = LongLivedRequest.ZoneModification(
            saving: [RecordZone(zoneName: "more"), RecordZone(zoneID: zone)], deleting: [lost])
        let purge = LongLivedRequest.ZoneModification(
            saving: [], deleting: [RecordZone.ID(zoneName: "more")], reason: .purged)
        let subscriptions = LongLivedRequest.SubscriptionModification(
            saving: [
                Subscription(
                    .query(
                        try Query.Predicate("number > %@", 1), recordType: "Note", zoneID: archive,
                        options: [.firesOnRecordCreation, .firesOnce]),
                    id: "query", notificationInfo: info),
                Subscription(.zone(lost, recordType: nil), id: "zone"),
                Subscription(.database(recordType: "Note"), id: "database"),
            ], deleting: ["no"])
        var share = Share(recordZoneID: archive)
        share.title = "Archive"
        let bob = Share.Participant(
            participantID: String(repeating: "0b", count: 16),
            UserIdentity(
                lookupInfo: UserIdentity.LookupInfo(
                    userRecordID: container.userRecordID(for: "bob"))),
            role: .administrator, permission: .readWrite)
        let carol = Share.Participant(
            participantID: String(repeating: "0c", count: 16),
            UserIdentity(lookupInfo: UserIdentity.LookupInfo(emailAddress: "carol@example.com")),
            role: .privateUser, permission: .readOnly)
        share.setParticipants([bob, carol].compactMap { $0 })
        return [
            ("zones changed", .modifyZones(zones)), ("zone purged", .modifyZones(purge)),
            ("subscribed", .modifySubscriptions(subscriptions)),
            (
                "shared",
                .modify(LongLivedRequest.Modification(saving: [share.record]))
            ),
        ]
    }
}
