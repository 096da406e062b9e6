import Stratus
import Testing

/// What participants write: semantics 2.4 row 6 and 8.9, cases C77 to C79, C83 and C89.
@Suite struct SharedWritingTests {
    static let policies = [SavePolicy.ifServerRecordUnchanged, .changedKeys, .allKeys]

    // C89.
    @Test func `a participant creates below shared records, in the owner's zone`() async throws {
        let (fixture, _) = try await SharingFixture.shared(with: ["bob", "carol"])
        let bob = fixture.container.userRecordID(for: "bob")
        for parent in ["root", "a", "a1"] {
            let name = "under \(parent)"
            let saved = try await fixture.bob.save(
                fixture.newNote(name, under: parent, ["n": 100]))
            #expect(saved.recordID == fixture.id(name))
            #expect(saved.parent == Reference(recordID: fixture.id(parent)))
            let own = try await fixture.alice.record(for: noteID(name))
            #expect(own["n"] == 100 && own.parent == Reference(recordID: noteID(parent)))
            #expect(own.recordChangeTag == saved.recordChangeTag)
            #expect(own.creatorUserRecordID == bob && own.lastModifiedUserRecordID == bob)
            #expect(try await fixture.carol.record(for: fixture.id(name))["n"] == 100)
        }
        // The zone is the owner's: bob's own database has none of it.
        let database = fixture.container.privateDatabase(for: "bob")
        #expect(try await database.allRecordZones().count == 1)
    }

