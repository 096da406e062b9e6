import FoundationEssentials
import Stratus
import StratusEngine
import StratusJournal
import Testing

/// A change that matches more subscriptions than a commit prepares in its caller's task.
@Suite(.timeLimit(.minutes(240))) struct ManyMatchesTests {
    /// How many subscriptions wait for one value: STRATUS_MATCHING_SUBSCRIPTIONS. Beyond
    /// 262,144 only the committer prepares the commit.
    private static let count =
        ProcessInfo.processInfo.environment["STRATUS_MATCHING_SUBSCRIPTIONS"].flatMap { Int($0) }
        ?? 300_000
    /// So many notifications are kept of a user.
    private static let keptCount = NotificationPolicy.standard.count
    private static let userCount = 50
    /// So many subscriptions are saved in one call.
    private static let callSize = 10_000

    /// The subscriptions of each user, in the order of their numbers. The first user has more than
    /// are kept, the others have the rest in equal parts.
    private static func subscriptionIDs() -> [(user: String, ids: [Subscription.ID])] {
        let first = min(count / 2, 2 * keptCount)
        let (share, surplus) = (count - first).quotientAndRemainder(dividingBy: userCount - 1)
        return (0..<userCount).map { number in
            let own = number == 0 ? first : share + (number <= surplus ? 1 : 0)
            return (user: "user\(number)", ids: (0..<own).map { "s\($0)" })
        }
    }

    private static func save(
        _ ids: [Subscription.ID], of user: String, in container: Container
    ) async throws {
        let predicate: Query.Predicate = FieldKey<Int>("n") == 1
        let database = container.publicDatabase(as: user)
        for first in stride(from: 0, to: ids.count, by: callSize) {
            let sent = ids[first..<min(first + callSize, ids.count)].map {
                querySubscription($0, predicate)
            }
            let result = try await database.modifySubscriptions(saving: sent)
            let isSaved = result.saveResults.values.allSatisfy { $0.code == nil }
            #expect(isSaved && result.saveResults.count == sent.count, "\(user), from \(first)")
        }
    }

    /// How many notifications each matches entry of the journal has, and of which records they are.
    private static func matches(
        in container: Container
    ) throws -> (counts: [Int], records: Set<String>) {
        var counts: [Int] = []
        var records: Set<String> = []
        var log = container.log()
        while let entry = try log.nextLine()?.entry {
            guard entry.kind == .matches else { continue }
            let found = entry.withPayload { try? MatchesEntry($0) }
            let matches = try #require(found)
            var count = 0
            for change in matches.changes {
                records.insert(change.recordName)
                for group in change.groups { count += group.subscriptions.count }
            }
            counts.append(count)
        }
        return (counts, records)
    }

    @Test func `each subscription to a value is told once, and another value tells none`()
        async throws
    {
        let container = try Container.inMemory()
        let owned = Self.subscriptionIDs()
        for (user, ids) in owned { try await Self.save(ids, of: user, in: container) }
        let writer = container.publicDatabase(as: "writer")
        try await writer.save(note("a", ["n": 1], in: .default))
        var tokens: [String: NotificationToken] = [:]
        var kept = 0
        for (user, ids) in owned {
            let pages = try await FollowedNotifications(
                of: container, for: user, resultsLimit: 10_000)
            tokens[user] = pages.token
            let told = pages.told
            // The newest of them, in the order of their numbers.
            let isNewest = told == ids.suffix(told.count).map { "\($0) created a" }
            #expect(isNewest, "\(user): \(told.count) of \(ids.count)")
            // More than are kept only along with others of the same entry.
            let least = min(ids.count, Self.keptCount)
            let most = min(ids.count, Self.keptCount + MatchesEntry.limit - 1)
            #expect((least...most).contains(told.count), "\(user)")
            kept += told.count
        }
        try await writer.save(note("b", ["n": 2], in: .default))
        for (user, _) in owned {
            #expect(try await container.told(to: user, since: tokens[user]) == [], "\(user)")
        }
        // An entry of which nothing is kept may be gone.
        let (counts, records) = try Self.matches(in: container)
        #expect(records == ["a"])
        #expect(counts.allSatisfy { (1...MatchesEntry.limit).contains($0) })
        let written = counts.reduce(0, +)
        #expect(written >= kept && written <= Self.count)
    }
}
