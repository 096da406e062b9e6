import Stratus
import Testing

/// Links, what they tell, and accepting: semantics 8.7, cases C89 and C91.
@Suite struct ShareAcceptanceTests {
    @Test func `an invited user accepts by the link, and again without harm`() async throws {
        let fixture = try await SharingFixture.family()
        let share = try await fixture.share("root", with: ["bob"], .readOnly)
        let link = try #require(share.shortGUID)
        let before = try await fixture.container.shareMetadata(for: link, as: "bob")
        #expect(before.shortGUID == link && before.zoneID == fixture.zone)
        #expect(before.hierarchicalRootRecordID == fixture.id("root"))
        #expect(before.participantRole == .privateUser && before.participantStatus == .pending)
        #expect(before.participantPermission == .readOnly)
        #expect(
            before.ownerIdentity.userRecordID == fixture.container.userRecordID(for: "alice"))
        for _ in 0..<2 {
            let accepted = try await fixture.container.acceptShare(link, as: "bob")
            #expect(accepted.participantStatus == .accepted && accepted.zoneID == fixture.zone)
            #expect(accepted.share.recordID == fixture.id(of: share))
            #expect(try await fixture.names(seenBy: "bob") == SharingFixture.members)
        }
        let stored = try await fixture.stored(share)
        #expect(stored.participants.count == 2)
        let bob = stored.participant(fixture.container.userRecordID(for: "bob"))
        #expect(bob?.acceptanceStatus == .accepted)
    }

    // Semantics 8.9, the last row.
    @Test func `who was invited and has not accepted sees nothing`() async throws {
        let fixture = try await SharingFixture.family()
        let share = try await fixture.share("root", with: ["bob"])
        for id in [fixture.id("root"), fixture.id("a"), fixture.id(of: share)] {
            let error = await failure { try await fixture.bob.record(for: id) }
            #expect(error.code == .zoneNotFound)
        }
        let feed = await failure {
            try await fixture.bob.recordZoneChanges(inZoneWith: fixture.zone)
        }
        let save = await failure {
            try await fixture.bob.save(fixture.newNote("new", under: "root"))
        }
        #expect(feed.code == .zoneNotFound && save.code == .zoneNotFound)
        #expect(try await fixture.bob.allRecordZones() == [])
        let changes = try await fixture.bob.databaseChanges()
        #expect(changes.modifications == [] && changes.deletions == [])
    }

    // C91.
    @Test func `the root is in the metadata where it is asked for`() async throws {
        let fixture = try await SharingFixture.family()
        let share = try await fixture.share("root", with: ["bob"])
        let link = try #require(share.shortGUID)
        let without = try await fixture.container.shareMetadata(for: link, as: "bob")
        #expect(without.rootRecord == nil)
        let with = try await fixture.container.shareMetadata(
            for: link, as: "bob", includingRootRecord: true)
        var root = try #require(with.rootRecord)
        #expect(root.recordID == fixture.id("root") && root["n"] == 1 && root.parent == nil)
        // A copy.
        root["n"] = 100
        let again = try await fixture.container.shareMetadata(
            for: link, as: "bob", includingRootRecord: true)
        #expect(again.rootRecord?["n"] == 1)
        let zoneWide = try await SharingFixture.zoneWide(with: [])
        let zoneLink = try #require(zoneWide.share.shortGUID)
        let ofZone = try await zoneWide.fixture.container.shareMetadata(
            for: zoneLink, as: "alice", includingRootRecord: true)
        #expect(ofZone.rootRecord == nil && ofZone.hierarchicalRootRecordID == nil)
    }

    @Test func `a private share is for those who are invited`() async throws {
        let fixture = try await SharingFixture.family()
        let share = try await fixture.share("root", with: ["bob"])
        let link = try #require(share.shortGUID)
        let errors = [
            await failure { try await fixture.container.shareMetadata(for: link, as: "carol") },
            await failure { try await fixture.container.acceptShare(link, as: "carol") },
        ]
        #expect(errors.map { $0.code } == [.permissionFailure, .permissionFailure])
        #expect(try await !fixture.isVisible(to: "carol"))
    }

    @Test func `an unknown link is an unknown item`() async throws {
        let (fixture, share) = try await SharingFixture.shared()
        let link = try #require(share.shortGUID)
        let last = link.hasSuffix("0") ? "1" : "0"
        for unknown in [String(repeating: "0", count: 32), String(link.dropLast()) + last] {
            let errors = [
                await failure {
                    try await fixture.container.shareMetadata(for: unknown, as: "bob")
                },
                await failure { try await fixture.container.acceptShare(unknown, as: "bob") },
            ]
            #expect(errors.map { $0.code } == [.unknownItem, .unknownItem])
        }
    }

    @Test func `the owner is told of the own share`() async throws {
        let (fixture, share) = try await SharingFixture.shared(.readOnly)
        let link = try #require(share.shortGUID)
        let metadata = try await fixture.container.shareMetadata(for: link, as: "alice")
        #expect(metadata.participantRole == .owner && metadata.participantStatus == .accepted)
        #expect(metadata.participantPermission == .readWrite)
        #expect(metadata.share.participants.count == 2)
        #expect(try await fixture.container.sharedDatabase(for: "alice").allRecordZones() == [])
    }

    @Test func `who was removed is invited no more, and may be invited again`() async throws {
        let (fixture, share) = try await SharingFixture.shared()
        let link = try #require(share.shortGUID)
        try await fixture.remove("bob", from: share)
        let error = await failure {
            try await fixture.container.acceptShare(link, as: "bob")
        }
        #expect(error.code == .permissionFailure)
        try await fixture.edit(share) { try $0.addParticipant(fixture.participant("bob")) }
        #expect(try await !fixture.isVisible(to: "bob"))
        try await fixture.accept(share, ["bob"])
        #expect(try await fixture.names(seenBy: "bob") == SharingFixture.members)
    }

    @Test(arguments: [false, true])
    func `who was invited by an address accepts once it belongs to the user`(isPhone: Bool)
        async throws
    {
        let fixture = try await SharingFixture.family()
        let root = try await fixture.alice.record(for: noteID("root"))
        var share = Share(rootRecord: root)
        let address = isPhone ? "+15550100" : "bob@example.com"
        let info =
            isPhone
            ? UserIdentity.LookupInfo(phoneNumber: address)
            : UserIdentity.LookupInfo(emailAddress: address)
        let invited = Share.Participant(info, permission: .readWrite)
        try share.addParticipant(invited)
        share = try await fixture.save(share, with: [root])
        let pending = share.participants.first { $0.participantID == invited.participantID }
        #expect(pending?.userIdentity.hasAccount == false)
        #expect(pending?.userIdentity.lookupInfo == info)
        let link = try #require(share.shortGUID)
        let errors = [
            await failure { try await fixture.container.shareMetadata(for: link, as: "bob") },
            await failure { try await fixture.container.acceptShare(link, as: "bob") },
        ]
        let code = StoreError.Code.participantMayNeedVerification
        #expect(errors.map { $0.code } == [code, code])
        try await setProfile(
            of: "bob", in: fixture.container, emailAddresses: isPhone ? [] : [address],
            phoneNumbers: isPhone ? [address] : [])
        let metadata = try await fixture.container.shareMetadata(for: link, as: "bob")
        #expect(metadata.participantStatus == .pending)
        #expect(metadata.participantPermission == .readWrite)
        try await fixture.accept(share, ["bob"])
        #expect(try await fixture.names(seenBy: "bob") == SharingFixture.members)
        let joined = try await fixture.stored(share).participants.first {
            $0.participantID == invited.participantID
        }
        #expect(joined?.acceptanceStatus == .accepted)
        #expect(
            joined?.userIdentity.userRecordID == fixture.container.userRecordID(for: "bob"))
        // The address is claimed: it is no other's invitation.
        let other = await failure {
            try await fixture.container.acceptShare(link, as: "carol")
        }
        #expect(other.code == .permissionFailure)
    }

    @Test func `an address that belongs to a user invites that user`() async throws {
        let fixture = try await SharingFixture.family()
        try await setProfile(
            of: "bob", in: fixture.container, emailAddresses: ["bob@example.com"])
        let root = try await fixture.alice.record(for: noteID("root"))
        var share = Share(rootRecord: root)
        try share.addParticipant(
            Share.Participant(UserIdentity.LookupInfo(emailAddress: "bob@example.com")))
        share = try await fixture.save(share, with: [root])
        try await fixture.accept(share, ["bob"])
        #expect(try await fixture.names(seenBy: "bob") == SharingFixture.members)
        let link = try #require(share.shortGUID)
        let error = await failure {
            try await fixture.container.shareMetadata(for: link, as: "carol")
        }
        #expect(error.code == .permissionFailure)
    }

    @Test func `a user who is invited under two names is one participant`() async throws {
        let fixture = try await SharingFixture.family()
        try await setProfile(
            of: "bob", in: fixture.container, emailAddresses: ["bob@example.com"])
        let byAddress = Share.Participant(
            UserIdentity.LookupInfo(emailAddress: "bob@example.com"), permission: .readWrite)
        var share = try await fixture.share("root", with: ["bob"], .readOnly)
        share = try await fixture.edit(share) { try $0.addParticipant(byAddress) }
        let bob = fixture.container.userRecordID(for: "bob")
        #expect(share.participants.count { $0.userIdentity.userRecordID == bob } == 1)
        #expect(share.participant(bob)?.permission == .readWrite)
        try await fixture.accept(share, ["bob"])
        try await fixture.bob.save(fixture.newNote("new", under: "a"))
        try await fixture.remove("bob", from: share)
        #expect(try await !fixture.isVisible(to: "bob"))
    }

    @Test func `an empty name accepts nothing`() async throws {
        let fixture = try await SharingFixture.family()
        let share = try await fixture.share("root", publicPermission: .readOnly)
        let link = try #require(share.shortGUID)
        let errors = [
            await failure { try await fixture.container.shareMetadata(for: link, as: "") },
            await failure { try await fixture.container.acceptShare(link, as: "") },
        ]
        #expect(errors.map { $0.code } == [.invalidArguments, .invalidArguments])
        let database = fixture.container.sharedDatabase(for: "")
        #expect(await failure { try await database.allRecordZones() }.code == .invalidArguments)
    }
}
