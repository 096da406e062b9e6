import Stratus
import Testing

/// Records that enter and leave shares with the trees they stand in.
@Suite struct SharedTreeTests {
    private static let archive = RecordZone.ID(zoneName: "archive")

    /// Gives records of alice's another parent, or none, in one call.
    private static func move(
        _ moves: [(name: String, parent: String?)], in fixture: SharingFixture,
        deleting names: [String] = []
    ) async throws -> [String: StoreError] {
        var records: [Record] = []
        for (name, parent) in moves {
            var record = try await fixture.alice.record(for: noteID(name))
            record.parent = parent.map { Reference(recordID: noteID($0)) }
            records.append(record)
        }
        return try await fixture.alice.outcome(saving: records, deleting: names)
    }

    private static func tags(
        _ names: [String], in fixture: SharingFixture
    ) async throws -> [String] {
        var tags: [String] = []
        for name in names {
            let record = try await fixture.alice.record(for: noteID(name))
            tags.append(record.recordChangeTag ?? "")
        }
        return tags
    }

    @Test func `a tree that comes into a share is seen whole, and its tags stay`() async throws {
        let (fixture, _) = try await SharingFixture.shared()
        try await fixture.alice.saveAll([child("out2", of: "out1"), child("out3", of: "out2")])
        let token = try await fixture.token(of: "bob")
        let below = ["out1", "out2", "out3"]
        let tags = try await Self.tags(below, in: fixture)
        #expect(try await Self.move([("out", "a")], in: fixture).isEmpty)
        #expect(try await Self.tags(below, in: fixture) == tags)
        let changes = try await fixture.changes(seenBy: "bob", since: token)
        #expect(changes.modified == ["out", "out1", "out2", "out3"] && changes.deleted == [])
        for name in below + ["out"] {
            let found = try await fixture.bob.record(for: fixture.id(name))
            #expect(found.parent != nil)
        }
        let found = try await fixture.bob.allRecords(
            matching: Query(recordType: "Note"), in: fixture.zone)
        #expect(found.count == 8)
        // What came in is written as the rest.
        try await fixture.bob.save(fixture.newNote("new", under: "out3"))
    }

    @Test func `a tree that goes out of a share is deleted for its participants`() async throws {
        let (fixture, _) = try await SharingFixture.shared()
        try await fixture.alice.saveAll([child("a2", of: "a1"), child("a3", of: "a2")])
        let token = try await fixture.token(of: "bob")
        let tags = try await Self.tags(["a1", "a2", "a3"], in: fixture)
        #expect(try await Self.move([("a", nil)], in: fixture).isEmpty)
        #expect(try await Self.tags(["a1", "a2", "a3"], in: fixture) == tags)
        let changes = try await FollowedChanges(of: fixture.bob, in: fixture.zone, since: token)
        #expect(Set(changes.deletedNames) == ["a", "a1", "a2", "a3"])
        #expect(changes.deleted.allSatisfy { $0.recordType == "Note" })
        #expect(changes.modified == [])
        #expect(try await fixture.names(seenBy: "bob") == ["b", "root"])
        let error = await failure { try await fixture.bob.record(for: fixture.id("a2")) }
        #expect(error.code == .unknownItem)
    }

    @Test func `a tree between two shares stays for those who have both, and not for others`()
        async throws
    {
        let fixture = try await SharingFixture.family()
        let first = try await fixture.share("a", with: ["bob", "carol"])
        let second = try await fixture.share("out", with: ["bob", "dave"])
        try await fixture.accept(first, ["bob", "carol"])
        try await fixture.accept(second, ["bob", "dave"])
        try await fixture.alice.save(child("a2", of: "a1"))
        let bob = try await fixture.token(of: "bob")
        let carol = try await fixture.token(of: "carol")
        let dave = try await fixture.token(of: "dave")
        #expect(try await Self.move([("a1", "out1")], in: fixture).isEmpty)
        let ofBob = try await fixture.changes(seenBy: "bob", since: bob)
        #expect(ofBob.deleted == [] && ofBob.modified.contains("a1"))
        let ofCarol = try await fixture.changes(seenBy: "carol", since: carol)
        #expect(ofCarol.deleted == ["a1", "a2"] && ofCarol.modified == [])
        let ofDave = try await fixture.changes(seenBy: "dave", since: dave)
        #expect(ofDave.modified == ["a1", "a2"] && ofDave.deleted == [])
    }

    @Test func `nested moves of one call are judged by what they leave`() async throws {
        let (fixture, _) = try await SharingFixture.shared()
        try await fixture.alice.saveAll([child("a2", of: "a1"), child("out2", of: "out1")])
        let token = try await fixture.token(of: "bob")
        let tags = try await Self.tags(["a2", "out2"], in: fixture)
        // The outer tree goes out while an inner one stays in, and the other way round.
        let errors = try await Self.move(
            [("a", "above"), ("a1", "b"), ("out", "root"), ("out1", nil)], in: fixture)
        #expect(errors.isEmpty)
        #expect(try await Self.tags(["a2", "out2"], in: fixture) == tags)
        #expect(try await fixture.names(seenBy: "bob") == ["a1", "a2", "b", "out", "root"])
        let changes = try await fixture.changes(seenBy: "bob", since: token)
        #expect(changes.deleted == ["a"])
        #expect(changes.modified.isSuperset(of: ["a1", "out"]))
        #expect(changes.modified.isSubset(of: ["a1", "a2", "out"]))
    }

