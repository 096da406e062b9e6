import FoundationEssentials
import Stratus
import StratusFiles
import StratusJournal
import Support
import Synchronization
import Testing

/// A store is read at a stated rate while it is open.
@Suite final class ScrubTests {
    private let path = FileManager.default.temporaryDirectory
        .appending(path: "stratus-\(UUID().uuidString)").path

    deinit { try? FileManager.default.removeItem(atPath: path) }

    /// Fast enough for a test.
    private static let rate = 1 << 40

    /// Files in memory, of which those of chunks cannot be read once that is said.
    private final class BadMedium: StorageWrapper {
        let under: any Storage = MemoryStorage()
        let isBad = Atomic(false)

        func open(_ name: String) throws(StorageError) -> any StorageFile {
            let file = try under.open(name)
            return name.hasPrefix("chunks-") ? BadFile(under: file, medium: self) : file
        }

        /// From now on no chunk can be read.
        func fail() { isBad.store(true, ordering: .relaxed) }
    }

    private final class BadFile: StorageFileWrapper {
        let under: any StorageFile
        let medium: BadMedium

        init(under: any StorageFile, medium: BadMedium) {
            self.under = under
            self.medium = medium
        }

        func read(_ range: Range<Int>, _ mode: ReadMode) throws(StorageError) -> [UInt8] {
            if medium.isBad.load(ordering: .relaxed) {
                throw StorageError(.inputOutput, file: name)
            }
            return try under.read(range, mode)
        }
    }

    /// Files in memory, with something to do before each reading of the journal.
    private final class BusyStorage: StorageWrapper {
        let under: any Storage = MemoryStorage()
        let beforeReading = Mutex<(@Sendable () -> Void)?>(nil)

        func open(_ name: String) throws(StorageError) -> any StorageFile {
            let file = try under.open(name)
            return name.hasPrefix("journal-") ? BusyFile(under: file, self) : file
        }

        func hasWriter() throws(StorageError) -> Bool { true }
    }

    private final class BusyFile: StorageFileWrapper {
        let under: any StorageFile
        private let storage: BusyStorage

        init(under: any StorageFile, _ storage: BusyStorage) {
            self.under = under
            self.storage = storage
        }

        func read(_ range: Range<Int>, _ mode: ReadMode) throws(StorageError) -> [UInt8] {
            let body = storage.beforeReading.withLock { $0 }
            body?()
            return try under.read(range, mode)
        }
    }

    /// A store with records, an asset and a checkpoint.
    private func fill(_ container: Container) async throws {
        let database = container.privateDatabase(for: "alice")
        try await database.save(RecordZone(zoneID: notes))
        var generator = SeededGenerator(seed: 1)
        var record = note("with-asset")
        record["file"] = .asset(Asset(data: Data(generator.bytes(100_000))))
        try await database.save(record)
        for number in 0..<50 {
            try await database.save(note("\(number)", ["text": .string("a text \(number)")]))
        }
        try await container.checkpoint()
    }

