import Stratus
import Testing

/// What participants read: semantics 5.5, 8.1 and 8.9, cases C89, C92 and C96.
@Suite struct SharedReadingTests {
    private static let unseen = ["above", "out", "out1"]

    // C89, C90.
    @Test func `a participant finds the share and what it shares, and nothing else`() async throws {
        let (fixture, share) = try await SharingFixture.shared()
        for name in SharingFixture.members {
            let own = try await fixture.alice.record(for: noteID(name))
            let found = try await fixture.bob.record(for: fixture.id(name))
            #expect(found.recordID == fixture.id(name) && found["n"] == own["n"])
            #expect(found.recordChangeTag == own.recordChangeTag)
            #expect(found.creationDate == own.creationDate)
            #expect(found.creatorUserRecordID == fixture.container.userRecordID(for: "alice"))
        }
        let record = try await fixture.bob.record(for: fixture.id(of: share))
        #expect(Share(record)?.shortGUID == share.shortGUID)
        let root = try await fixture.bob.record(for: fixture.id("root"))
        #expect(root.share?.recordID == fixture.id(of: share))
        // What is not shared is told in the same words as what does not exist.
        let missing = await failure { try await fixture.bob.record(for: fixture.id("missing")) }
        #expect(missing.code == .unknownItem)
        for name in Self.unseen {
            let error = await failure { try await fixture.bob.record(for: fixture.id(name)) }
            #expect(error.code == .unknownItem && error.reason == missing.reason)
            #expect(error.recordID == fixture.id(name) && showsNoRecord(error))
        }
    }

    @Test func `a fetch of several finds what is shared of them`() async throws {
        let (fixture, _) = try await SharingFixture.shared()
        let elsewhere = Record.ID(
            recordName: "root",
            zoneID: RecordZone.ID(zoneName: "other", ownerName: fixture.zone.ownerName))
        let ids = ["root", "a1", "out", "missing"].map { fixture.id($0) } + [elsewhere]
        let found = try await fixture.bob.records(for: ids, desiredKeys: ["n"])
        #expect(found.count == 5)
        #expect(try found[fixture.id("root")]?.get()["n"] == 1)
        #expect(try found[fixture.id("a1")]?.get()["n"] == 3)
        #expect(found[fixture.id("out")]?.code == .unknownItem)
        #expect(found[fixture.id("missing")]?.code == .unknownItem)
        #expect(found[elsewhere]?.code == .zoneNotFound)
    }

