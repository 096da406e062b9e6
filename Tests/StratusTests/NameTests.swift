import Stratus
import Testing

/// What names may be: semantics 1.3 to 1.5.
@Suite struct NameTests {
    static let longest = String(repeating: "n", count: 255)
    // C117.
    static let badItems = [
        "", "_a", "_", longest + "n", "é", "a\u{301}", "日本", "a\nb", "\u{0}", "a\u{7f}",
    ]
    static let goodItems = ["a", longest, "a b", "~!@#$%^&*()/\\.'\"", "0", "Aa-_."]
    static let badTypes = [
        "", "_Note", "1Note", "No te", "No-te", "No.te", "Nöte", longest + "n", "@", "[", "`", "{",
    ]
    static let goodTypes = ["N", "n", "Note_2", "N__", longest, "Users2"]
    // C118.
    static let reserved = [
        "creationDate", "creatorUserRecordID", "etag", "lastModifiedUserRecordID",
        "modificationDate", "modifiedByDevice", "recordChangeTag", "recordID", "recordType",
    ]

    // C117.
    @Test(arguments: badItems) func `a bad record name is refused`(name: String) async throws {
        let (_, database) = try await makeDatabase()
        let error = await failure { try await database.save(note(name)) }
        #expect(error.code == .invalidArguments)
        #expect(error.recordID == noteID(name))
        #expect(try await database.allRecords() == [])
    }

    // C117.
    @Test(arguments: goodItems) func `a good record name is kept`(name: String) async throws {
        let (_, database) = try await makeDatabase()
        try await database.save(note(name))
        #expect(try await database.record(for: noteID(name)).recordID == noteID(name))
    }

    // C117.
    @Test(arguments: badItems) func `a bad zone name is refused`(name: String) async throws {
        let (_, database) = try await makeDatabase()
        let id = RecordZone.ID(zoneName: name)
        let error = await failure { try await database.save(RecordZone(zoneID: id)) }
        #expect(error.code == .invalidArguments)
        #expect(error.zoneID == id)
        #expect(try await database.allRecordZones().map(\.zoneID) == [.default, notes])
    }

    @Test(arguments: goodItems) func `a good zone name is kept`(name: String) async throws {
        let (_, database) = try await makeDatabase()
        try await database.save(RecordZone(zoneName: name))
        let zone = try await database.recordZone(for: RecordZone.ID(zoneName: name))
        #expect(zone.zoneID.zoneName == name)
        #expect(try await database.allRecordZones().contains(zone))
    }

    @Test(arguments: badTypes) func `a bad record type is refused`(name: String) async throws {
        let (_, database) = try await makeDatabase()
        let error = await failure { try await database.save(note("a", type: name)) }
        #expect(error.code == .invalidArguments)
    }

    @Test(arguments: goodTypes) func `a good record type is kept`(name: String) async throws {
        let (_, database) = try await makeDatabase()
        try await database.save(note("a", type: name))
        #expect(try await database.record(for: noteID("a")).recordType == name)
        #expect(try await database.allRecords(type: name).count == 1)
    }

    // C118.
    @Test(arguments: badTypes + reserved)
    func `a bad field name is refused, also where it is only removed`(name: String) async throws {
        let (_, database) = try await makeDatabase()
        let error = await failure { try await database.save(note("a", [name: 1])) }
        #expect(error.code == .invalidArguments)
        var saved = try await database.save(note("a"))
        saved[name] = nil
        let removal = await failure { try await database.save(saved) }
        #expect(removal.code == .invalidArguments)
    }

    @Test(arguments: goodTypes + ["etag2", "recordid", "parent"])
    func `a good field name is kept`(name: String) async throws {
        let (_, database) = try await makeDatabase()
        try await database.save(note("a", [name: 1]))
        let record = try await database.record(for: noteID("a"))
        #expect(record.allKeys == [name])
        #expect(record[name] == 1)
    }

    @Test func `names differ by case`() async throws {
        let (_, database) = try await makeDatabase()
        try await database.save(note("a", ["field": 1, "Field": "text"]))
        try await database.save(note("A", ["field": 2], type: "note"))
        #expect(try await database.record(for: noteID("a"))["Field"] == "text")
        #expect(try await database.allRecords(type: "note").map(\.recordID) == [noteID("A")])
    }

    // Semantics 1.4.
    @Test func `a record without a name gets a UUID in the default zone`() {
        let first = Record(recordType: "Note")
        let second = Record(recordType: "Note")
        #expect(first.recordID.zoneID == .default)
        #expect(first.recordID != second.recordID)
        #expect(first.recordID.recordName.split(separator: "-").map(\.count) == [8, 4, 4, 4, 12])
    }

    @Test func `the same name in two zones is two records, and in two types is refused`()
        async throws
    {
        let (_, database) = try await makeDatabase()
        let second = RecordZone.ID(zoneName: "second")
        try await database.save(RecordZone(zoneID: second))
        try await database.save(note("a", ["field": 1]))
        try await database.save(note("a", ["field": 2], in: second))
        #expect(try await database.record(for: noteID("a"))["field"] == 1)
        #expect(try await database.record(for: noteID("a", in: second))["field"] == 2)
        for policy in [SavePolicy.changedKeys, .allKeys] {
            let error = await failure {
                try await database.save(note("a", type: "Page"), savePolicy: policy)
            }
            #expect(error.code == .invalidArguments)
        }
    }
}
