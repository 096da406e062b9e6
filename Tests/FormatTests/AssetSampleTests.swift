import FoundationEssentials
import Stratus
import StratusFiles
import StratusJournal
import Support
import Testing

/// What a verification says of stores with assets, and what becomes of records that lie.
@Suite struct AssetSampleTests {
    private static let samples = Sample.stores.filter { sample in
        ["/asset", "/chunk-"].contains { sample.name.contains($0) }
    }

    private static func findings(_ files: StoreFiles) throws -> [StoreError.Place] {
        try StoreVerification(SimulatedDisk(holding: files).storage(writing: false)).findings
            .map(\.place)
    }

    /// The last record of the store that all damaged samples are made from.
    @inline(never)
    private static func record(_ name: String, _ container: Container) async throws -> Record {
        try await container.privateDatabase(for: "alice").record(
            for: Record.ID(recordName: name, zoneID: SampleMaker.zone))
    }

    @Test(arguments: samples)
    func `a verification names what a reader finds, with record and field`(sample: Sample) throws {
        let findings = try Self.findings(sample.files)
        #expect(findings.isEmpty == sample.name.hasPrefix("valid/"))
        if findings.isEmpty { return }
        let page = try #require(PackageFiles.text("Formats/samples/README.md"))
        let row = try #require(
            page.split(separator: "\n").first { $0.hasPrefix("| `\(sample.name)` |") })
        let cells = row.split(separator: "|").map { $0.filter { $0 != "`" }.dropFirst().dropLast() }
        #expect(findings.allSatisfy { cells[3] == $0.kind })
        #expect(findings.contains { cells[4] == "\($0.file) \($0.byte)" })
        let named = findings.filter { $0.record != nil }
        #expect(!named.isEmpty && named.allSatisfy { $0.field?.hasPrefix("file") == true })
        // All that cannot be read is among it.
        let places = Set(findings.map { "\($0.file) byte \($0.byte) kind \($0.kind)" })
        for line in (sample.expected ?? "").split(separator: "\n") {
            guard let damage = line.firstMatch(of: /^    damage (.+)$/)?.output.1 else { continue }
            #expect(places.contains(String(damage)))
        }
    }

    @Test(arguments: [
        ("chunk-segment-newer-format", "long"), ("chunk-segment-newer-format", "plain"),
        ("chunk-encoding", "plain"),
    ])
    func `what of an asset is of a newer format is said to be so`(
        name: String, record: String
    ) async throws {
        let sample = Sample(name: "damaged/\(name)")
        let container = try Container(
            reading: SimulatedDisk(holding: sample.files).storage(writing: false))
        let asset = try #require(try await Self.record(record, container)["file"]?.assetValue)
        do throws(StoreError) {
            _ = try await asset.data(in: 0..<1)
            Issue.record("it was read")
        } catch {
            #expect(error.cause == .newerFormat)
        }
    }

    @Test func `an asset that says to be longer than anything costs no more than it has`()
        async throws
    {
        let sample = Sample(name: "damaged/asset-list-longest")
        let disk = try SimulatedDisk(holding: sample.files)
        let container = try Container(reading: disk.storage(writing: false))
        let asset = try #require(try await Self.record("long", container)["file"]?.assetValue)
        let size = try #require(asset.size)
        #expect(size == 1 << 59)
        let limited = await Self.failure { _ = try await asset.data(limit: 1 << 30) }
        #expect(limited?.code == .limitExceeded)
        let failures = [
            await Self.failure { _ = try await asset.data(limit: .max) },
            await Self.failure { _ = try await asset.data(in: 0..<size) },
            await Self.failure { _ = try await asset.data(in: size - 1..<size) },
            await Self.failure { try await asset.write(to: "out") },
        ]
        #expect(failures.allSatisfy { $0?.cause == .damaged && $0?.place?.kind == "chunk.list" })
        #expect(!disk.exists("out"))
        #expect(try await container.assetStatistics().logicalBytes > size)
        _ = try await container.privateDatabase(for: "alice").contentHash()
    }

    @inline(never)
    private static func failure(
        _ body: () async throws -> Void
    ) async -> StoreError? {
        do {
            try await body()
            return nil
        } catch {
            return error as? StoreError
        }
    }
}