    @Test func `the parent of the root is not shown, other parents are`() async throws {
        let (fixture, share) = try await SharingFixture.shared()
        let bob = fixture.bob
        let zone = fixture.zone
        var shown: [[Record]] = []
        shown.append([try await bob.record(for: fixture.id("root"))])
        shown.append(try await bob.allRecords(in: zone))
        shown.append(try await bob.allRecords(matching: Query(recordType: "Note"), in: zone))
        shown.append(try await FollowedChanges(of: bob, in: zone).modified)
        let link = try #require(share.shortGUID)
        let metadata = try await fixture.container.shareMetadata(
            for: link, as: "bob", includingRootRecord: true)
        shown.append([try #require(metadata.rootRecord)])
        var edited = try await bob.record(for: fixture.id("root"))
        edited["n"] = 10
        shown.append([try await bob.save(edited)])
        let stale = edited
        let conflict = await failure { try await bob.save(stale) }
        shown.append([try #require(conflict.serverRecord)])
        for records in shown {
            let root = try #require(records.first { $0.recordID == fixture.id("root") })
            #expect(root.parent == nil)
            for record in records where record.recordID == fixture.id("a1") {
                #expect(record.parent == Reference(recordID: fixture.id("a")))
            }
        }
        // It stays what it is.
        let root = try await fixture.alice.record(for: noteID("root"))
        #expect(root["n"] == 10 && root.parent == Reference(recordID: noteID("above")))
    }

    @Test func `a shared zone bears its owner's name, and no other name stands for it`()
        async throws
    {
        let (fixture, _) = try await SharingFixture.shared()
        let owner = fixture.container.userRecordName(for: "alice")
        #expect(try await fixture.bob.allRecordZones().map { $0.zoneID } == [fixture.zone])
        #expect(fixture.zone.ownerName == owner)
        #expect(try await fixture.bob.recordZone(for: fixture.zone).zoneID == fixture.zone)
        let caller = fixture.container.userRecordName(for: "bob")
        for name in [RecordZone.ID.currentUser, caller, "alice"] {
            let zone = RecordZone.ID(zoneName: notes.zoneName, ownerName: name)
            let error = await failure {
                try await fixture.bob.record(for: noteID("root", in: zone))
            }
            #expect(error.code == .zoneNotFound, "\(name)")
        }
        // Who owns a zone has no part in it as a participant.
        let alice = fixture.container.sharedDatabase(for: "alice")
        #expect(try await alice.allRecordZones() == [])
        let own = await failure { try await alice.record(for: fixture.id("root")) }
        #expect(own.code == .zoneNotFound)
    }

    // Semantics 1.3.
    @Test func `zones of one name of two owners are two`() async throws {
        let (fixture, _) = try await SharingFixture.shared()
        let dave = fixture.container.privateDatabase(for: "dave")
        try await dave.save(RecordZone(zoneID: notes))
        let root = try await dave.save(note("root", ["n": 100]))
        var share = Share(rootRecord: root)
        try share.addParticipant(fixture.participant("bob"))
        share = try await fixture.save(share, with: [root], by: dave)
        try await fixture.accept(share, ["bob"])
        let other = RecordZone.ID(
            zoneName: notes.zoneName, ownerName: fixture.container.userRecordName(for: "dave"))
        let zones = try await fixture.bob.allRecordZones().map { $0.zoneID }
        #expect(Set(zones) == [fixture.zone, other])
        #expect(try await fixture.bob.record(for: noteID("root", in: other))["n"] == 100)
        #expect(try await fixture.bob.record(for: fixture.id("root"))["n"] == 1)
        #expect(try await FollowedChanges(of: fixture.bob, in: other).modified.count == 2)
    }

    // C92.
    @Test func `a private database holds no zones of another user`() async throws {
        let (fixture, _) = try await SharingFixture.shared()
        let database = fixture.container.privateDatabase(for: "bob")
        let read = await failure { try await database.record(for: fixture.id("root")) }
        let write = await failure {
            try await database.save(fixture.newNote("new", under: "root"))
        }
        #expect(read.code == .badDatabase && write.code == .badDatabase)
    }

    // C96.
    @Test func `what lies in another zone of the owner stays private`() async throws {
        let (fixture, _) = try await SharingFixture.shared()
        let secret = RecordZone.ID(zoneName: "secret")
        try await fixture.alice.save(RecordZone(zoneID: secret))
        for zone in [secret, .default] {
            try await fixture.alice.save(note("a", in: zone))
            let named = RecordZone.ID(
                zoneName: zone.zoneName, ownerName: fixture.zone.ownerName)
            let error = await failure {
                try await fixture.bob.record(for: noteID("a", in: named))
            }
            let feed = await failure { try await fixture.bob.allRecords(in: named) }
            #expect(error.code == .zoneNotFound && feed.code == .zoneNotFound)
        }
        #expect(try await fixture.bob.allRecordZones().count == 1)
    }

    @Test func `pages of records hold what is shared, of one type too`() async throws {
        let (fixture, share) = try await SharingFixture.shared()
        try await fixture.alice.saveAll(
            (0..<50).map { number in
                var record = note("t\(number)", type: number % 2 == 0 ? "Task" : "Note")
                let parent = number % 4 < 2 ? "a" : "out"
                record.parent = Reference(recordID: noteID(parent))
                return record
            })
        let shown = (0..<50).filter { $0 % 4 < 2 }.map { "t\($0)" }
        let all = Set(shown + SharingFixture.members + [share.recordID.recordName])
        for limit in [1, 7, 1000] {
            let records = try await fixture.bob.allRecords(in: fixture.zone, resultsLimit: limit)
            #expect(Set(records.map { $0.recordID.recordName }) == all)
            #expect(records.count == all.count)
            let tasks = try await fixture.bob.allRecords(
                in: fixture.zone, type: "Task", resultsLimit: limit)
            #expect(tasks.count == 13 && tasks.allSatisfy { $0.recordType == "Task" })
        }
    }

    @Test(arguments: [false, true])
    func `queries find what is shared, with indexes too`(isIndexed: Bool) async throws {
        let (fixture, _) = try await SharingFixture.shared()
        if isIndexed { try await fixture.container.addIndex(on: "n", of: "Note", .queryable) }
        let all = Query(recordType: "Note", sortDescriptors: [.init(key: "n")])
        for limit in [1, 100] {
            let found = try await fixture.bob.allRecords(
                matching: all, in: fixture.zone, resultsLimit: limit)
            #expect(found.map { $0.recordID.recordName } == ["root", "a", "a1", "b"])
        }
        let some = Query(recordType: "Note", predicate: try .init("n >= 3"))
        let found = try await fixture.bob.allRecords(matching: some, in: fixture.zone)
        #expect(Set(found.map { $0.recordID.recordName }) == ["a1", "b"])
        let hidden = Query(recordType: "Note", predicate: try .init("n = 5"))
        #expect(try await fixture.bob.allRecords(matching: hidden, in: fixture.zone) == [])
        let totals = try await fixture.bob.totals(of: "n", matching: all, inZoneWith: fixture.zone)
        #expect(totals.count == 4)
        // Of all zones at once nothing is asked there.
        let error = await failure { try await fixture.bob.records(matching: all) }
        #expect(error.code == .invalidArguments)
        let other = await failure {
            try await fixture.bob.records(matching: all, inZoneWith: notes)
        }
        #expect(other.code == .zoneNotFound)
    }

    @Test func `two shares of a zone are one zone to those who have both`() async throws {
        let (fixture, _) = try await SharingFixture.shared()
        let second = try await fixture.share("out", with: ["bob", "carol"])
        try await fixture.accept(second, ["bob", "carol"])
        let both = (SharingFixture.members + ["out", "out1"]).sorted()
        #expect(try await fixture.names(seenBy: "bob") == both)
        #expect(try await fixture.names(seenBy: "carol") == ["out", "out1"])
        #expect(try await fixture.bob.allRecordZones().count == 1)
        let token = try await fixture.bob.databaseChanges().changeToken
        let before = try await fixture.token(of: "bob")
        try await fixture.end(second)
        #expect(try await fixture.names(seenBy: "bob") == SharingFixture.members)
        let changes = try await fixture.bob.databaseChanges(since: token)
        #expect(changes.modifications == [fixture.zone] && changes.deletions == [])
        let gone = try await fixture.changes(seenBy: "bob", since: before)
        #expect(gone.deleted == ["out", "out1"] && gone.modified == [])
    }

    // Semantics 1.2.
    @Test func `participants make and delete no zones`() async throws {
        let (fixture, _) = try await SharingFixture.shared()
        for zone in [RecordZone.ID(zoneName: "new"), fixture.zone] {
            let error = await failure { try await fixture.bob.save(RecordZone(zoneID: zone)) }
            #expect(error.code == .badDatabase)
            let deletion = await failure { try await fixture.bob.deleteRecordZone(withID: zone) }
            #expect(deletion.code != .internalError)
        }
        #expect(try await fixture.alice.names().count == 8)
        #expect(try await fixture.names(seenBy: "bob") == SharingFixture.members)
    }

    @Test func `what a zone takes, and its past, are for its owner to ask`() async throws {
        let (fixture, _) = try await SharingFixture.shared()
        let token = try await fixture.token(of: "bob")
        let bob = fixture.bob
        let zone = fixture.zone
        let errors = [
            await failure { try await bob.usage() },
            await failure { try await bob.usage(ofZoneWith: zone) },
            await failure { try await bob.recordZoneChanges(inZoneWith: zone, asOf: token) },
        ]
        #expect(errors.allSatisfy { $0.code == .badDatabase }, "\(errors)")
    }

    @Test func `a snapshot shows what a participant saw then, whatever was read since`()
        async throws
    {
        let (fixture, share) = try await SharingFixture.shared()
        let id = fixture.id("a")
        let before = fixture.container.snapshot().sharedDatabase(for: "bob")
        _ = try await fixture.bob.record(for: id)
        try await fixture.remove("bob", from: share)
        let after = fixture.container.snapshot().sharedDatabase(for: "bob")
        for _ in 0..<2 {
            let error = await failure { try await fixture.bob.record(for: id) }
            #expect(error.code == .zoneNotFound)
            #expect(try before.record(for: id).recordID == id)
            #expect(throws: StoreError.self) { try after.record(for: id) }
            // Now that lies in the past, too.
            try await fixture.alice.save(note("later"), savePolicy: .allKeys)
        }
    }

    @Test func `what is saved is seen by all who have a part in it at once`() async throws {
        let (fixture, _) = try await SharingFixture.shared(with: ["bob", "carol"])
        var record = try await fixture.alice.record(for: noteID("a"))
        record["n"] = 20
        let saved = try await fixture.alice.save(record)
        for database in [fixture.bob, fixture.carol] {
            let found = try await database.record(for: fixture.id("a"))
            #expect(found["n"] == 20 && found.recordChangeTag == saved.recordChangeTag)
        }
    }
}
