import Stratus
import Testing

/// A batch that failed as a whole once left the kinds of its fields behind.
@Suite struct FailedBatchTests {
    private let zone = RecordZone.ID(zoneName: "notes")

    private func record(_ name: String, _ key: String, _ value: RecordValue) -> Record {
        var record = Record(
            recordType: "Note", recordID: Record.ID(recordName: name, zoneID: zone))
        record[key] = value
        return record
    }

    @Test func `an atomic batch that fails fixes no kind of a field`() async throws {
        let container = try Container.inMemory()
        let database = container.privateDatabase(for: "alice")
        try await database.save(RecordZone(zoneID: zone))
        try await database.save(record("a", "known", 1))
        let result = try await database.modifyRecords(
            saving: [record("b", "new", "text"), record("c", "known", "text")])
        #expect(result.saveResults.count == 2)
        #expect(result.saveResults.values.allSatisfy { (try? $0.get()) == nil })
        let saved = try await database.save(record("d", "new", 2))
        #expect(saved["new"] == 2)
        try await container.close()
    }
}
