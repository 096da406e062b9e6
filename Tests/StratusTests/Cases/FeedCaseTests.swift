import FoundationEssentials
import Stratus
import Support
import Testing

/// Behaviour cases 1f: change feeds and tokens. Most of them are in ZoneFeedTests.
@Suite struct FeedCaseTests {
    // C64.
    @Test func `after an expired token one fetch from the beginning is all that is needed`()
        async throws
    {
        let (_, database) = try await makeDatabase()
        try await database.save(note("old"))
        let old = try await FollowedChanges(of: database).token
        try await database.deleteRecordZone(withID: notes)
        try await database.save(RecordZone(zoneID: notes))
        let stored = try await database.save(note("new"))
        let error = await failure {
            try await database.recordZoneChanges(inZoneWith: notes, since: old)
        }
        #expect(error.code == .changeTokenExpired)
        let full = try await FollowedChanges(of: database)
        #expect(full.modified == [stored] && full.deleted == [])
        let next = try await database.save(note("next"))
        #expect(try await FollowedChanges(of: database, since: full.token).modified == [next])
    }

    // C66.
    @Test func `the changes of a missing zone are zoneNotFound, those of others are not touched`()
        async throws
    {
        let (_, database) = try await makeDatabase()
        let stored = try await database.save(note("a"))
        let missing = RecordZone.ID(zoneName: "missing")
        let error = await failure {
            try await database.recordZoneChanges(inZoneWith: missing)
        }
        #expect(error.code == .zoneNotFound && error.zoneID == missing)
        #expect(try await FollowedChanges(of: database).modified == [stored])
    }

    // C67.
    @Test func `each page has a token of its own, and only the last says that nothing is coming`()
        async throws
    {
        let (_, database) = try await makeDatabase()
        try await database.saveAll((0..<10).map { note("r\($0)") })
        var tokens: [ChangeToken] = []
        var coming: [Bool] = []
        repeat {
            let page = try await database.recordZoneChanges(
                inZoneWith: notes, since: tokens.last, resultsLimit: 3)
            tokens.append(page.changeToken)
            coming.append(page.moreComing)
        } while coming.last == true
        #expect(coming == [true, true, true, false])
        #expect(Set(tokens).count == 4)
        // What an error cost that came after a page is that page's token, and nothing before.
        for (count, token) in zip([7, 4, 1, 0], tokens) {
            #expect(try await FollowedChanges(of: database, since: token).modified.count == count)
        }
    }

    // C69.
    @Test func `fetches at once of one zone give the same changes, whichever token is kept`()
        async throws
    {
        let (_, database) = try await makeDatabase()
        try await database.saveAll((0..<50).map { note("r\($0)") })
        let pages = try await withThrowingTaskGroup(of: RecordZoneChanges.self) { group in
            for _ in 0..<20 {
                group.addTask { try await database.recordZoneChanges(inZoneWith: notes) }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        let next = try await database.save(note("next"))
        for page in pages {
            #expect(page.modifiedNames == pages[0].modifiedNames)
            let changes = try await FollowedChanges(of: database, since: page.changeToken)
            #expect(changes.modified == [next])
        }
    }

    // C70.
    @Test func `a database's changes are its zones, changed and deleted, and its token may expire`()
        async throws
    {
        let (container, database) = try await makeDatabase()
        let second = RecordZone.ID(zoneName: "second")
        let third = RecordZone.ID(zoneName: "third")
        try await database.save(RecordZone(zoneID: second))
        try await database.save(RecordZone(zoneID: third))
        let token = try await database.databaseChanges().changeToken
        try await database.save(note("a"))
        try await database.deleteRecordZone(withID: second)
        let changes = try await database.databaseChanges(since: token)
        #expect(changes.modifications == [notes])
        #expect(changes.deletions.map(\.zoneID) == [second])
        #expect(changes.deletions.map(\.reason) == [.deleted])
        let bob = container.privateDatabase(for: "bob")
        try await bob.save(RecordZone(zoneID: notes))
        let foreign = try await bob.databaseChanges().changeToken
        let error = await failure { try await database.databaseChanges(since: foreign) }
        #expect(error.code == .changeTokenExpired)
    }

    // C71.
    @Test func `a record that cannot be read fails the page, and no token passes it by`()
        async throws
    {
        let store = DiskStore()
        var container = try store.open()
        var database = container.privateDatabase(for: "alice")
        try await database.save(RecordZone(zoneID: notes))
        try await database.save(note("before"))
        let token = try await FollowedChanges(of: database).token
        try await database.save(note("broken", ["field": "a needle in the journal"]))
        try await database.save(note("after"))
        // What is older than a checkpoint is not read by an opening.
        try await container.checkpoint()
        try await container.close()
        let needle = Array("a needle in the journal".utf8)
        for path in store.disk.paths {
            let bytes = store.disk.contents(path)
            store.disk.replaceContents(path, bytes)
            let starts = bytes.indices.dropLast(needle.count)
            for start in starts where bytes[start..<start + needle.count].elementsEqual(needle) {
                store.disk.flip(path, at: start, mask: 1)
            }
        }
        container = try store.open(creating: false)
        database = container.privateDatabase(for: "alice")
        for since in [token, nil] {
            let error = await failure {
                try await database.recordZoneChanges(inZoneWith: notes, since: since)
            }
            #expect(error.place != nil)
        }
        let first = try await database.recordZoneChanges(
            inZoneWith: notes, since: nil, resultsLimit: 1)
        #expect(first.modifiedNames == ["before"])
        let second = await failure {
            try await database.recordZoneChanges(
                inZoneWith: notes, since: first.changeToken, resultsLimit: 1)
        }
        #expect(second.place != nil)
    }

    // C72.
    @Test func `an own change comes back with the tag that its save returned`() async throws {
        let (_, database) = try await makeDatabase()
        let token = try await FollowedChanges(of: database).token
        var local = try await database.save(note("a", ["field": 1]))
        let saved = local
        local["field"] = 2
        let echo = try await FollowedChanges(of: database, since: token).modified
        // So the edit made meanwhile is known to be newer, and goes over the echo without conflict.
        #expect(echo.map(\.recordChangeTag) == [local.recordChangeTag])
        #expect(echo == [saved])
        #expect(try await database.save(local)["field"] == 2)
    }
}
