import FoundationEssentials
import Stratus
import StratusFiles
import StratusJournal
import Support
import Testing

@Suite struct SaveTests {
    let zone = RecordZone.ID(zoneName: "notes")

    @Test func `a saved record comes back with all its values, a tag and dates`() async throws {
        let container = try Container.inMemory()
        let database = container.privateDatabase(for: "alice")
        try await database.save(RecordZone(zoneID: zone))
        var record = Record(
            recordType: "Note", recordID: Record.ID(recordName: "a", zoneID: zone))
        record["title"] = "first"
        record["count"] = 3
        record["ratio"] = 0.5
        record["tags"] = ["x", "y"]
        record["data"] = .bytes(Data([1, 2, 3]))
        record["when"] = .date(Date(timeIntervalSinceReferenceDate: 1.25))
        record["place"] = .location(Location(latitude: 1, longitude: 2))
        record["link"] = .reference(Reference(recordID: record.recordID, action: .deleteSelf))
        let saved = try await database.save(record)
        #expect(saved.recordChangeTag != nil)
        #expect(saved.creationDate == saved.modificationDate)
        #expect(saved.changedKeys.isEmpty)
        let fetched = try await database.record(for: record.recordID)
        #expect(fetched == saved)
        for key in record.allKeys { #expect(fetched[key] == record[key]) }
        try await container.close()
    }

    @Test func `a save with an old tag is refused with all three records`() async throws {
        let container = try Container.inMemory()
        let database = container.privateDatabase(for: "alice")
        try await database.save(RecordZone(zoneID: zone))
        var record = Record(
            recordType: "Note", recordID: Record.ID(recordName: "a", zoneID: zone))
        record["title"] = "first"
        let first = try await database.save(record)
        var second = first
        second["title"] = "second"
        let saved = try await database.save(second)
        #expect(saved.recordChangeTag != first.recordChangeTag)
        var late = first
        late["title"] = "late"
        do {
            try await database.save(late)
            Issue.record("an old tag was accepted")
        } catch {
            #expect(error.code == .serverRecordChanged)
            #expect(error.clientRecord?["title"] == "late")
            #expect(error.serverRecord == saved)
            #expect(error.ancestorRecord == first)
        }
        try await container.close()
    }

    @Test func `a thousand tasks save at once and every record is there after reopening`()
        async throws
    {
        let disk = SimulatedDisk()
        let process = disk.process()
        let storage = try LocalStorage(at: "store", .writing(creating: true), on: process)
        let container = try Container(
            writing: storage, creating: true, durability: .full, options: JournalOptions(),
            steppedByCaller: false)
        let database = container.privateDatabase(for: "alice")
        try await database.save(RecordZone(zoneID: zone))
        await withTaskGroup(of: Bool.self) { group in
            for number in 0..<1000 {
                group.addTask { [zone] in
                    var record = Record(
                        recordType: "Note",
                        recordID: Record.ID(recordName: "r\(number)", zoneID: zone))
                    record["number"] = .int64(Int64(number))
                    return (try? await database.save(record)) != nil
                }
            }
            for await done in group { #expect(done) }
        }
        try await container.close()
        let again = try Container(
            writing: LocalStorage(at: "store", .writing(creating: false), on: process),
            creating: false, durability: .full, options: JournalOptions(), steppedByCaller: true)
        #expect(again.recoveryReport.wasClean)
        let reopened = again.privateDatabase(for: "alice")
        var token: ChangeToken?
        var seen: [Int64] = []
        repeat {
            let page = try await reopened.recordZoneChanges(
                inZoneWith: zone, since: token, resultsLimit: 300)
            seen += page.modifications.compactMap { $0["number"]?.int64Value }
            token = page.changeToken
            if !page.moreComing { break }
        } while true
        #expect(seen.sorted() == Array(0..<1000))
        try await again.close()
    }
}
