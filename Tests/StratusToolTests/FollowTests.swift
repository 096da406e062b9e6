import FoundationEssentials
import Stratus
import StratusTool
import Testing

/// Following a feed into a second store.
@Suite struct FollowTests {
    private static let zone = RecordZone.ID(zoneName: "files")

    private func size(_ path: String) throws -> Int {
        let manager = FileManager.default
        return try manager.contentsOfDirectory(atPath: path).reduce(0) { sum, name in
            guard name.hasPrefix("journal-") else { return sum }
            let bytes = manager.contents(atPath: path + "/" + name) ?? Data()
            return sum + bytes.count { $0 != 0 }
        }
    }

    /// A parent stands in the feed at its last change, behind children that were saved before.
    @Test func `a copy takes no more journal than the changes, whatever their order`() async throws
    {
        let place = try Place()
        let path = place.path + "/store"
        let source = try await Container.open(at: path, creating: true)
        let database = source.privateDatabase(for: "local")
        try await database.save(RecordZone(zoneID: Self.zone))
        func record(_ name: String, below parent: String? = nil) -> Record {
            let id = Record.ID(recordName: name, zoneID: Self.zone)
            var record = Record(recordType: "Item", recordID: id)
            record["text"] = .string(String(repeating: name, count: 20))
            record.parent = parent.map {
                Reference(recordID: Record.ID(recordName: $0, zoneID: Self.zone))
            }
            return record
        }
        let count = 3_000
        var parents = (0..<count).map { record("parent\($0)") }
        let first = try await database.modifyRecords(saving: parents)
        try await database.saveAll(
            (0..<count).map { record("child\($0)", below: "parent\(count - 1 - $0)") })
        parents = try parents.map { try #require(first.saveResults[$0.recordID]).get() }
        for index in parents.indices { parents[index]["text"] = "later" }
        try await database.saveAll(parents)
        // A parent that goes after its child found another one, and one that goes with its child.
        var child = try await database.record(for: record("child0").recordID)
        child.parent = Reference(recordID: record("parent1").recordID)
        try await database.save(child)
        try await database.deleteRecord(withID: record("parent\(count - 1)").recordID)
        try await database.deleteAll(
            ["child5", "parent\(count - 6)"].map { record($0).recordID })
        try await source.close()
        let result = try await place.run("follow @/store --into @/copy --once")
        #expect(result.code == .ok)
        let hashes = try await [
            place.run("hash @/store").results, place.run("hash @/copy").results,
        ]
        #expect(hashes[0] == hashes[1])
        let (written, copied) = (try size(path), try size(place.path + "/copy"))
        #expect(copied < written, "\(copied) bytes for \(written)")
    }
}

extension Database {
    fileprivate func saveAll(_ records: [Record]) async throws {
        let result = try await modifyRecords(saving: records)
        if let failure = result.partialFailure { throw failure }
    }

    fileprivate func deleteAll(_ ids: [Record.ID]) async throws {
        let result = try await modifyRecords(saving: [], deleting: ids)
        if let failure = result.partialFailure { throw failure }
    }
}
