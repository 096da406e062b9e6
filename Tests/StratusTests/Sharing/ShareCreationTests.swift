import Stratus
import Testing

/// Making shares and saving them again: semantics 8.2 to 8.4, cases C74 to C76, C87, C88 and C95.
@Suite struct ShareCreationTests {
    private static let other = RecordZone.ID(zoneName: "other")

    // C75.
    @Test func `a share is saved together with its root, which then names it`() async throws {
        let fixture = try await SharingFixture.family()
        let root = try await fixture.alice.record(for: noteID("root"))
        var share = Share(rootRecord: root)
        #expect(share.recordID.recordName.hasPrefix("Share-"))
        #expect(share.recordID.zoneID == notes && share.rootRecordID == noteID("root"))
        #expect(share.shortGUID == nil && share.owner == nil && !share.isZoneWide)
        share.title = "Our boats"
        let result = try await fixture.alice.modifyRecords(saving: [root, share.record])
        #expect(result.partialFailure == nil)
        let saved = try await fixture.stored(share)
        #expect(saved.record.recordType == "cloudkit.share" && saved.title == "Our boats")
        #expect(saved.shortGUID?.utf8.count == 32)
        #expect(saved.rootRecordID == noteID("root") && saved.publicPermission == .none)
        #expect(saved.owner?.role == .owner && saved.owner?.acceptanceStatus == .accepted)
        #expect(
            saved.owner?.userIdentity.userRecordID == fixture.container.userRecordID(for: "alice"))
        #expect(saved.participants.count == 1 && saved.currentUserParticipant == saved.owner)
        let stored = try await fixture.alice.record(for: noteID("root"))
        #expect(stored.share?.recordID == share.recordID)
        #expect(stored.recordChangeTag != root.recordChangeTag)
        #expect(try result.saveResults[root.recordID]?.get() == stored)
        #expect(try await fixture.alice.record(for: noteID("a")).share == nil)
    }

    // C74.
    @Test func `a new share without its root in the same call is invalidArguments`() async throws {
        let fixture = try await SharingFixture.family()
        let root = try await fixture.alice.record(for: noteID("root"))
        let below = try await fixture.alice.record(for: noteID("a"))
        let share = Share(rootRecord: root)
        for others in [[], [note("new")], [below]] {
            let errors = try await fixture.alice.outcome(saving: others + [share.record])
            #expect(errors[share.recordID.recordName]?.code == .invalidArguments)
            #expect(errors.count == others.count + 1)
        }
        #expect(try await fixture.alice.record(for: noteID("root")) == root)
        let error = await failure { try await fixture.alice.record(for: share.recordID) }
        #expect(error.code == .unknownItem)
        // Nor does it help that the root is deleted there.
        let errors = try await fixture.alice.outcome(saving: [share.record], deleting: ["root"])
        #expect(errors[share.recordID.recordName]?.code == .invalidArguments)
    }

    // C76, C88.
    @Test func `a share that was fetched is saved without its root, and stays the one share`()
        async throws
    {
        let (fixture, first) = try await SharingFixture.shared()
        let root = try await fixture.alice.record(for: noteID("root"))
        for title in ["One", "Two"] {
            let saved = try await fixture.edit(first) {
                $0.title = title
                $0["colour"] = "red"
            }
            #expect(saved.title == title && saved["colour"] == "red")
            #expect(saved.shortGUID == first.shortGUID)
        }
        #expect(try await fixture.stored(first).title == "Two")
        #expect(try await fixture.alice.record(for: noteID("root")) == root)
        let shares = try await fixture.alice.allRecords(type: Record.shareType)
        #expect(shares.map { $0.recordID } == [first.recordID])
        #expect(try await fixture.bob.record(for: fixture.id(of: first))["colour"] == "red")
    }

    @Test(arguments: [true, false])
    func `share, root and descendants may all be new, in any order`(isReversed: Bool) async throws {
        let fixture = try await SharingFixture()
        let root = note("root")
        var share = Share(rootRecord: root, shareID: noteID("the share"))
        try share.addParticipant(fixture.participant("bob"))
        let records = [root, share.record, child("a", of: "root"), child("a1", of: "a")]
        try await fixture.alice.saveAll(isReversed ? records.reversed() : records)
        try await fixture.accept(try await fixture.stored(share), ["bob"])
        #expect(try await fixture.names(seenBy: "bob") == ["a", "a1", "root"])
        #expect(
            try await fixture.alice.record(for: noteID("root")).share?.recordID
                == noteID("the share"))
    }

    @Test func `a share and a root of two zones cannot be saved`() async throws {
        let fixture = try await SharingFixture.family()
        try await fixture.alice.save(RecordZone(zoneID: Self.other))
        let root = try await fixture.alice.record(for: noteID("root"))
        let share = Share(rootRecord: root, shareID: noteID("share", in: Self.other))
        let result = try await fixture.alice.modifyRecords(saving: [root, share.record])
        #expect(result.saveResults[share.recordID]?.code == .invalidArguments)
        #expect(try await fixture.alice.record(for: noteID("root")).share == nil)
    }

    // C95.
    @Test(arguments: ["cloudkit.Share", "Cloudkit.share", "cloudkit.shares"])
    func `the type of a share is spelled in one way`(type: String) async throws {
        let fixture = try await SharingFixture.family()
        let record = note("s", type: type)
        #expect(Share(record) == nil)
        let error = await failure { try await fixture.alice.save(record) }
        #expect(error.code == .invalidArguments && error.recordID == noteID("s"))
    }

    // C87.
    @Test func `a link stands for its root: it is the same when the root is shared again`()
        async throws
    {
        let (fixture, first) = try await SharingFixture.shared()
        let sibling = try await SharingFixture.family().share("root")
        #expect(sibling.shortGUID != first.shortGUID)
        let link = try #require(first.shortGUID)
        try await fixture.end(first)
        let unknown = await failure {
            try await fixture.container.shareMetadata(for: link, as: "bob")
        }
        #expect(unknown.code == .unknownItem)
        let second = try await fixture.share("root", with: ["carol"])
        #expect(second.shortGUID == link && second.recordID != first.recordID)
        #expect(second.participants.count == 2)
        try await fixture.accept(second, ["carol"])
        #expect(try await fixture.names(seenBy: "carol") == SharingFixture.members)
        // Who had a part in the first share has none in this one.
        #expect(try await !fixture.isVisible(to: "bob"))
        let refused = await failure {
            try await fixture.container.acceptShare(link, as: "bob")
        }
        #expect(refused.code == .permissionFailure)
    }

    @Test(arguments: [SavePolicy.ifServerRecordUnchanged, .changedKeys, .allKeys])
    func `a share is saved by its tag under every policy`(policy: SavePolicy) async throws {
        let (fixture, _) = try await SharingFixture.shared()
        let root = try await fixture.alice.record(for: noteID("root"))
        let id = try #require(root.share?.recordID)
        let fetched = Share(try await fixture.alice.record(for: id))
        var current = try #require(fetched)
        var stale = current
        current.title = "Current"
        let saved = try await fixture.alice.save(current.record, savePolicy: policy)
        stale.title = "Stale"
        let record = stale.record
        let error = await failure {
            try await fixture.alice.save(record, savePolicy: policy)
        }
        #expect(error.code == .serverRecordChanged && error.serverRecord == saved)
        let atomic = try await fixture.alice.outcome(
            saving: [record, note("out", ["n": 7])], savePolicy: .changedKeys)
        #expect(atomic[id.recordName]?.code == .serverRecordChanged)
        #expect(atomic["out"]?.code == .batchRequestFailed)
        #expect(try await fixture.alice.record(for: id) == saved)
    }

    @Test func `a share that has ended is unknown to a save with its tag`() async throws {
        let (fixture, share) = try await SharingFixture.shared()
        var late = try await fixture.stored(share)
        late.title = "Late"
        try await fixture.end(share)
        let record = late.record
        let error = await failure { try await fixture.alice.save(record) }
        #expect(error.code == .unknownItem)
        #expect(try await fixture.alice.record(for: noteID("root")).share == nil)
    }

    @Test func `a participant makes no share`() async throws {
        let (fixture, _) = try await SharingFixture.shared()
        let record = try await fixture.bob.record(for: fixture.id("b"))
        let share = Share(rootRecord: record)
        let errors = try await fixture.bob.outcome(
            saving: [record, share.record], in: fixture.zone)
        let code = try #require(errors[share.recordID.recordName]?.code)
        #expect(refusals.contains(code))
        let zoneWide = Share(recordZoneID: fixture.zone)
        let error = await failure { try await fixture.bob.save(zoneWide.record) }
        #expect(refusals.contains(error.code))
        #expect(try await fixture.alice.allRecords(type: Record.shareType).count == 1)
    }
}

