import FoundationEssentials
import Stratus
import Testing

/// The feeds of a shared database: semantics 5.5, design section 9.
@Suite(.timeLimit(.minutes(20))) struct SharedFeedTests {
    /// A reader of the feed of a user's shared database.
    private struct ZoneReader {
        let database: Database
        var token: ChangeToken?

        /// The names of the zones that changed since it was asked last, and with a minus of those
        /// that are gone.
        mutating func next() async throws -> [String] {
            let page = try await database.databaseChanges(since: token)
            token = page.changeToken
            return page.modifications.map { $0.zoneName }
                + page.deletions.map { "-" + $0.zoneID.zoneName }
        }
    }

    @Test(arguments: [1, 2, 1000])
    func `a feed from nothing holds what is shared, each record once`(limit: Int) async throws {
        let (fixture, share) = try await SharingFixture.shared()
        try await fixture.alice.deleteRecord(withID: noteID("b"))
        let changes = try await FollowedChanges(
            of: fixture.bob, in: fixture.zone, resultsLimit: limit)
        let expected = ["a", "a1", "root", share.recordID.recordName]
        #expect(changes.modifiedNames.sorted() == expected.sorted())
        #expect(changes.deleted == [])
        let page = try await fixture.bob.recordZoneChanges(inZoneWith: fixture.zone)
        #expect(page.isFullSnapshot)
        #expect(page.modifications.allSatisfy { $0.recordID.zoneID == fixture.zone })
    }

    @Test func `changes of shared records come, and of no others`() async throws {
        let (fixture, _) = try await SharingFixture.shared()
        let token = try await fixture.token(of: "bob")
        try await fixture.alice.save(note("out", ["n": 50]), savePolicy: .changedKeys)
        try await fixture.alice.saveAll([note("new"), child("new1", of: "above")])
        try await fixture.alice.deleteRecord(withID: noteID("out1"))
        let none = try await fixture.bob.recordZoneChanges(
            inZoneWith: fixture.zone, since: token)
        #expect(none.modifications == [] && none.deletions == [] && !none.moreComing)
        try await fixture.alice.save(note("a", ["n": 20]), savePolicy: .changedKeys)
        try await fixture.alice.save(child("a2", of: "a"))
        try await fixture.alice.deleteRecord(withID: noteID("b"))
        let some = try await fixture.bob.recordZoneChanges(
            inZoneWith: fixture.zone, since: none.changeToken)
        #expect(some.modifiedNames == ["a", "a2"])
        #expect(some.deletions.map { $0.recordID } == [fixture.id("b")])
        #expect(some.deletions.map { $0.recordType } == ["Note"] && !some.isFullSnapshot)
        #expect(some.modifications.first?["n"] == 20)
        // What was read is not told again.
        let last = try await fixture.bob.recordZoneChanges(
            inZoneWith: fixture.zone, since: some.changeToken)
        #expect(last.modifications == [] && last.deletions == [])
    }

    @Test func `a participant's own changes come back`() async throws {
        let (fixture, _) = try await SharingFixture.shared()
        let token = try await fixture.token(of: "bob")
        let saved = try await fixture.bob.save(fixture.newNote("new", under: "a"))
        try await fixture.bob.deleteRecord(withID: fixture.id("b"))
        let changes = try await FollowedChanges(of: fixture.bob, in: fixture.zone, since: token)
        #expect(changes.modified == [saved])
        #expect(changes.deleted.map { $0.recordID } == [fixture.id("b")])
    }

    @Test func `some keys and some types may be asked for`() async throws {
        let (fixture, _) = try await SharingFixture.shared()
        try await fixture.alice.save(note("above", ["m": 1]), savePolicy: .changedKeys)
        var task = note("task", ["n": 1, "m": 2], type: "Task")
        task.parent = Reference(recordID: noteID("a"))
        try await fixture.alice.save(task)
        let page = try await fixture.bob.recordZoneChanges(
            inZoneWith: fixture.zone, desiredKeys: ["m"], desiredRecordTypes: ["Task"])
        #expect(page.modifiedNames == ["task"])
        #expect(page.modifications.first?.allKeys == ["m"])
    }

    @Test func `the zone appears at the acceptance, and is changed by what is shared alone`()
        async throws
    {
        let fixture = try await SharingFixture.family()
        var reader = ZoneReader(database: fixture.bob)
        #expect(try await reader.next() == [])
        let share = try await fixture.share("root", with: ["bob"])
        #expect(try await reader.next() == [])
        try await fixture.accept(share, ["bob"])
        #expect(try await reader.next() == ["notes"])
        #expect(try await reader.next() == [])
        try await fixture.alice.save(note("out", ["n": 50]), savePolicy: .changedKeys)
        try await fixture.container.privateDatabase(for: "bob").save(RecordZone(zoneID: notes))
        #expect(try await reader.next() == [])
        try await fixture.alice.save(note("a", ["n": 50]), savePolicy: .changedKeys)
        #expect(try await reader.next() == ["notes"])
        try await fixture.alice.deleteRecord(withID: noteID("b"))
        #expect(try await reader.next() == ["notes"])
        try await fixture.alice.saveAll([child("a", of: "out")], savePolicy: .changedKeys)
        #expect(try await reader.next() == ["notes"])
        try await fixture.end(share)
        #expect(try await reader.next() == ["-notes"])
        #expect(try await reader.next() == [])
        // Without a token nothing is told of a zone that is not there.
        let page = try await fixture.bob.databaseChanges()
        #expect(page.modifications == [] && page.deletions == [] && page.isFullSnapshot)
    }

    @Test func `zones of several owners come page by page`() async throws {
        let container = try Container.inMemory()
        let bob = container.sharedDatabase(for: "bob")
        let first = try await bob.databaseChanges().changeToken
        var zones: Set<RecordZone.ID> = []
        for owner in ["alice", "carol", "dave", "eve"] {
            let database = container.privateDatabase(for: owner)
            for name in ["x", "y"] {
                let zone = RecordZone.ID(zoneName: name)
                try await database.save(RecordZone(zoneID: zone))
                let root = note("root", in: zone)
                var share = Share(rootRecord: root)
                try share.addParticipant(
                    Share.Participant(
                        UserIdentity.LookupInfo(userRecordID: container.userRecordID(for: "bob"))))
                try await database.saveAll([root, share.record])
                let found = Share(try await database.record(for: share.recordID))
                let link = try #require(found?.shortGUID)
                try await container.acceptShare(link, as: "bob")
                zones.insert(
                    RecordZone.ID(
                        zoneName: name, ownerName: container.userRecordName(for: owner)))
            }
        }
        for start in [nil, first] {
            for limit in [1, 3, 100] {
                var found: [RecordZone.ID] = []
                var token = start
                var moreComing = true
                while moreComing {
                    let page = try await bob.databaseChanges(since: token, resultsLimit: limit)
                    #expect(page.modifications.count <= limit && page.deletions == [])
                    found += page.modifications
                    token = page.changeToken
                    moreComing = page.moreComing
                }
                #expect(Set(found) == zones && found.count == zones.count)
            }
        }
    }

    @Test func `a token amid a feed goes on as bytes, and all of them are of one length`()
        async throws
    {
        let (fixture, _) = try await SharingFixture.shared()
        let second = try await fixture.share("out", with: ["bob"])
        try await fixture.accept(second, ["bob"])
        let start = try await fixture.token(of: "bob")
        try await fixture.alice.saveAll((0..<300).map { child("c\($0)", of: "a") })
        try await fixture.alice.saveAll((0..<300).map { child("d\($0)", of: "out") })
        try await fixture.end(second)
        var token = start
        var lengths: Set<Int> = []
        var modified: Set<String> = []
        var deleted: Set<String> = []
        while true {
            let page = try await fixture.bob.recordZoneChanges(
                inZoneWith: fixture.zone, since: token, resultsLimit: 29)
            modified.formUnion(page.modifiedNames)
            deleted.formUnion(page.deletedNames)
            token = try ChangeToken(data: page.changeToken.data)
            #expect(token == page.changeToken)
            guard page.moreComing else { break }
            lengths.insert(page.changeToken.data.count)
        }
        #expect(lengths.count == 1 && lengths.allSatisfy { $0 < 128 })
        let records = modified.filter { !$0.hasPrefix("Share-") }
        #expect(records == Set((0..<300).map { "c\($0)" }))
        let gone = deleted.subtracting([second.recordID.recordName])
        #expect(gone.isSuperset(of: ["out", "out1"]))
        // Of what came and went in between a deletion may be told, and nothing else.
        #expect(gone.isSubset(of: Set((0..<300).map { "d\($0)" }).union(["out", "out1"])))
    }

    @Test func `a token is good for its user and its zone alone`() async throws {
        let (fixture, _) = try await SharingFixture.shared(with: ["bob", "carol"])
        let carols = try await fixture.token(of: "carol")
        let alices = try await FollowedChanges(of: fixture.alice).token
        let zones = try await fixture.carol.databaseChanges().changeToken
        let codes = [
            await failure {
                try await fixture.bob.recordZoneChanges(inZoneWith: fixture.zone, since: carols)
            }.code,
            await failure { try await fixture.bob.databaseChanges(since: zones) }.code,
        ]
        #expect(codes == [.changeTokenExpired, .changeTokenExpired])
        let expected: Set<StoreError.Code> = [.changeTokenExpired, .invalidArguments]
        let mixed = [
            await failure {
                try await fixture.bob.recordZoneChanges(inZoneWith: fixture.zone, since: alices)
            }.code,
            await failure {
                try await fixture.alice.recordZoneChanges(inZoneWith: notes, since: carols)
            }.code,
            await failure {
                try await fixture.carol.recordZoneChanges(inZoneWith: fixture.zone, since: zones)
            }.code,
            await failure { try await fixture.carol.databaseChanges(since: carols) }.code,
        ]
        #expect(Set(mixed).isSubset(of: expected))
    }

    @Test func `a live feed shows what is shared, and ends with the access`() async throws {
        let (fixture, share) = try await SharingFixture.shared()
        let token = try await fixture.token(of: "bob")
        var pages = fixture.bob.liveRecordZoneChanges(inZoneWith: fixture.zone, since: token)
            .makeAsyncIterator()
        try await fixture.alice.save(note("out", ["n": 50]), savePolicy: .changedKeys)
        try await fixture.alice.save(child("new", of: "a"))
        let page = try #require(try await pages.next())
        #expect(page.modifiedNames == ["new"] && page.deletions == [])
        let rest = fixture.bob.liveRecordZoneChanges(
            inZoneWith: fixture.zone, since: page.changeToken)
        let waiting = Task {
            await failure {
                for try await page in rest {
                    // What the share's record says may change before the end.
                    #expect(page.modifications.allSatisfy { $0.recordType == Record.shareType })
                }
            }
        }
        try await Task.sleep(for: .milliseconds(2))
        try await fixture.remove("bob", from: share)
        #expect(await waiting.value.code == .zoneNotFound)
    }

    @Test func `a live feed of the database tells of zones that come and go`() async throws {
        let fixture = try await SharingFixture.family()
        let share = try await fixture.share("root", with: ["bob"])
        let token = try await fixture.bob.databaseChanges().changeToken
        var pages = fixture.bob.liveDatabaseChanges(since: token).makeAsyncIterator()
        try await fixture.accept(share, ["bob"])
        #expect(try await pages.next()?.modifications == [fixture.zone])
        try await fixture.alice.save(child("new", of: "a"))
        #expect(try await pages.next()?.modifications == [fixture.zone])
        try await fixture.end(share)
        #expect(try await pages.next()?.deletions.map { $0.zoneID } == [fixture.zone])
    }

    @Test func `sharing a tree and ending that moves no tag but the root's`() async throws {
        let fixture = try await SharingFixture.family()
        func tags() async throws -> [String: String?] {
            var tags: [String: String?] = [:]
            for record in try await fixture.alice.allRecords()
            where record.recordType != Record.shareType {
                tags[record.recordID.recordName] = record.recordChangeTag
            }
            return tags
        }
        func changed(_ before: [String: String?], _ after: [String: String?]) -> Set<String> {
            Set(before.keys.filter { before[$0] != after[$0] })
        }
        let first = try await tags()
        let share = try await fixture.share("root", with: ["bob"])
        let second = try await tags()
        #expect(changed(first, second) == ["root"])
        try await fixture.accept(share, ["bob"])
        #expect(try await tags() == second)
        try await fixture.end(share)
        #expect(changed(second, try await tags()) == ["root"])
    }

    // C45: in the profile of the service alone, since it rewrites the parent for every child.
    @Test(arguments: [Profile.unlimited, .cloudKit])
    func `a child that is saved changes its shared parent's tag where the service does`(
        profile: Profile
    ) async throws {
        let (fixture, _) = try await SharingFixture.shared(profile: profile)
        let parents = ["a", "out"].map { noteID($0) }
        var stale: [Record] = []
        for id in parents { stale.append(try await fixture.alice.record(for: id)) }
        for (number, id) in parents.enumerated() {
            let record = child("new\(number)", of: id.recordName)
            let result = try await fixture.alice.modifyRecords(saving: [record])
            // It is no result of the call.
            #expect(Array(result.saveResults.keys) == [record.recordID])
            #expect(result.partialFailure == nil)
        }
        let bob = fixture.newNote("of bob", under: "a")
        try await fixture.bob.save(bob)
        let now = try await fixture.alice.record(for: parents[0])
        #expect((now.recordChangeTag != stale[0].recordChangeTag) == (profile == .cloudKit))
        #expect(now["n"] == stale[0]["n"] && now.parent == stale[0].parent)
        let unshared = try await fixture.alice.record(for: parents[1])
        #expect(unshared.recordChangeTag == stale[1].recordChangeTag)
        var edited = stale[0]
        edited["n"] = 20
        let record = edited
        if profile == .cloudKit {
            let error = await failure { try await fixture.alice.save(record) }
            #expect(error.code == .serverRecordChanged)
        } else {
            try await fixture.alice.save(record)
        }
    }
}
