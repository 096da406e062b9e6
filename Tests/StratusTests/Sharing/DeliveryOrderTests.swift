import Stratus
import Testing

/// In which order a share, its root and what lies below it come to those who follow them.
@Suite struct DeliveryOrderTests {
    /// A reader of a zone's feed, page by page.
    private struct Reader {
        let database: Database
        let zone: RecordZone.ID
        let limit: Int
        var token: ChangeToken?
        /// In the order in which they came.
        var records: [Record] = []

        /// Returns whether more is to come.
        mutating func readPage() async throws -> Bool {
            let page = try await database.recordZoneChanges(
                inZoneWith: zone, since: token, resultsLimit: limit)
            #expect(page.modifications.count <= limit && page.deletions == [])
            records += page.modifications
            // A client keeps it and goes on after a restart.
            token = try ChangeToken(data: page.changeToken.data)
            return page.moreComing
        }
    }

    /// Reads to the end, and checks after each page what came with it.
    private static func follow(
        _ reader: inout Reader, checking check: (Record) async throws -> Void
    ) async throws {
        var moreComing = true
        while moreComing {
            let known = reader.records.count
            moreComing = try await reader.readPage()
            for record in reader.records[known...] { try await check(record) }
        }
    }

    // C90.
    @Test(arguments: [true, false], [1, 2, 1000])
    func `a share and its root may come in either order, each whole by itself`(
        isShareFirst: Bool, limit: Int
    ) async throws {
        let fixture = try await SharingFixture.family()
        var owners = Reader(database: fixture.alice, zone: notes, limit: limit)
        while try await owners.readPage() {}
        owners.records = []
        var root = try await fixture.alice.record(for: noteID("root"))
        var share = Share(rootRecord: root)
        share.title = "Ours"
        try share.addParticipant(fixture.participant("bob"))
        share = try await fixture.save(share, with: [root])
        try await fixture.accept(share, ["bob"])
        // What was saved last comes last.
        if isShareFirst {
            root = try await fixture.alice.record(for: noteID("root"))
            root["n"] = 100
            root = try await fixture.alice.save(root)
        } else {
            share = try await fixture.edit(share) { $0.title = "All of ours" }
        }
        let participants = Reader(database: fixture.bob, zone: fixture.zone, limit: limit)
        let title = isShareFirst ? "Ours" : "All of ours"
        let value: RecordValue = isShareFirst ? 100 : 1
        for var reader in [owners, participants] {
            let (database, zone) = (reader.database, reader.zone)
            let shareID = noteID(share.recordID.recordName, in: zone)
            let rootID = noteID("root", in: zone)
            try await Self.follow(&reader) { record in
                if record.recordID == rootID {
                    #expect(record["n"] == value && record.share?.recordID == shareID)
                }
                guard record.recordID == shareID else { return }
                let found = try #require(Share(record))
                #expect(found.title == title && found.rootRecordID == rootID)
                #expect(found.shortGUID == share.shortGUID && found.shortGUID != nil)
                let bob = found.participant(fixture.container.userRecordID(for: "bob"))
                #expect(bob?.acceptanceStatus == .accepted)
                // Each leads to the other, also before that has come.
                let other = try await database.record(for: try #require(found.rootRecordID))
                #expect(other.share?.recordID == record.recordID)
            }
            let names = reader.records.map(\.recordID.recordName)
            let order = names.filter { [shareID.recordName, "root"].contains($0) }
            let expected =
                isShareFirst ? [shareID.recordName, "root"] : ["root", shareID.recordName]
            #expect(order == expected)
            // What came first is known to who goes on behind it, and comes once.
            #expect(Set(names).count == names.count)
        }
    }

    // C90.
    @Test(arguments: [1, 2, 1000])
    func `the zone of a share is told of in the shared database, whatever of it was read before`(
        limit: Int
    ) async throws {
        let (fixture, share) = try await SharingFixture.shared()
        let before = try await fixture.bob.databaseChanges()
        #expect(before.modifications == [fixture.zone])
        var reader = Reader(database: fixture.bob, zone: fixture.zone, limit: limit)
        _ = try await reader.readPage()
        // The share changes amid the pages, behind its root or ahead of it.
        try await fixture.edit(share) { $0.title = "Ours" }
        let after = try await fixture.bob.databaseChanges(since: before.changeToken)
        #expect(after.modifications == [fixture.zone] && after.deletions == [])
        while try await reader.readPage() {}
        let shares = reader.records.compactMap { Share($0) }
        #expect(shares.last?.title == "Ours")
        #expect(shares.last?.rootRecordID == fixture.id("root"))
        let all = Set(reader.records.map(\.recordID.recordName))
        #expect(all == Set(SharingFixture.members + [share.recordID.recordName]))
    }

    // C48, C90.
    @Test(arguments: [1, 2, 1000], ["alice", "bob"])
    func `a child may come before its parent, and before its root, to owner and participant`(
        limit: Int, user: String
    ) async throws {
        let (fixture, _) = try await SharingFixture.shared()
        // From the bottom up, so that each child comes first: at last the root.
        for name in ["a1", "a", "b", "root"] {
            var record = try await fixture.alice.record(for: noteID(name))
            record["n"] = 100
            try await fixture.alice.save(record)
        }
        let isOwner = user == "alice"
        let zone = isOwner ? notes : fixture.zone
        var reader = Reader(
            database: isOwner ? fixture.alice : fixture.bob, zone: zone, limit: limit)
        var came: Set<String> = []
        var early: Set<String> = []
        try await Self.follow(&reader) { record in
            guard SharingFixture.members.contains(record.recordID.recordName) else { return }
            came.insert(record.recordID.recordName)
            #expect(record["n"] == 100 && record.recordID.zoneID == zone)
            guard let parent = record.parent?.recordID else { return }
            #expect(parent.zoneID == zone)
            if !came.contains(parent.recordName) { early.insert(record.recordID.recordName) }
        }
        #expect(came == Set(SharingFixture.members))
        // The owner is told of what the root hangs on, which came long before.
        #expect(early == (isOwner ? ["a1", "a", "b", "root"] : ["a1", "a", "b"]))
        // Their bonds hold in the end.
        for (name, parent) in [("a1", "a"), ("a", "root"), ("b", "root")] {
            let record = reader.records.last { $0.recordID.recordName == name }
            #expect(record?.parent?.recordID == noteID(parent, in: zone))
        }
    }
}
