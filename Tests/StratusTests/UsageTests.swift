import Stratus
import StratusJournal
import Support
import Testing

// What zones and databases take, and what happens where that is too much.

private func text(_ length: Int) -> RecordValue {
    .string(String(repeating: "x", count: length))
}

struct UsageTests {
    @Test func `usage follows every save, edit and deletion exactly`() async throws {
        let (container, database) = try await makeDatabase()
        #expect(try await database.usage() == Usage.none)
        var record = try await database.save(note("a", ["t": text(100)]))
        let first = try await database.usage()
        #expect(first.recordCount == 1 && first.bytes > 100 && first.bytes < 200)
        record["t"] = text(150)
        record = try await database.save(record)
        let second = try await database.usage()
        #expect(second.recordCount == 1)
        // An update says further who made the record, when, and what it replaces.
        #expect((first.bytes + 50...first.bytes + 80).contains(second.bytes))
        try await database.save(note("b", in: .default))
        #expect(try await database.usage().recordCount == 2)
        #expect(try await database.usage(ofZoneWith: notes) == second)
        #expect(try await database.usage(ofZoneWith: .default).recordCount == 1)
        #expect(try await container.usage(of: "alice") == database.usage())
        #expect(try await container.usage(of: "bob") == Usage.none)
        #expect(try await container.publicDatabase().usage() == Usage.none)

        try await database.deleteRecord(withID: noteID("b", in: .default))
        #expect(try await database.usage() == second)
        try await database.deleteRecord(withID: noteID("a"))
        #expect(try await database.usage() == Usage.none)
        let missing = await failure {
            try await database.usage(ofZoneWith: RecordZone.ID(zoneName: "none"))
        }
        #expect(missing.code == .zoneNotFound)
    }

    @Test func `a zone that is deleted takes nothing any more`() async throws {
        let (_, database) = try await makeDatabase()
        let other = RecordZone.ID(zoneName: "other")
        try await database.save(RecordZone(zoneID: other))
        try await database.saveAll((0..<30).map { note("r\($0)", ["t": text($0)]) })
        let before = try await database.usage()
        try await database.saveAll((0..<30).map { note("r\($0)", ["t": text($0)], in: other) })
        #expect(try await database.usage().bytes == before.bytes * 2)
        try await database.deleteRecordZone(withID: other)
        #expect(try await database.usage() == before)
        try await database.save(RecordZone(zoneID: other))
        #expect(try await database.usage(ofZoneWith: other) == Usage.none)
    }

    @Test func `usage of a snapshot is that of its moment`() async throws {
        let (container, database) = try await makeDatabase()
        try await database.save(note("a", ["t": text(10)]))
        let usage = try await database.usage()
        let snapshot = container.snapshot()
        try await database.saveAll((0..<50).map { note("r\($0)") })
        let held = snapshot.privateDatabase(for: "alice")
        #expect(try held.usage() == usage)
        #expect(try held.usage(ofZoneWith: notes) == usage)
        #expect(try held.recordCount(inZoneWith: notes) == 1)
    }

    @Test(arguments: [1, 2, 3])
    func `usage made anew from the journal is what was maintained`(seed: UInt64) async throws {
        var generator = SeededGenerator(seed: seed)
        let store = DiskStore()
        var container = try store.open()
        let zones = ["one", "two", "three"].map { RecordZone.ID(zoneName: $0) } + [.default]
        for step in 0..<60 {
            let user = ["alice", "bob"].randomElement(using: &generator) ?? ""
            let database = container.privateDatabase(for: user)
            let zone = zones.randomElement(using: &generator) ?? .default
            switch Int.random(in: 0..<12, using: &generator) {
            case 0 where !zone.isDefault:
                _ = try? await database.deleteRecordZone(withID: zone)
            case 1:
                try await container.close()
                container = try store.open()
            case 2...3:
                try await container.publicDatabase(asHost: user).saveAll(
                    [note("p\(step % 5)", ["t": text(step)], in: .default)],
                    savePolicy: .changedKeys)
            default:
                if !zone.isDefault { try await database.save(RecordZone(zoneID: zone)) }
                let names = Set(
                    (0..<8).map { _ in "r\(Int.random(in: 0..<20, using: &generator))" })
                let parts = names.sorted()
                _ = try await database.modifyRecords(
                    saving: parts.dropLast(2).map {
                        note($0, ["t": text(Int.random(in: 0..<90, using: &generator))], in: zone)
                    }, deleting: parts.suffix(2).map { noteID($0, in: zone) },
                    savePolicy: .changedKeys)
            }
        }
        func usages(_ container: Container) async throws -> [Usage] {
            var usages = [try await container.publicDatabase().usage()]
            for user in ["alice", "bob"] {
                let database = container.privateDatabase(for: user)
                usages.append(try await database.usage())
                var sum = Usage.none
                for zone in try await database.allRecordZones() {
                    let usage = try await database.usage(ofZoneWith: zone.zoneID)
                    #expect(
                        try await database.allRecords(in: zone.zoneID).count == usage.recordCount)
                    sum = sum + usage
                }
                #expect(sum == usages.last)
            }
            return usages
        }
        let maintained = try await usages(container)
        #expect(maintained.allSatisfy { $0.bytes > 0 })
        try await container.close()
        try store.deleteIndex()
        #expect(try await usages(try store.open(creating: false)) == maintained)
    }
}

