import Stratus
import Testing

/// The participants of a share: semantics 8.4 to 8.6 and 8.9.
@Suite struct ShareParticipantTests {
    @Test func `participants are added and removed by saving the share`() async throws {
        let fixture = try await SharingFixture.family()
        let users = ["bob", "carol"].map { fixture.container.userRecordID(for: $0) }
        var share = try await fixture.share("root", with: ["bob", "carol"], .readOnly)
        #expect(share.participants.count == 3 && share.participants.first == share.owner)
        for user in users {
            let participant = try #require(share.participant(user))
            #expect(participant.acceptanceStatus == .pending && participant.role == .privateUser)
            #expect(participant.permission == .readOnly)
            #expect(participant.participantID.utf8.count == 32)
            #expect(participant.dateAddedToShare != nil)
        }
        try await fixture.accept(share, ["bob", "carol"])
        share = try await fixture.stored(share)
        #expect(share.participants.count { $0.acceptanceStatus == .accepted } == 3)
        try await fixture.remove("carol", from: share)
        share = try await fixture.stored(share)
        #expect(share.participant(users[0])?.acceptanceStatus == .accepted)
        #expect(share.participant(users[1])?.acceptanceStatus != .accepted)
        #expect(try await fixture.isVisible(to: "bob"))
        #expect(try await !fixture.isVisible(to: "carol"))
    }

    @Test func `adding a user again changes the participant that there is`() async throws {
        let (fixture, share) = try await SharingFixture.shared(.readOnly)
        let user = fixture.container.userRecordID(for: "bob")
        let before = try #require(try await fixture.stored(share).participant(user))
        try await fixture.edit(share) {
            try $0.addParticipant(fixture.participant("bob", .readWrite, role: .administrator))
        }
        let after = try await fixture.stored(share)
        let participant = try #require(after.participant(user))
        #expect(after.participants.count == 2)
        #expect(participant.participantID == before.participantID)
        #expect(participant.role == .administrator && participant.permission == .readWrite)
        #expect(participant.acceptanceStatus == .accepted)
        #expect(participant.dateAddedToShare == before.dateAddedToShare)
        #expect(try await fixture.names(seenBy: "bob") == SharingFixture.members)
    }

    @Test func `the whole list may be given, and the owner stays in it`() async throws {
        let (fixture, share) = try await SharingFixture.shared(with: ["bob", "carol"])
        let bob = fixture.container.userRecordID(for: "bob")
        try await fixture.edit(share) { share in
            var list = share.participants.filter { $0.userIdentity.userRecordID == bob }
            for place in list.indices { list[place].permission = .readOnly }
            share.setParticipants(list)
        }
        var stored = try await fixture.stored(share)
        #expect(stored.owner?.role == .owner && stored.participant(bob)?.permission == .readOnly)
        #expect(try await !fixture.isVisible(to: "carol"))
        try await fixture.edit(share) { $0.setParticipants([]) }
        stored = try await fixture.stored(share)
        #expect(stored.participants.first == stored.owner)
        #expect(try await !fixture.isVisible(to: "bob"))
        let owner = try #require(stored.owner)
        let error = await failure { [stored] in
            var share = stored
            try share.removeParticipant(owner)
        }
        #expect(error.code == .invalidArguments)
    }

