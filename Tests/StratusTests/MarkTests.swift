import Stratus
import Testing

@Suite struct MarkTests {
    @Test func `a mark names the place behind all that had been acknowledged`() async throws {
        let container = try Container.inMemory()
        let first = try await container.mark("empty")
        let database = container.privateDatabase(for: "alice")
        let zone = try await database.save(RecordZone(zoneName: "notes"))
        let record = try await database.save(
            Record(
                recordType: "Note",
                recordID: Record.ID(recordName: "a", zoneID: zone.zoneID)))
        let second = try await container.mark("saved")
        let tag = try #require(record.recordChangeTag.flatMap { UInt64($0) })
        #expect(first.offset < tag && tag < second.offset)
        #expect(first.chain != second.chain)
        #expect(try await container.marks() == [first, second])
        try await container.close()
    }

    @Test(arguments: ["", String(repeating: "ä", count: 128)])
    func `a mark's name has 1 to 255 bytes`(name: String) async throws {
        let container = try Container.inMemory()
        await #expect(throws: StoreError.self) { try await container.mark(name) }
        #expect(try await container.marks().isEmpty)
        try await container.close()
    }
}