struct QuotaTests {
    private func open(user: Int? = nil, public: Int? = nil) async throws -> (Container, Database) {
        let container = try Container.inMemory(
            profile: Profile(userQuota: user, publicQuota: `public`))
        let database = container.privateDatabase(for: "alice")
        try await database.save(RecordZone(zoneID: notes))
        return (container, database)
    }

    @Test func `who has used up the quota makes room before anything is added`() async throws {
        let (container, database) = try await open(user: 1000)
        let first = try await database.save(note("a", ["t": text(500)]))
        let error = await failure { try await database.save(note("b", ["t": text(500)])) }
        #expect(error.code == .quotaExceeded && error.remedy == .makeRoom)
        #expect(error.recordID == noteID("b"))
        #expect(try await database.recordCount(inZoneWith: notes) == 1)
        // Others have a quota of their own.
        let other = container.privateDatabase(for: "bob")
        try await other.save(note("b", ["t": text(500)], in: .default))
        try await container.publicDatabase(as: "alice").save(
            note("b", ["t": text(2000)], in: .default))
        // What takes no more goes on, and makes room.
        var smaller = first
        smaller["t"] = text(300)
        smaller = try await database.save(smaller)
        try await database.save(note("b", ["t": text(500)]))
        smaller["t"] = text(900)
        let larger = await failure { try await database.save(smaller) }
        #expect(larger.code == .quotaExceeded)
        try await database.deleteRecord(withID: noteID("b"))
        smaller["t"] = text(850)
        try await database.save(smaller)
        #expect(try await database.usage().bytes <= 1000)
    }

    @Test func `a batch that does not fit fails as a whole where it is atomic`() async throws {
        let (_, database) = try await open(user: 1000)
        let result = try await database.modifyRecords(
            saving: [note("a", ["t": text(400)]), note("b", ["t": text(600)]), note("c")])
        #expect(result.saveResults[noteID("b")]?.code == .quotaExceeded)
        #expect(result.saveResults[noteID("a")]?.code == .batchRequestFailed)
        #expect(result.saveResults[noteID("c")]?.code == .batchRequestFailed)
        #expect(try await database.usage() == Usage.none)
        let partly = try await database.modifyRecords(
            saving: [note("a", ["t": text(400)]), note("b", ["t": text(600)]), note("c")],
            atomically: false)
        #expect(partly.saveResults[noteID("b")]?.code == .quotaExceeded)
        #expect(partly.saveResults[noteID("a")]?.code == nil)
        #expect(partly.saveResults[noteID("c")]?.code == nil)
    }

    @Test func `the public database has a quota of its own`() async throws {
        let (container, database) = try await open(public: 300)
        let shared = container.publicDatabase(as: "alice")
        try await shared.save(note("a", ["t": text(200)], in: .default))
        let error = await failure {
            try await container.publicDatabase(as: "bob").save(
                note("b", ["t": text(200)], in: .default))
        }
        #expect(error.code == .quotaExceeded)
        try await database.save(note("a", ["t": text(2000)]))
    }

    @Test func `commits that come at once keep within the quota together`() async throws {
        let (_, database) = try await open(user: 5000)
        let saved = await withTaskGroup(of: Bool.self) { group in
            for number in 0..<60 {
                group.addTask {
                    let record = note("r\(number)", ["t": text(150)])
                    return (try? await database.save(record)) != nil
                }
            }
            return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
        }
        let usage = try await database.usage()
        #expect(usage.recordCount == saved && usage.bytes <= 5000)
        // Nothing that fits was refused.
        #expect(usage.bytes > 5000 - 200)
    }

    @Test func `a commit of many groups keeps within the quota`() async throws {
        var store = DiskStore()
        store.options.segmentLength = 16 << 10
        store.profile = Profile(userQuota: 50_000)
        let container = try store.open()
        let database = container.privateDatabase(for: "alice")
        try await database.save(RecordZone(zoneID: notes))
        let records = (0..<100).map { note("r\($0)", ["t": text(1000)]) }
        let whole = try await database.modifyRecords(saving: records)
        #expect(whole.saveResults[noteID("r99")]?.code == .quotaExceeded)
        #expect(try await database.usage() == Usage.none)
        let partly = try await database.modifyRecords(saving: records, atomically: false)
        let count = partly.saveResults.values.count { $0.code == nil }
        let usage = try await database.usage()
        #expect(usage.recordCount == count && usage.bytes <= 50_000 && usage.bytes > 48_000)
        try await database.deleteRecordZone(withID: notes)
        #expect(try await database.usage() == Usage.none)
    }
}

extension Usage {
    fileprivate static let none = Usage()

    fileprivate static func + (left: Usage, right: Usage) -> Usage {
        Usage(recordCount: left.recordCount + right.recordCount, bytes: left.bytes + right.bytes)
    }
}
