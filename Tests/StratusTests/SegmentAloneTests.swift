import Stratus
import StratusEngine
import StratusJournal
import Support
import Testing

/// A segment with nothing beside it but the entries that its preamble names.
@Suite struct SegmentAloneTests {
    /// Alice's database of a store with short segments, and so many records of 900 bytes for each
    /// of so many fields.
    private func filled(fields: Int, records: Int) async throws -> DiskStore {
        var store = DiskStore()
        store.options.segmentLength = 16 << 10
        store.steppedByCaller = true
        let container = try store.open()
        let database = container.privateDatabase(for: "alice")
        try await database.save(RecordZone(zoneID: notes))
        let text = RecordValue.string(String(repeating: "x", count: 900))
        for field in 0..<fields {
            for part in 0..<records {
                try await database.save(note("r\(field)-\(part)", ["Field\(100 + field)": text]))
            }
        }
        try await container.close()
        return store
    }

    @Test func `any segment can be read alone, and begins with all names that it uses`()
        async throws
    {
        let store = try await filled(fields: 15, records: 10)
        let segments = try store.expectNamesInEverySegment()
        #expect(segments.count > 8)
        #expect(segments.reduce(0) { $0 + $1.recordCount } == 150)
        let last = try #require(segments.last?.preambles.first)
        #expect(last.names == ["Note"] + (0..<15).map { "Field\(100 + $0)" })
        #expect(last.locations.isEmpty)
    }

    @Test func `names that have no room in a preamble are found from the entries that it gives`()
        async throws
    {
        let store = try await filled(fields: 150, records: 2)
        let segments = try store.expectNamesInEverySegment()
        let preambles = segments.compactMap(\.preambles.first)
        // All of them are given where there is room, and some where there is not.
        let given = preambles.filter { !$0.locations.isEmpty }
        #expect(given.contains { $0.names.count + $0.locations.count == $0.count })
        #expect(given.contains { $0.names.count + $0.locations.count < $0.count })
        #expect(given.allSatisfy { $0.names.count > 15 && $0.locations.count > 5 })
        #expect(segments.allSatisfy { $0.segment.lengthInBytes == 16 << 10 })
        // The log shows what a preamble says.
        let container = try store.open(creating: false)
        let last = try #require(given.last)
        let places = last.locations.map { "\($0.number)@\($0.offset)" }
        var log = container.log()
        var shown: String?
        while let line = try log.nextLine() {
            let frame = container.describe(line.entry)
            if frame.kind == "preamble" { shown = frame.detail }
        }
        #expect(shown == (last.names + places).joined(separator: " "))
    }
}
