import Stratus
import Testing

/// Rules of shares one by one: what is seen, refused and told, each beside what it would be without
/// the rule.
@Suite struct SharingRuleTests {
    private func link(_ share: Share) throws -> String { try #require(share.shortGUID) }

    /// The share as a user sees it.
    private func share(
        _ share: Share, seenBy user: String, _ fixture: SharingFixture
    ) async throws -> Share {
        let database = fixture.container.sharedDatabase(for: user)
        return try #require(Share(try await database.record(for: fixture.id(of: share))))
    }

    /// Shares `root` with bob, and with dave by an address that the host has told of.
    private func shareWithAnAddress(_ fixture: SharingFixture) async throws -> Share {
        try await setProfile(
            of: "dave", in: fixture.container, emailAddresses: ["dave@example.org"])
        let share = try await fixture.share("root", with: ["bob"])
        let dave = Share.Participant(
            UserIdentity.LookupInfo(emailAddress: "dave@example.org"), permission: .readOnly)
        return try await fixture.edit(share) { try $0.addParticipant(dave) }
    }

    // Accepting.

    @Test func `the owner who accepts the own share is no participant of it`() async throws {
        let fixture = try await SharingFixture.family()
        let share = try await fixture.share("root", publicPermission: .readWrite)
        try await fixture.accept(share, ["alice", "alice"])
        #expect(try await fixture.stored(share).participants.map(\.role) == [.owner])
        #expect(try await fixture.container.sharedDatabase(for: "alice").allRecordZones() == [])
    }

    @Test func `who joins by the link counts in the limit of participants`() async throws {
        let fixture = try await SharingFixture.family(profile: Profile(participantsPerShare: 3))
        let share = try await fixture.share("root", publicPermission: .readOnly)
        // With the owner there are three.
        try await fixture.accept(share, ["bob", "carol"])
        let error = await failure {
            try await fixture.container.acceptShare(try link(share), as: "dave")
        }
        #expect(error.code == .tooManyParticipants)
        try await fixture.accept(share, ["bob"])
        #expect(try await fixture.stored(share).participants.count == 3)
    }

    @Test func `accepting changes the record of the share, and once more it does not`()
        async throws
    {
        let fixture = try await SharingFixture.family()
        let share = try await fixture.share("root", with: ["bob"])
        let before = try await fixture.stored(share).record.recordChangeTag
        try await fixture.accept(share, ["bob"])
        let after = try await fixture.stored(share).record.recordChangeTag
        #expect(before != after)
        let token = try await fixture.token(of: "bob")
        try await fixture.accept(share, ["bob"])
        #expect(try await fixture.stored(share).record.recordChangeTag == after)
        let changes = try await FollowedChanges(of: fixture.bob, in: fixture.zone, since: token)
        #expect(changes.modified.isEmpty && changes.deleted.isEmpty)
    }

    // What is seen of participants.

    @Test func `who joined by the link sees the owner and itself`() async throws {
        let fixture = try await SharingFixture.family()
        let share = try await fixture.share("root", publicPermission: .readOnly)
        try await fixture.accept(share, ["bob", "carol"])
        for user in ["bob", "carol"] {
            let seen = try await self.share(share, seenBy: user, fixture).participants
            #expect(seen.count == 2 && seen[0].role == .owner)
            #expect(
                seen[1].userIdentity.userRecordID == fixture.container.userRecordID(for: user))
        }
        #expect(try await fixture.stored(share).participants.count == 3)
    }