/// One share per record, and which kinds of shares a zone may have: semantics 8.3.
@Suite struct OneShareTests {
    @Test(arguments: [("itself", "root"), ("one above it", "a1"), ("one below it", "above")])
    func `a record is not shared where it is already, or one above or below it`(
        which: String, name: String
    ) async throws {
        let (fixture, share) = try await SharingFixture.shared()
        let record = try await fixture.alice.record(for: noteID(name))
        let second = Share(rootRecord: record)
        let errors = try await fixture.alice.outcome(saving: [record, second.record])
        #expect(Set(codes(errors).values).isSubset(of: [.alreadyShared, .batchRequestFailed]))
        #expect(errors.count == 2 && codes(errors).values.contains(.alreadyShared), "\(which)")
        #expect(try await fixture.alice.record(for: noteID(name)) == record)
        #expect(try await fixture.stored(share).shortGUID == share.shortGUID)
        #expect(try await fixture.names(seenBy: "bob") == SharingFixture.members)
    }

    @Test(arguments: [["root", "a"], ["a", "root"], ["root", "root"]])
    func `two shares of one hierarchy in one call are alreadyShared`(names: [String]) async throws {
        let fixture = try await SharingFixture.family()
        var roots: [String: Record] = [:]
        for name in names { roots[name] = try await fixture.alice.record(for: noteID(name)) }
        let shares = names.compactMap { roots[$0].map { Share(rootRecord: $0).record } }
        let errors = try await fixture.alice.outcome(saving: Array(roots.values) + shares)
        #expect(codes(errors).values.contains(.alreadyShared))
        #expect(errors.count == roots.count + shares.count)
        for name in names {
            #expect(try await fixture.alice.record(for: noteID(name)).share == nil)
        }
        #expect(try await fixture.alice.allRecords(type: Record.shareType) == [])
    }

