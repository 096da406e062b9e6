import FoundationEssentials
import Glibc
import Stratus
import StratusAssets
import StratusBytes
import StratusFiles
import Support
import Testing

/// How fast an asset goes in and out, beside the parts of that work, each measured alone in the
/// same run.
struct AssetRateTests {
    private static let zone = RecordZone.ID(zoneName: "files")

    /// Seconds for all bytes, on one core but for the last three.
    private struct Times {
        var cutting = 0.0
        var hashing = 0.0
        var compressing = 0.0
        var decompressing = 0.0
        /// As many bytes as are stored, and as many as there are.
        var writingStored = 0.0
        var writingAll = 0.0
        /// The stored bytes, from the disk, and the processor's part of that.
        var reading = 0.0
        var readingProcessor = 0.0
        var ingest = 0.0
        var chunks = 0.0
        /// From the disk.
        var coldChunks = 0.0
        var file = 0.0
        var storedBytes = 0
    }

    @Test func `an asset comes out as it went in, and how fast`() async throws {
        let folder = "\(Campaign.folder)/stratus-rates-\(UUID().uuidString)"
        try FileManager.default.createDirectory(
            atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        var path = "\(folder)/source"
        if let given = Campaign.assetFile { path = given } else { try Self.makeFile(path) }
        let source = try SourceFile(FilePlace(path))
        var runs: [Times] = []
        for run in 1...Campaign.repeats {
            var times = Times()
            try Self.measureParts(source, &times)
            times.writingStored = try Self.write(times.storedBytes, "\(folder)/raw-\(run)")
            times.writingAll = try Self.write(source.status.length, "\(folder)/all-\(run)")
            try await Self.measureStore("\(folder)/store-\(run)", path, &times)
            runs.append(times)
        }
        Self.report(runs, source.status.length)
    }

    /// Of bytes of which half can be compressed.
    private static func makeFile(_ path: String) throws {
        var generator = SeededGenerator(seed: Campaign.seed)
        var bytes: [UInt8] = []
        for word in 0..<(1 << 19) {
            let mask: UInt64 = word / 20_000 % 2 == 0 ? .max : 0x0101_0101_0101_0101
            let value = generator.next() & mask
            for place in 0..<8 { bytes.append(UInt8(truncatingIfNeeded: value >> (place * 8))) }
        }
        try Data(bytes).write(to: URL(filePath: path))
    }

    private static func seconds(_ body: () throws -> Void) rethrows -> Double {
        let start = Clock.monotonicNanoseconds
        try body()
        return Double(Clock.monotonicNanoseconds - start) / 1e9
    }

    /// What has to be done to every byte, on one core, in memory.
    private static func measureParts(_ source: SourceFile, _ times: inout Times) throws {
        var position = 0
        while position < source.status.length {
            let part = try source.read(at: position, upTo: 32 << 20)
            position += part.count
            var cuts: [Range<Int>] = []
            times.cutting += seconds {
                var chunker = Chunker()
                var start = 0
                while let length = chunker.firstCut(in: part.span.extracting(start...)) {
                    cuts.append(start..<start + length)
                    start += length
                }
                if start < part.count { cuts.append(start..<part.count) }
            }
            for cut in cuts {
                let chunk = Array(part[cut])
                times.hashing += seconds { _ = SHA256.hash(chunk) }
                var block: [UInt8]?
                times.compressing += seconds {
                    block = LZ4.compress(chunk.span, most: chunk.count - chunk.count / 16)
                }
                times.storedBytes += (block ?? chunk).count
                guard let block else { continue }
                var again: [UInt8]?
                times.decompressing += seconds {
                    again = LZ4.decompress(block.span, count: chunk.count)
                }
                #expect(again == chunk)
            }
        }
    }

    /// Seconds until so many bytes are durable.
    private static func write(_ count: Int, _ path: String) throws -> Double {
        let storage = try LocalStorage(at: path, .writing(creating: true))
        defer { try? FileManager.default.removeItem(atPath: path) }
        let buffer = [UInt8](repeating: 0x5a, count: 1 << 20)
        return try seconds {
            let file = try storage.create("bytes", length: max(1, count))
            for start in stride(from: 0, to: count, by: buffer.count) {
                let end = min(count, start + buffer.count)
                try file.append(buffer.span.extracting(0..<end - start), at: start, .streamed)
            }
            try file.sync()
        }
    }

    @inline(never)
    private static func measureStore(
        _ path: String, _ source: String, _ times: inout Times
    ) async throws {
        let container = try await Container.open(at: path, creating: true)
        let database = container.privateDatabase(for: "alice")
        try await database.save(RecordZone(zoneID: zone))
        var record = Record(
            recordType: "File", recordID: Record.ID(recordName: "file", zoneID: zone))
        record["asset"] = .asset(Asset(file: source))
        var start = Clock.monotonicNanoseconds
        let saved = try await database.save(record)
        times.ingest = Double(Clock.monotonicNanoseconds - start) / 1e9
        let asset = try #require(saved["asset"]?.assetValue)
        let copy = "\(path)-copy"
        defer {
            try? FileManager.default.removeItem(atPath: copy)
            try? FileManager.default.removeItem(atPath: path)
        }
        try Self.forget(path)
        let processor = clock()
        times.reading = try Self.seconds { try Self.readSegments(path) }
        times.readingProcessor = Double(clock() - processor) / Double(CLOCKS_PER_SEC)
        try Self.forget(path)
        for time in [\Times.coldChunks, \Times.chunks] {
            start = Clock.monotonicNanoseconds
            var count = 0
            for try await chunk in try asset.chunks() { count += chunk.count }
            times[keyPath: time] = Double(Clock.monotonicNanoseconds - start) / 1e9
            #expect(count == asset.size)
        }
        start = Clock.monotonicNanoseconds
        try await asset.write(to: copy)
        times.file = Double(Clock.monotonicNanoseconds - start) / 1e9
        #expect(try Self.areEqual(SourceFile(FilePlace(source)), SourceFile(FilePlace(copy))))
        try await container.close()
    }

    private static func segments(_ path: String) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: path)
            .filter { $0.hasPrefix("chunks-") }.sorted()
    }

    /// Has the system keep nothing of the segments' bytes in memory.
    private static func forget(_ path: String) throws {
        let system = LinuxFileSystem()
        let folder = try system.openDirectory(path)
        defer { try? system.close(folder) }
        for name in try segments(path) {
            let file = try system.open(name, in: folder, .reading)
            defer { try? system.close(file) }
            #expect(posix_fadvise(file.rawValue, 0, 0, POSIX_FADV_DONTNEED) == 0)
        }
    }

    private static func readSegments(_ path: String) throws {
        for name in try segments(path) {
            let segment = try SourceFile(FilePlace("\(path)/\(name)"))
            for position in stride(from: 0, to: segment.status.length, by: 1 << 20) {
                _ = try segment.read(at: position, upTo: 1 << 20)
            }
        }
    }

    private static func areEqual(_ left: SourceFile, _ right: SourceFile) throws -> Bool {
        guard left.status.length == right.status.length else { return false }
        for position in stride(from: 0, to: left.status.length, by: 1 << 20) {
            let bytes = try left.read(at: position, upTo: 1 << 20)
            guard try right.read(at: position, upTo: 1 << 20) == bytes else { return false }
        }
        return true
    }

    private static func report(_ runs: [Times], _ length: Int) {
        func median(_ value: (Times) -> Double) -> Double {
            runs.map(value).sorted()[runs.count / 2]
        }
        func rate(_ seconds: Double) -> String { "\(Int(Double(length) / seconds / 1e6))" }
        let cores = Double(ProcessInfo.processInfo.activeProcessorCount)
        let ingest = { (times: Times) in
            max(
                times.writingStored,
                (times.cutting + times.hashing + times.compressing) / cores)
        }
        let reading = { (times: Times) in (times.hashing + times.decompressing) / cores }
        let coldReading = { (times: Times) in
            max(times.reading, reading(times) + times.readingProcessor / cores)
        }
        let writing = { (times: Times) in max(times.writingAll, reading(times)) }
        let rows: [(String, (Times) -> Double, ((Times) -> Double)?)] = [
            ("cutting, one core", \.cutting, nil),
            ("SHA-256, one core", \.hashing, nil),
            ("LZ4, one core", \.compressing, nil),
            ("LZ4 back, one core", \.decompressing, nil),
            ("writing the stored bytes", \.writingStored, nil),
            ("writing all bytes", \.writingAll, nil),
            ("reading the stored bytes from the disk", \.reading, nil),
            ("the processor's part of that, one core", \.readingProcessor, nil),
            ("a save", \.ingest, ingest),
            ("reading chunk by chunk, from the disk", \.coldChunks, coldReading),
            ("reading chunk by chunk, from memory", \.chunks, reading),
            ("reading into a durable file", \.file, writing),
        ]
        CampaignReport.add(
            "\(length) bytes, \(runs.last?.storedBytes ?? 0) as stored, \(Int(cores)) cores;"
                + " medians of \(runs.count). MB/s are of the asset's bytes. A save is held to the"
                + " slower of the disk for what is stored and of the cores for the three parts;"
                + " reading to the cores for SHA-256 and LZ4 and, where it comes from the disk, for"
                + " what the system does to read; where it comes from the disk or goes into a file,"
                + " to the disk.\n")
        CampaignReport.add(
            Campaign.table(
                ["", "MB/s", "of what the parts allow"],
                rows.map { name, value, parts in
                    let share = parts.map { parts in
                        let share = median { parts($0) / value($0) }
                        return "\((share * 100).rounded() / 100)"
                    }
                    return [name, rate(median(value)), share ?? ""]
                }))
    }
}
