import Stratus
import Testing

/// Query subscriptions of the records that sharing writes by itself.
@Suite(.timeLimit(.minutes(20))) struct ShareRecordSubscriptionTests {
    private static func subscribe(_ fixture: SharingFixture) async throws -> NotificationToken {
        try await fixture.alice.save(
            querySubscription("shares", type: "cloudkit.share", .everyChange))
        try await fixture.alice.save(querySubscription("notes"))
        return try await fixture.container.notificationToken()
    }

    @Test func `a share is told of when it begins, is accepted, is left, and ends`() async throws {
        let fixture = try await SharingFixture.family()
        var token = try await Self.subscribe(fixture)
        func told() async throws -> [String] {
            let all = try await FollowedNotifications(of: fixture.container, since: token)
            token = all.token
            return all.told.sorted()
        }
        let share = try await fixture.share("root", with: ["bob"])
        let name = share.recordID.recordName
        #expect(try await told() == ["notes updated root", "shares created \(name)"])
        try await fixture.accept(share, ["bob"])
        #expect(try await told() == ["shares updated \(name)"])
        try await fixture.bob.deleteRecord(withID: fixture.id(of: share))
        #expect(try await told() == ["shares updated \(name)"])
        try await fixture.alice.deleteRecord(withID: share.recordID)
        // The root is written again, since it is none any more.
        #expect(try await told() == ["notes updated root", "shares deleted \(name)"])
    }

    @Test func `an acceptance ends a subscription that fires once, and raises the badge`()
        async throws
    {
        let fixture = try await SharingFixture.family()
        let share = try await fixture.share("root", with: ["bob", "carol"])
        try await fixture.alice.save(
            querySubscription(
                "once", type: "cloudkit.share", in: notes, [.firesOnRecordUpdate, .firesOnce],
                info: badging))
        let token = try await fixture.container.notificationToken()
        try await fixture.accept(share, ["bob", "carol"])
        let items = try await FollowedNotifications(of: fixture.container, since: token).items
        #expect(items.map { $0.told } == ["once updated \(share.recordID.recordName)"])
        #expect(items.map { $0.badge } == [1])
        #expect(try await fixture.alice.allSubscriptions().isEmpty)
    }
}
