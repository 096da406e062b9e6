import Stratus
import Testing

/// What the store says of a token is what its feed answers to it.
@Suite struct ChangeTokenInfoTests {
    /// Asks the feed and the store; returns what the latter says.
    @discardableResult
    private static func ask(
        _ container: Container, _ token: ChangeToken?,
        _ feed: (ChangeToken) async throws -> Void
    ) async throws -> ChangeTokenInfo {
        let token = try #require(token)
        let info = try await container.info(of: token)
        var refusal: StoreError?
        do {
            try await feed(token)
        } catch let error as StoreError {
            refusal = error
        }
        #expect(info.refusal?.code == refusal?.code)
        #expect(info.refusal?.cause == refusal?.cause)
        #expect(info.refusal?.reason == refusal?.reason)
        return info
    }

    private static func readZone(_ database: Database, _ zone: RecordZone.ID) -> (
        (ChangeToken) async throws -> Void
    ) {
        { _ = try await database.recordZoneChanges(inZoneWith: zone, since: $0) }
    }

    private static func readDatabase(
        _ database: Database
    ) -> ((ChangeToken) async throws -> Void) {
        { _ = try await database.databaseChanges(since: $0) }
    }

    @Test func `it says of every kind of token whose it is, and where it stands`() async throws {
        let (fixture, _) = try await SharingFixture.shared()
        let (container, alice, bob) = (fixture.container, fixture.alice, fixture.bob)
        let page = try await alice.recordZoneChanges(inZoneWith: notes, resultsLimit: 2)
        let amid = try await Self.ask(
            container, page.changeToken, Self.readZone(alice, notes))
        #expect(amid.feed == .zone && amid.isAmidFetch && amid.zoneID == notes)
        #expect(amid.userRecordID == container.userRecordID(for: "alice"))
        let whole = try await alice.recordZoneChanges(inZoneWith: notes, since: page.changeToken)
        let zone = try await Self.ask(
            container, whole.changeToken, Self.readZone(alice, notes))
        #expect(!zone.isAmidFetch && zone.offset > amid.offset && zone.refusal == nil)
        let database = try await Self.ask(
            container, alice.databaseChanges().changeToken, Self.readDatabase(alice))
        #expect(database.feed == .database && database.zoneID == nil)
        #expect(database.userRecordID == container.userRecordID(for: "alice"))

        let shared = try await Self.ask(
            container, fixture.token(of: "bob"), Self.readZone(bob, fixture.zone))
        #expect(shared.feed == .sharedZone && shared.zoneID == fixture.zone)
        #expect(shared.userRecordID == container.userRecordID(for: "bob"))
        let all = try await Self.ask(
            container, bob.databaseChanges().changeToken, Self.readDatabase(bob))
        #expect(all.feed == .sharedDatabase && all.zoneID == nil)
        #expect(all.userRecordID == container.userRecordID(for: "bob"))
        let store = try await Self.ask(
            container, container.changes(since: nil).changeToken,
            { _ = try await container.changes(since: $0) })
        #expect(store.feed == .store && store.userRecordID == nil && store.zoneID == nil)
        #expect(store.refusal == nil)
        try await container.close()
    }

    @Test func `a token of a zone that is gone, or was made anew, is named and refused`()
        async throws
    {
        let (fixture, _) = try await SharingFixture.shared()
        let (container, alice, bob) = (fixture.container, fixture.alice, fixture.bob)
        let own = try await alice.recordZoneChanges(inZoneWith: notes).changeToken
        let shared = try await fixture.token(of: "bob")
        try await alice.deleteRecordZone(withID: notes)
        let gone = try await Self.ask(container, own, Self.readZone(alice, notes))
        #expect(gone.refusal?.code == .zoneNotFound && gone.zoneID == notes)
        let unseen = try await Self.ask(container, shared, Self.readZone(bob, fixture.zone))
        #expect(unseen.refusal?.code == .zoneNotFound && unseen.zoneID == fixture.zone)
        try await alice.save(RecordZone(zoneID: notes))
        let former = try await Self.ask(container, own, Self.readZone(alice, notes))
        #expect(former.refusal?.cause == .changeToken(.zone) && former.zoneID == notes)
        try await container.close()
    }

    @Test func `what a participant lost, or is forgotten, is told as the feed tells it`()
        async throws
    {
        let (fixture, share) = try await SharingFixture.zoneWide()
        let (container, alice, bob) = (fixture.container, fixture.alice, fixture.bob)
        let token = try await fixture.token(of: "bob")
        try await fixture.remove("bob", from: share)
        let lost = try await Self.ask(container, token, Self.readZone(bob, fixture.zone))
        #expect(lost.refusal?.code == .zoneNotFound)
        let stored = try await fixture.stored(share)
        var again = stored
        try again.addParticipant(fixture.participant("bob", .readOnly))
        try await fixture.accept(try await fixture.save(again), ["bob"])
        let back = try await Self.ask(container, token, Self.readZone(bob, fixture.zone))
        #expect(back.refusal?.cause == .changeToken(.participation))

        let own = try await alice.recordZoneChanges(inZoneWith: notes).changeToken
        try await alice.save(note("gone"), savePolicy: .allKeys)
        try await alice.deleteRecord(withID: noteID("gone"))
        try await container.setDeletionPolicy(.none)
        try await container.maintenance.erase()
        let forgotten = try await Self.ask(container, own, Self.readZone(alice, notes))
        #expect(forgotten.refusal?.cause == .changeToken(.compacted))
        try await container.close()
    }

    @Test func `of a token of another store nothing is known but its kind`() async throws {
        let (fixture, _) = try await SharingFixture.shared()
        let token = try await fixture.alice.recordZoneChanges(inZoneWith: notes).changeToken
        let other = try Container.inMemory()
        try await other.privateDatabase(for: "alice").save(RecordZone(zoneID: notes))
        let info = try await Self.ask(
            other, token, Self.readZone(other.privateDatabase(for: "alice"), notes))
        #expect(info.feed == .zone && info.refusal?.cause == .changeToken(.store))
        #expect(info.userRecordID == nil && info.zoneID == nil)
        try await other.close()
        try await fixture.container.close()
    }
}
