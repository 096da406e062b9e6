import Stratus
import Support
import Testing

/// What a snapshot needs is kept while it is held, and no longer.
struct HeldSnapshotTests {
    private let store = SmallStore(seed: Campaign.seed)
    private static let zone = RecordZone.ID(zoneName: "notes")

    /// Changes every record; so long are they that a checkpoint is due.
    private func change(_ container: Container, _ round: Int) async throws {
        let text = RecordValue.string(String(repeating: "x", count: 4_000))
        for part in 0..<10 {
            let records = (0..<30).map { place in
                var record = Record(
                    recordType: "Note",
                    recordID: Record.ID(
                        recordName: "r\(part * 30 + place)", zoneID: Self.zone))
                record["round"] = .int64(Int64(round))
                record["text"] = text
                return record
            }
            let result = try await container.privateDatabase(for: "alice").modifyRecords(
                saving: records, savePolicy: .allKeys)
            if let failure = result.partialFailure { throw failure }
        }
    }

    private var indexLength: Int {
        store.indexFiles.reduce(0) { $0 + store.disk.contents(store.path($1)).count }
    }

    @Test func `old versions stay for snapshots through merges and go after them`() async throws {
        let container = try store.open()
        try await container.privateDatabase(for: "alice").save(RecordZone(zoneID: Self.zone))
        var held: [(snapshot: Snapshot, hash: ContentHash)] = []
        for round in 0..<12 {
            try await change(container, round)
            let snapshot = container.snapshot()
            let database = snapshot.privateDatabase(for: "alice")
            held.append((snapshot, try database.contentHash(includingSystem: true)))
        }
        let lengthHeld = indexLength
        for (round, (snapshot, hash)) in held.enumerated() {
            let database = snapshot.privateDatabase(for: "alice")
            #expect(try database.contentHash(includingSystem: true) == hash)
            let pages = try database.pages(of: Self.zone)
            #expect(pages.count == 300)
            #expect(pages.allSatisfy { $0["round"] == .int64(Int64(round)) })
            #expect(try database.feed(of: Self.zone).count == 300)
        }
        #expect(Set(held.map(\.hash)).count == held.count)
        held = []
        for round in 12..<20 { try await change(container, round) }
        #expect(indexLength * 2 < lengthHeld, "\(indexLength) of \(lengthHeld)")
        try await container.close()
    }
}
