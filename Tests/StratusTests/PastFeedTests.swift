import Stratus
import Support
import Testing

/// A zone as it was at an older token.
@Suite struct PastFeedTests {
    private typealias State = [String: RecordValue?]

    private static let archive = RecordZone.ID(zoneName: "archive")

    /// Changes a few records of `notes` in some way.
    private func change(
        _ database: Database, _ step: Int, _ random: inout SeededGenerator
    ) async throws {
        let name = "r\(random.below(12))"
        switch random.below(8) {
        case 0: try await database.deleteRecord(withID: noteID(name))
        case 1:
            let there = try await database.names()
            guard let name = there.randomElement(using: &random) else { return }
            _ = try? await database.moveRecords([noteID(name)], to: Self.archive)
        case 2:
            let there = try await database.names(in: Self.archive)
            guard let name = there.randomElement(using: &random) else { return }
            _ = try? await database.moveRecords([noteID(name, in: Self.archive)], to: notes)
        default:
            try await database.saveAll(
                [note(name, ["n": .int64(Int64(step))]), note("always", ["n": 0])],
                savePolicy: .changedKeys)
        }
    }

    @Test(arguments: [1, 2, 3] as [UInt64])
    func `pages as of a token are what they were then`(seed: UInt64) async throws {
        var random = SeededGenerator(seed: seed)
        let (_, database) = try await makeDatabase()
        try await database.save(RecordZone(zoneID: Self.archive))
        var points: [(token: ChangeToken, state: State)] = []
        for step in 0..<40 {
            try await change(database, step, &random)
            let changes = try await FollowedChanges(of: database)
            let state = State(
                uniqueKeysWithValues: changes.modified.map { ($0.recordID.recordName, $0["n"]) })
            points.append((try #require(changes.token), state))
        }
        for (number, point) in points.enumerated() {
            let limit = number % 3 == 0 ? 2 : nil
            let whole = try await FollowedChanges(
                of: database, asOf: point.token, resultsLimit: limit)
            #expect(whole.deleted == [])
            #expect(Set(whole.modifiedNames).count == whole.modified.count)
            #expect(State(whole) == point.state, "seed \(seed), point \(number)")
            // From any earlier one to it, and from there to now.
            let earlier = points[random.below(number + 1)]
            let steps = try await FollowedChanges(
                of: database, since: earlier.token, asOf: point.token, resultsLimit: limit)
            #expect(earlier.state.applying(steps) == point.state)
            let rest = try await FollowedChanges(of: database, since: steps.token)
            #expect(point.state.applying(rest) == points[points.count - 1].state)
        }
    }

    @Test func `a point before the token is nothing, and one of something else is refused`()
        async throws
    {
        let (_, database) = try await makeDatabase()
        try await database.save(RecordZone(zoneID: Self.archive))
        try await database.save(note("a", in: Self.archive))
        try await database.save(note("a"))
        let first = try await database.recordZoneChanges(inZoneWith: notes).changeToken
        try await database.save(note("b"))
        let second = try await database.recordZoneChanges(inZoneWith: notes).changeToken
        let page = try await database.recordZoneChanges(
            inZoneWith: notes, since: second, asOf: first)
        #expect(!page.saysAnything && page.changeToken == second)
        let other = try await database.recordZoneChanges(inZoneWith: Self.archive).changeToken
        let error = await failure {
            try await database.recordZoneChanges(inZoneWith: notes, asOf: other)
        }
        #expect(error.code == .changeTokenExpired && error.cause == .changeToken(.zone))
        let whole = try await database.databaseChanges().changeToken
        let kind = await failure {
            try await database.recordZoneChanges(inZoneWith: notes, asOf: whole)
        }
        #expect(kind.code == .invalidArguments)
    }
}

extension [String: RecordValue?] {
    fileprivate init(_ changes: FollowedChanges) {
        self = [:].applying(changes)
    }

    /// What a client has that had this and applies the changes.
    fileprivate func applying(_ changes: FollowedChanges) -> Self {
        var state = self
        for deletion in changes.deleted { state.removeValue(forKey: deletion.recordID.recordName) }
        for record in changes.modified {
            state.updateValue(record["n"], forKey: record.recordID.recordName)
        }
        return state
    }
}
