import FoundationEssentials
import Stratus
import Support
import Testing

/// Conflicts, repeated calls, assets and quotas of shared records.
@Suite struct SharingConflictTests {
    /// A record with an old tag, of which no more is known.
    private static func bare(
        _ name: String, _ tag: String?, in fixture: SharingFixture
    ) -> Record {
        var record = Record(
            recordType: "Note", recordID: fixture.id(name), recordChangeTag: tag)
        record["mine"] = 1
        return record
    }

    /// Saves the record `a` as its owner, and returns its tag.
    private static func change(
        _ fixture: SharingFixture, _ value: Int64
    ) async throws -> String? {
        let record = note("a", ["n": .int64(value)])
        return try await fixture.alice.save(record, savePolicy: .changedKeys).recordChangeTag
    }

    private static func move(
        _ fixture: SharingFixture, under parent: String?, _ value: Int64
    ) async throws -> String? {
        var record = try await fixture.alice.record(for: noteID("a"))
        record.parent = parent.map { Reference(recordID: noteID($0)) }
        record["n"] = .int64(value)
        return try await fixture.alice.save(record).recordChangeTag
    }

    @Test func `a conflict shows a participant the records that it may see`() async throws {
        let (fixture, _) = try await SharingFixture.shared()
        var mine = try await fixture.bob.record(for: fixture.id("a"))
        let fetched = mine
        mine["mine"] = 1
        var theirs = try await fixture.alice.record(for: noteID("a"))
        theirs["theirs"] = 1
        let server = try await fixture.alice.save(theirs)
        let late = mine
        let error = await failure { try await fixture.bob.save(late) }
        #expect(error.code == .serverRecordChanged)
        #expect(error.clientRecord == late && error.ancestorRecord == fetched)
        #expect(error.serverRecord?.recordID == fixture.id("a"))
        #expect(error.serverRecord?.recordChangeTag == server.recordChangeTag)
        #expect(error.serverRecord?.parent == Reference(recordID: fixture.id("root")))
        #expect(error.serverRecord?["theirs"] == 1)
        var merged = try #require(error.serverRecord)
        merged["mine"] = 1
        let saved = try await fixture.bob.save(merged)
        #expect(saved["mine"] == 1 && saved["theirs"] == 1)
    }

    @Test func `an insertion over a shared record is a conflict with it`() async throws {
        let (fixture, _) = try await SharingFixture.shared()
        let record = fixture.newNote("a", under: "root")
        let error = await failure { try await fixture.bob.save(record) }
        #expect(error.code == .serverRecordChanged)
        #expect(error.reason == "record to insert already exists")
        #expect(error.serverRecord?["n"] == 2 && error.ancestorRecord == nil)
    }

    @Test func `an ancestor is for those who could read it when it was current`() async throws {
        let fixture = try await SharingFixture.family()
        var tags: [String?] = []
        tags.append(try await Self.change(fixture, 10))
        tags.append(try await Self.change(fixture, 11))
        let share = try await fixture.share("root", with: ["bob"])
        // Current when bob accepts.
        tags.append(try await Self.change(fixture, 12))
        try await fixture.accept(share, ["bob"])
        tags.append(try await Self.change(fixture, 13))
        // Outside of the share, and inside again.
        tags.append(try await Self.move(fixture, under: nil, 14))
        tags.append(try await Self.change(fixture, 15))
        tags.append(try await Self.move(fixture, under: "root", 16))
        tags.append(try await Self.change(fixture, 17))
        var shown: [Int64?] = []
        for tag in tags.dropLast() {
            let record = Self.bare("a", tag, in: fixture)
            let error = await failure { try await fixture.bob.save(record) }
            #expect(error.code == .serverRecordChanged && error.serverRecord?["n"] == 17)
            shown.append(error.ancestorRecord?["n"]?.int64Value)
        }
        // Of the versions 10 to 16. One that the participant could see may be missing all the same.
        let allowed: Set<Int64> = [12, 13, 16]
        #expect(shown.allSatisfy { $0.map { allowed.contains($0) } ?? true }, "\(shown)")
        #expect(shown[3] == 13 && shown[6] == 16)
        // The owner sees them all.
        for (number, tag) in tags.dropLast().enumerated() {
            var record = Record(
                recordType: "Note", recordID: noteID("a"), recordChangeTag: tag)
            record["mine"] = 1
            let edited = record
            let error = await failure { try await fixture.alice.save(edited) }
            #expect(error.ancestorRecord?["n"]?.int64Value == Int64(number + 10))
        }
    }