    @Test func `whom an address was invited by its owner and administrators see, and no others`()
        async throws
    {
        let fixture = try await SharingFixture.family()
        let share = try await shareWithAnAddress(fixture)
        try await fixture.accept(share, ["bob"])
        func addresses(_ share: Share) -> [String] {
            share.participants.compactMap { $0.userIdentity.lookupInfo?.emailAddress }
        }
        #expect(addresses(try await fixture.stored(share)) == ["dave@example.org"])
        #expect(addresses(try await self.share(share, seenBy: "bob", fixture)) == [])
        try await fixture.edit(share) {
            try $0.addParticipant(fixture.participant("bob", role: .administrator))
        }
        #expect(
            addresses(try await self.share(share, seenBy: "bob", fixture)) == ["dave@example.org"])
    }

    @Test func `whom an address stands for is told once the invitation is accepted`()
        async throws
    {
        let fixture = try await SharingFixture.family()
        let share = try await shareWithAnAddress(fixture)
        let id = fixture.container.userRecordID(for: "dave")
        #expect(try await fixture.stored(share).participant(id) == nil)
        try await fixture.accept(share, ["dave"])
        #expect(try await fixture.stored(share).participant(id)?.acceptanceStatus == .accepted)
    }

    // What is refused.

    @Test func `users are not invited to a share that all may join, nor the owner to any`()
        async throws
    {
        let fixture = try await SharingFixture.family()
        let root = try await fixture.alice.record(for: noteID("root"))
        var share = Share(rootRecord: root)
        try share.addParticipant(fixture.participant("bob"))
        share.publicPermission = .readOnly
        var own = Share(rootRecord: root)
        try own.addParticipant(fixture.participant("alice"))
        for record in [share.record, own.record] {
            let result = try await fixture.alice.modifyRecords(saving: [root, record])
            let error = await failure { try result.saveResults[record.recordID]?.get() }
            #expect(error.code == .invalidArguments, "\(error)")
        }
        #expect(try await fixture.alice.record(for: noteID("root")).share == nil)
    }

    @Test func `a share has no parent and goes with no other record`() async throws {
        let fixture = try await SharingFixture.family()
        let root = try await fixture.alice.record(for: noteID("root"))
        let share = Share(rootRecord: root)
        var below = share.record
        below.parent = Reference(recordID: noteID("out"))
        var bound = share.record
        bound["with"] = .reference(Reference(recordID: noteID("out"), action: .deleteSelf))
        for record in [below, bound] {
            let result = try await fixture.alice.modifyRecords(saving: [root, record])
            #expect(result.partialFailure != nil)
            let error = await failure { try result.saveResults[record.recordID]?.get() }
            #expect(error.code == .invalidArguments, "\(error)")
        }
    }

    @Test(arguments: [false, true])
    func `what a participant deletes takes along all that is seen, however much is hidden`(
        withRules: Bool
    ) async throws {
        var rules = RecordRules()
        if withRules { rules.validate("Note", named: "none") { _, _ in } }
        let fixture = try await SharingFixture.family(rules: rules)
        let share = try await fixture.share("root", with: ["bob"])
        try await fixture.accept(share, ["bob"])
        let target: RecordValue = .reference(Reference(recordID: noteID("b"), action: .deleteSelf))
        func sources(_ kind: String, _ count: Int, below parent: String) -> [Record] {
            (0..<count).map { number in
                var record = child("\(kind)-\(number)", of: parent)
                record["to"] = target
                return record
            }
        }
        // More than a cascade may take along.
        try await fixture.alice.saveAll(sources("hidden", 9000, below: "out"))
        try await fixture.alice.saveAll(sources("seen", 8, below: "a"))
        try await fixture.bob.deleteRecord(withID: fixture.id("b"))
        for number in 0..<8 {
            let error = await failure {
                try await fixture.alice.record(for: noteID("seen-\(number)"))
            }
            #expect(error.code == .unknownItem)
        }
        let left = try await fixture.alice.records(
            for: (0..<9000).map { noteID("hidden-\($0)") })
        #expect(left.values.allSatisfy { (try? $0.get()) != nil })
    }

    @Test func `what a participant says of a root's parent changes nothing`() async throws {
        let (fixture, _) = try await SharingFixture.shared()
        var root = try await fixture.bob.record(for: fixture.id("root"))
        #expect(root.parent == nil)
        root["n"] = 10
        try await fixture.bob.save(root)
        let stored = try await fixture.alice.record(for: noteID("root"))
        #expect(stored.parent?.recordID.recordName == "above" && stored["n"] == 10)
        var other = try await fixture.bob.record(for: fixture.id("root"))
        other.parent = nil
        _ = try? await fixture.bob.save(other, savePolicy: .allKeys)
        let after = try await fixture.alice.record(for: noteID("root"))
        #expect(after.parent?.recordID.recordName == "above")
    }

    // What is told.

    @Test func `a zone that was made anew and is shared again is changed, and not gone`()
        async throws
    {
        let (fixture, _) = try await SharingFixture.shared()
        let token = try await fixture.bob.databaseChanges().changeToken
        try await fixture.alice.deleteRecordZone(withID: notes)
        try await fixture.alice.save(RecordZone(zoneID: notes))
        try await fixture.alice.saveAll([note("root")])
        let share = try await fixture.share("root", with: ["bob"])
        try await fixture.accept(share, ["bob"])
        let changes = try await fixture.bob.databaseChanges(since: token)
        #expect(changes.modifications == [fixture.zone])
        #expect(changes.deletions.isEmpty)
    }

    @Test func `a part that ends while its zone is read in pages is told of once`() async throws {
        let (fixture, _) = try await SharingFixture.shared()
        try await fixture.alice.saveAll([note("more"), child("more1", of: "more")])
        let first = try await fixture.share("out", with: ["bob"])
        let second = try await fixture.share("more", with: ["bob"])
        for share in [first, second] { try await fixture.accept(share, ["bob"]) }
        var token = try await fixture.token(of: "bob")
        try await fixture.remove("bob", from: first)
        var told: [String] = []
        for page in 0..<16 {
            let changes = try await fixture.bob.recordZoneChanges(
                inZoneWith: fixture.zone, since: token, resultsLimit: 1)
            told += changes.deletions.map(\.recordID.recordName)
            token = changes.changeToken
            // Amid what the end of the first part takes away.
            if page == 0 { try await fixture.remove("bob", from: second) }
        }
        for name in ["out", "out1", "more", "more1"] {
            #expect(told.filter { $0 == name }.count == 1, "\(name) in \(told)")
        }
    }
}
