import FoundationEssentials
import Stratus
import StratusAssets
import StratusBytes
import StratusEngine
import StratusFiles
import StratusJournal
import Support
import Testing

/// Bytes of the chunk segments of a closed store are changed.
struct AssetDamageTests {
    private let sample: SmallStore
    private let file: String
    /// What the records have in the field `file`, by their names.
    private let contents: [String: Data]
    /// Where the last frame ends.
    private let end: Int

    private static let zone = RecordZone.ID(zoneName: "notes")

    /// A chunk that is stored as it is, one that is compressed, and an asset of several, three of
    /// which differ, with a list.
    init() async throws {
        var generator = SeededGenerator(seed: 3)
        var long = Data()
        for number in 0..<30 {
            long.append(Data(repeating: UInt8(number % 3), count: 16_384))
            // Behind these three bytes is a cut.
            long.append(contentsOf: Array("shf".utf8))
        }
        contents = [
            "plain": Data(generator.bytes(150)), "packed": Data(repeating: 7, count: 5000),
            "long": long,
        ]
        var store = SmallStore(seed: 3)
        store.options.segmentLength = 16 << 10
        try await Self.fill(store, contents)
        sample = store
        file = try #require(store.disk.paths.first { $0.contains("/chunks-") })
        let bytes = store.disk.contents(file)
        var place = 64
        func storedLength() -> Int { Int(bytes.span.uint32(at: place + 16)) }
        while storedLength() > 0 { place += 80 + (storedLength() + 7) / 8 * 8 }
        end = place
    }

    @inline(never)
    private static func fill(_ store: SmallStore, _ contents: [String: Data]) async throws {
        let container = try store.open()
        let database = container.privateDatabase(for: "alice")
        try await database.save(RecordZone(zoneID: zone))
        for (name, data) in contents.sorted(by: { $0.key < $1.key }) {
            var record = Record(
                recordType: "Note", recordID: Record.ID(recordName: name, zoneID: zone))
            record["file"] = .asset(Asset(data: data))
            try await database.save(record)
        }
        try await container.close()
    }

    private static func findings(_ store: SmallStore) throws -> [StoreError.Place] {
        try StoreVerification(
            LocalStorage(at: SmallStore.directory, .reading, on: store.disk.process())
        ).findings.map(\.place)
    }

    /// What is wrong with what a damaged store says.
    private func problem(_ store: SmallStore, at byte: Int) async throws -> String? {
        let found = try Self.findings(store)
        if byte >= end { return found.isEmpty ? nil : "found behind the last frame" }
        let names = Set(found.compactMap(\.record?.recordName))
        guard byte < 64 ? names.count == 3 : names.count == 1 else { return "found in \(names)" }
        // Below a damaged list it is unknown which chunks the record needs.
        let known = found.filter { $0.record != nil }
        guard found.allSatisfy({ file.hasSuffix($0.file) && $0.byte <= byte }),
            known.allSatisfy({ $0.field == "file" })
        else { return "found \(found)" }
        let database = try store.openReadOnly().privateDatabase(for: "alice")
        for (name, data) in contents {
            if let problem = try await Self.problem(
                database, name, data, isDamaged: names.contains(name))
            {
                return problem
            }
        }
        return nil
    }

    /// Whether a record's asset is read or, where it is damaged, the damage is told with its place.
    @inline(never)
    private static func problem(
        _ database: Database, _ name: String, _ data: Data, isDamaged: Bool
    ) async throws -> String? {
        let id = Record.ID(recordName: name, zoneID: zone)
        let asset = try await database.record(for: id)["file"]?.assetValue
        do throws(StoreError) {
            // Of each chunk some bytes.
            var read = Data()
            var expected = Data()
            for start in stride(from: 0, to: min(data.count, 50_000), by: 16_000) {
                let range = start..<min(data.count, start + 100)
                read += try await asset?.data(in: range) ?? Data()
                expected += data[range]
            }
            return read == expected && !isDamaged ? nil : "\(name) is read"
        } catch {
            let isRight =
                isDamaged && error.cause == .damaged && error.place != nil
                && error.item == .record(id) && error.reason.contains("field file")
            return isRight ? nil : "\(name): \(error)"
        }
    }

    /// The kinds of the entries of a store, and the chunks that they say lie somewhere.
    private static func entries(
        of container: Container
    ) throws -> (kinds: Set<EntryKind>, chunks: [ChunkAddress]) {
        var kinds: Set<EntryKind> = []
        var chunks: [ChunkAddress] = []
        var log = container.log()
        while let entry = try log.nextLine()?.entry {
            kinds.insert(entry.kind)
            guard entry.kind == .chunks else { continue }
            try entry.withPayload { payload in
                try ChunkEntry.forEach(payload) { address, _ in chunks.append(address) }
            }
        }
        return (kinds, chunks)
    }

    @Test func `where the journal says of no chunk any more where it lies, each asset is missed`()
        async throws
    {
        let store = sample.copy(seed: 1)
        let container = try store.open()
        let chunks = try Self.entries(of: container).chunks
        var buffer = CommitBuffer()
        try buffer.add(.reclaimedChunks) { ReclaimedChunksEntry.write(chunks, to: &$0) }
        _ = try container.engine().commitBlocking(EntriesCommit(buffer: buffer))
        // So long that the entries of chunks lie in segments that are compacted.
        let database = container.privateDatabase(for: "alice")
        for number in 0..<400 {
            let id = Record.ID(recordName: "r\(number)", zoneID: Self.zone)
            try await database.save(Record(recordType: "Note", recordID: id))
        }
        for _ in 0..<3 {
            try await container.checkpoint()
            try await container.maintenance.compact()
        }
        let kinds = try Self.entries(of: container).kinds
        #expect(!kinds.contains(.chunks) && kinds.contains(.reclaimedChunks))
        try await container.close()
        let found = try Self.findings(store)
        #expect(Set(found.compactMap(\.record?.recordName)) == Set(contents.keys))
        #expect(found.allSatisfy { $0.kind == "asset.chunk" && $0.field == "file" })
    }

    @Test func `a changed byte of a chunk is found, with record and field, and all else is served`()
        async throws
    {
        #expect(try Self.findings(sample).isEmpty)
        var problems: [String] = []
        var count = 0
        for byte in stride(from: 0, to: end + 64, by: Campaign.byteStride) {
            let damaged = sample.copy(seed: 1)
            damaged.disk.flip(file, at: byte, mask: UInt8(1) << UInt8(byte % 8))
            if let problem = try await problem(damaged, at: byte) {
                problems.append("byte \(byte): \(problem)")
            }
            count += 1
        }
        CampaignReport.add(
            "Bytes of a chunk segment changed: \(count), \(end) of them in frames.\n")
        #expect(problems.prefix(20) == [])
        #expect(end > 800)
    }

    @Test func `a chunk segment that is cut or gone loses what lay behind, and no more`()
        async throws
    {
        var problems: [String] = []
        for length in stride(from: 0, to: end, by: Campaign.triesAllBytes ? 1 : 101) {
            let damaged = sample.copy(seed: 1)
            damaged.disk.setLength(file, length)
            let found = try Self.findings(damaged)
            if found.isEmpty || !found.contains(where: { $0.record != nil }) {
                problems.append("\(length) bytes: \(found)")
            }
        }
        #expect(problems.prefix(20) == [])
        let missing = sample.copy(seed: 1)
        missing.disk.delete(file)
        let found = try Self.findings(missing)
        #expect(Set(found.map(\.kind)) == ["chunk segment.missing"])
        #expect(Set(found.compactMap(\.record?.recordName)).count == 3)
    }
}