    @Test func `a tag of another record, or of one that is not seen, names no ancestor`()
        async throws
    {
        let (fixture, _) = try await SharingFixture.shared()
        let hidden = try await fixture.alice.record(for: noteID("out"))
        let other = try await fixture.alice.record(for: noteID("b"))
        for tag in [hidden.recordChangeTag, other.recordChangeTag, "8", "x"] {
            let record = Self.bare("a", tag, in: fixture)
            let error = await failure { try await fixture.bob.save(record) }
            #expect(error.code == .serverRecordChanged && error.ancestorRecord == nil)
        }
    }

    @Test func `a repeated operation gives its results to those alone who still see them`()
        async throws
    {
        let (fixture, share) = try await SharingFixture.shared()
        let record = fixture.newNote("new", under: "a", ["n": 100])
        let call = {
            try await fixture.bob.modifyRecords(saving: [record], operationID: "one")
        }
        let first = try await call()
        #expect(try await call().saveResults[record.recordID]?.get()["n"] == 100)
        #expect(first.partialFailure == nil)
        // The record goes out of the share, and is changed there.
        var moved = try await fixture.alice.record(for: noteID("new"))
        moved.parent = nil
        moved["n"] = 200
        moved = try await fixture.alice.save(moved)
        switch try await call().saveResults[record.recordID] {
        case .success(let given)?:
            // What bob saved himself is nothing new to him.
            #expect(given["n"] == 100)
        case .failure(let error)?: #expect(showsNoRecord(error))
        case nil: Issue.record("there is no result")
        }
        moved.parent = Reference(recordID: noteID("a"))
        try await fixture.alice.save(moved)
        try await fixture.remove("bob", from: share)
        let gone = try await call()
        #expect(gone.saveResults[record.recordID]?.code == .zoneNotFound)
        #expect(try await fixture.alice.record(for: noteID("new"))["n"] == 200)
    }

