import Stratus
import Testing

/// Many tasks at once.
@Suite struct RaceTests {
    @Test func `of two hundred tasks with one tag exactly one wins, round after round`()
        async throws
    {
        let (_, database) = try await makeDatabase()
        var current = try await database.save(note("a", ["winner": -1]))
        for _ in 0..<10 {
            let base = current
            let winners = await withTaskGroup(of: Record?.self) { group in
                for number in 0..<200 {
                    group.addTask {
                        var record = base
                        record["winner"] = .int64(Int64(number))
                        do throws(StoreError) {
                            return try await database.save(record)
                        } catch {
                            #expect(error.code == .serverRecordChanged)
                            #expect(error.ancestorRecord == base)
                            #expect(error.serverRecord?.recordChangeTag != base.recordChangeTag)
                            return nil
                        }
                    }
                }
                return await group.reduce(into: []) { $0 += [$1].compactMap { $0 } }
            }
            #expect(winners.count == 1)
            current = try await database.record(for: noteID("a"))
            #expect(winners == [current])
        }
    }

    @Test func `tasks that merge and try again lose no addition`() async throws {
        let (_, database) = try await makeDatabase()
        try await database.save(note("sum", ["value": 0]))
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<50 {
                group.addTask {
                    var record = try await database.record(for: noteID("sum"))
                    while true {
                        record["value"] = .int64((record["value"]?.int64Value ?? 0) + 1)
                        do throws(StoreError) {
                            try await database.save(record)
                            return
                        } catch {
                            record = try #require(error.serverRecord)
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(try await database.record(for: noteID("sum"))["value"] == 50)
    }

    @Test func `first saves of the same new record: one makes it`() async throws {
        let (_, database) = try await makeDatabase()
        let count = await withTaskGroup(of: Bool.self) { group in
            for number in 0..<200 {
                group.addTask {
                    let record = note("a", ["field": .int64(Int64(number))])
                    return (try? await database.save(record)) != nil
                }
            }
            return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
        }
        #expect(count == 1)
        #expect(try await database.allRecords().count == 1)
    }

    @Test func `of types that race for a new field one wins for all`() async throws {
        for _ in 0..<20 {
            let (_, database) = try await makeDatabase()
            let values: [RecordValue] = ["text", 1, .double(0.5), ["list"]]
            let winners = await withTaskGroup(of: Int?.self) { group in
                for number in 0..<40 {
                    group.addTask {
                        let value = values[number % 4]
                        do throws(StoreError) {
                            try await database.save(note("r\(number)", ["field": value]))
                            return number % 4
                        } catch {
                            #expect(error.code == .invalidArguments)
                            return nil
                        }
                    }
                }
                return await group.reduce(into: []) { $0 += [$1].compactMap { $0 } }
            }
            #expect(winners.count == 10)
            #expect(Set(winners).count == 1)
            #expect(try await database.allRecords().count == 10)
        }
    }

    @Test func `new users, zones, types and fields may all come at once`() async throws {
        let store = DiskStore()
        let container = try store.open()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<200 {
                group.addTask {
                    let database = container.privateDatabase(for: "user\(number % 10)")
                    let zone = RecordZone.ID(zoneName: "zone\(number % 20)")
                    try await database.save(RecordZone(zoneID: zone))
                    let record = note(
                        "r\(number)", ["field\(number % 40)": .int64(Int64(number))],
                        type: "Type\(number % 30)", in: zone)
                    try await database.save(record)
                    try await database.save(note("r\(number)", in: .default))
                }
            }
            try await group.waitForAll()
        }
        try await container.close()
        let again = try store.open(creating: false)
        for user in 0..<10 {
            let database = again.privateDatabase(for: "user\(user)")
            let zones = try await database.allRecordZones().map(\.zoneID)
            #expect(zones.count == 3)
            var found: Set<Int64> = []
            for zone in zones where !zone.isDefault {
                for record in try await database.allRecords(in: zone) {
                    let number = try #require(Int64(record.recordID.recordName.dropFirst()))
                    #expect(record.recordType == "Type\(number % 30)")
                    #expect(record["field\(number % 40)"] == .int64(number))
                    #expect(zone.zoneName == "zone\(number % 20)")
                    found.insert(number)
                }
            }
            #expect(found == Set((0..<20).map { Int64($0 * 10 + user) }))
            #expect(try await database.allRecords(in: .default).count == 20)
        }
    }

    @Test func `a zone saved by many tasks is one zone`() async throws {
        let container = try Container.inMemory()
        let database = container.privateDatabase(for: "alice")
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<50 {
                group.addTask {
                    try await database.save(RecordZone(zoneID: notes))
                    try await database.save(note("r\(number)"))
                }
            }
            try await group.waitForAll()
        }
        #expect(try await database.allRecords().count == 50)
        #expect(try await database.databaseChanges().modifications == [notes])
    }

    // A save must not land in the zone that was made again under the same name by chance only.
    @Test func `saves beside deletions of their zone are in the zone that lives, or fail`()
        async throws
    {
        let (_, database) = try await makeDatabase()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for task in 0..<4 {
                group.addTask {
                    for number in 0..<50 {
                        do throws(StoreError) {
                            try await database.save(note("r\(task)-\(number)"))
                        } catch {
                            #expect(error.code == .zoneNotFound)
                        }
                    }
                }
            }
            group.addTask {
                for _ in 0..<20 {
                    try await database.deleteRecordZone(withID: notes)
                    try await database.save(RecordZone(zoneID: notes))
                }
            }
            try await group.waitForAll()
        }
        let listed = Set(try await database.allRecords().map(\.recordID))
        let fed = Set(try await FollowedChanges(of: database).modified.map(\.recordID))
        #expect(listed == fed)
        try await database.deleteRecordZone(withID: notes)
        try await database.save(RecordZone(zoneID: notes))
        #expect(try await database.allRecords() == [])
    }
}
