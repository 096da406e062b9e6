import FoundationEssentials
import Stratus
import Support
import Testing

/// After an erasure no file has a byte of what is needed no longer.
struct ErasureTests {
    private let store = SmallStore(seed: Campaign.seed)
    private static let zone = RecordZone.ID(zoneName: "notes")

    /// Text that stands nowhere else, and that nothing makes shorter.
    private static func secret(_ seed: UInt64) -> String {
        // Far from those of other secrets.
        var generator = SeededGenerator(seed: seed &* 0xD134_2543_DE82_EF95)
        return (0..<4).map { _ in String(generator.next(), radix: 36) }.joined()
    }

    private static func noise(_ seed: UInt64) -> Data {
        // Far from those of other secrets.
        var generator = SeededGenerator(seed: seed &* 0xD134_2543_DE82_EF95)
        return Data((0..<3_000).flatMap { _ in withBytes(of: generator.next()) })
    }

    private static func withBytes(of value: UInt64) -> [UInt8] {
        (0..<8).map { UInt8(truncatingIfNeeded: value >> ($0 * 8)) }
    }

    /// Of which secrets twelve bytes in a row stand in any file of the store, and in which: what is
    /// compressed need not be in one piece.
    private func found(_ secrets: [(name: String, bytes: [UInt8])]) -> [String] {
        // Each file is looked through once, for all of them.
        var wanted: [Window: [String]] = [:]
        for secret in secrets {
            for start in stride(from: 0, to: secret.bytes.count - 11, by: 4) {
                var window = Window()
                for byte in secret.bytes[start..<start + 12] { window.shift(in: byte) }
                wanted[window, default: []].append(secret.name)
            }
        }
        var found: Set<String> = []
        for path in store.disk.paths {
            var window = Window()
            for (place, byte) in store.disk.contents(path).enumerated() {
                window.shift(in: byte)
                if place < 11 { continue }
                for name in wanted[window] ?? [] { found.insert("\(name) in \(path)") }
            }
        }
        return found.sorted()
    }

    /// The last twelve bytes of what was looked at.
    private struct Window: Hashable {
        private var first: UInt32 = 0
        private var rest: UInt64 = 0

        mutating func shift(in byte: UInt8) {
            first = first << 8 | UInt32(rest >> 56)
            rest = rest << 8 | UInt64(byte)
        }

        func hash(into hasher: inout Hasher) { hasher.combine(rest) }
    }

    private struct Planted {
        var replaced: [(name: String, bytes: [UInt8])] = []
        var kept: [(name: String, bytes: [UInt8])] = []
    }

    /// Records whose names, fields and assets are replaced or deleted in every way, among others.
    private func plant(_ container: Container) async throws -> Planted {
        let database = container.privateDatabase(for: "alice")
        let gone = RecordZone.ID(zoneName: "gone")
        for zone in [Self.zone, gone] { try await database.save(RecordZone(zoneID: zone)) }
        var planted = Planted()
        var seed: UInt64 = 0
        func save(_ name: String, in zone: RecordZone.ID, isKept: Bool) async throws {
            seed += 1
            let (text, data) = (Self.secret(seed), Self.noise(seed))
            let id = Record.ID(recordName: name, zoneID: zone)
            let found = try? await database.record(for: id)
            var record = found ?? Record(recordType: "Note", recordID: id)
            record["text"] = .string(text)
            record["bytes"] = .bytes(Data(Self.noise(seed + 1000).prefix(100)))
            record["file"] = .asset(Asset(data: data))
            try await database.save(record)
            let secrets = [
                ("text \(name) \(seed)", Array(text.utf8)),
                ("bytes \(name) \(seed)", [UInt8](Self.noise(seed + 1000).prefix(50))),
                ("asset \(name) \(seed)", [UInt8](data.prefix(50))),
            ]
            if isKept { planted.kept += secrets } else { planted.replaced += secrets }
        }
        for round in 0..<3 {
            try await save("replaced", in: Self.zone, isKept: round == 2)
            try await save("kept\(round)", in: Self.zone, isKept: true)
        }
        let name = Self.secret(77)
        planted.replaced.append(("the name of a deleted record", Array(name.utf8)))
        try await save(name, in: Self.zone, isKept: false)
        try await database.deleteRecord(withID: Record.ID(recordName: name, zoneID: Self.zone))
        try await save("lost", in: gone, isKept: false)
        try await database.deleteRecordZone(withID: gone)
        return planted
    }

