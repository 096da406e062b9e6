import Stratus
import Support
import Testing

/// The changes of a zone: C60 to C73.
@Suite struct ZoneFeedTests {
    // C60, C61.
    @Test func `without a token the feed is all that lives, and then nothing`() async throws {
        let (_, database) = try await makeDatabase()
        try await database.saveAll(["a", "b", "c"].map { note($0) })
        try await database.deleteRecord(withID: noteID("b"))
        let first = try await database.recordZoneChanges(inZoneWith: notes)
        #expect(first.modifications.map(\.recordID) == [noteID("a"), noteID("c")])
        #expect(first.deletions == [])
        #expect(first.isFullSnapshot && !first.moreComing)
        let second = try await database.recordZoneChanges(
            inZoneWith: notes, since: first.changeToken)
        #expect(second.modifications == [] && second.deletions == [])
        #expect(!second.isFullSnapshot && !second.moreComing)
    }

    @Test func `an empty zone gives a token that is good for what follows`() async throws {
        let (_, database) = try await makeDatabase()
        let empty = try await database.recordZoneChanges(inZoneWith: notes)
        #expect(empty.modifications == [] && empty.isFullSnapshot)
        try await database.save(note("a"))
        let next = try await FollowedChanges(of: database, since: empty.changeToken)
        #expect(next.modifiedNames == ["a"])
    }

    // C62.
    @Test func `a record that changed often comes once, in its last state and place`()
        async throws
    {
        let (_, database) = try await makeDatabase()
        try await database.saveAll(["a", "b", "c"].map { note($0, ["field": 0]) })
        let token = try await FollowedChanges(of: database).token
        for round in 1...3 {
            for name in ["b", "a"] {
                try await database.save(
                    note(name, ["field": .int64(Int64(round))]), savePolicy: .changedKeys)
            }
        }
        let changes = try await FollowedChanges(of: database, since: token)
        #expect(changes.modifiedNames == ["b", "a"])
        #expect(changes.modified.map { $0["field"] } == [3, 3])
        let server = try await database.record(for: noteID("a"))
        #expect(changes.modified.last == server)
    }

    // C63, C68.
    @Test func `a deletion comes with the type, to every reader with a token`() async throws {
        let (_, database) = try await makeDatabase()
        try await database.saveAll([note("a"), note("b", type: "Page")])
        let token = try await FollowedChanges(of: database).token
        try await database.deleteRecord(withID: noteID("b"))
        try await database.deleteRecord(withID: noteID("a"))
        let changes = try await FollowedChanges(of: database, since: token)
        #expect(changes.modified == [])
        #expect(changes.deleted.map(\.recordID) == [noteID("b"), noteID("a")])
        #expect(changes.deleted.map(\.recordType) == ["Page", "Note"])
        // C68.
        let fresh = try await database.recordZoneChanges(inZoneWith: notes)
        #expect(fresh.deletions == [] && fresh.modifications == [])
        let none = try await FollowedChanges(of: database, since: fresh.changeToken)
        #expect(none.deleted == [])
    }

    // C18.
    @Test func `a record made again after its deletion is a modification only`() async throws {
        let (_, database) = try await makeDatabase()
        try await database.save(note("a"))
        let token = try await FollowedChanges(of: database).token
        try await database.deleteRecord(withID: noteID("a"))
        try await database.save(note("a", type: "Page"))
        let changes = try await FollowedChanges(of: database, since: token)
        #expect(changes.modified.map(\.recordType) == ["Page"])
        #expect(changes.deleted == [])
    }