    @Test func `a participant sees at least the owner and itself`() async throws {
        let (fixture, share) = try await SharingFixture.shared(with: ["bob", "carol"])
        for user in ["bob", "carol"] {
            let database = fixture.container.sharedDatabase(for: user)
            let found = Share(try await database.record(for: fixture.id(of: share)))
            let seen = try #require(found)
            let id = fixture.container.userRecordID(for: user)
            #expect(seen.currentUserParticipant?.userIdentity.userRecordID == id)
            #expect(seen.participant(id) == seen.currentUserParticipant)
            #expect(seen.participants.first?.role == .owner)
            #expect(
                seen.owner?.userIdentity.userRecordID
                    == fixture.container.userRecordID(for: "alice"))
            #expect(seen.rootRecordID == fixture.id("root"))
        }
    }

    @Test func `an administrator adds and removes participants and changes permissions`()
        async throws
    {
        let (fixture, share) = try await SharingFixture.shared(.readOnly, with: ["carol"])
        try await fixture.edit(share) {
            try $0.addParticipant(fixture.participant("bob", .readOnly, role: .administrator))
        }
        try await fixture.accept(share, ["bob"])
        let found = Share(try await fixture.bob.record(for: fixture.id(of: share)))
        var edited = try #require(found)
        try edited.addParticipant(fixture.participant("carol", .readWrite))
        try edited.addParticipant(fixture.participant("dave", .readOnly))
        edited = try await fixture.save(edited, by: fixture.bob)
        try await fixture.accept(share, ["dave"])
        #expect(try await fixture.names(seenBy: "dave") == SharingFixture.members)
        try await fixture.carol.save(fixture.newNote("of carol", under: "a"))
        let again = Share(try await fixture.bob.record(for: fixture.id(of: share)))
        var last = try #require(again)
        let carol = last.participant(fixture.container.userRecordID(for: "carol"))
        try last.removeParticipant(try #require(carol))
        try await fixture.save(last, by: fixture.bob)
        #expect(try await !fixture.isVisible(to: "carol"))
        // To records an administrator has the permission that was given, and no more.
        let error = await failure {
            try await fixture.bob.save(fixture.newNote("of bob", under: "a"))
        }
        #expect(error.code == .permissionFailure)
    }

    @Test(arguments: [Share.Permission.readOnly, .readWrite])
    func `a participant who is no administrator changes nothing of the share`(
        permission: Share.Permission
    ) async throws {
        let (fixture, share) = try await SharingFixture.shared(permission)
        let before = try await fixture.alice.record(for: share.recordID)
        let found = Share(try await fixture.bob.record(for: fixture.id(of: share)))
        let seen = try #require(found)
        var titled = seen
        titled.title = "Mine"
        var inviting = seen
        try inviting.addParticipant(fixture.participant("carol"))
        var raised = seen
        try raised.addParticipant(fixture.participant("bob", .readWrite, role: .administrator))
        var open = seen
        open.publicPermission = .readWrite
        for edited in [titled, inviting, raised, open] {
            for policy in [SavePolicy.ifServerRecordUnchanged, .changedKeys, .allKeys] {
                let record = edited.record
                let error = await failure {
                    try await fixture.bob.save(record, savePolicy: policy)
                }
                #expect(error.code == .permissionFailure && showsNoRecord(error))
            }
        }
        #expect(try await fixture.alice.record(for: share.recordID) == before)
    }

    @Test func `a share has as many participants as the profile allows`() async throws {
        let fixture = try await SharingFixture.family(profile: .cloudKit)
        let root = try await fixture.alice.record(for: noteID("root"))
        var share = Share(rootRecord: root)
        for number in 0..<101 {
            try share.addParticipant(fixture.participant("user\(number)", .readOnly))
        }
        let tooMany = try await fixture.alice.outcome(saving: [root, share.record])
        #expect(tooMany[share.recordID.recordName]?.code == .tooManyParticipants)
        share.setParticipants(share.participants.dropLast(2))
        share = try await fixture.save(share, with: [root])
        #expect(share.participants.count == 100)
    }
}

/// Shares that anyone may join who has the link: semantics 8.6.
@Suite struct PublicShareTests {
    @Test(arguments: [Share.Permission.readOnly, .readWrite])
    func `who joins by the link is a publicUser with the public permission`(
        permission: Share.Permission
    ) async throws {
        let fixture = try await SharingFixture.family()
        let share = try await fixture.share("root", publicPermission: permission)
        let link = try #require(share.shortGUID)
        let before = try await fixture.container.shareMetadata(for: link, as: "bob")
        #expect(before.participantRole == .publicUser && before.participantStatus == .pending)
        #expect(before.participantPermission == permission)
        #expect(try await !fixture.isVisible(to: "bob"))
        try await fixture.accept(share, ["bob"])
        let after = try await fixture.container.shareMetadata(for: link, as: "bob")
        #expect(after.participantRole == .publicUser && after.participantStatus == .accepted)
        #expect(try await fixture.names(seenBy: "bob") == SharingFixture.members)
        let new = fixture.newNote("new", under: "a")
        if permission == .readWrite {
            try await fixture.bob.save(new)
        } else {
            let error = await failure { try await fixture.bob.save(new) }
            #expect(error.code == .permissionFailure)
        }
    }

