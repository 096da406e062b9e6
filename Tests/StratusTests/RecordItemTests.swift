import Stratus
import Testing

/// Items that say for themselves what they may overwrite, several kinds in one batch.
@Suite struct RecordItemTests {
    /// A record of which only its tag is known.
    private func bare(
        _ name: String, _ tag: String?, _ fields: [String: RecordValue] = [:],
        in zone: RecordZone.ID = notes
    ) -> Record {
        var record = Record(
            recordType: "Note", recordID: noteID(name, in: zone), recordChangeTag: tag)
        for (key, value) in fields { record[key] = value }
        return record
    }

    private func outcome(
        _ item: RecordItem, in database: Database
    ) async throws -> Result<Record?, StoreError> {
        try #require(try await database.modifyRecords([item], atomically: false).first)
    }

    @Test func `a tag alone is enough to save, and what is not sent stays`() async throws {
        let (_, database) = try await makeDatabase()
        let first = try await database.save(note("a", ["x": 1, "y": 2]))
        var record = bare("a", first.recordChangeTag, ["x": 3])
        record["z"] = nil
        let saved = try await database.save(record)
        #expect(saved["x"] == 3 && saved["y"] == 2)
        #expect(saved.creationDate == first.creationDate)
    }

    @Test func `nil removes a field of a record of which only the tag, or nothing, is known`()
        async throws
    {
        let (_, database) = try await makeDatabase()
        let first = try await database.save(note("a", ["x": 1, "y": 2]))
        var tagged = bare("a", first.recordChangeTag)
        tagged["x"] = nil
        #expect(try await database.save(tagged).allKeys == ["y"])
        var unknown = bare("a", nil)
        unknown.removeValue(forKey: "y")
        #expect(try await database.save(unknown, savePolicy: .changedKeys).allKeys == [])
    }

    @Test func `a save that replaces removes fields and parent that it does not bring`()
        async throws
    {
        let (_, database) = try await makeDatabase()
        try await database.save(note("p"))
        var child = note("a", ["x": 1, "y": 2])
        child.parent = Reference(recordID: noteID("p"))
        try await database.save(child)
        let rule = SaveRule(.changedKeys, replaces: true)
        let saved = try await outcome(.save(bare("a", nil, ["y": 3]), rule), in: database).get()
        #expect(saved?.allKeys == ["y"] && saved?["y"] == 3 && saved?.parent == nil)
        #expect(try await database.record(for: noteID("a")) == saved)
    }

    @Test func `a replacement with another tag than the record's is a conflict`() async throws {
        let (_, database) = try await makeDatabase()
        let first = try await database.save(note("a", ["x": 1]))
        let second = try await database.save(bare("a", first.recordChangeTag, ["x": 2]))
        let rule = SaveRule(.ifServerRecordUnchanged, replaces: true)
        let old = try await outcome(.save(bare("a", first.recordChangeTag), rule), in: database)
        #expect(old.code == .serverRecordChanged)
        let new = try await outcome(.save(bare("a", second.recordChangeTag), rule), in: database)
        #expect(try new.get()?.allKeys == [])
    }

    @Test func `a conflict finds the version that the tag names`() async throws {
        let (_, database) = try await makeDatabase()
        let first = try await database.save(note("a", ["x": 1]))
        let second = try await database.save(bare("a", first.recordChangeTag, ["x": 2]))
        let error = await failure {
            try await database.save(bare("a", first.recordChangeTag, ["x": 3]))
        }
        #expect(error.serverRecord == second)
        #expect(error.ancestorRecord == first)
    }

    @Test func `a tag of another record, of another zone, or of none at all finds no ancestor`()
        async throws
    {
        let (container, database) = try await makeDatabase()
        let other = RecordZone.ID(zoneName: "other")
        try await database.save(RecordZone(zoneID: other))
        try await database.save(note("a"))
        let tags = [
            try await database.save(note("b")).recordChangeTag,
            try await database.save(note("a", in: other)).recordChangeTag,
            try await container.privateDatabase(for: "bob").save(note("a", in: .default))
                .recordChangeTag,
            "0", "1", "7", "-1", "007", "x", "", "18446744073709551615", "4503599627370495",
        ]
        for tag in tags {
            let error = await failure { try await database.save(bare("a", tag)) }
            #expect(error.code == .serverRecordChanged && error.ancestorRecord == nil)
        }
    }