    private func files(_ prefix: String) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: path).filter { $0.hasPrefix(prefix) }
            .sorted()
    }

    /// Changes a byte of a file, as a medium would.
    private func flip(_ name: String, at place: Int) throws {
        let file = URL(fileURLWithPath: path + "/" + name)
        var bytes = try Data(contentsOf: file)
        bytes[place] ^= 0xff
        // In the same file: the container has it open.
        try bytes.write(to: file, options: [])
    }

    @Test func `a whole store is read whole, and nothing is found`() async throws {
        let container = try await Container.open(at: path, creating: true)
        try await fill(container)
        let report = try await container.maintenance.scrub(bytesPerSecond: Self.rate)
        let verification = try await StoreVerification(of: container)
        #expect(report.damage == [])
        #expect(report.segmentCount == verification.segmentCount && report.segmentCount > 0)
        #expect(report.entryCount == verification.entryCount && report.entryCount > 50)
        #expect(report.tableCount == verification.tableCount && report.tableCount > 0)
        #expect(report.chunkCount == verification.chunkCount && report.chunkCount > 0)
        #expect(report.bytesRead > 100_000)
        try await container.close()
    }

    @Test(arguments: ["", "journal-", "chunks-", "index-"])
    func `what is scrubbed bit by bit was all read at the end`(damaged: String) async throws {
        let container = try await Container.open(at: path, creating: true)
        try await fill(container)
        if !damaged.isEmpty { try flip(try #require(try files(damaged).first), at: 600) }
        let whole = try await container.maintenance.scrub(bytesPerSecond: Self.rate)
        var reports: [ScrubReport] = []
        repeat {
            let part = ScrubPart(from: reports.last?.next, for: .zero)
            reports.append(
                try await container.maintenance.scrub(part, bytesPerSecond: Self.rate))
        } while reports.last?.next != nil
        // Where chunks lie is not known of a store that cannot be opened.
        #expect(reports.count > (damaged.isEmpty ? 3 : 1))
        let damage = reports.flatMap(\.damage)
        #expect(damage.isEmpty == damaged.isEmpty)
        #expect(damage.allSatisfy { $0.file.hasPrefix(damaged) })
        if damaged.isEmpty {
            func sum(_ count: (ScrubReport) -> Int) -> Int { reports.reduce(0) { $0 + count($1) } }
            #expect(sum(\.entryCount) == whole.entryCount)
            #expect(sum(\.segmentCount) == whole.segmentCount)
            #expect(sum(\.tableCount) == whole.tableCount && whole.tableCount > 0)
            #expect(sum(\.chunkCount) == whole.chunkCount && whole.chunkCount > 0)
        }
        try? await container.close()
    }

    @Test(arguments: ["journal-", "chunks-", "index-"])
    func `a byte that the medium has changed is found where verify finds it`(
        prefix: String
    ) async throws {
        let container = try await Container.open(at: path, creating: true)
        try await fill(container)
        let name = try #require(try files(prefix).first)
        try flip(name, at: 600)
        let report = try await container.maintenance.scrub(bytesPerSecond: Self.rate)
        let expected = try await StoreVerification(of: container).findings.filter {
            $0.severity == .damage
        }
        #expect(report.damage == expected.map(\.place))
        #expect(report.damage.contains { $0.file == name && $0.byte <= 600 })
        try? await container.close()
    }

    @Test func `a block that the medium does not give back is damage, and the scrub goes on`()
        async throws
    {
        let storage = BadMedium()
        let container = try Container(
            writing: storage, creating: true, durability: .full, options: JournalOptions(),
            steppedByCaller: false)
        try await fill(container)
        storage.fail()
        let chunks = try #require(try storage.list().first { $0.hasPrefix("chunks-") })
        let report = try await container.maintenance.scrub(bytesPerSecond: Self.rate)
        #expect(
            report.damage.contains {
                $0.file == chunks && $0.record?.recordName == "with-asset"
            })
        #expect(report.damage.allSatisfy { $0.file == chunks })
        #expect(report.damage.contains { $0.kind == "file.unreadable" })
        #expect(report.entryCount > 50)
        // So it is with a verification of the container.
        let verification = try await StoreVerification(of: container)
        #expect(verification.findings.map(\.place) == report.damage)
        try await container.close()
    }

    @Test func `saves go on meanwhile, and are no damage`() async throws {
        let container = try await Container.open(at: path, creating: true, durability: .none)
        try await fill(container)
        let database = container.privateDatabase(for: "alice")
        async let reports: [ScrubReport] = {
            var reports: [ScrubReport] = []
            for _ in 0..<3 {
                reports.append(
                    try await container.maintenance.scrub(bytesPerSecond: Self.rate))
            }
            return reports
        }()
        for number in 0..<200 { try await database.save(note("beside \(number)")) }
        for report in try await reports { #expect(report.damage == []) }
        try await container.close()
    }

    /// Between two readings of the end of the journal anything may be written.
    @Test(arguments: UInt64(0)..<20)
    func `what is written while the end of the journal is read is no damage`(
        seed: UInt64
    ) async throws {
        let storage = BusyStorage()
        let container = try Container(
            writing: storage, creating: true, durability: .full, options: JournalOptions(),
            steppedByCaller: false)
        let database = container.privateDatabase(for: "alice")
        try await database.save(RecordZone(zoneID: notes))
        let saves = Mutex((generator: SeededGenerator(seed: seed), count: 0))
        storage.beforeReading.withLock { hook in
            hook = {
                let numbers = saves.withLock { saves -> Range<Int> in
                    let first = saves.count
                    if first < 100, saves.generator.oneIn(2) {
                        saves.count += 1 + saves.generator.below(3)
                    }
                    return first..<saves.count
                }
                for number in numbers { _ = try? database.saveAndWait(note("\(number)")) }
            }
        }
        let verification = try StoreVerification(storage)
        #expect(verification.findings == [])
        #expect(verification.entryCount > 0)
        storage.beforeReading.withLock { $0 = nil }
        try await container.close()
    }

    @Test func `a scrub ends with its task and with its container`() async throws {
        let container = try await Container.open(at: path, creating: true)
        try await fill(container)
        // Without an end each would take days.
        func scrub() -> Task<ScrubReport, any Error> {
            Task { try await container.maintenance.scrub(bytesPerSecond: 1) }
        }
        let cancelled = scrub()
        await Task.yield()
        cancelled.cancel()
        #expect(await failure { try await cancelled.value }.code == .operationCancelled)
        let closed = scrub()
        await Task.yield()
        try await container.close()
        #expect(await failure { try await closed.value }.code == .operationCancelled)
    }

    @Test(arguments: [0, -1])
    func `a rate that reads nothing is refused`(rate: Int) async throws {
        let container = try Container.inMemory()
        let error = await failure { try await container.maintenance.scrub(bytesPerSecond: rate) }
        #expect(error.code == .invalidArguments && error.reason.contains("\(rate)"))
    }
}