    @Test func `a public share has no list to edit`() async throws {
        let fixture = try await SharingFixture.family()
        let share = try await fixture.share("root", publicPermission: .readOnly)
        try await fixture.accept(share, ["bob"])
        let stored = try await fixture.stored(share)
        let bob = stored.participant(fixture.container.userRecordID(for: "bob"))
        let joined = try #require(bob)
        #expect(joined.role == .publicUser)
        let added = await failure {
            var share = stored
            try share.addParticipant(fixture.participant("carol"))
        }
        let removed = await failure {
            var share = stored
            try share.removeParticipant(joined)
        }
        #expect(added.code == .invalidArguments && removed.code == .invalidArguments)
    }

    @Test func `a change of the public permission removes those who have not accepted`()
        async throws
    {
        let fixture = try await SharingFixture.family()
        let share = try await fixture.share("root", with: ["bob", "carol"], .readOnly)
        try await fixture.accept(share, ["bob"])
        try await fixture.edit(share) { $0.publicPermission = .readOnly }
        let carol = fixture.container.userRecordID(for: "carol")
        let status = try await fixture.stored(share).participant(carol)?.acceptanceStatus
        #expect(status != .pending && status != .accepted)
        #expect(try await fixture.names(seenBy: "bob") == SharingFixture.members)
        // By the link the one who was removed may join like any other.
        try await fixture.accept(share, ["carol"])
        let joined = try await fixture.stored(share).participants.first {
            $0.userIdentity.userRecordID == carol && $0.acceptanceStatus == .accepted
        }
        #expect(joined?.role == .publicUser)
    }

    @Test func `without a public permission those who joined are out, and the invited stay`()
        async throws
    {
        let fixture = try await SharingFixture.family()
        let share = try await fixture.share("root", with: ["bob"], .readOnly)
        try await fixture.accept(share, ["bob"])
        try await fixture.edit(share) { $0.publicPermission = .readWrite }
        try await fixture.accept(share, ["carol"])
        let token = try await fixture.carol.databaseChanges().changeToken
        try await fixture.edit(share) { $0.publicPermission = .none }
        #expect(try await fixture.names(seenBy: "bob") == SharingFixture.members)
        #expect(try await !fixture.isVisible(to: "carol"))
        let changes = try await fixture.carol.databaseChanges(since: token)
        #expect(changes.deletions.map { $0.zoneID } == [fixture.zone])
        let link = try #require(share.shortGUID)
        let error = await failure {
            try await fixture.container.acceptShare(link, as: "carol")
        }
        #expect(error.code == .permissionFailure)
    }

    @Test func `the public permission of now binds those who joined before`() async throws {
        let fixture = try await SharingFixture.family()
        let share = try await fixture.share("root", publicPermission: .readWrite)
        try await fixture.accept(share, ["bob"])
        try await fixture.bob.save(fixture.newNote("one", under: "a"))
        try await fixture.edit(share) { $0.publicPermission = .readOnly }
        let error = await failure {
            try await fixture.bob.save(fixture.newNote("two", under: "a"))
        }
        #expect(error.code == .permissionFailure)
        #expect(try await fixture.names(seenBy: "bob").contains("one"))
        try await fixture.edit(share) { $0.publicPermission = .readWrite }
        try await fixture.bob.save(fixture.newNote("two", under: "a"))
    }

    // C78.
    @Test func `the public permission also lets the invited write`() async throws {
        let (fixture, share) = try await SharingFixture.shared(.readOnly)
        let error = await failure {
            try await fixture.bob.save(fixture.newNote("new", under: "a"))
        }
        #expect(error.code == .permissionFailure)
        try await fixture.edit(share) { $0.publicPermission = .readWrite }
        try await fixture.bob.save(fixture.newNote("new", under: "a"))
    }
}
