import FoundationEssentials
import Stratus
import Testing

/// The system fields of a record as bytes: semantics 1.8.
@Suite struct SystemFieldsTests {
    private static let parent = Reference(recordID: noteID("parent"))

    private static func saved(in database: Database) async throws -> Record {
        var record = note("a", ["key1": 1, "key2": "two"])
        record.parent = parent
        try await database.saveAll([note("parent"), record])
        return try await database.record(for: noteID("a"))
    }

    // C123.
    @Test func `system fields keep who a record is, its tag, dates, users and parent`()
        async throws
    {
        let (_, database) = try await makeDatabase()
        let record = try await Self.saved(in: database)
        let bare = try Record(systemFields: record.encodeSystemFields())
        #expect(bare.recordID == record.recordID)
        #expect(bare.recordType == record.recordType)
        #expect(bare.recordChangeTag == record.recordChangeTag)
        #expect(bare.creationDate == record.creationDate)
        #expect(bare.modificationDate == record.modificationDate)
        #expect(bare.creatorUserRecordID == record.creatorUserRecordID)
        #expect(bare.lastModifiedUserRecordID == record.lastModifiedUserRecordID)
        #expect(bare.parent == Self.parent)
        #expect(bare.allKeys == [] && bare.changedKeys == [])
    }

    // C123.
    @Test func `the same record always gives the same bytes, edits aside`() async throws {
        let (_, database) = try await makeDatabase()
        var record = try await Self.saved(in: database)
        let bytes = record.encodeSystemFields()
        record["key1"] = 2
        record["key2"] = nil
        record.parent = nil
        #expect(record.encodeSystemFields() == bytes)
        #expect(try Record(systemFields: bytes).encodeSystemFields() == bytes)
        let partial = try await database.record(for: noteID("a"), desiredKeys: [])
        #expect(partial.encodeSystemFields() == bytes)
    }

    @Test func `a record that was never saved keeps its identity and its parent`() async throws {
        let (_, database) = try await makeDatabase()
        try await database.save(note("parent"))
        var record = note("new", ["key": 1])
        record.parent = Self.parent
        let bytes = record.encodeSystemFields()
        var bare = try Record(systemFields: bytes)
        #expect(bare.recordChangeTag == nil && bare.recordID == record.recordID)
        #expect(bare.parent == Self.parent && bare.encodeSystemFields() == bytes)
        bare["key"] = 2
        #expect(try await database.save(bare).parent == Self.parent)
    }

    // Semantics 1.8: "may be given only the changed fields and saved".
    @Test(arguments: [SavePolicy.ifServerRecordUnchanged, .changedKeys, .allKeys])
    func `a bare record is given the changed fields and saved`(policy: SavePolicy) async throws {
        let (_, database) = try await makeDatabase()
        let record = try await Self.saved(in: database)
        var bare = try Record(systemFields: record.encodeSystemFields())
        bare["key2"] = nil
        bare["key3"] = 3
        let saved = try await database.save(bare, savePolicy: policy)
        #expect(saved.allKeys == ["key1", "key3"])
        #expect(saved["key1"] == 1 && saved["key3"] == 3)
        #expect(saved.parent == Self.parent)
        #expect(saved.creationDate == record.creationDate)
    }

    // Semantics 2.5, and beyond it: the tag names the ancestor.
    @Test
    func `a record made from system fields conflicts with the version of its tag as ancestor`()
        async throws
    {
        let (_, database) = try await makeDatabase()
        let record = try await Self.saved(in: database)
        let server = try await database.save(record)
        var bare = try Record(systemFields: record.encodeSystemFields())
        bare["key1"] = 2
        let error = await failure { try await database.save(bare) }
        #expect(error.code == .serverRecordChanged)
        #expect(error.serverRecord == server && error.ancestorRecord == record)
        #expect(error.clientRecord == bare)
        var partial = try await database.record(for: noteID("a"), desiredKeys: ["key2"])
        let whole = try await database.record(for: noteID("a"))
        try await database.save(whole)
        partial["key1"] = 3
        let second = await failure { [partial] in try await database.save(partial) }
        #expect(second.code == .serverRecordChanged && second.ancestorRecord == whole)
    }

    // C5.
    @Test func `a bare record of a deleted one is unknown`() async throws {
        let (_, database) = try await makeDatabase()
        let record = try await Self.saved(in: database)
        try await database.deleteRecord(withID: noteID("a"))
        let bare = try Record(systemFields: record.encodeSystemFields())
        let error = await failure { try await database.save(bare) }
        #expect(error.code == .unknownItem)
    }

    @Test func `bytes that are none are refused with their place`() async throws {
        let (_, database) = try await makeDatabase()
        let bytes = try await Self.saved(in: database).encodeSystemFields()
        for place in bytes.indices {
            for bit in 0..<8 {
                var flipped = bytes
                flipped[place] ^= 1 << UInt8(bit)
                let error = await failure { try Record(systemFields: flipped) }
                #expect(error.code == .invalidArguments, "byte \(place), bit \(bit)")
                let isNewer = error.cause == .newerFormat
                let kind = isNewer ? "format.newer " : "systemFields."
                #expect(error.place?.kind.hasPrefix(kind) == true)
                #expect(isNewer == (place == 0 && flipped[0] > 0))
            }
            let short = await failure { try Record(systemFields: Array(bytes[..<place])) }
            #expect(short.code == .invalidArguments && short.place != nil)
        }
        let long = await failure { try Record(systemFields: bytes + [0]) }
        #expect(long.code == .invalidArguments)
    }
}
