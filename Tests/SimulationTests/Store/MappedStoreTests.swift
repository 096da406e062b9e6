import Stratus
import StratusFiles
import StratusJournal
import Support
import Testing

/// Stores whose files are mapped once they do not change any more.
struct MappedStoreTests {
    private static let zone = RecordZone.ID(zoneName: "notes")

    private func store(maps: Bool) -> SmallStore { SmallStore(seed: 1, maps: maps) }

    private func database(_ container: Container) -> Database {
        container.privateDatabase(for: "alice")
    }

    private func note(_ name: String, _ text: String) -> Record {
        var record = Record(
            recordType: "Note", recordID: Record.ID(recordName: name, zoneID: Self.zone))
        record["text"] = .string(text)
        return record
    }

    /// A store of several segments.
    private func filled(_ store: SmallStore) async throws -> Container {
        let container = try store.open()
        try await database(container).save(RecordZone(zoneID: Self.zone))
        for part in 0..<20 {
            let records = (0..<10).map { place in
                note("r\(part)-\(place)", String(repeating: "\(place)", count: 2_000))
            }
            let result = try await database(container).modifyRecords(
                saving: records, savePolicy: .allKeys)
            if let failure = result.partialFailure { throw failure }
        }
        return container
    }

    /// Saves more than a segment holds, and deletes it.
    private func roll(_ container: Container) async throws {
        let records = (0..<6).map { place in
            note("more\(place)", String(repeating: "x", count: 15_000))
        }
        for record in records { try await database(container).save(record) }
        for record in records {
            try await database(container).deleteRecord(withID: record.recordID)
        }
    }

    /// The names of the segments from which reading all of the feed reads by calls.
    private func called(_ container: Container, _ store: SmallStore) async throws -> Set<String> {
        let before = store.disk.log.count
        var token: ChangeToken?
        var isMore = true
        var count = 0
        while isMore {
            let page = try await database(container).recordZoneChanges(
                inZoneWith: Self.zone, since: token, resultsLimit: 50)
            (token, isMore) = (page.changeToken, page.moreComing)
            count += page.modifications.count
        }
        #expect(count == 200)
        return Set(
            store.disk.log.dropFirst(before)
                .filter { $0.call == .read || $0.call == .readResident }
                .map(\.name).filter { $0.hasPrefix("journal-") })
    }

    @Test(arguments: [true, false])
    func `pages of full segments are read by calls but once, in the process that filled them, too`(
        maps: Bool
    ) async throws {
        let store = store(maps: maps)
        store.disk.logsCalls = true
        var container = try await filled(store)
        for isReopened in [false, true] {
            let segments = try store.manifest.segments
            #expect(segments.count > 5)
            let all = Set(segments.map(\.fileName))
            let last = try #require(segments.last?.fileName)
            #expect(try await called(container, store) == all, "reopened: \(isReopened)")
            // The last segment changes again, and is read by calls.
            if isReopened {
                try await database(container).save(
                    RecordZone(zoneID: RecordZone.ID(zoneName: "more")))
                _ = try await called(container, store)
            }
            let again = try await called(container, store)
            #expect(again == (maps ? [last] : all), "reopened: \(isReopened)")
            try await container.close()
            container = try store.open()
        }
        try await container.close()
    }

    @Test func `damage of what is mapped is found at each reading`() async throws {
        let store = store(maps: true)
        let container = try await filled(store)
        _ = try await called(container, store)
        let first = try store.manifest.segments[0].fileName
        let bytes = store.disk.contents(store.path(first))
        let place = try #require(
            bytes.indices.dropFirst(2000).first {
                bytes[$0..<min($0 + 100, bytes.count)].allSatisfy { $0 == UInt8(ascii: "3") }
            })
        store.disk.flip(store.path(first), at: place + 50)
        for _ in 0..<2 {
            await #expect {
                _ = try await called(container, store)
            } throws: { error in
                let error = error as? StoreError
                return error?.cause == .damaged && error?.place?.file == first
            }
        }
        try await container.close()
    }

    @Test func `states of before a segment was full do not keep later ones from mapping it`()
        async throws
    {
        let store = store(maps: true)
        store.disk.logsCalls = true
        let container = try await filled(store)
        let last = try #require(try store.manifest.segments.last?.fileName)
        let snapshot = container.snapshot().privateDatabase(for: "alice")
        try await roll(container)
        #expect(try store.manifest.segments.last?.fileName != last)
        // In this state the segment may still change.
        let hash = try snapshot.contentHash()
        _ = try await called(container, store)
        #expect(try await !called(container, store).contains(last))
        #expect(try snapshot.contentHash() == hash)
        try await container.close()
    }

    @Test func `a reader maps, too, and segments that are filled meanwhile as well`() async throws {
        let store = store(maps: true)
        store.disk.logsCalls = true
        let container = try await filled(store)
        let reader = try store.openReadOnly()
        let count = try store.manifest.segments.count
        for _ in 0..<2 {
            try await roll(container)
            try await reader.refresh()
        }
        #expect(try store.manifest.segments.count > count + 1)
        let hash = try container.snapshot().privateDatabase(for: "alice").contentHash()
        try await container.close()
        try await reader.refresh()
        #expect(try reader.snapshot().privateDatabase(for: "alice").contentHash() == hash)
        _ = try await called(reader, store)
        let last = try #require(try store.manifest.segments.last?.fileName)
        #expect(try await called(reader, store).isSubset(of: [last]))
        try await reader.close()
    }
}