    // C89.
    @Test(arguments: [true, false])
    func `a chain of new records hangs on a shared one, in any order`(isReversed: Bool)
        async throws
    {
        let (fixture, _) = try await SharingFixture.shared()
        let chain = [
            fixture.newNote("x", under: "b"), fixture.newNote("y", under: "x"),
            fixture.newNote("z", under: "y"),
        ]
        let errors = try await fixture.bob.outcome(
            saving: isReversed ? chain.reversed() : chain, in: fixture.zone)
        #expect(errors.isEmpty)
        #expect(
            try await fixture.names(seenBy: "bob")
                == (SharingFixture.members + ["x", "y", "z"]).sorted())
        #expect(try await fixture.alice.record(for: noteID("z")).parent?.recordID == noteID("y"))
        // A chain that hangs on nothing is not shared.
        let loose = [fixture.newNote("v"), fixture.newNote("w", under: "v")]
        let refused = try await fixture.bob.outcome(saving: loose, in: fixture.zone)
        #expect(refused["v"]?.code == .permissionFailure && refused.count == 2)
        let single = try await fixture.bob.outcome(
            saving: loose, atomically: false, in: fixture.zone)
        #expect(codes(single) == ["v": .permissionFailure, "w": .referenceViolation])
    }

    // C77.
    @Test(arguments: policies)
    func `a record without a parent is not saved by a participant`(policy: SavePolicy)
        async throws
    {
        let (fixture, _) = try await SharingFixture.shared()
        let record = fixture.newNote("new")
        let error = await failure { try await fixture.bob.save(record, savePolicy: policy) }
        #expect(error.code == .permissionFailure && error.recordID == fixture.id("new"))
        let gone = await failure { try await fixture.alice.record(for: noteID("new")) }
        #expect(gone.code == .unknownItem)
    }

    @Test(arguments: policies)
    func `a parent that a participant does not see is missing`(policy: SavePolicy) async throws {
        let (fixture, _) = try await SharingFixture.shared()
        var reasons: Set<String> = []
        for parent in ["above", "out", "out1", "missing"] {
            let record = fixture.newNote("new", under: parent)
            let error = await failure { try await fixture.bob.save(record, savePolicy: policy) }
            #expect(error.code == .referenceViolation && error.recordID == fixture.id("new"))
            #expect(showsNoRecord(error))
            reasons.insert(error.reason)
        }
        #expect(reasons.count == 1)
        #expect(try await fixture.alice.names().count == 8)
    }

    @Test func `a validated target that a participant does not see is missing`() async throws {
        let (fixture, _) = try await SharingFixture.shared()
        func pointing(_ target: String, _ action: Reference.Action) -> Record {
            let reference = Reference(recordID: fixture.id(target), action: action)
            return fixture.newNote("of \(target)", under: "a", ["to": .reference(reference)])
        }
        var reasons: Set<String> = []
        for target in ["out", "missing"] {
            let record = pointing(target, .validate)
            let error = await failure { try await fixture.bob.save(record) }
            #expect(error.code == .referenceViolation)
            reasons.insert(error.reason)
        }
        #expect(reasons.count == 1)
        try await fixture.bob.save(pointing("a1", .validate))
        // Others are not looked at.
        try await fixture.bob.save(pointing("out", .none))
        try await fixture.bob.save(pointing("out1", .deleteSelf))
    }

    @Test(arguments: policies)
    func `a name that a record has which is not seen is taken, and no more is told`(
        policy: SavePolicy
    ) async throws {
        let (fixture, _) = try await SharingFixture.shared()
        let before = try await fixture.alice.record(for: noteID("out"))
        let tag = before.recordChangeTag
        let scratch = fixture.newNote("out", under: "a", ["n": 100])
        var tagged = Record(
            recordType: "Note", recordID: fixture.id("out"), recordChangeTag: tag)
        tagged["n"] = 100
        var moving = tagged
        moving.parent = Reference(recordID: fixture.id("a"))
        let other = fixture.newNote("out", under: "a", type: "Other")
        for record in [scratch, tagged, moving, other] {
            let error = await failure { try await fixture.bob.save(record, savePolicy: policy) }
            #expect(error.code == .permissionFailure && error.recordID == fixture.id("out"))
            #expect(showsNoRecord(error))
        }
        #expect(try await fixture.alice.record(for: noteID("out")) == before)
    }

    @Test(arguments: policies)
    func `a participant changes shared records, the root too`(policy: SavePolicy) async throws {
        let (fixture, share) = try await SharingFixture.shared()
        for name in SharingFixture.members {
            var record = try await fixture.bob.record(for: fixture.id(name))
            record["n"] = 100
            let saved = try await fixture.bob.save(record, savePolicy: policy)
            let own = try await fixture.alice.record(for: noteID(name))
            #expect(own["n"] == 100 && saved.recordChangeTag == own.recordChangeTag)
            #expect(
                own.lastModifiedUserRecordID == fixture.container.userRecordID(for: "bob"))
            #expect(
                own.creatorUserRecordID == fixture.container.userRecordID(for: "alice"))
        }
        let root = try await fixture.alice.record(for: noteID("root"))
        #expect(root.parent?.recordID == noteID("above"))
        #expect(root.share?.recordID == share.recordID)
    }

    @Test func `a participant deletes all but the root`() async throws {
        let (fixture, _) = try await SharingFixture.shared(with: ["bob", "carol"])
        let token = try await fixture.token(of: "carol")
        let violation = await failure {
            try await fixture.bob.deleteRecord(withID: fixture.id("a"))
        }
        #expect(violation.code == .referenceViolation)
        try await fixture.bob.deleteRecord(withID: fixture.id("a1"))
        #expect(
            try await fixture.bob.outcome(deleting: ["a", "b"], in: fixture.zone).isEmpty)
        // The root is refused with children and without.
        let error = await failure {
            try await fixture.bob.deleteRecord(withID: fixture.id("root"))
        }
        #expect(error.code == .permissionFailure && error.recordID == fixture.id("root"))
        #expect(try await fixture.names(seenBy: "bob") == ["root"])
        let changes = try await fixture.changes(seenBy: "carol", since: token)
        #expect(changes.deleted == ["a", "a1", "b"] && changes.modified == [])
    }

    @Test func `the root is refused before its children are looked at`() async throws {
        let (fixture, _) = try await SharingFixture.shared()
        let error = await failure {
            try await fixture.bob.deleteRecord(withID: fixture.id("root"))
        }
        #expect(error.code == .permissionFailure)
        let all = try await fixture.bob.outcome(
            deleting: SharingFixture.members, in: fixture.zone)
        #expect(all["root"]?.code == .permissionFailure)
        #expect(all["a"]?.code == .batchRequestFailed && all.count == 4)
        #expect(try await fixture.names(seenBy: "bob") == SharingFixture.members)
    }

    @Test func `deleting what a participant does not see changes nothing, as of what is not there`()
        async throws
    {
        let (fixture, _) = try await SharingFixture.shared()
        for name in ["out", "out1", "above", "missing"] {
            try await fixture.bob.deleteRecord(withID: fixture.id(name))
        }
        #expect(try await fixture.alice.names().count == 8)
    }

    // C78, C79.
    @Test(arguments: policies)
    func `a participant who may only read changes nothing`(policy: SavePolicy) async throws {
        let (fixture, share) = try await SharingFixture.shared(.readOnly)
        let token = try await FollowedChanges(of: fixture.alice).token
        var edited = try await fixture.bob.record(for: fixture.id("a"))
        edited["n"] = 100
        var moved = try await fixture.bob.record(for: fixture.id("a1"))
        moved.parent = Reference(recordID: fixture.id("b"))
        var loose = moved
        loose.parent = nil
        var root = try await fixture.bob.record(for: fixture.id("root"))
        root["n"] = 100
        let new = fixture.newNote("new", under: "a")
        for record in [edited, moved, loose, root, new, fixture.newNote("alone")] {
            let error = await failure { try await fixture.bob.save(record, savePolicy: policy) }
            #expect(error.code == .permissionFailure && error.recordID == record.recordID)
        }
        for name in ["a1", "b", "root"] {
            let error = await failure {
                try await fixture.bob.deleteRecord(withID: fixture.id(name))
            }
            #expect(error.code == .permissionFailure)
        }
        let changes = try await FollowedChanges(of: fixture.alice, since: token)
        #expect(changes.modified == [] && changes.deleted == [])
        // Leaving is open to all.
        try await fixture.bob.deleteRecord(withID: fixture.id(of: share))
        #expect(try await !fixture.isVisible(to: "bob"))
    }

    // C78: the permission counts that the call leaves.
    @Test func `saving the share in the same call lifts or sets what it allows`() async throws {
        let (fixture, share) = try await SharingFixture.shared(.readOnly, with: [])
        try await fixture.edit(share) {
            try $0.addParticipant(fixture.participant("bob", .readOnly, role: .administrator))
        }
        try await fixture.accept(share, ["bob"])
        for (name, permission) in [
            ("one", Share.Permission.readWrite), ("two", Share.Permission.readOnly),
        ] {
            let found = Share(try await fixture.bob.record(for: fixture.id(of: share)))
            var edited = try #require(found)
            try edited.addParticipant(
                fixture.participant("bob", permission, role: .administrator))
            let errors = try await fixture.bob.outcome(
                saving: [fixture.newNote(name, under: "a"), edited.record], in: fixture.zone)
            if permission == .readWrite {
                #expect(errors.isEmpty)
            } else {
                #expect(errors[name]?.code == .permissionFailure && errors.count == 2)
            }
        }
        let names = try await fixture.names(seenBy: "bob")
        #expect(names == (SharingFixture.members + ["one"]).sorted())
    }

    @Test func `what is refused fails the atomic batch, and nothing else of another`()
        async throws
    {
        let (fixture, _) = try await SharingFixture.shared()
        let batch = [
            fixture.newNote("good", under: "a"), fixture.newNote("alone"),
            fixture.newNote("lost", under: "out"),
        ]
        let atomic = try await fixture.bob.outcome(
            saving: batch, deleting: ["b"], in: fixture.zone)
        #expect(
            codes(atomic) == [
                "good": .batchRequestFailed, "alone": .permissionFailure,
                "lost": .referenceViolation, "b": .batchRequestFailed,
            ])
        #expect(try await fixture.names(seenBy: "bob") == SharingFixture.members)
        let loose = try await fixture.bob.outcome(
            saving: batch, deleting: ["b"], atomically: false, in: fixture.zone)
        #expect(
            codes(loose) == ["alone": .permissionFailure, "lost": .referenceViolation])
        #expect(try await fixture.names(seenBy: "bob") == ["a", "a1", "good", "root"])
    }

    @Test func `one call may write into the zones of several owners`() async throws {
        let (fixture, _) = try await SharingFixture.shared()
        let dave = fixture.container.privateDatabase(for: "dave")
        try await dave.save(RecordZone(zoneID: notes))
        let root = note("root")
        var share = Share(rootRecord: root)
        try share.addParticipant(fixture.participant("bob", .readOnly))
        share = try await fixture.save(share, with: [root], by: dave)
        try await fixture.accept(share, ["bob"])
        let other = RecordZone.ID(
            zoneName: notes.zoneName, ownerName: fixture.container.userRecordName(for: "dave"))
        let result = try await fixture.bob.modifyRecords(saving: [
            fixture.newNote("new", under: "a"), child("new", of: "root", in: other),
        ])
        #expect(result.saveResults[fixture.id("new")]?.code == nil)
        #expect(result.saveResults[noteID("new", in: other)]?.code == .permissionFailure)
        #expect(try await fixture.alice.record(for: noteID("new")).parent != nil)
    }

    @Test func `who has all of a zone needs no parent, and deletes what is there`() async throws {
        let (fixture, share) = try await SharingFixture.zoneWide()
        #expect(try await fixture.names(seenBy: "bob").count == 7)
        try await fixture.bob.save(fixture.newNote("alone"))
        try await fixture.bob.save(fixture.newNote("below", under: "out1"))
        var moved = try await fixture.bob.record(for: fixture.id("root"))
        #expect(moved.parent == Reference(recordID: fixture.id("above")))
        moved.parent = nil
        try await fixture.bob.save(moved)
        let errors = try await fixture.bob.outcome(
            deleting: SharingFixture.members, in: fixture.zone)
        #expect(errors.isEmpty)
        #expect(
            try await fixture.alice.names()
                == ["above", "alone", "below", "cloudkit.zoneshare", "out", "out1"])
        // The share's record is left by its deletion, not ended.
        try await fixture.bob.deleteRecord(withID: fixture.id(of: share))
        #expect(try await !fixture.isVisible(to: "bob"))
        #expect(try await fixture.stored(share).isZoneWide)
        let (readOnly, _) = try await SharingFixture.zoneWide(.readOnly)
        let new = readOnly.newNote("alone")
        #expect(await failure { try await readOnly.bob.save(new) }.code == .permissionFailure)
        let deletion = await failure {
            try await readOnly.bob.deleteRecord(withID: readOnly.id("b"))
        }
        #expect(deletion.code == .permissionFailure)
    }

    // C52.
    @Test func `a participant moves no records to another zone`() async throws {
        let (fixture, _) = try await SharingFixture.zoneWide()
        let own = fixture.container.privateDatabase(for: "bob")
        try await own.save(RecordZone(zoneID: notes))
        try await own.save(note("mine"))
        // Another zone of alice's, in which bob may write, too.
        let archive = RecordZone.ID(zoneName: "archive")
        try await fixture.alice.save(RecordZone(zoneID: archive))
        var share = Share(recordZoneID: archive)
        try share.addParticipant(fixture.participant("bob"))
        share = try await fixture.save(share)
        try await fixture.accept(share, ["bob"])
        let shared = RecordZone.ID(zoneName: "archive", ownerName: fixture.zone.ownerName)
        for destination in [notes, shared, fixture.zone] {
            for id in [fixture.id("out"), fixture.id("missing"), noteID("mine")] {
                let error = await failure {
                    try await fixture.bob.moveRecords([id], to: destination)
                }
                #expect(error.code == .badDatabase && showsNoRecord(error))
            }
        }
        // Nor does the private database reach into a zone of another user.
        for (id, destination) in [
            (noteID("mine"), fixture.zone), (fixture.id("out"), notes),
        ] {
            let error = await failure { try await own.moveRecords([id], to: destination) }
            #expect(error.code == .badDatabase && error.zoneID == fixture.zone)
        }
        #expect(try await fixture.names(seenBy: "bob").count == 7)
        #expect(try await own.names() == ["mine"])
        #expect(try await fixture.alice.names(in: archive) == [Share.zoneWideRecordName])
    }
}

