import Stratus
import StratusBytes
import StratusFiles
import StratusJournal
import Support
import Testing
import StratusEngine

/// A segment with nothing beside it.
@Suite struct SegmentAloneTests {
    /// What a segment says by itself.
    private struct Alone: JournalFold {
        var preambles: [String] = []
        var names: [String] = []
        var records = 0

        mutating func apply(
            _ header: FrameHeader, at offset: JournalOffset, payload: Span<UInt8>
        ) throws(JournalDamage.Kind) {
            let text = String(decoding: payload.array(in: 0..<payload.count), as: UTF8.self)
            // `Formats/Record.md` has the numbers.
            switch header.kind.rawValue {
            case EntryKind.preamble.rawValue: preambles.append(text)
            case 36: names.append(text)
            case 32: records += 1
            default: break
            }
        }
        mutating func complete(end: JournalOffset, time: Int64) {}
        mutating func endGroup() {}
        mutating func setSavepoint() {}
        mutating func rollBack() {}
    }

    @Test func `any segment can be read alone, and begins with all names that it uses`()
        async throws
    {
        var store = DiskStore()
        store.options.segmentLength = 16 << 10
        let container = try store.open()
        let database = container.privateDatabase(for: "alice")
        try await database.save(RecordZone(zoneID: notes))
        let names = (0..<30).map { "Field\(100 + $0)" }
        for (number, name) in names.enumerated() {
            let text = RecordValue.string(String(repeating: "x", count: 900))
            for part in 0..<5 {
                try await database.save(note("r\(number)-\(part)", [name: text]))
            }
        }
        try await container.close()
        let manifest = try #require(
            try Journal.newestManifest(
                in: LocalStorage(at: "store", .reading, on: store.disk.process())))
        #expect(manifest.segments.count > 8)
        var known: [String] = []
        var records = 0
        for segment in manifest.segments {
            let storage = MemoryStorage()
            try storage.put(segment.fileName, store.disk.contents("store/\(segment.fileName)"))
            var lonely = manifest
            lonely.set(nil)
            lonely.segments = [segment]
            var reader = JournalReader(lonely, in: storage, fold: Alone())
            try reader.read(.toTheEnd)
            let fold = reader.fold
            records += fold.records
            let preamble = fold.preambles.first ?? ""
            #expect(known.filter { !preamble.contains($0) } == [], "\(segment.fileName)")
            known += names.filter { name in fold.names.contains { $0.contains(name) } }
        }
        #expect(known == names)
        #expect(records == 150)
    }
}