    @Test func `a deletion with a tag deletes that version only`() async throws {
        let (_, database) = try await makeDatabase()
        let first = try await database.save(note("a", ["x": 1]))
        let second = try await database.save(bare("a", first.recordChangeTag, ["x": 2]))
        let delete = { (record: Record) in
            RecordItem.delete(record.recordID, recordChangeTag: record.recordChangeTag)
        }
        guard case .failure(let error) = try await outcome(delete(first), in: database) else {
            Issue.record("an older version was deleted")
            return
        }
        #expect(error.code == .serverRecordChanged)
        #expect(error.serverRecord == second && error.ancestorRecord == first)
        #expect(try await outcome(delete(second), in: database).code == nil)
        #expect(try await outcome(delete(second), in: database).code == .unknownItem)
        #expect(try await outcome(.delete(noteID("a")), in: database).code == nil)
    }

    @Test func `items of every kind make one commit, answered in their order`()
        async throws
    {
        let (_, database) = try await makeDatabase()
        let kept = try await database.save(note("kept", ["x": 1]))
        try await database.save(note("forced", ["x": 1]))
        try await database.save(note("gone"))
        let token = try await database.recordZoneChanges(inZoneWith: notes).changeToken
        let force = SaveRule(.changedKeys)
        let results = try await database.modifyRecords(
            [
                .delete(noteID("gone")), .save(bare("forced", nil, ["x": 2]), force),
                .save(
                    bare("kept", kept.recordChangeTag, ["x": 3]), SaveRule(.ifServerRecordUnchanged)
                ),
                .save(bare("new", nil), SaveRule(.ifServerRecordUnchanged)),
            ], atomically: true)
        #expect(
            try results.map { try $0.get()?.recordID.recordName } == [nil, "forced", "kept", "new"])
        let page = try await database.recordZoneChanges(inZoneWith: notes, since: token)
        #expect(page.modifiedNames == ["forced", "kept", "new"] && page.deletedNames == ["gone"])
    }

    @Test func `items in several zones are answered in their order`() async throws {
        let (_, database) = try await makeDatabase()
        let other = RecordZone.ID(zoneName: "other")
        try await database.save(RecordZone(zoneID: other))
        let zones = [notes, other, RecordZone.ID(zoneName: "none"), notes, other]
        let results = try await database.modifyRecords(
            zones.enumerated().map { index, zone in
                .save(bare("r\(index)", nil, in: zone), SaveRule(.changedKeys))
            }, atomically: true)
        #expect(results.map(\.code) == [nil, nil, .zoneNotFound, nil, nil])
        let names = results.map { try? $0.get()?.recordID }
        for index in [0, 1, 3, 4] { #expect(names[index] == noteID("r\(index)", in: zones[index])) }
    }

    @Test func `a zone comes with the token of a reader that has seen all of it`() async throws {
        let (_, database) = try await makeDatabase()
        try await database.save(note("a"))
        let zones = try await database.zonesWithTokens()
        #expect(zones.map(\.zone.zoneID) == [.default, notes])
        #expect(zones[0].token == nil)
        let token = try #require(zones[1].token)
        #expect(try await database.zoneWithToken(for: notes).token == token)
        #expect(
            try await database.recordZoneChanges(inZoneWith: notes, since: token).modifiedNames
                == [])
        try await database.save(note("b"))
        #expect(
            try await database.recordZoneChanges(inZoneWith: notes, since: token).modifiedNames
                == ["b"])
    }

    @Test func `a deletion that failed for its tag is told the same again, with the record`()
        async throws
    {
        let (_, database) = try await makeDatabase()
        let first = try await database.save(note("a"))
        let second = try await database.save(note("a", ["x": 1]), savePolicy: .changedKeys)
        for _ in 0..<2 {
            // What changes nothing is not recorded.
            let outcomes = try await database.modifyRecords(
                [
                    .save(note("b"), SaveRule(.ifServerRecordUnchanged)),
                    .delete(noteID("a"), recordChangeTag: first.recordChangeTag),
                ], atomically: false, operationID: "once")
            #expect(try outcomes.first?.get()?.recordID == noteID("b"))
            guard case .failure(let error)? = outcomes.last else {
                Issue.record("it was deleted")
                return
            }
            #expect(error.code == .serverRecordChanged && error.serverRecord == second)
        }
    }
}
