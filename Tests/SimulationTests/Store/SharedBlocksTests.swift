import FoundationEssentials
import Stratus
import StratusFiles
import StratusJournal
import Support
import Testing

/// Copies of a store with assets, where the file system can share blocks between files.
@Suite struct SharedBlocksTests {
    private static let zone = RecordZone.ID(zoneName: "notes")

    private func store(sharing: Bool = true) -> SmallStore {
        var options = DiskOptions()
        options.sharesBlocks = sharing
        var store = SmallStore(on: SimulatedDisk(options: options), seed: 1)
        // So that all chunks lie in one.
        store.options.segmentLength = 4 << 20
        return store
    }

    private static func content(_ number: Int) -> Data {
        var generator = SeededGenerator(seed: UInt64(number))
        return Data((0..<100_000).map { _ in UInt8(truncatingIfNeeded: generator.next()) })
    }

    private func save(_ container: Container, _ numbers: Range<Int>) async throws {
        let database = container.privateDatabase(for: "alice")
        try await database.save(RecordZone(zoneID: Self.zone))
        for number in numbers {
            var record = Record(
                recordType: "Note",
                recordID: Record.ID(recordName: "r\(number)", zoneID: Self.zone))
            record["file"] = .asset(Asset(data: Self.content(number)))
            try await database.save(record)
        }
    }

    private func expectWhole(_ store: SmallStore, _ numbers: [Int]) async throws {
        #expect(try store.verification(scratch: store.directory).findings.isEmpty)
        let container = try store.openReadOnly()
        let database = container.privateDatabase(for: "alice")
        #expect(try await database.usage().recordCount == numbers.count)
        for number in numbers {
            let record = try await database.record(
                for: Record.ID(recordName: "r\(number)", zoneID: Self.zone))
            let asset = try #require(record["file"]?.assetValue)
            #expect(try await asset.data(limit: 1 << 20) == Self.content(number))
        }
        try await container.close()
    }

    /// Of the files of chunks.
    private func calls(_ call: DiskCall, on disk: SimulatedDisk) -> Int {
        disk.log.count { $0.call == call && !$0.isFaulty && $0.name.hasPrefix("chunks-") }
    }

    @Test(arguments: [true, false], [false, true])
    func `a copy shares the segments that it needs whole, and goes its own way`(
        sharing: Bool, isClone: Bool
    ) async throws {
        let store = store(sharing: sharing)
        let container = try store.open()
        try await save(container, 0..<3)
        store.disk.resetCalls()
        store.disk.logsCalls = true
        try await container.copy(to: "copy", cloning: isClone)
        // Of a shared segment the head alone is written.
        let (shared, written) = (calls(.clone, on: store.disk), calls(.write, on: store.disk))
        #expect(sharing ? shared == 1 && written == 1 : written > 1, "\(shared), \(written)")
        let copy = store.opening("copy")
        try await expectWhole(copy, [0, 1, 2])
        let other = try copy.open()
        try await save(other, 3..<5)
        try await save(container, 5..<6)
        try await other.close()
        try await container.close()
        try await expectWhole(copy, [0, 1, 2, 3, 4])
        try await expectWhole(store, [0, 1, 2, 5])
    }

    @Test func `what a copy does not need is not shared with it`() async throws {
        let store = store()
        let container = try store.open()
        try await save(container, 0..<10)
        try await container.privateDatabase(for: "alice").deleteRecord(
            withID: Record.ID(recordName: "r1", zoneID: Self.zone))
        // So little is dead that the rest of the segment stays where it is.
        #expect(try await container.collectAssets().reclaimedChunks > 0)
        store.disk.resetCalls()
        store.disk.logsCalls = true
        try await container.copy(to: "copy")
        #expect(calls(.clone, on: store.disk) == 0)
        try await expectWhole(store.opening("copy"), [0] + Array(2..<10))
        try await container.close()
    }

    @Test func `damage is not shared`() async throws {
        let store = store()
        let container = try store.open()
        try await save(container, 0..<3)
        let path = try #require(store.disk.paths.first { $0.contains("/chunks-") })
        store.disk.flip(path, at: 150_000, mask: 1)
        let error = await #expect(throws: StoreError.self) { try await container.copy(to: "copy") }
        #expect(error?.cause == .damaged)
        #expect(!store.disk.paths.contains { $0.hasPrefix("copy") })
        try await container.close()
    }
}