    @Test func `nothing is left of what was replaced or deleted, and everything of the rest`()
        async throws
    {
        let container = try store.open()
        try await container.setDeletionPolicy(.none)
        var planted = try await plant(container)
        #expect(found(planted.replaced).count >= planted.replaced.count)
        let report = try await container.maintenance.erase()
        #expect(report.heldFiles.isEmpty, "\(report.heldFiles)")
        #expect(found(planted.replaced).isEmpty, "\(found(planted.replaced))")
        let kept = found(planted.kept)
        for secret in planted.kept {
            #expect(kept.contains { $0.hasPrefix("\(secret.name) in ") }, "\(secret.name)")
        }
        // Once more, over what is compacted by now.
        let more = try await plantAgain(container)
        planted.replaced += more
        #expect(try await container.maintenance.erase().heldFiles.isEmpty)
        #expect(found(planted.replaced).isEmpty, "\(found(planted.replaced))")
        try await container.close()
        #expect(found(planted.replaced).isEmpty)
        #expect(try store.verification().findings.filter { $0.severity == .damage } == [])
    }

    private func plantAgain(
        _ container: Container
    ) async throws -> [(name: String, bytes: [UInt8])] {
        let database = container.privateDatabase(for: "alice")
        let id = Record.ID(recordName: "replaced", zoneID: Self.zone)
        var record = try await database.record(for: id)
        let text = record["text"]?.stringValue ?? ""
        record["text"] = "another"
        try await database.save(record)
        return [("text of the second round", Array(text.utf8))]
    }

    @Test func `nothing is left of one record among many that stay`() async throws {
        let container = try store.open()
        try await container.setDeletionPolicy(.none)
        let database = container.privateDatabase(for: "alice")
        try await database.save(RecordZone(zoneID: Self.zone))
        let (secret, name) = (Self.secret(5), "gone")
        for start in stride(from: 0, to: 600, by: 100) {
            let records = (start..<start + 100).map { number in
                let id = Record.ID(
                    recordName: number == 250 ? name : "r\(number)", zoneID: Self.zone)
                var record = Record(recordType: "Note", recordID: id)
                record["text"] = .string(
                    number == 250 ? secret : Self.secret(UInt64(number) + 1000))
                return record
            }
            let result = try await database.modifyRecords(saving: records)
            #expect(result.partialFailure == nil)
        }
        try await database.deleteRecord(
            withID: Record.ID(recordName: name, zoneID: Self.zone))
        let planted = [(name: "the text", bytes: Array(secret.utf8))]
        #expect(!found(planted).isEmpty)
        try await container.maintenance.erase()
        #expect(found(planted).isEmpty, "\(found(planted))")
        #expect(try await database.recordCount(inZoneWith: Self.zone) == 599)
        try await container.close()
    }

    @Test func `nothing is left in an index of a text that the last commit replaced`()
        async throws
    {
        let container = try store.open()
        let database = container.privateDatabase(for: "alice")
        try await database.save(RecordZone(zoneID: Self.zone))
        let id = Record.ID(recordName: "a", zoneID: Self.zone)
        var record = Record(recordType: "Note", recordID: id)
        record["text"] = .string(Self.secret(5))
        record = try await database.save(record)
        try await container.addIndex(on: "text", of: "Note", .sortable)
        try await container.checkpoint()
        record["text"] = "another"
        try await database.save(record)
        // An index has the first 21 bytes.
        let planted = [(name: "the text", bytes: Array(Self.secret(5).utf8.prefix(20)))]
        func isInIndex() -> Bool { found(planted).contains { $0.contains("/index-") } }
        #expect(isInIndex())
        try await container.maintenance.erase()
        #expect(!isInIndex(), "\(found(planted))")
        try await container.close()
    }

    @Test func `a segment that is damaged stays, and is named`() async throws {
        let container = try store.open()
        let database = container.privateDatabase(for: "alice")
        try await database.save(RecordZone(zoneID: Self.zone))
        // Without assets: what of those has to go, an erasure reads from the records.
        let id = Record.ID(recordName: "replaced", zoneID: Self.zone)
        try await database.save(Record(recordType: "Note", recordID: id))
        try await container.maintenance.erase()
        let name = try #require(store.journalFiles.first { $0.hasPrefix("compacted-") })
        _ = try await plantAgain(container)
        try await container.close()
        store.settle()
        store.disk.flip(
            store.path(name), at: store.disk.contents(store.path(name)).count - 1, mask: 1)
        let again = try store.open()
        let report = try await again.maintenance.erase()
        #expect(Set(report.compaction.damage.map(\.file)) == [name])
        #expect(report.heldFiles.contains(name))
        try await again.close()
    }

    @Test func `what a snapshot holds stays, and the files are named that a reader uses`()
        async throws
    {
        let container = try store.open()
        try await container.setDeletionPolicy(.none)
        let planted = try await plant(container)
        var reader: Container? = try store.openReadOnly()
        let report = try await container.maintenance.erase()
        #expect(!report.heldFiles.isEmpty)
        for place in found(planted.replaced) {
            #expect(report.heldFiles.contains { place.hasSuffix($0) }, "\(place)")
        }
        try await reader?.close()
        reader = nil
        #expect(try await container.maintenance.erase().heldFiles.isEmpty)
        #expect(found(planted.replaced).isEmpty, "\(found(planted.replaced))")
        try await container.close()
    }
}