    @Test func `two trees change places in one call`() async throws {
        let (fixture, _) = try await SharingFixture.shared()
        let token = try await fixture.token(of: "bob")
        let errors = try await Self.move(
            [("a", "out"), ("out1", "root"), ("a1", "out1")], in: fixture)
        #expect(errors.isEmpty)
        #expect(try await fixture.names(seenBy: "bob") == ["a1", "b", "out1", "root"])
        let changes = try await fixture.changes(seenBy: "bob", since: token)
        #expect(changes.deleted == ["a"] && changes.modified == ["a1", "out1"])
    }

    @Test func `parents may turn around, as long as there is no circle`() async throws {
        let (fixture, _) = try await SharingFixture.shared()
        // a1 above a, instead of below it.
        #expect(try await Self.move([("a1", "root"), ("a", "a1")], in: fixture).isEmpty)
        #expect(try await fixture.names(seenBy: "bob") == SharingFixture.members)
        #expect(try await Self.move([("a1", nil)], in: fixture).isEmpty)
        #expect(try await fixture.names(seenBy: "bob") == ["b", "root"])
        let circle = try await Self.move([("a1", "a"), ("a", "a1")], in: fixture)
        #expect(codes(circle).values.contains { $0 == .invalidArguments })
    }

    @Test func `neither a root nor what has one below it comes under another share`()
        async throws
    {
        let (fixture, _) = try await SharingFixture.shared()
        let second = try await fixture.share("out1", with: ["carol"])
        try await fixture.accept(second, ["carol"])
        for (name, parent) in [("out1", "a"), ("out", "a"), ("out", "root")] {
            let errors = try await Self.move([(name, parent)], in: fixture)
            #expect(codes(errors) == [name: .alreadyShared])
        }
        // Its root is not below it any more.
        #expect(try await Self.move([("out1", nil), ("out", "b")], in: fixture).isEmpty)
        #expect(try await fixture.names(seenBy: "carol") == ["out1"])
        #expect(
            try await fixture.names(seenBy: "bob") == (SharingFixture.members + ["out"]).sorted())
    }

    @Test func `the parent of a root counts for nothing while it is shared`() async throws {
        let (fixture, share) = try await SharingFixture.shared()
        for parent in [nil, "out", "above"] {
            #expect(try await Self.move([("root", parent)], in: fixture).isEmpty)
            #expect(try await fixture.names(seenBy: "bob") == SharingFixture.members)
            let root = try await fixture.alice.record(for: noteID("root"))
            #expect(root.parent?.recordID.recordName == parent)
            #expect(root.share?.recordID == share.recordID)
            #expect(try await fixture.bob.record(for: fixture.id("root")).parent == nil)
        }
        // Once the share has ended it counts again.
        try await fixture.end(share)
        let above = try await fixture.share("above", with: ["carol"])
        try await fixture.accept(above, ["carol"])
        #expect(
            try await fixture.names(seenBy: "carol")
                == (SharingFixture.members + ["above"]).sorted())
    }

    @Test func `what is deleted in a share and made anew outside of it is gone from it`()
        async throws
    {
        let (fixture, _) = try await SharingFixture.shared()
        let token = try await fixture.token(of: "bob")
        try await fixture.alice.deleteRecord(withID: noteID("b"))
        try await fixture.alice.save(child("b", of: "out", ["n": 100]))
        var changes = try await fixture.changes(seenBy: "bob", since: token)
        #expect(changes.deleted == ["b"] && changes.modified == [])
        #expect(try await fixture.names(seenBy: "bob") == ["a", "a1", "root"])
        // And anew inside, it is the new one.
        try await fixture.alice.deleteRecord(withID: noteID("b"))
        try await fixture.alice.save(child("b", of: "a", ["n": 200]))
        changes = try await fixture.changes(seenBy: "bob", since: changes.token)
        #expect(changes.modified == ["b"] && changes.deleted == [])
        #expect(try await fixture.bob.record(for: fixture.id("b"))["n"] == 200)
    }

    @Test func `what came in and went out between two readings is no change to be seen`()
        async throws
    {
        let (fixture, _) = try await SharingFixture.shared()
        let token = try await fixture.token(of: "bob")
        for parent in ["root", nil] {
            #expect(try await Self.move([("out", parent)], in: fixture).isEmpty)
        }
        for parent in ["out", "root"] {
            #expect(try await Self.move([("a", parent)], in: fixture).isEmpty)
        }
        let changes = try await fixture.changes(seenBy: "bob", since: token)
        #expect(changes.modified.isSubset(of: ["a", "a1"]) && changes.modified.contains("a"))
        #expect(changes.deleted.isSubset(of: ["out", "out1"]))
        let fresh = try await fixture.changes(seenBy: "bob")
        #expect(fresh.modified == Set(SharingFixture.members) && fresh.deleted == [])
    }

    // More than a piece of a share that is made, and than a members entry holds.
    @Test func `a tree of any size is shared, moved and unshared as one`() async throws {
        let fixture = try await SharingFixture()
        let count = 5000
        var records = [note("root"), note("other")]
        for number in 0..<count {
            // Some of it is deep, some of it wide.
            let parent =
                number == 0 || number % 100 == 0
                ? "root" : number % 10 == 0 ? "r\(number - 10)" : "r\(number - number % 10)"
            records.append(child("r\(number)", of: parent))
        }
        try await fixture.alice.saveAll(records)
        let share = try await fixture.share("root", with: ["bob"])
        try await fixture.accept(share, ["bob"])
        #expect(try await fixture.names(seenBy: "bob").count == count + 1)
        let all = try await fixture.changes(seenBy: "bob")
        #expect(all.modified.count == count + 1)
        // One of the hundreds below the root goes out, and comes back.
        #expect(try await Self.move([("r4900", "other")], in: fixture).isEmpty)
        let gone = try await fixture.changes(seenBy: "bob", since: all.token, resultsLimit: 7)
        #expect(gone.deleted.count == 100 && gone.modified == [])
        #expect(try await fixture.names(seenBy: "bob").count == count - 99)
        #expect(try await Self.move([("r4900", "r5")], in: fixture).isEmpty)
        let back = try await fixture.changes(seenBy: "bob", since: gone.token)
        #expect(back.modified.count == 100 && back.deleted == [])
        // And all of it goes below another root, in one commit.
        try await fixture.end(share)
        let second = try await fixture.share("other", with: ["bob"])
        try await fixture.accept(second, ["bob"])
        #expect(try await fixture.names(seenBy: "bob") == ["other"])
        #expect(try await Self.move([("root", "other")], in: fixture).isEmpty)
        #expect(try await fixture.names(seenBy: "bob").count == count + 2)
        let last = try await fixture.changes(seenBy: "bob", since: back.token)
        #expect(last.modified.count == count + 2 && last.deleted == [])
    }

    // C52.
    @Test func `a root and what has one below it stay in their zone`() async throws {
        let (fixture, share) = try await SharingFixture.shared()
        try await fixture.alice.save(RecordZone(zoneID: Self.archive))
        let whole = await failure {
            try await fixture.alice.moveRecords([noteID("above")], to: Self.archive)
        }
        #expect(whole.code == .invalidArguments)
        // Without a parent, which would have to move with it.
        #expect(try await Self.move([("root", nil)], in: fixture).isEmpty)
        for id in [noteID("root"), share.recordID] {
            let error = await failure {
                try await fixture.alice.moveRecords([id], to: Self.archive)
            }
            #expect(error.code == .invalidArguments && error.recordID == id)
        }
        #expect(try await fixture.alice.names(in: Self.archive) == [])
        #expect(try await fixture.names(seenBy: "bob") == SharingFixture.members)
        try await fixture.end(share)
        try await fixture.alice.moveRecords([noteID("root")], to: Self.archive)
        #expect(try await fixture.alice.names() == ["above", "out", "out1"])
    }

    // C52.
    @Test func `what moves out of a zone that is shared as a whole is deleted there, and back new`()
        async throws
    {
        let (fixture, _) = try await SharingFixture.zoneWide()
        try await fixture.alice.save(RecordZone(zoneID: Self.archive))
        let token = try await fixture.token(of: "bob")
        try await fixture.alice.moveRecords([noteID("out")], to: Self.archive)
        let gone = try await fixture.changes(seenBy: "bob", since: token)
        #expect(gone.deleted == ["out", "out1"] && gone.modified == [])
        try await fixture.alice.moveRecords([noteID("out", in: Self.archive)], to: notes)
        let back = try await fixture.changes(seenBy: "bob", since: gone.token)
        #expect(back.modified == ["out", "out1"] && back.deleted == [])
    }

    @Test func `a record that another client moves out of the share is gone at once`()
        async throws
    {
        let (fixture, _) = try await SharingFixture.shared()
        var mine = try await fixture.bob.record(for: fixture.id("a1"))
        mine["n"] = 100
        #expect(try await Self.move([("a1", nil)], in: fixture).isEmpty)
        let late = mine
        let error = await failure { try await fixture.bob.save(late) }
        // It is a name that is taken now, and no more is told of it.
        #expect(error.code == .permissionFailure && showsNoRecord(error))
        let own = try await fixture.alice.record(for: noteID("a1"))
        #expect(own["n"] == 3)
    }
}
