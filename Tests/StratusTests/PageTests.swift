import Stratus
import Testing

@Suite struct PageTests {
    @Test(arguments: [1, 7, 100, 1000, 20_000])
    func `pages hold every record once, of a type or of all`(limit: Int) async throws {
        let (_, database) = try await makeDatabase()
        try await database.saveAll(
            (0..<250).map { note("r\($0)", type: $0 % 5 == 0 ? "Fifth" : "Note") })
        let all = try await database.allRecords(resultsLimit: limit).map(\.recordID.recordName)
        #expect(all.count == 250)
        #expect(Set(all) == Set((0..<250).map { "r\($0)" }))
        let fifths = try await database.allRecords(type: "Fifth", resultsLimit: limit)
        #expect(fifths.count == 50)
        #expect(fifths.allSatisfy { $0.recordType == "Fifth" })
        let page = try await database.records(inZoneWith: notes, resultsLimit: limit)
        #expect(page.records.count == min(limit, 250))
        #expect((page.cursor == nil) == (limit >= 250))
        for type in [nil, "Fifth"] {
            let forward = try await database.allRecords(type: type, resultsLimit: limit)
            let backward = try await database.allRecords(
                type: type, resultsLimit: limit, reversed: true)
            #expect(backward.map(\.recordID) == forward.reversed().map(\.recordID))
        }
    }

    @Test func `a type that was never saved has no records, a zone never saved is an error`()
        async throws
    {
        let (_, database) = try await makeDatabase()
        try await database.save(note("a"))
        #expect(try await database.allRecords(type: "Page") == [])
        let missing = RecordZone.ID(zoneName: "missing")
        let error = await failure { try await database.records(inZoneWith: missing) }
        #expect(error.code == .zoneNotFound)
    }

    @Test func `a cursor of another zone is refused`() async throws {
        let (_, database) = try await makeDatabase()
        let second = RecordZone.ID(zoneName: "second")
        try await database.save(RecordZone(zoneID: second))
        try await database.saveAll([note("a"), note("b")])
        let cursor = try await database.records(inZoneWith: notes, resultsLimit: 1).cursor
        #expect(cursor != nil)
        let error = await failure { try await database.records(inZoneWith: second, from: cursor) }
        #expect(error.code == .invalidArguments)
    }

    @Test func `a page ends before it grows beyond what is good to hold`() async throws {
        let (_, database) = try await makeDatabase()
        let text = RecordValue.string(String(repeating: "x", count: 1 << 20))
        for number in 0..<10 { try await database.save(note("r\(number)", ["field": text])) }
        let page = try await database.records(inZoneWith: notes)
        #expect(page.records.count == 7)
        #expect(try await database.allRecords().count == 10)
        let changes = try await database.recordZoneChanges(inZoneWith: notes)
        #expect(changes.modifications.count == 7)
        #expect(changes.moreComing)
        #expect(try await FollowedChanges(of: database).modified.count == 10)
    }

    @Test func `pages are complete and without duplicates while others save and delete`()
        async throws
    {
        let (_, database) = try await makeDatabase()
        try await database.saveAll((0..<400).map { note("stays\($0)") })
        try await withThrowingTaskGroup(of: Void.self) { group in
            for task in 0..<4 {
                group.addTask {
                    for number in 0..<100 {
                        try await database.save(note("new\(task)-\(number)"))
                        try await database.save(
                            note("stays\(task * 100 + number)", ["field": 1]),
                            savePolicy: .changedKeys)
                        if number % 3 == 0 {
                            try await database.deleteRecord(withID: noteID("new\(task)-\(number)"))
                        }
                    }
                }
            }
            for type in [nil, "Note"] {
                group.addTask {
                    for _ in 0..<20 {
                        let records = try await database.allRecords(type: type, resultsLimit: 37)
                        let names = records.map(\.recordID.recordName)
                        #expect(Set(names).count == names.count)
                        #expect(names.filter { $0.hasPrefix("stays") }.count == 400)
                    }
                }
            }
            try await group.waitForAll()
        }
    }
}
