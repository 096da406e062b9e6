import Stratus
import Testing

/// Shared databases of users whose account cannot be used: cases C97 and C98.
@Suite struct SharedAccountTests {
    @Test(arguments: AccountStatus.allCases.filter { $0 != .available })
    func `without an account nothing of others is read, written or accepted`(
        status: AccountStatus
    ) async throws {
        let (fixture, share) = try await SharingFixture.shared()
        let container = fixture.container
        let link = try #require(share.shortGUID)
        let open = try await fixture.share("out", publicPermission: .readWrite)
        let openLink = try #require(open.shortGUID)
        let token = try await fixture.token(of: "bob")
        try await setProfile(of: "bob", in: container, accountStatus: status)
        let bob = fixture.bob
        let zone = fixture.zone
        let errors = [
            await failure { try await bob.record(for: fixture.id("a")) },
            await failure { try await bob.allRecordZones() },
            await failure { try await bob.databaseChanges() },
            await failure { try await bob.recordZoneChanges(inZoneWith: zone, since: token) },
            await failure { try await bob.save(fixture.newNote("new", under: "a")) },
            await failure { try await bob.deleteRecord(withID: fixture.id("b")) },
            await failure { try await container.shareMetadata(for: link, as: "bob") },
            await failure { try await container.acceptShare(openLink, as: "bob") },
        ]
        let code: StoreError.Code =
            status == .temporarilyUnavailable ? .accountTemporarilyUnavailable : .notAuthenticated
        #expect(errors.allSatisfy { $0.code == code }, "\(errors)")
        // The owner goes on, and so does bob once the account can be used: he has left nothing.
        #expect(try await fixture.alice.names().count == 9)
        try await setProfile(of: "bob", in: container)
        #expect(try await fixture.names(seenBy: "bob") == SharingFixture.members)
        let changes = try await fixture.changes(seenBy: "bob", since: token)
        #expect(changes.modified == [] && changes.deleted == [])
    }

    @Test func `a share of an owner without an account goes on for its participants`()
        async throws
    {
        let (fixture, _) = try await SharingFixture.shared()
        try await setProfile(of: "alice", in: fixture.container, accountStatus: .noAccount)
        #expect(try await fixture.names(seenBy: "bob") == SharingFixture.members)
        let error = await failure { try await fixture.alice.record(for: noteID("a")) }
        #expect(error.code == .notAuthenticated)
    }
}