/// Moving records between shares as a participant.
@Suite struct SharedMoveTests {
    /// `a` and `b` are shared with bob with these permissions.
    private static func begin(
        _ first: Share.Permission, _ second: Share.Permission
    ) async throws -> SharingFixture {
        let fixture = try await SharingFixture.family()
        for (root, permission) in [("a", first), ("b", second)] {
            let share = try await fixture.share(root, with: ["bob"], permission)
            try await fixture.accept(share, ["bob"])
        }
        return fixture
    }

    private static func move(
        _ name: String, under parent: String?, in fixture: SharingFixture
    ) async throws {
        var record = try await fixture.bob.record(for: fixture.id(name))
        record.parent = parent.map { Reference(recordID: fixture.id($0)) }
        try await fixture.bob.save(record)
    }

    @Test func `a record moves between shares that are both writable`() async throws {
        let fixture = try await Self.begin(.readWrite, .readWrite)
        try await fixture.alice.save(child("a2", of: "a1"))
        let token = try await fixture.token(of: "bob")
        try await Self.move("a1", under: "b", in: fixture)
        #expect(try await fixture.names(seenBy: "bob") == ["a", "a1", "a2", "b"])
        let own = try await fixture.alice.record(for: noteID("a1"))
        #expect(own.parent?.recordID == noteID("b"))
        // Nothing that is still seen is told as deleted.
        let changes = try await fixture.changes(seenBy: "bob", since: token)
        #expect(changes.deleted == [] && changes.modified.contains("a1"))
        let share = try await fixture.alice.record(for: noteID("a")).share
        try await fixture.alice.deleteRecord(withID: try #require(share?.recordID))
        #expect(try await fixture.names(seenBy: "bob") == ["a1", "a2", "b"])
    }

    static let permissions: [(Share.Permission, Share.Permission)] = [
        (.readOnly, .readWrite), (.readWrite, .readOnly), (.readOnly, .readOnly),
    ]

    @Test(arguments: permissions)
    func `a record moves neither out of nor into a share that may only be read`(
        first: Share.Permission, second: Share.Permission
    ) async throws {
        let fixture = try await Self.begin(first, second)
        let error = await failure { try await Self.move("a1", under: "b", in: fixture) }
        #expect(error.code == .permissionFailure)
        #expect(
            try await fixture.alice.record(for: noteID("a1")).parent?.recordID == noteID("a"))
    }

