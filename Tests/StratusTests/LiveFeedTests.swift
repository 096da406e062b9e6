import FoundationEssentials
import Stratus
import Support
import Synchronization
import Testing

/// Feeds that go on as changes come.
@Suite(.timeLimit(.minutes(20))) struct LiveFeedTests {
    @Test func `a live feed gives what is there and then what comes`() async throws {
        let (_, database) = try await makeDatabase()
        try await database.saveAll([note("a"), note("b")])
        var pages = database.liveRecordZoneChanges(inZoneWith: notes).makeAsyncIterator()
        let first = try #require(try await pages.next())
        #expect(first.modifiedNames == ["a", "b"] && first.isFullSnapshot)
        async let next = database.liveRecordZoneChanges(
            inZoneWith: notes, since: first.changeToken
        ).first { _ in true }
        try await database.save(note("c"))
        #expect(try await next?.modifiedNames == ["c"])
        try await database.deleteRecord(withID: noteID("a"))
        let later = try #require(try await pages.next())
        #expect(later.modifiedNames == ["c"] && later.deletedNames == ["a"])
        #expect(!later.isFullSnapshot)
    }

    @Test func `a live feed without a token reports no deletion from before it began`()
        async throws
    {
        let (_, database) = try await makeDatabase()
        try await database.saveAll(["a", "b", "c", "d"].map { note($0) })
        try await database.deleteRecord(withID: noteID("c"))
        var pages = database.liveRecordZoneChanges(inZoneWith: notes, resultsLimit: 2)
            .makeAsyncIterator()
        #expect(try await pages.next()?.modifiedNames == ["a", "b"])
        try await database.deleteRecord(withID: noteID("a"))
        let second = try #require(try await pages.next())
        #expect(second.modifiedNames == ["d"] && second.deletions == [])
        let third = try #require(try await pages.next())
        #expect(third.deletedNames == ["a"] && !third.moreComing)
    }

    @Test func `a live feed without a token begins with a page though nothing is there`()
        async throws
    {
        let (_, database) = try await makeDatabase()
        let page = try await database.liveRecordZoneChanges(inZoneWith: notes).first { _ in true }
        #expect(page?.isFullSnapshot == true && page?.modifications == [])
        let bob = try Container.inMemory().privateDatabase(for: "bob")
        let zones = try await bob.liveDatabaseChanges().first { _ in true }
        #expect(zones?.modifications == [])
    }

    @Test func `changes elsewhere give no page`() async throws {
        let (container, database) = try await makeDatabase()
        let other = RecordZone.ID(zoneName: "other")
        try await database.save(RecordZone(zoneID: other))
        let token = try await FollowedChanges(of: database).token
        let feed = database.liveRecordZoneChanges(inZoneWith: notes, since: token)
        async let page = feed.first { _ in true }
        let bob = container.privateDatabase(for: "bob")
        try await bob.save(RecordZone(zoneID: notes))
        for number in 0..<50 {
            try await database.save(note("r\(number)", in: other))
            try await bob.save(note("r\(number)"))
        }
        try await database.save(note("mine"))
        #expect(try await page?.modifiedNames == ["mine"])
    }

    @Test func `a live feed of a database names the zones that change`() async throws {
        let (container, database) = try await makeDatabase()
        let second = RecordZone.ID(zoneName: "second")
        let token = try await database.databaseChanges().changeToken
        var pages = database.liveDatabaseChanges(since: token).makeAsyncIterator()
        async let bobs = container.privateDatabase(for: "bob").liveDatabaseChanges().first {
            !$0.modifications.isEmpty
        }
        try await database.save(RecordZone(zoneID: second))
        #expect(try await pages.next()?.modifications == [second])
        try await database.save(note("a"))
        #expect(try await pages.next()?.modifications == [notes])
        try await database.deleteRecordZone(withID: second)
        #expect(try await pages.next()?.deletions.map(\.zoneID) == [second])
        try await container.privateDatabase(for: "bob").save(RecordZone(zoneName: "bobs"))
        #expect(try await bobs?.modifications.map(\.zoneName) == ["bobs"])
    }

    // C65.
    @Test func `every page has a token from which another feed goes on, after a reopening too`()
        async throws
    {
        let store = DiskStore()
        var container = try store.open()
        var database = container.privateDatabase(for: "alice")
        try await database.save(RecordZone(zoneID: notes))
        try await database.saveAll((0..<25).map { note("r\($0)") })
        var names: [String] = []
        var token: ChangeToken?
        while true {
            let feed = database.liveRecordZoneChanges(
                inZoneWith: notes, since: token, resultsLimit: 7)
            let page = try #require(try await feed.first { _ in true })
            names += page.modifiedNames
            token = ChangeToken(page.changeToken.description)
            if !page.moreComing { break }
            try await container.close()
            container = try store.open()
            database = container.privateDatabase(for: "alice")
        }
        #expect(names == (0..<25).map { "r\($0)" })
    }

    @Test func `a page is read when it is asked for, and holds each record once`() async throws {
        let (_, database) = try await makeDatabase()
        var pages = database.liveRecordZoneChanges(inZoneWith: notes).makeAsyncIterator()
        _ = try await pages.next()
        for number in 0..<20 {
            try await database.save(
                note("a", ["key": .int64(Int64(number))]), savePolicy: .changedKeys)
        }
        let page = try #require(try await pages.next())
        #expect(page.modifications.map { $0["key"] } == [19])
    }

    @Test func `who follows live while many write ends with what there is`() async throws {
        let (_, database) = try await makeDatabase()
        let follower = Task {
            var held: [String: RecordValue?] = [:]
            let feed = database.liveRecordZoneChanges(inZoneWith: notes, resultsLimit: 10)
            for try await page in feed {
                for record in page.modifications { held[record.recordID.recordName] = record["k"] }
                for name in page.deletedNames { held[name] = nil }
                if held.keys.contains("end"), !page.moreComing { break }
            }
            return held
        }
        await withTaskGroup(of: Void.self) { group in
            for writer in 0..<4 {
                group.addTask {
                    var generator = SeededGenerator(seed: UInt64(writer))
                    for step in 0..<100 {
                        let name = "r\(writer)-\(generator.below(10))"
                        if generator.oneIn(3) {
                            _ = try? await database.deleteRecord(withID: noteID(name))
                        } else {
                            _ = try? await database.save(
                                note(name, ["k": .int64(Int64(step))]), savePolicy: .changedKeys)
                        }
                    }
                }
            }
        }
        try await database.save(note("end", ["k": -1]))
        let held = try await follower.value
        let records = try await database.allRecords()
        #expect(held.count == records.count)
        for record in records { #expect(held[record.recordID.recordName] == record["k"]) }
    }

    @Test func `a live feed throws once its zone is gone`() async throws {
        let (_, database) = try await makeDatabase()
        let token = try await FollowedChanges(of: database).token
        async let waiting = failure {
            try await database.liveRecordZoneChanges(inZoneWith: notes, since: token).first {
                _ in true
            }
        }
        // Whether it waits by now or not, it must say the same.
        try await database.deleteRecordZone(withID: notes)
        #expect(await waiting.code == .zoneNotFound)
        try await database.save(RecordZone(zoneID: notes))
        var pages = database.liveRecordZoneChanges(inZoneWith: notes, since: token)
            .makeAsyncIterator()
        do throws(StoreError) {
            _ = try await pages.next()
            Issue.record("the token is expired")
        } catch {
            #expect(error.code == .changeTokenExpired)
            #expect(error.cause == .changeToken(.zone))
        }
        #expect(try await pages.next() == nil)
    }

    @Test(arguments: [false, true])
    func `a live feed ends when its task is cancelled or the container closed`(
        closes: Bool
    ) async throws {
        let (container, database) = try await makeDatabase()
        let hasBegun = Mutex(false)
        let follower = Task {
            var count = 0
            for try await _ in database.liveRecordZoneChanges(inZoneWith: notes) {
                count += 1
                hasBegun.withLock { $0 = true }
            }
            return count
        }
        while !hasBegun.withLock({ $0 }) { await Task.yield() }
        if closes { try await container.close() } else { follower.cancel() }
        #expect(try await follower.value == 1)
    }

    @Test func `what was committed before the closing still comes`() async throws {
        let (container, database) = try await makeDatabase()
        var pages = database.liveRecordZoneChanges(inZoneWith: notes).makeAsyncIterator()
        _ = try await pages.next()
        try await database.save(note("a"))
        try await container.close()
        #expect(try await pages.next()?.modifiedNames == ["a"])
        #expect(try await pages.next() == nil)
    }

    @Test func `beside a writer a live feed goes on with every refresh`() async throws {
        let store = DiskStore()
        let writer = try store.open()
        let database = writer.privateDatabase(for: "alice")
        try await database.save(RecordZone(zoneID: notes))
        try await database.save(note("a"))
        let reader = try store.openReadOnly()
        let feed = reader.privateDatabase(for: "alice").liveRecordZoneChanges(inZoneWith: notes)
        var pages = feed.makeAsyncIterator()
        // What is durable shows with the next group.
        var names: [String] = []
        while !names.contains("a") {
            try await reader.refresh()
            names += try await pages.next()?.modifiedNames ?? []
            if !names.contains("a") { try await database.save(note("b"), savePolicy: .allKeys) }
        }
        try await writer.close()
        try await reader.refresh()
        try await reader.close()
        let rest = try await pages.next()
        #expect(rest == nil || rest?.modifiedNames == ["b"])
    }
}
