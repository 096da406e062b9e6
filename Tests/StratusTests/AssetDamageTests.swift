import FoundationEssentials
import Stratus
import StratusFiles
import StratusJournal
import Support
import Testing

@Suite struct AssetDamageTests {
    @Test func `a flipped byte of a chunk is found, with record and field, and all else is served`()
        async throws
    {
        var store = DiskStore()
        store.options.segmentLength = 1 << 16
        let container = try store.open()
        let database = container.privateDatabase(for: "alice")
        try await database.save(RecordZone(zoneID: notes))
        let all = (0..<3).map { noise(100 + $0 * 50, seed: UInt64($0)) }
        for (number, data) in all.enumerated() {
            try await database.save(note("r\(number)", ["f": .asset(Asset(data: data))]))
        }
        try await container.close()
        let process = store.disk.process()
        let storage = try LocalStorage(at: "store", .reading, on: process)
        let file = try #require(try storage.list().first { $0.hasPrefix("chunks-") })
        let lengths = all.map { 80 + ($0.count + 7) / 8 * 8 }
        let end = 64 + lengths.reduce(0, +)
        #expect(try StoreVerification(storage).findings.isEmpty)
        for byte in stride(from: 0, to: end, by: 5) {
            store.disk.flip("store/\(file)", at: byte, mask: 8)
            let found = try StoreVerification(storage)
            let hit = byte < 64 ? 0..<3 : Self.hit(byte, lengths)
            #expect(
                Set(found.findings.compactMap(\.record?.recordName)) == Set(hit.map { "r\($0)" }))
            #expect(found.findings.allSatisfy { $0.field == "f" && $0.file == file })
            try await checkReads(of: all, in: store, damaged: hit, file)
            store.disk.flip("store/\(file)", at: byte, mask: 8)
        }
    }

    /// What is damaged is named, and all else is read.
    private func checkReads(
        of all: [Data], in store: DiskStore, damaged: Range<Int>, _ file: String
    ) async throws {
        let database = try store.openReadOnly().privateDatabase(for: "alice")
        for (number, data) in all.enumerated() {
            let id = noteID("r\(number)")
            let record = try await database.record(for: id)
            guard damaged.contains(number) else {
                #expect(try await record.bytes("f") == data)
                continue
            }
            let error = await failure { try await record.bytes("f") }
            #expect(error.cause == .damaged && error.place?.file == file)
            #expect(error.item == .record(id) && error.reason.contains("field f"))
        }
    }

    private static func hit(_ byte: Int, _ lengths: [Int]) -> Range<Int> {
        var start = 64
        for (number, length) in lengths.enumerated() {
            if byte < start + length { return number..<number + 1 }
            start += length
        }
        return 0..<0
    }
}