    // C71.
    @Test func `a page with a record that cannot be read fails, and no token goes past it`()
        async throws
    {
        let store = DiskStore()
        let container = try store.open()
        let database = container.privateDatabase(for: "alice")
        try await database.save(RecordZone(zoneID: notes))
        try await database.saveAll(["a", "b", "c"].map { note($0, ["text": "needle"]) })
        try await container.checkpoint()
        try await container.close()
        let path = try #require(store.disk.paths.first { $0.contains("/journal-") })
        let bytes = store.disk.contents(path)
        let needle = Array("needle".utf8)
        let places = bytes.indices.filter { bytes[$0...].starts(with: needle) }
        store.disk.flip(path, at: try #require(places.dropFirst().first), mask: 1)

        let damaged = try store.open().privateDatabase(for: "alice")
        let whole = await failure { try await damaged.recordZoneChanges(inZoneWith: notes) }
        #expect(whole.code == .internalError && whole.cause == .damaged)
        let first = try await damaged.recordZoneChanges(inZoneWith: notes, resultsLimit: 1)
        #expect(first.modifiedNames == ["a"] && first.moreComing)
        for _ in 0..<2 {
            let second = await failure {
                try await damaged.recordZoneChanges(
                    inZoneWith: notes, since: first.changeToken, resultsLimit: 1)
            }
            #expect(second.cause == .damaged && second.place != nil)
        }
    }

    // C60, C68.
    @Test(arguments: [1, 2, 3]) func `a first fetch reports no deletion from before it began`(
        limit: Int
    ) async throws {
        let (_, database) = try await makeDatabase()
        try await database.saveAll((0..<12).map { note("r\($0)") })
        for number in [1, 4, 9, 11] {
            try await database.deleteRecord(withID: noteID("r\(number)"))
        }
        try await database.save(note("last"))
        let full = try await FollowedChanges(of: database, resultsLimit: limit)
        #expect(full.pageCount > 3 && full.deleted == [])
        let living = [0, 2, 3, 5, 6, 7, 8, 10].map { "r\($0)" } + ["last"]
        #expect(full.modifiedNames == living)
        // At its end the token is that of any other fetch.
        let whole = try await database.recordZoneChanges(inZoneWith: notes)
        #expect(full.token == whole.changeToken)
        try await database.deleteRecord(withID: noteID("r0"))
        let next = try await FollowedChanges(of: database, since: full.token)
        #expect(next.deletedNames == ["r0"])
    }

    @Test func `what is deleted while a first fetch goes on is reported`() async throws {
        let (_, database) = try await makeDatabase()
        try await database.saveAll((0..<9).map { note("r\($0)") })
        try await database.deleteRecord(withID: noteID("r8"))
        let first = try await database.recordZoneChanges(inZoneWith: notes, resultsLimit: 3)
        #expect(first.modifiedNames == ["r0", "r1", "r2"] && first.moreComing)
        try await database.deleteRecord(withID: noteID("r1"))
        try await database.deleteRecord(withID: noteID("r5"))
        try await database.save(note("new"))
        try await database.deleteRecord(withID: noteID("new"))
        let rest = try await FollowedChanges(
            of: database, since: first.changeToken, resultsLimit: 2)
        #expect(rest.modifiedNames == ["r3", "r4", "r6", "r7"])
        #expect(rest.deletedNames == ["r1", "r5", "new"])
    }

    @Test func `a record made anew under another type is deleted for who asks for the old one`()
        async throws
    {
        let (_, database) = try await makeDatabase()
        try await database.saveAll(["a", "b", "c"].map { note($0) })
        let token = try await database.recordZoneChanges(
            inZoneWith: notes, desiredRecordTypes: ["Note"]
        ).changeToken
        try await database.deleteRecord(withID: noteID("a"))
        var page = try await database.save(note("a", type: "Page"))
        page["field"] = 1
        try await database.save(page)
        // Two lives later, and gone.
        try await database.deleteRecord(withID: noteID("b"))
        try await database.save(note("b", type: "Page"))
        try await database.deleteRecord(withID: noteID("b"))
        try await database.save(note("other", type: "Page"))
        let types = { (types: [String], token: ChangeToken?) in
            try await database.recordZoneChanges(
                inZoneWith: notes, since: token, desiredRecordTypes: types)
        }
        let old = try await types(["Note"], token)
        #expect(old.modifications == [])
        #expect(old.deletedNames == ["a", "b"])
        #expect(old.deletions.map(\.recordType) == ["Note", "Note"])
        #expect(try await types(["Note"], old.changeToken).deletions == [])
        let new = try await types(["Page"], token)
        #expect(new.modifiedNames == ["a", "other"] && new.deletedNames == ["b"])
        #expect(new.deletions.map(\.recordType) == ["Page"])
        let both = try await types(["Page", "Note"], token)
        #expect(both.modifiedNames == ["a", "other"] && both.deletedNames == ["b"])
        #expect(try await types(["None"], token).deletions == [])
        let first = try await types(["Note"], nil)
        #expect(first.modifiedNames == ["c"] && first.deletions == [])
    }

    @Test(arguments: [1, 2, 100])
    func `a record made anew under another type is told as deleted on whichever page it comes`(
        limit: Int
    ) async throws {
        let (_, database) = try await makeDatabase()
        try await database.saveAll([note("a"), note("b")])
        let known = try await FollowedChanges(of: database).token
        try await database.deleteRecord(withID: noteID("a"))
        try await database.saveAll((0..<5).map { note("r\($0)") })
        try await database.save(note("a", type: "Page"))
        var deleted: [String] = []
        var token = known
        var moreComing = true
        while moreComing {
            let page = try await database.recordZoneChanges(
                inZoneWith: notes, since: token, desiredRecordTypes: ["Note"],
                resultsLimit: limit)
            deleted += page.deletedNames
            token = page.changeToken
            moreComing = page.moreComing
        }
        #expect(deleted == ["a"])
    }

    // C72.
    @Test func `own writes come back`() async throws {
        let (_, database) = try await makeDatabase()
        let token = try await FollowedChanges(of: database).token
        let saved = try await database.save(note("a", ["field": 1]))
        #expect(try await FollowedChanges(of: database, since: token).modified == [saved])
    }

    // C65.
    @Test(arguments: [1, 3, 10, 99]) func `pages are complete and each token goes on from its page`(
        limit: Int
    ) async throws {
        let (_, database) = try await makeDatabase()
        try await database.saveAll((0..<30).map { note("r\($0)") })
        for number in 0..<10 { try await database.deleteRecord(withID: noteID("r\(number)")) }
        let token = try await database.recordZoneChanges(
            inZoneWith: notes, resultsLimit: 1
        ).changeToken
        for number in 25..<35 {
            try await database.save(note("r\(number)", ["field": 1]), savePolicy: .changedKeys)
        }
        let full = try await FollowedChanges(of: database, resultsLimit: limit)
        #expect(Set(full.modifiedNames) == Set((10..<35).map { "r\($0)" }))
        #expect(full.modified.count == 25)
        let later = try await FollowedChanges(of: database, since: token, resultsLimit: limit)
        #expect(Set(later.modifiedNames).isSuperset(of: (25..<35).map { "r\($0)" }))
        #expect(Set(later.modifiedNames).count == later.modified.count)
        let first = try await database.recordZoneChanges(
            inZoneWith: notes, since: token, resultsLimit: limit)
        #expect(first.modifications.count + first.deletions.count <= limit)
    }

    // Full snapshot, then deltas: what a follower holds is what the zone is.
    @Test func `who follows page by page among changes ends with what there is`() async throws {
        let (_, database) = try await makeDatabase()
        var held: [Record.ID: Record] = [:]
        var token: ChangeToken?
        var generator = SystemRandomNumberGenerator()
        for step in 0..<600 {
            let name = "r\(Int.random(in: 0..<60, using: &generator))"
            if Bool.random(using: &generator) {
                try await database.save(
                    note(name, ["field": .int64(Int64(step))]), savePolicy: .changedKeys)
            } else {
                try await database.deleteRecord(withID: noteID(name))
            }
            guard step % 7 == 0 || step == 599 else { continue }
            var moreComing = true
            // In the end to the end, before that a page only.
            while moreComing {
                let page = try await database.recordZoneChanges(
                    inZoneWith: notes, since: token, resultsLimit: 3)
                for record in page.modifications { held[record.recordID] = record }
                for deletion in page.deletions { held[deletion.recordID] = nil }
                token = page.changeToken
                moreComing = page.moreComing && step == 599
            }
        }
        let records = try await database.allRecords()
        #expect(held == Dictionary(uniqueKeysWithValues: records.map { ($0.recordID, $0) }))
    }
}

/// The changes of a database: C70.
@Suite struct DatabaseFeedTests {
    private func names(_ changes: DatabaseChanges) -> [String] {
        changes.modifications.map(\.zoneName)
    }

