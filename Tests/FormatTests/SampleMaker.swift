import FoundationEssentials
import Stratus
import StratusFiles
import StratusJournal
import Support
import Synchronization

/// Makes stores with given seeds, so that the same calls give the same bytes.
final class SampleMaker {
    let disk = SimulatedDisk()
    private let segmentLength: Int
    private let time: Time
    private let clock: Clock
    private let randomness: Randomness

    static let zone = RecordZone.ID(zoneName: "notes")

    init(seed: UInt64, segmentLength: Int = 16 << 10) {
        self.segmentLength = segmentLength
        let random = Mutex(SeededGenerator(seed: seed))
        randomness = Randomness { random.withLock { $0.next() } }
        let time = Time()
        self.time = time
        clock = Clock { time.pass(1_500_000) }
    }

    /// From the first of January 2026 on, and a second and a half at every look.
    private final class Time: Sendable {
        private let microseconds = Mutex(Int64(1_767_225_600_000_000))

        @discardableResult
        func pass(_ count: Int64) -> Int64 {
            microseconds.withLock { now in
                now += count
                return now
            }
        }
    }

    /// Nothing happens for so long.
    func wait(days: Int64) { time.pass(days * 86_400_000_000) }

    var options: JournalOptions {
        var options = JournalOptions()
        options.segmentLength = segmentLength
        options.clock = clock
        options.randomness = randomness
        return options
    }

    /// Opens the store, whatever process had it open before.
    func open(_ durability: Container.Durability = .full) throws -> Container {
        disk.killProcesses()
        return try Container(
            writing: LocalStorage(
                at: storePath, .writing(creating: true), on: disk.process()),
            creating: true, durability: durability, options: options, steppedByCaller: true)
    }

    /// Of chunk segments, the zeros behind the last frame are left off.
    var files: StoreFiles {
        var files = disk.storeFiles
        for (name, bytes) in files where name.hasPrefix(ChunkImage.filePrefix) {
            files[name] = ChunkImage(bytes).withoutZeros
        }
        return files
    }

    func record(
        _ name: String, type: String = "Note", in zone: RecordZone.ID = zone,
        _ fields: [String: RecordValue] = [:]
    ) -> Record {
        var record = Record(
            recordType: type, recordID: Record.ID(recordName: name, zoneID: zone))
        for (key, value) in fields { record[key] = value }
        return record
    }

    /// Bytes that do not repeat, so that no two groups are alike.
    func filling(_ number: Int, count: Int) -> RecordValue {
        var generator = SeededGenerator(seed: UInt64(number))
        return .bytes(Data(generator.bytes(count)))
    }

    /// A zone and so many saves in it, a commit each.
    func fill(
        _ database: Database, saves: Int, from first: Int = 0, length: Int = 100
    ) async throws {
        if first == 0 { try await database.save(RecordZone(zoneID: Self.zone)) }
        for number in first..<first + saves {
            try await database.save(
                record(
                    "note-\(number)",
                    ["number": .int64(Int64(number)), "content": filling(number, count: length)]))
        }
    }
}

extension SampleMaker {
    /// All samples, by their paths below the folder of samples, as files.
    static func all() async throws -> [String: StoreFiles] {
        var samples = try await valid()
        samples.merge(try await damaged()) { first, _ in first }
        samples.merge(tokens()) { first, _ in first }
        samples.merge(systemFields()) { first, _ in first }
        samples.merge(try indexes()) { first, _ in first }
        samples.merge(try await archives()) { first, _ in first }
        return samples
    }
}
