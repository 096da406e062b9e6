import FoundationEssentials
import Stratus
import StratusFiles
import StratusJournal
import Support
import Testing

/// How long it runs: STRATUS_COLLECTION_SEEDS stores, in each of which three workers do
/// STRATUS_COLLECTION_STEPS steps each time that it is opened.
private enum Length {
    static let seeds = number("STRATUS_COLLECTION_SEEDS") ?? 2
    static let steps = number("STRATUS_COLLECTION_STEPS") ?? 60
    static let first = number("STRATUS_SEED") ?? 1
    static let openings = 4

    private static func number(_ name: String) -> Int? {
        ProcessInfo.processInfo.environment[name].flatMap { Int($0) }
    }
}

extension AssetCollectionTests {
    /// Saves, replacements, copies, deletions, moves, zones that go, snapshots and receipts that
    /// are held here, snapshots in a reading process, and all the while collections.
    @Test(arguments: Length.first..<Length.first + Length.seeds)
    func `a chunk is collected only when nothing names it`(seed: Int) async throws {
        var store = DiskStore()
        store.options.segmentLength = 1 << 16
        var workers = (0..<3).map { RandomWorker(number: $0, seed: seed) }
        var found = RandomCounts()
        for number in 0..<Length.openings {
            found.add(try await Self.work(store, &workers, isRead: number % 2 == 1))
        }
        let container = try store.open()
        try await Self.expectNothingElse(container, workers)
        try await container.close()
        let storage = try LocalStorage(at: "store", .reading, on: store.disk.process())
        #expect(try StoreVerification(storage).findings.isEmpty)
        #expect(found.reclaimedChunks > 0 && found.copiedChunks > 0 && found.deletedSegments > 0)
        report(seed, found, workers.reduce(0) { $0 + $1.stepCount })
    }

    /// The store is open once, and all workers work.
    @inline(never)
    private static func work(
        _ store: DiskStore, _ workers: inout [RandomWorker], isRead: Bool
    ) async throws -> RandomCounts {
        let container = try store.open()
        // What a reading process sees stays as it is now.
        let reader = isRead ? try store.openReadOnly() : nil
        let seen = reader.map { HeldState($0.snapshot(), workers.flatMap(\.records)) }
        let isDone = OneTime()
        let found = await withTaskGroup(of: RandomOutcome.self) { group in
            group.addTask { .collected(await Self.collect(container, until: isDone)) }
            for worker in workers {
                group.addTask {
                    var worker = worker
                    do {
                        try await worker.work(container)
                    } catch {
                        Issue.record("worker \(worker.name): \(error)")
                    }
                    return .worked(worker)
                }
            }
            var worked: [RandomWorker] = []
            var sum = RandomCounts()
            for await outcome in group {
                switch outcome {
                case .worked(let worker): worked.append(worker)
                case .collected(let counts): sum = counts
                }
                if worked.count == workers.count { _ = isDone.take() }
            }
            return (worked, sum)
        }
        workers = found.0.sorted { $0.name < $1.name }
        for _ in 0..<2 { try await reader?.refresh() }
        try await seen?.check()
        try await container.close()
        return found.1
    }

    /// Collects over and over again.
    @inline(never)
    private static func collect(
        _ container: Container, until isDone: OneTime
    ) async -> RandomCounts {
        var counts = RandomCounts()
        while !isDone.isOver {
            do {
                let report = try await container.collectAssets()
                counts.collections += 1
                counts.reclaimedChunks += report.reclaimedChunks
                counts.copiedChunks += report.copiedChunks
                counts.deletedSegments += report.deletedSegments.count
            } catch {
                // The store collects by itself, too.
                #expect(error.code == .serviceUnavailable, "\(error)")
            }
            await Task.yield()
        }
        return counts
    }

    /// Of all that was stored only what records name is left.
    @inline(never)
    private static func expectNothingElse(
        _ container: Container, _ workers: [RandomWorker]
    ) async throws {
        try await container.collectAssets()
        let named = Set(workers.flatMap { $0.records.values.joined() })
        let statistics = try await container.assetStatistics()
        #expect(statistics.chunkCount == named.count)
        for worker in workers { try await worker.check(container.snapshot()) }
    }
}

/// What came of a task.
private enum RandomOutcome: Sendable {
    case worked(RandomWorker)
    case collected(RandomCounts)
}

private struct RandomCounts: Sendable {
    var collections = 0
    var reclaimedChunks = 0
    var copiedChunks = 0
    var deletedSegments = 0

    mutating func add(_ other: RandomCounts) {
        collections += other.collections
        reclaimedChunks += other.reclaimedChunks
        copiedChunks += other.copiedChunks
        deletedSegments += other.deletedSegments
    }
}

/// Adds what happened to the report of a campaign.
private func report(_ seed: Int, _ counts: RandomCounts, _ steps: Int) {
    CampaignReport.add(
        "- seed \(seed): \(steps) steps beside \(counts.collections) collections, which "
            + "took back \(counts.reclaimedChunks) chunks, copied \(counts.copiedChunks) and deleted "
            + "\(counts.deletedSegments) segments")
}