    @Test func `the operations of a participant are others than the owner's`() async throws {
        let (fixture, _) = try await SharingFixture.shared()
        try await fixture.bob.save(fixture.newNote("x", under: "a"), operationID: "same")
        try await fixture.alice.save(child("y", of: "a"), operationID: "same")
        #expect(
            try await fixture.names(seenBy: "bob")
                == (SharingFixture.members + ["x", "y"]).sorted())
    }

    @Test func `creator and modifier are the participants who were`() async throws {
        let (fixture, _) = try await SharingFixture.shared(with: ["bob", "carol"])
        let (bob, carol) = (
            fixture.container.userRecordID(for: "bob"),
            fixture.container.userRecordID(for: "carol")
        )
        var record = try await fixture.bob.save(fixture.newNote("new", under: "a"))
        #expect(record.creatorUserRecordID == bob && record.lastModifiedUserRecordID == bob)
        record["n"] = 1
        record = try await fixture.carol.save(record)
        #expect(record.creatorUserRecordID == bob && record.lastModifiedUserRecordID == carol)
        let own = try await fixture.alice.record(for: noteID("new"))
        #expect(own.creatorUserRecordID == bob && own.lastModifiedUserRecordID == carol)
        // The creator has no more rights than others.
        try await fixture.carol.deleteRecord(withID: fixture.id("new"))
    }

    @Test func `what participants save counts to the owner`() async throws {
        let (fixture, _) = try await SharingFixture.shared(
            profile: Profile(userQuota: 20_000))
        let before = try await fixture.container.usage(of: "alice")
        let text = RecordValue.string(String(repeating: "x", count: 5000))
        try await fixture.bob.save(fixture.newNote("one", under: "a", ["text": text]))
        let after = try await fixture.container.usage(of: "alice")
        #expect(after.recordCount == before.recordCount + 1)
        #expect(after.bytes >= before.bytes + 5000)
        #expect(try await fixture.container.usage(of: "bob").recordCount == 0)
        try await fixture.alice.save(child("two", of: "a", ["text": text]))
        let long = RecordValue.string(String(repeating: "x", count: 15_000))
        let record = fixture.newNote("three", under: "a", ["text": long])
        let error = await failure { try await fixture.bob.save(record) }
        #expect(error.code == .quotaExceeded)
        // Bob's own has room.
        try await fixture.container.privateDatabase(for: "bob").save(
            note("three", ["text": long], in: .default))
    }

    @Test func `assets of shared records are read and written by participants`() async throws {
        let (fixture, _) = try await SharingFixture.shared(with: ["bob", "carol"])
        let (first, second) = (noise(100_000, seed: 1), noise(100_000, seed: 2))
        try await fixture.alice.save(
            note("a", ["photo": .asset(Asset(data: first))]), savePolicy: .changedKeys)
        let found = try await fixture.bob.record(for: fixture.id("a"))
        #expect(try await found.bytes("photo") == first)
        try await fixture.bob.save(
            fixture.newNote("new", under: "a", ["photo": .asset(Asset(data: second))]))
        let own = try await fixture.alice.record(for: noteID("new"))
        #expect(try await own.bytes("photo") == second)
        let others = try await fixture.carol.record(for: fixture.id("new"))
        #expect(try await others.bytes("photo") == second)
        // What was fetched goes on to another shared record, and into the own database.
        let asset = try found.asset("photo")
        try await fixture.bob.save(
            fixture.newNote("copy", under: "b", ["photo": .asset(asset)]))
        let copy = try await fixture.carol.record(for: fixture.id("copy"))
        #expect(try await copy.bytes("photo") == first)
    }

    @Test(arguments: [ShareEndingTests.Ending.ended, .removed, .left])
    func `an asset that was opened is not read after the end`(
        ending: ShareEndingTests.Ending
    ) async throws {
        let (fixture, share) = try await SharingFixture.shared()
        let data = noise(300_000, seed: 1)
        try await fixture.alice.save(
            note("a", ["photo": .asset(Asset(data: data))]), savePolicy: .changedKeys)
        let record = try await fixture.bob.record(for: fixture.id("a"))
        let asset = try record.asset("photo")
        #expect(try await asset.data(in: 0..<10) == data[0..<10])
        try await ending.apply(fixture, share)
        let error = await failure { try await asset.data(limit: data.count) }
        let part = await failure { try await asset.data(in: 10..<20) }
        #expect(error.code != .internalError && part.code != .internalError)
        let own = try await fixture.alice.record(for: noteID("a"))
        #expect(try await own.bytes("photo") == data)
    }

    @Test func `an asset of a record that left the share is not read`() async throws {
        let (fixture, _) = try await SharingFixture.shared()
        let data = noise(300_000, seed: 1)
        try await fixture.alice.save(
            note("a1", ["photo": .asset(Asset(data: data))]), savePolicy: .changedKeys)
        let asset = try await fixture.bob.record(for: fixture.id("a1")).asset("photo")
        var moved = try await fixture.alice.record(for: noteID("a1"))
        moved.parent = nil
        try await fixture.alice.save(moved)
        let error = await failure { try await asset.data(limit: data.count) }
        #expect(error.code != .internalError)
    }

    // Issue 18, rule 9.
    @Test func `a participant learns by no upload what the owner or another has stored`()
        async throws
    {
        let (fixture, _) = try await SharingFixture.shared(with: ["bob", "carol"])
        let data = noise(200_000, seed: 1)
        var growth: [Int] = []
        let zones = [notes, fixture.zone, fixture.zone, fixture.zone]
        let databases = [fixture.alice, fixture.bob, fixture.carol, fixture.bob]
        for (number, (database, zone)) in zip(databases, zones).enumerated() {
            let before = try await fixture.container.assetStatistics().storedBytes
            var record = note("r\(number)", ["photo": .asset(Asset(data: data))], in: zone)
            record.parent = Reference(recordID: noteID("a", in: zone))
            try await database.save(record)
            growth.append(
                try await fixture.container.assetStatistics().storedBytes - before)
        }
        #expect(growth == [200_000, 200_000, 200_000, 0])
    }

    // Issue 18, errors.
    @Test func `more deleteSelf references to a record than the profile allows are too many`()
        async throws
    {
        let fixture = try await SharingFixture(profile: Profile(referencesPerTarget: 2))
        let link = Reference(recordID: noteID("target"), action: .deleteSelf)
        try await fixture.alice.save(note("target"))
        for number in 0..<2 {
            try await fixture.alice.save(note("r\(number)", ["of": .reference(link)]))
        }
        let error = await failure {
            try await fixture.alice.save(note("r2", ["of": .reference(link)]))
        }
        #expect(error.code == .limitExceeded && error.recordID == noteID("r2"))
    }
}