    @Test func `without a token the feed names every zone with a feed`() async throws {
        let (_, database) = try await makeDatabase()
        try await database.save(RecordZone(zoneName: "second"))
        try await database.save(RecordZone(zoneName: "gone"))
        try await database.deleteRecordZone(withID: RecordZone.ID(zoneName: "gone"))
        try await database.save(note("a", in: .default))
        let changes = try await database.databaseChanges()
        #expect(names(changes) == ["notes", "second"])
        #expect(changes.deletions.isEmpty && !changes.moreComing && changes.isFullSnapshot)
        let next = try await database.databaseChanges(since: changes.changeToken)
        #expect(next.modifications.isEmpty && next.deletions.isEmpty && !next.isFullSnapshot)
    }

    @Test func `a zone comes once, however much changed in it, in order of the last change`()
        async throws
    {
        let (_, database) = try await makeDatabase()
        let second = RecordZone.ID(zoneName: "second")
        try await database.save(RecordZone(zoneID: second))
        let token = try await database.databaseChanges().changeToken
        for name in ["a", "b"] {
            try await database.save(note(name, in: second))
            try await database.save(note(name))
        }
        #expect(names(try await database.databaseChanges(since: token)) == ["second", "notes"])
        try await database.deleteRecord(withID: noteID("a", in: second))
        #expect(names(try await database.databaseChanges(since: token)) == ["notes", "second"])
    }

    // C57.
    @Test func `a deletion comes to a reader with a token, a zone made again is a modification`()
        async throws
    {
        let (_, database) = try await makeDatabase()
        let token = try await database.databaseChanges().changeToken
        try await database.deleteRecordZone(withID: notes)
        let changes = try await database.databaseChanges(since: token)
        #expect(changes.modifications.isEmpty)
        #expect(changes.deletions.map(\.zoneID) == [notes])
        #expect(changes.deletions.map(\.reason) == [.deleted])
        #expect(try await database.databaseChanges().deletions.isEmpty)
        try await database.save(RecordZone(zoneID: notes))
        let again = try await database.databaseChanges(since: token)
        #expect(names(again) == ["notes"])
        #expect(again.deletions.isEmpty)
    }