    @Test func `a participant moves nothing out of what is shared`() async throws {
        let fixture = try await Self.begin(.readWrite, .readWrite)
        let alone = await failure { try await Self.move("a1", under: nil, in: fixture) }
        #expect(alone.code == .permissionFailure)
        for parent in ["out", "root", "missing"] {
            let error = await failure {
                try await Self.move("a1", under: parent, in: fixture)
            }
            #expect(error.code == .referenceViolation)
        }
        #expect(
            try await fixture.alice.record(for: noteID("a1")).parent?.recordID == noteID("a"))
    }

    @Test func `a root comes under no other share`() async throws {
        let fixture = try await Self.begin(.readWrite, .readWrite)
        let allowed: Set<StoreError.Code> = [.alreadyShared, .permissionFailure]
        for (database, zone) in [(fixture.alice, notes), (fixture.bob, fixture.zone)] {
            var record = try await database.record(for: noteID("b", in: zone))
            record.parent = Reference(recordID: noteID("a1", in: zone))
            let edited = record
            let error = await failure { try await database.save(edited) }
            #expect(zone == notes ? error.code == .alreadyShared : allowed.contains(error.code))
        }
        #expect(
            try await fixture.alice.record(for: noteID("b")).parent?.recordID == noteID("root"))
    }
}
