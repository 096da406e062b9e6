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

    /// A store of several segments.
    private func filled(_ store: SmallStore) async throws -> Container {
        let container = try store.open()
        try await database(container).save(RecordZone(zoneID: Self.zone))
        for part in 0..<20 {
            let records = (0..<10).map { place in
                var record = Record(
                    recordType: "Note",
                    recordID: Record.ID(recordName: "r\(part)-\(place)", zoneID: Self.zone))
                record["text"] = .string(String(repeating: "\(place)", count: 2_000))
                return record
            }
            let result = try await database(container).modifyRecords(
                saving: records, savePolicy: .allKeys)
            if let failure = result.partialFailure { throw failure }
        }
        return container
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
    func `a segment that is full is read by calls but once, also by who filled it`(
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
            // What is written on is read by calls always.
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

    @Test func `a reader maps, too, and shows what the writer saved`() async throws {
        let store = store(maps: true)
        let container = try await filled(store)
        let hash = try container.snapshot().privateDatabase(for: "alice").contentHash()
        try await container.close()
        let reader = try store.openReadOnly()
        for _ in 0..<2 {
            #expect(
                try reader.snapshot().privateDatabase(for: "alice").contentHash() == hash)
        }
        try await reader.close()
    }
}
