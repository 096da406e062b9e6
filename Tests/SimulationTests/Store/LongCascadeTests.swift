import FoundationEssentials
import Stratus
import StratusFiles
import StratusJournal
import Synchronization
import Support
import Testing

/// A record with very many children that belong to it.
struct LongCascadeTests {
    private static let zone = RecordZone.ID(zoneName: "tree")

    private static func id(_ name: String) -> Record.ID {
        Record.ID(recordName: name, zoneID: zone)
    }

    /// Of this process, in bytes.
    private static var anonymousMemory: Int {
        let status = try? String(contentsOf: URL(filePath: "/proc/self/status"), encoding: .utf8)
        let line = status?.split(separator: "\n").first { $0.hasPrefix("RssAnon:") }
        return (line?.split(separator: " ").dropLast().last.flatMap { Int($0) } ?? 0) << 10
    }

    private final class Peak: Sendable {
        let isOver = Atomic<Bool>(false)
        let most = Atomic<Int>(0)
    }

    @Test func `a record and all that belongs to it go in one commit, in memory that is bounded`()
        async throws
    {
        let path = FileManager.default.temporaryDirectory
            .appending(path: "stratus-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: path) }
        let limit = 16 << 20
        let container = try Container(
            writing: LocalStorage(at: path, .writing(creating: true)), creating: true,
            durability: .none, options: JournalOptions(), steppedByCaller: false,
            memoryLimit: limit)
        let database = container.privateDatabase(for: "alice")
        try await database.save(RecordZone(zoneID: Self.zone))
        try await database.save(Record(recordType: "Root", recordID: Self.id("root")))
        let root = Reference(recordID: Self.id("root"), action: .deleteSelf)
        let count = Campaign.children
        for start in stride(from: 0, to: count, by: 5_000) {
            let records = (start..<min(start + 5_000, count)).map { number in
                var record = Record(recordType: "Leaf", recordID: Self.id("leaf-\(number)"))
                record.parent = Reference(recordID: Self.id("root"))
                record["target"] = .reference(root)
                return record
            }
            let result = try await database.modifyRecords(saving: records)
            if let failure = result.partialFailure { throw failure }
        }
        let held = container.snapshot().privateDatabase(for: "alice")
        let before = Self.anonymousMemory
        let peak = Peak()
        let watch = Task.detached {
            while !peak.isOver.load(ordering: .relaxed) {
                let now = Self.anonymousMemory
                peak.most.store(
                    max(now, peak.most.load(ordering: .relaxed)), ordering: .relaxed)
                try? await Task.sleep(for: .milliseconds(10))
            }
        }
        try await database.deleteRecord(withID: Self.id("root"))
        peak.isOver.store(true, ordering: .relaxed)
        await watch.value
        let growth = max(0, peak.most.load(ordering: .relaxed) - before)
        #expect(try await database.records(inZoneWith: Self.zone).records.isEmpty)
        #expect(try held.records(inZoneWith: Self.zone, resultsLimit: 100).records.count == 100)
        CampaignReport.add(
            "A cascade over \(count) children under a limit of \(limit >> 20) MiB:"
                + " at most \(growth >> 20) MiB more than before.\n")
        // Other tests run at the same time unless this is the campaign.
        if count >= 1_000_000 { #expect(growth < limit + (48 << 20)) }
        try await container.close()
    }
}
