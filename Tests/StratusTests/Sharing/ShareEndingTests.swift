import Stratus
import Testing

/// Ending shares and participations, and less permission than before: cases C80 to C87.
@Suite struct ShareEndingTests {
    /// How a user's part in a share ends.
    enum Ending: CaseIterable {
        case ended, removed, left, allRemoved, zoneDeleted, purged, rootDeleted

        func apply(_ fixture: SharingFixture, _ share: Share) async throws {
            switch self {
            case .ended: try await fixture.end(share)
            case .removed: try await fixture.remove("bob", from: share)
            case .left: try await fixture.bob.deleteRecord(withID: fixture.id(of: share))
            case .allRemoved: try await fixture.edit(share) { $0.setParticipants([]) }
            case .zoneDeleted: try await fixture.alice.deleteRecordZone(withID: notes)
            case .purged: try await fixture.container.purge(user: "alice")
            case .rootDeleted:
                let errors = try await fixture.alice.outcome(deleting: SharingFixture.members)
                #expect(errors.isEmpty)
            }
        }
    }

    // C82, C83, C84, C86.
    @Test(arguments: Ending.allCases)
    func `without a part in a share the zone is gone, to reads, writes and feeds`(
        ending: Ending
    ) async throws {
        let (fixture, share) = try await SharingFixture.shared()
        let cached = try await fixture.bob.record(for: fixture.id("b"))
        let zones = try await fixture.bob.databaseChanges().changeToken
        let token = try await fixture.token(of: "bob")
        let partial = try await fixture.bob.recordZoneChanges(
            inZoneWith: fixture.zone, resultsLimit: 2
        ).changeToken
        try await ending.apply(fixture, share)
        #expect(try await fixture.bob.allRecordZones() == [])
        let bob = fixture.bob
        let zone = fixture.zone
        var edited = cached
        edited["n"] = 100
        let late = edited
        let query = Query(recordType: "Note")
        let errors = [
            await failure { try await bob.record(for: cached.recordID) },
            await failure { try await bob.recordZone(for: zone) },
            await failure { try await bob.allRecords(in: zone) },
            await failure { try await bob.allRecords(matching: query, in: zone) },
            await failure { try await bob.recordZoneChanges(inZoneWith: zone) },
            await failure { try await bob.recordZoneChanges(inZoneWith: zone, since: token) },
            await failure { try await bob.recordZoneChanges(inZoneWith: zone, since: partial) },
            await failure { try await bob.save(late) },
            await failure { try await bob.save(late, savePolicy: .allKeys) },
            await failure { try await bob.save(fixture.newNote("new", under: "a")) },
            await failure { try await bob.deleteRecord(withID: cached.recordID) },
        ]
        let allowed: Set<StoreError.Code> =
            ending == .purged ? [.zoneNotFound, .userDeletedZone] : [.zoneNotFound]
        #expect(
            errors.allSatisfy { allowed.contains($0.code) && showsNoRecord($0) }, "\(errors)")
        let changes = try await bob.databaseChanges(since: zones)
        #expect(changes.modifications == [])
        #expect(changes.deletions.map { $0.zoneID } == [zone])
        let next = try await bob.databaseChanges(since: changes.changeToken)
        #expect(next.modifications == [] && next.deletions == [])
    }

    // C82.
    @Test func `a share that is deleted leaves the records, and its root is one no more`()
        async throws
    {
        let (fixture, share) = try await SharingFixture.shared()
        let before = try await fixture.alice.record(for: noteID("root"))
        try await fixture.end(share)
        let after = try await fixture.alice.record(for: noteID("root"))
        #expect(after.share == nil && after.recordChangeTag != before.recordChangeTag)
        #expect(after["n"] == before["n"] && after.parent == before.parent)
        #expect(
            try await fixture.alice.names() == ["a", "a1", "above", "b", "out", "out1", "root"])
        // A client that does not know of it has an old tag of the root.
        var stale = before
        stale["n"] = 100
        let record = stale
        let error = await failure { try await fixture.alice.save(record) }
        #expect(error.code == .serverRecordChanged && error.serverRecord == after)
    }

    // Semantics 8.9: the root in the same batch receives its new tag.
    @Test func `with the share its root may be saved, and is returned as it is then`()
        async throws
    {
        let (fixture, share) = try await SharingFixture.shared()
        var root = try await fixture.alice.record(for: noteID("root"))
        root["n"] = 100
        let result = try await fixture.alice.modifyRecords(
            saving: [root], deleting: [share.recordID])
        #expect(result.partialFailure == nil)
        let saved = try #require(try result.saveResults[root.recordID]?.get())
        #expect(saved.share == nil && saved["n"] == 100)
        #expect(try await fixture.alice.record(for: noteID("root")) == saved)
        #expect(try await fixture.alice.save(saved).share == nil)
    }

    // C83.
    @Test func `who leaves takes nothing away from the others`() async throws {
        let (fixture, share) = try await SharingFixture.shared(with: ["bob", "carol"])
        try await fixture.bob.deleteRecord(withID: fixture.id(of: share))
        #expect(try await fixture.names(seenBy: "carol") == SharingFixture.members)
        #expect(try await fixture.alice.names().count == 8)
        let stored = try await fixture.stored(share)
        let bob = stored.participant(fixture.container.userRecordID(for: "bob"))
        #expect(bob?.acceptanceStatus != .accepted && bob?.acceptanceStatus != .pending)
        #expect(stored.shortGUID == share.shortGUID)
    }

    // C80.
    @Test func `with less permission nothing new is created`() async throws {
        let (fixture, share) = try await SharingFixture.shared()
        let cached = try await fixture.bob.record(for: fixture.id(of: share))
        #expect(Share(cached)?.currentUserParticipant?.permission == .readWrite)
        try await fixture.setPermission(of: "bob", .readOnly, in: share)
        let record = fixture.newNote("new", under: "a")
        let error = await failure { try await fixture.bob.save(record) }
        #expect(error.code == .permissionFailure)
        let gone = await failure { try await fixture.bob.record(for: record.recordID) }
        #expect(gone.code == .unknownItem)
        let seen = Share(try await fixture.bob.record(for: fixture.id(of: share)))
        #expect(seen?.currentUserParticipant?.permission == .readOnly)
    }

    // C81.
    @Test func `with less permission nothing is changed, and with more it is again`()
        async throws
    {
        let (fixture, share) = try await SharingFixture.shared()
        let before = try await fixture.bob.record(for: fixture.id("a"))
        try await fixture.setPermission(of: "bob", .readOnly, in: share)
        var edited = before
        edited["n"] = 100
        let record = edited
        let error = await failure { try await fixture.bob.save(record) }
        let deletion = await failure {
            try await fixture.bob.deleteRecord(withID: fixture.id("b"))
        }
        #expect(error.code == .permissionFailure && deletion.code == .permissionFailure)
        #expect(try await fixture.bob.record(for: fixture.id("a")) == before)
        try await fixture.setPermission(of: "bob", .readWrite, in: share)
        try await fixture.bob.save(record)
        #expect(try await fixture.alice.record(for: noteID("a"))["n"] == 100)
    }

    @Test func `another permission tells a participant of the share alone`() async throws {
        let (fixture, share) = try await SharingFixture.shared()
        let token = try await fixture.token(of: "bob")
        try await fixture.setPermission(of: "bob", .readOnly, in: share)
        let changes = try await FollowedChanges(of: fixture.bob, in: fixture.zone, since: token)
        #expect(changes.modified.map { $0.recordID } == [fixture.id(of: share)])
        #expect(changes.deleted == [])
    }

    // C85, where no child is left (C41 comes before it).
    @Test func `a root without children is deleted with its share`() async throws {
        let fixture = try await SharingFixture.family()
        let share = try await fixture.share("b", with: ["bob"])
        try await fixture.accept(share, ["bob"])
        let link = try #require(share.shortGUID)
        let token = try await FollowedChanges(of: fixture.alice).token
        try await fixture.alice.deleteRecord(withID: noteID("b"))
        for id in [noteID("b"), share.recordID] {
            let error = await failure { try await fixture.alice.record(for: id) }
            #expect(error.code == .unknownItem)
        }
        let changes = try await FollowedChanges(of: fixture.alice, since: token)
        #expect(Set(changes.deleted.map { $0.recordID }) == [noteID("b"), share.recordID])
        #expect(changes.modified == [])
        #expect(try await !fixture.isVisible(to: "bob"))
        let error = await failure {
            try await fixture.container.shareMetadata(for: link, as: "bob")
        }
        #expect(error.code == .unknownItem)
        // A record that is made anew under the name is not shared.
        try await fixture.alice.save(child("b", of: "root"))
        #expect(try await fixture.alice.record(for: noteID("b")).share == nil)
        #expect(try await !fixture.isVisible(to: "bob"))
    }

    // C41, C85.
    @Test func `a root with children stays, and its share with it`() async throws {
        let (fixture, share) = try await SharingFixture.shared()
        let error = await failure {
            try await fixture.alice.deleteRecord(withID: noteID("root"))
        }
        #expect(error.code == .referenceViolation)
        let both = try await fixture.alice.modifyRecords(
            saving: [], deleting: [noteID("root"), share.recordID])
        #expect(both.deleteResults[noteID("root")]?.code == .referenceViolation)
        #expect(both.deleteResults[share.recordID]?.code == .batchRequestFailed)
        #expect(try await fixture.names(seenBy: "bob") == SharingFixture.members)
        #expect(try await fixture.stored(share).shortGUID == share.shortGUID)
    }

    @Test func `a root, its share and its children are deleted in one call`() async throws {
        let (fixture, share) = try await SharingFixture.shared()
        let result = try await fixture.alice.modifyRecords(
            saving: [],
            deleting: [share.recordID] + SharingFixture.members.map { noteID($0) })
        #expect(result.partialFailure == nil)
        #expect(try await fixture.alice.names() == ["above", "out", "out1"])
        #expect(try await !fixture.isVisible(to: "bob"))
    }

    @Test func `a root that goes with its cascade target ends its share`() async throws {
        let fixture = try await SharingFixture.family()
        let link = Reference(recordID: noteID("out1"), action: .deleteSelf)
        try await fixture.alice.save(
            note("b", ["of": .reference(link)]), savePolicy: .changedKeys)
        let share = try await fixture.share("b", with: ["bob"])
        try await fixture.accept(share, ["bob"])
        try await fixture.alice.deleteRecord(withID: noteID("out1"))
        let error = await failure { try await fixture.alice.record(for: share.recordID) }
        #expect(error.code == .unknownItem)
        #expect(try await !fixture.isVisible(to: "bob"))
        #expect(try await fixture.alice.names() == ["a", "a1", "above", "out", "root"])
    }

    @Test func `children that leave a deleted root leave its share`() async throws {
        let (fixture, share) = try await SharingFixture.shared()
        var moved: [Record] = []
        for name in ["a", "b"] {
            var record = try await fixture.alice.record(for: noteID(name))
            record.parent = Reference(recordID: noteID("out"))
            moved.append(record)
        }
        let errors = try await fixture.alice.outcome(saving: moved, deleting: ["root"])
        #expect(errors.isEmpty)
        #expect(try await !fixture.isVisible(to: "bob"))
        let gone = await failure { try await fixture.alice.record(for: share.recordID) }
        #expect(gone.code == .unknownItem)
        // Nothing of the old share is left in them.
        let second = try await fixture.share("out", with: ["bob"])
        try await fixture.accept(second, ["bob"])
        #expect(try await fixture.names(seenBy: "bob") == ["a", "a1", "b", "out", "out1"])
    }

    // C87.
    @Test func `after the end and a new beginning an old token leads to what is there`()
        async throws
    {
        let (fixture, share) = try await SharingFixture.shared()
        let token = try await fixture.token(of: "bob")
        try await fixture.end(share)
        try await fixture.alice.deleteRecord(withID: noteID("b"))
        try await fixture.alice.save(child("a2", of: "a"))
        var moved = try await fixture.alice.record(for: noteID("a1"))
        moved.parent = Reference(recordID: noteID("out"))
        try await fixture.alice.save(moved)
        let again = try await fixture.share("root", with: ["bob"])
        try await fixture.accept(again, ["bob"])
        let old = try await FollowedChanges(of: fixture.bob, in: fixture.zone, since: token)
        #expect(
            Set(old.modifiedNames).isSuperset(of: ["root", "a", "a2", again.recordID.recordName]))
        #expect(Set(old.deletedNames) == ["a1", "b", share.recordID.recordName])
        #expect(Set(old.modifiedNames).isDisjoint(with: old.deletedNames))
        #expect(try await fixture.names(seenBy: "bob") == ["a", "a2", "root"])
    }

    @Test func `who leaves and comes back sees what is there, with an old token too`()
        async throws
    {
        let fixture = try await SharingFixture.family()
        let share = try await fixture.share("root", publicPermission: .readWrite)
        try await fixture.accept(share, ["bob"])
        let token = try await fixture.token(of: "bob")
        try await fixture.bob.deleteRecord(withID: fixture.id(of: share))
        try await fixture.alice.deleteRecord(withID: noteID("b"))
        try await fixture.accept(share, ["bob"])
        let changes = try await fixture.changes(seenBy: "bob", since: token)
        #expect(changes.deleted == ["b"])
        #expect(changes.modified.isSubset(of: ["root", "a", "a1"]))
        #expect(try await fixture.names(seenBy: "bob") == ["a", "a1", "root"])
        let fresh = try await fixture.changes(seenBy: "bob")
        #expect(fresh.modified == ["root", "a", "a1"] && fresh.deleted == [])
    }

    @Test func `whole zones: a token from before the end of a part in it is expired`()
        async throws
    {
        let (fixture, share) = try await SharingFixture.zoneWide()
        let token = try await fixture.token(of: "bob")
        let live = try await fixture.changes(seenBy: "bob", since: token)
        #expect(live.modified == [] && live.deleted == [])
        try await fixture.remove("bob", from: share)
        try await fixture.alice.deleteRecord(withID: noteID("b"))
        try await fixture.edit(share) { try $0.addParticipant(fixture.participant("bob")) }
        try await fixture.accept(share, ["bob"])
        let error = await failure {
            try await fixture.bob.recordZoneChanges(inZoneWith: fixture.zone, since: token)
        }
        #expect(error.code == .changeTokenExpired)
        let fresh = try await fixture.changes(seenBy: "bob")
        #expect(fresh.modified == ["a", "a1", "above", "out", "out1", "root"])
    }

    @Test func `a zone that is made anew under the name shares nothing`() async throws {
        let (fixture, share) = try await SharingFixture.shared()
        let link = try #require(share.shortGUID)
        let token = try await fixture.token(of: "bob")
        try await fixture.alice.deleteRecordZone(withID: notes)
        try await fixture.alice.save(RecordZone(zoneID: notes))
        try await fixture.alice.saveAll([note("root"), child("a", of: "root")])
        #expect(try await fixture.alice.record(for: noteID("root")).share == nil)
        #expect(try await !fixture.isVisible(to: "bob"))
        let unknown = await failure {
            try await fixture.container.shareMetadata(for: link, as: "bob")
        }
        #expect(unknown.code == .unknownItem)
        let second = try await fixture.share("root", with: ["bob"])
        try await fixture.accept(second, ["bob"])
        let expired = await failure {
            try await fixture.bob.recordZoneChanges(inZoneWith: fixture.zone, since: token)
        }
        #expect(expired.code == .changeTokenExpired)
        #expect(try await fixture.names(seenBy: "bob") == ["a", "root"])
    }
}
