import Stratus
import Support
import Testing

/// Wherever the power goes during a migration, no record is lost or has half of a step, and the next call
/// does what is left.
struct MigrationCrashTests {
    private static let zones = ["one", "two"].map { RecordZone.ID(zoneName: $0) }
    private static let count = 250
    private static let steps: [FieldMigration] = [
        .rename("titel", to: "title"),
        .change("n", to: .double) { value in value.int64Value.map { .double(Double($0)) } },
        .add("stars", .int64, value: 3),
    ]

    private static func store(on disk: SimulatedDisk) -> SmallStore {
        SmallStore(on: disk, seed: Campaign.seed)
    }

    /// A store with the records as they are before the migration.
    private static func begin() async throws -> SmallStore {
        let store = store(on: SimulatedDisk())
        let container = try store.open()
        let database = container.privateDatabase(for: "alice")
        for zone in zones {
            try await database.save(RecordZone(zoneID: zone))
            let records = (0..<count).map { number in
                var record = Record(
                    recordType: "Note",
                    recordID: Record.ID(recordName: "r\(number)", zoneID: zone))
                record["titel"] = .string("title \(number)")
                record["n"] = .int64(Int64(number))
                return record
            }
            let result = try await database.modifyRecords(saving: records)
            if let failure = result.partialFailure { throw failure }
        }
        try await container.addIndex(on: "titel", of: "Note", .queryable)
        try await container.addIndex(on: "n", of: "Note", .sortable)
        try await container.close()
        store.disk.killProcesses()
        return store
    }

    private static func records(_ container: Container) async throws -> [Record] {
        let database = container.privateDatabase(for: "alice")
        var found: [Record] = []
        for zone in zones {
            var cursor: RecordPage.Cursor?
            repeat {
                let page = try await database.records(inZoneWith: zone, from: cursor)
                found += page.records
                cursor = page.cursor
            } while cursor != nil
        }
        return found
    }

    @Test func `after a crash each record is the old one or the new one, and the rest is done`()
        async throws
    {
        let store = try await Self.begin()
        let disk = SimulatedDisk(copying: store.disk)
        disk.keepsCrashPoints = true
        let container = try Self.store(on: disk).open()
        try await container.migrate("Note", Self.steps, asHost: "host")
        let points = disk.crashPoints
        #expect(points.count > 20)
        var begun = 0
        let stride = max(1, points.count / 40)
        for (number, point) in points.enumerated()
        where number % stride == 0 || number == points.count - 1 {
            let seed = Campaign.seed &+ UInt64(number)
            let crashed = try Self.store(on: point.crashed(seed: seed)).open()
            let found = try await Self.records(crashed)
            #expect(found.count == 2 * Self.count)
            let new = found.count { $0.allKeys == ["n", "stars", "title"] }
            let old = found.count { $0.allKeys == ["n", "titel"] }
            #expect(new + old == found.count, "call \(point.call)")
            if new > 0, old > 0 { begun += 1 }
            let isOpen = try await crashed.recordTypes().contains { !$0.migratingFields.isEmpty }
            #expect(isOpen || new == 0 || old == 0, "call \(point.call)")

            let done = try await crashed.migrate("Note", Self.steps, asHost: "host")
            #expect(done == old, "call \(point.call)")
            for record in try await Self.records(crashed) {
                let number = Int64(record.recordID.recordName.dropFirst()) ?? -1
                #expect(record["title"] == .string("title \(number)"))
                #expect(record["n"] == .double(Double(number)) && record["stars"] == 3)
                #expect(record["titel"] == nil)
            }
            let database = crashed.privateDatabase(for: "alice")
            let query = Query(
                recordType: "Note", predicate: try Query.Predicate("title = 'title 7' AND n < 8"))
            for zone in Self.zones {
                let page = try await database.records(matching: query, inZoneWith: zone)
                #expect(page.records.map(\.recordID.recordName) == ["r7"])
                let index = try await database.explanation(of: query, inZoneWith: zone).index
                #expect(index?.state == .complete)
            }
            try await crashed.close()
        }
        #expect(begun > 0)
        try await container.close()
    }
}