/// What assets may hold, each in one chunk.
private let assetContents = (0..<40).map { noise(3000 + $0 * 300, seed: UInt64($0)) }

/// The assets of records, as numbers of what they hold.
private typealias RandomRecords = [Record.ID: [Int]]

/// A snapshot, and what is in it.
private struct HeldState: Sendable {
    var snapshot: Snapshot
    var records: RandomRecords

    init(_ snapshot: Snapshot, _ records: some Sequence<RandomRecords.Element>) {
        self.snapshot = snapshot
        self.records = Dictionary(uniqueKeysWithValues: records.map { ($0.key, $0.value) })
    }

    @inline(never)
    func check() async throws {
        let database = snapshot.privateDatabase(for: "alice")
        for (id, expected) in records {
            let list = try database.record(for: id)["l"]?.listValue ?? []
            #expect(list.count == expected.count, "\(id)")
            for (value, content) in zip(list, expected) {
                let data = try await value.assetValue?.data(limit: 1 << 20)
                #expect(data == assetContents[content], "\(id)")
            }
        }
    }
}

/// Does random things with records of its own in zones of its own, and knows what has to be there.
private struct RandomWorker: Sendable {
    let name: String
    private(set) var records: RandomRecords = [:]
    private(set) var stepCount = 0
    private let zones: [RecordZone.ID]
    private var generator: SeededGenerator
    /// Of this opening.
    private var receipts: [(receipt: String, content: Int)] = []
    private var held: [HeldState] = []

    init(number: Int, seed: Int) {
        name = "w\(number)"
        zones = [RecordZone.ID(zoneName: "w\(number)-a"), RecordZone.ID(zoneName: "w\(number)-b")]
        generator = SeededGenerator(seed: UInt64(seed * 16 + number))
    }

    @inline(never)
    mutating func work(_ container: Container) async throws {
        let database = container.privateDatabase(for: "alice")
        for zone in zones { try await database.save(RecordZone(zoneID: zone)) }
        for _ in 0..<Length.steps {
            try await step(container, database)
            stepCount += 1
        }
        for state in held { try await state.check() }
        (held, receipts) = ([], [])
        try await check(container.snapshot())
    }

    func check(_ snapshot: Snapshot) async throws {
        try await HeldState(snapshot, records).check()
    }

    private mutating func step(_ container: Container, _ database: Database) async throws {
        switch generator.below(16) {
        case 0..<5: try await saveNew(database)
        case 5, 6: try await saveCopy(database)
        case 7:
            let content = generator.below(assetContents.count)
            let asset = Asset(data: assetContents[content])
            receipts.append((try await database.store(asset).receipt, content))
        case 8: try await saveReceipt(database)
        case 9, 10:
            let id = anyID()
            try await database.deleteRecord(withID: id)
            records[id] = nil
        case 11, 12: try await move(database)
        case 13:
            guard generator.oneIn(4) else { return }
            let zone = zones[generator.below(2)]
            try await database.deleteRecordZone(withID: zone)
            records = records.filter { $0.key.zoneID != zone }
            try await database.save(RecordZone(zoneID: zone))
        case 14: held.append(HeldState(container.snapshot(), records))
        default:
            if !held.isEmpty { try await held.remove(at: generator.below(held.count)).check() }
            try await check(container.snapshot())
        }
    }

    private mutating func anyID() -> Record.ID {
        noteID("r\(generator.below(3))", in: zones[generator.below(2)])
    }

    private mutating func saveNew(_ database: Database) async throws {
        let id = anyID()
        var contents: [Int] = []
        for _ in 0...generator.below(3) { contents.append(generator.below(assetContents.count)) }
        let values = contents.map { RecordValue.asset(Asset(data: assetContents[$0])) }
        try await save(id, values, database)
        records[id] = contents
    }

    /// Saves what is stored already.
    private mutating func saveCopy(_ database: Database) async throws {
        let (from, to) = (anyID(), anyID())
        guard let contents = records[from] else { return }
        let values = try await database.record(for: from)["l"]?.listValue ?? []
        try await save(to, values, database)
        records[to] = contents
    }

    private mutating func saveReceipt(_ database: Database) async throws {
        guard !receipts.isEmpty else { return }
        let (receipt, content) = receipts.remove(at: generator.below(receipts.count))
        let id = anyID()
        let record = note(
            id.recordName, ["l": .list([.asset(Asset(.receipt(receipt)))])], in: id.zoneID)
        let results = try await database.modifyRecords(
            [.save(record, SaveRule(.allKeys))], atomically: true)
        _ = try results[0].get()
        records[id] = [content]
    }

    private func save(
        _ id: Record.ID, _ values: [RecordValue], _ database: Database
    ) async throws {
        try await database.saveAll(
            [note(id.recordName, ["l": .list(values)], in: id.zoneID)], savePolicy: .allKeys)
    }

    private mutating func move(_ database: Database) async throws {
        let from = anyID()
        let to = noteID(from.recordName, in: from.zoneID == zones[0] ? zones[1] : zones[0])
        guard let contents = records[from], records[to] == nil else { return }
        try await database.moveRecords([from], to: to.zoneID)
        records[from] = nil
        records[to] = contents
    }
}