    @Test func `siblings are shared each by itself, and others once a share has ended`()
        async throws
    {
        let fixture = try await SharingFixture.family()
        let first = try await fixture.share("a", with: ["bob"])
        let second = try await fixture.share("b", with: ["bob", "carol"])
        #expect(first.shortGUID != second.shortGUID)
        try await fixture.accept(first, ["bob"])
        try await fixture.accept(second, ["bob", "carol"])
        #expect(try await fixture.names(seenBy: "bob") == ["a", "a1", "b"])
        #expect(try await fixture.names(seenBy: "carol") == ["b"])
        try await fixture.end(first)
        try await fixture.end(second)
        let above = try await fixture.share("above", with: ["bob"])
        try await fixture.accept(above, ["bob"])
        #expect(
            try await fixture.names(seenBy: "bob") == ["a", "a1", "above", "b", "root"])
        try await fixture.end(above)
        try await fixture.share("a1", with: ["bob"])
    }

    // The state that the call leaves is judged.
    @Test func `a share may take the place of another in one call`() async throws {
        let (fixture, share) = try await SharingFixture.shared()
        let token = try await fixture.token(of: "bob")
        let records = [
            try await fixture.alice.record(for: noteID("root")),
            try await fixture.alice.record(for: noteID("a")),
        ]
        var second = Share(rootRecord: records[1])
        try second.addParticipant(fixture.participant("carol"))
        let result = try await fixture.alice.modifyRecords(
            saving: records + [second.record], deleting: [share.recordID])
        #expect(result.partialFailure == nil)
        #expect(try await fixture.alice.record(for: noteID("root")).share == nil)
        try await fixture.accept(try await fixture.stored(second), ["carol"])
        #expect(try await fixture.names(seenBy: "carol") == ["a", "a1"])
        let error = await failure {
            try await fixture.bob.recordZoneChanges(inZoneWith: fixture.zone, since: token)
        }
        #expect(error.code == .zoneNotFound)
    }

    // C93.
    @Test func `the share of a zone bears a fixed name, and a second one is a conflict`()
        async throws
    {
        let fixture = try await SharingFixture.family()
        let share = try await fixture.save(Share(recordZoneID: notes))
        #expect(share.recordID == noteID("cloudkit.zoneshare") && share.isZoneWide)
        #expect(share.recordID.recordName == Share.zoneWideRecordName)
        #expect(share.rootRecordID == nil && share.shortGUID?.utf8.count == 32)
        let again = Share(recordZoneID: notes).record
        let error = await failure { try await fixture.alice.save(again) }
        #expect(error.code == .serverRecordChanged)
        #expect(error.reason == "record to insert already exists")
        #expect(error.serverRecord?.recordID == share.recordID)
        // It ends as others do, and then there may be one again.
        try await fixture.end(share)
        #expect(try await fixture.save(Share(recordZoneID: notes)).isZoneWide)
    }

    @Test func `a zone that is shared as a whole has no shared hierarchy`() async throws {
        let (fixture, share) = try await SharingFixture.zoneWide()
        let root = try await fixture.alice.record(for: noteID("root"))
        let second = Share(rootRecord: root)
        let errors = try await fixture.alice.outcome(saving: [root, second.record])
        #expect(errors[second.recordID.recordName]?.code == .serverRejectedRequest)
        #expect(try await fixture.alice.record(for: noteID("root")) == root)
        try await fixture.end(share)
        try await fixture.share("root")
    }

    @Test func `a zone with a shared hierarchy is not shared as a whole`() async throws {
        let (fixture, share) = try await SharingFixture.shared()
        let zoneWide = Share(recordZoneID: notes).record
        let error = await failure { try await fixture.alice.save(zoneWide) }
        #expect(error.code == .invalidArguments)
        try await fixture.end(share)
        try await fixture.save(Share(recordZoneID: notes))
    }

    @Test func `a hierarchy and its zone are not shared in one call`() async throws {
        let fixture = try await SharingFixture.family()
        let root = try await fixture.alice.record(for: noteID("root"))
        let errors = try await fixture.alice.outcome(
            saving: [root, Share(rootRecord: root).record, Share(recordZoneID: notes).record])
        #expect(errors.count == 3)
        #expect(try await fixture.alice.allRecords(type: Record.shareType) == [])
    }

    // C94.
    @Test func `the default zone and the public database are not shared`() async throws {
        let fixture = try await SharingFixture()
        let databases: [(Database, StoreError.Code)] = [
            (fixture.alice, .invalidArguments),
            (fixture.container.publicDatabase(as: "alice"), .badDatabase),
        ]
        for (database, code) in databases {
            let root = try await database.save(note("root", in: .default))
            let share = Share(rootRecord: root)
            let result = try await database.modifyRecords(saving: [root, share.record])
            #expect(result.saveResults[share.recordID]?.code == code)
            #expect(try await database.record(for: root.recordID).share == nil)
            let zoneWide = Share(recordZoneID: .default).record
            #expect(await failure { try await database.save(zoneWide) }.code == code)
        }
    }
}