    @Test(arguments: [1, 2, 5, 100]) func `pages name every zone once`(limit: Int) async throws {
        let (_, database) = try await makeDatabase()
        for number in 0..<10 { try await database.save(RecordZone(zoneName: "z\(number)")) }
        var token: ChangeToken?
        var found: [String] = []
        var moreComing = true
        while moreComing {
            let page = try await database.databaseChanges(since: token, resultsLimit: limit)
            #expect(page.modifications.count <= limit)
            found += names(page)
            token = page.changeToken
            moreComing = page.moreComing
        }
        #expect(found.sorted() == ["notes"] + (0..<10).map { "z\($0)" })
    }

    @Test(arguments: [1, 2, 3]) func `a first fetch names no zone that was gone when it began`(
        limit: Int
    ) async throws {
        let (_, database) = try await makeDatabase()
        let zones = (0..<8).map { RecordZone.ID(zoneName: "z\($0)") }
        for zone in zones { try await database.save(RecordZone(zoneID: zone)) }
        for zone in [zones[2], zones[5]] {
            try await database.deleteRecordZone(withID: zone)
        }
        var page = try await database.databaseChanges(resultsLimit: limit)
        #expect(page.moreComing)
        let seen = page.modifications
        // Deleted while it goes on: told, whether or not a page named it.
        try await database.deleteRecordZone(withID: seen[0])
        try await database.deleteRecordZone(withID: zones[7])
        var deleted: [RecordZone.ID] = []
        while page.moreComing {
            page = try await database.databaseChanges(
                since: page.changeToken, resultsLimit: limit)
            deleted += page.deletions.map(\.zoneID)
        }
        #expect(deleted == [seen[0], zones[7]])
        #expect(page.changeToken == (try await database.databaseChanges()).changeToken)
    }

    @Test func `other databases are not in it`() async throws {
        let (container, database) = try await makeDatabase()
        let token = try await database.databaseChanges().changeToken
        let bob = container.privateDatabase(for: "bob")
        try await bob.save(RecordZone(zoneName: "bobs"))
        try await container.publicDatabase(as: "bob").save(note("a", in: .default))
        let next = try await database.databaseChanges(since: token)
        #expect(next.modifications.isEmpty)
        #expect(next.changeToken == token)
        #expect(names(try await bob.databaseChanges()) == ["bobs"])
    }

    @Test func `a user who never wrote may follow from the beginning`() async throws {
        let (container, _) = try await makeDatabase()
        let bob = container.privateDatabase(for: "bob")
        try await container.publicDatabase(as: "alice").save(note("a", in: .default))
        let empty = try await bob.databaseChanges()
        #expect(empty.modifications.isEmpty)
        try await bob.save(RecordZone(zoneName: "bobs"))
        let changes = try await bob.databaseChanges(since: empty.changeToken)
        #expect(names(changes) == ["bobs"])
    }

    @Test func `a database token becomes one of a zone at the same moment`() async throws {
        let (_, database) = try await makeDatabase()
        try await database.save(note("before"))
        let token = try await database.databaseChanges().changeToken
        try await database.save(note("after"))
        let zoneToken = try await database.zoneToken(for: notes, asOf: token)
        let changes = try await FollowedChanges(of: database, since: zoneToken)
        #expect(changes.modifiedNames == ["after"])
        let second = RecordZone.ID(zoneName: "second")
        try await database.save(RecordZone(zoneID: second))
        try await database.save(note("new", in: second))
        // Of a zone that was made since nothing was seen, nor of one of its name before it.
        let whole = await failure { try await database.zoneToken(for: second, asOf: token) }
        #expect(whole.code == .changeTokenExpired)
        let missing = await failure {
            try await database.zoneToken(for: RecordZone.ID(zoneName: "missing"), asOf: token)
        }
        #expect(missing.code == .zoneNotFound)
        let wrong = await failure { try await database.zoneToken(for: notes, asOf: zoneToken) }
        #expect(wrong.code == .invalidArguments)
    }

    @Test func `a zone that was deleted twice is told of once, with the last reason`() async throws
    {
        let (_, database) = try await makeDatabase()
        let token = try await database.databaseChanges().changeToken
        try await database.deleteRecordZone(withID: notes)
        try await database.save(RecordZone(zoneID: notes))
        try await database.deleteRecordZone(withID: notes, reason: .purged)
        let changes = try await database.databaseChanges(since: token)
        #expect(changes.deletions.map(\.zoneID) == [notes])
        #expect(changes.deletions.map(\.reason) == [.purged])
    }
}