/// Lists that name each other.
@Suite struct SharedListTests {
    private static let width = 400

    /// A store in which a record has an asset of so many bytes, all of them one and the same: seven
    /// chunks in all, six of them lists of which each names the one before 400 times. Saving the
    /// bytes of a list as an asset stores the list.
    private static func bomb() async throws -> (files: StoreFiles, length: UInt64) {
        let maker = SampleMaker(seed: 72)
        let database = try maker.open().privateDatabase(for: "alice")
        try await database.save(RecordZone(zoneID: SampleMaker.zone))
        var bytes = Data("x".utf8)
        var length: UInt64 = 1
        var address: [UInt8] = []
        for depth in 0...6 {
            try await database.save(
                maker.record("list-\(depth)", ["file": .asset(Asset(data: bytes))]))
            let payload = SegmentImage(try maker.segment(0), base: 0).lastPayload
            address = try AssetRecordImage(payload).asset.extents[0].address
            let row = address + (0..<8).map { UInt8(truncatingIfNeeded: length >> ($0 * 8)) }
            bytes = Data((0..<width).flatMap { _ in row })
            if depth < 6 { length *= UInt64(width) }
        }
        let files = try SampleMaker.with(
            lastAsset: { asset in
                asset.length = length
                asset.depth = 6
                asset.extents = [(address, length)]
            }, in: maker.files)
        return (files, length)
    }

    @Test func `lists that name each other without end are verified once each`() async throws {
        let (files, length) = try await Self.bomb()
        #expect(length == 4_096_000_000_000_000)
        let storage = try SimulatedDisk(holding: files).storage(writing: false)
        let verification = try StoreVerification(storage)
        #expect(verification.findings.isEmpty)
        #expect(verification.chunkCount == 7)
    }

    @Test func `any part of what they stand for is read`() async throws {
        let (files, length) = try await Self.bomb()
        let container = try Container(
            reading: SimulatedDisk(holding: files).storage(writing: false))
        let record = try await container.privateDatabase(for: "alice").record(
            for: Record.ID(recordName: "list-6", zoneID: SampleMaker.zone))
        let asset = try #require(record["file"]?.assetValue)
        #expect(asset.size == Int(length))
        for start in [0, 12_345_678_901, Int(length) - 3] {
            let data = try await asset.data(in: start..<start + 3)
            #expect(data == Data("xxx".utf8))
        }
    }

    @Test func `a collection, and a save that relies on them, look at each once`() async throws {
        let (files, length) = try await Self.bomb()
        let container = try Container(
            writing: SimulatedDisk(holding: files).storage(writing: true), creating: false,
            durability: .full, options: JournalOptions(), steppedByCaller: false)
        #expect(try await container.collectAssets().reclaimedChunks == 0)
        let database = container.privateDatabase(for: "alice")
        var copy = Record(
            recordType: "Item",
            recordID: Record.ID(recordName: "copy", zoneID: SampleMaker.zone))
        let id = Record.ID(recordName: "list-6", zoneID: SampleMaker.zone)
        copy["file"] = try await database.record(for: id)["file"]
        #expect(try await database.save(copy)["file"]?.assetValue?.size == Int(length))
        try await container.close()
    }

    @Test func `one damaged byte in them is told once for each record`() async throws {
        var (files, _) = try await Self.bomb()
        var image = ChunkImage(files[SampleMaker.chunkFile] ?? [])
        image.flip(image.stored(image.frames[0]).lowerBound)
        files[SampleMaker.chunkFile] = image.bytes
        let findings = try StoreVerification(
            SimulatedDisk(holding: files).storage(writing: false)
        ).findings.map(\.place)
        #expect(Set(findings.compactMap(\.record?.recordName)) == ["list-0", "list-6"])
        #expect(findings.count == 2 && findings.allSatisfy { $0.kind == "chunk.checksum" })
    }
}
