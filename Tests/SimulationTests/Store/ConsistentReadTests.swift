import FoundationEssentials
import Stratus
import StratusFiles
import StratusJournal
import Support
import Synchronization
import Testing

/// Many readers beside a writer at full speed, while checkpoints and merges are made.
struct ConsistentReadTests {
    private static let accounts = 100
    private static let deposit: Int64 = 1_000
    private static let zone = RecordZone.ID(zoneName: "bank")
    private static let journal = RecordZone.ID(zoneName: "papers")

    private struct Problem: Error, CustomStringConvertible {
        let description: String
    }

    private static func container(
        _ storage: any Storage
    ) async throws -> Container {
        var options = JournalOptions()
        options.segmentLength = 256 << 10
        let container = try Container(
            writing: storage, creating: true, durability: .none, options: options,
            steppedByCaller: false, memoryLimit: 1 << 20)
        let database = container.privateDatabase(for: "alice")
        try await database.save(RecordZone(zoneID: zone))
        try await database.save(RecordZone(zoneID: journal))
        let records = (0..<accounts).map { number in
            var record = Record(recordType: "Account", recordID: id(number))
            record["balance"] = .int64(deposit)
            return record
        }
        let result = try await database.modifyRecords(saving: records)
        if let failure = result.partialFailure { throw failure }
        return container
    }

    private static func id(_ number: Int) -> Record.ID {
        Record.ID(recordName: "account\(number)", zoneID: zone)
    }

    /// Moves money, and leaves papers in another zone so that the index grows.
    private static func write(_ database: Database, seed: UInt64, count: Int) async throws {
        var generator = SeededGenerator(seed: seed)
        var balances = [Int64](repeating: deposit, count: accounts)
        for number in 0..<count {
            let (from, to) = (generator.below(accounts), generator.below(accounts))
            if from == to { continue }
            let amount = Int64(generator.below(100))
            balances[from] -= amount
            balances[to] += amount
            let records = [from, to].map { place in
                var record = Record(recordType: "Account", recordID: id(place))
                record["balance"] = .int64(balances[place])
                return record
            }
            let result = try await database.modifyRecords(
                saving: records, savePolicy: .allKeys)
            if let failure = result.partialFailure { throw failure }
            guard number % 3 == 0 else { continue }
            let papers = (0..<40).map { place in
                Record(
                    recordType: "Paper",
                    recordID: Record.ID(
                        recordName: "p\(number)-\(place)", zoneID: journal))
            }
            _ = try await database.modifyRecords(saving: papers)
        }
    }

    private static func check(_ records: [Record], _ what: String) throws {
        let sum = records.reduce(Int64(0)) { $0 + ($1["balance"]?.int64Value ?? 0) }
        guard records.count == accounts, sum == deposit * Int64(accounts) else {
            throw Problem(description: "\(what): \(records.count) accounts, sum \(sum)")
        }
    }

    /// Reads in one way after the other until there is nothing to wait for.
    private static func read(
        _ container: Container, number: Int, until isOver: borrowing Atomic<Bool>
    ) async throws -> Int {
        let database = container.privateDatabase(for: "alice")
        var mirror: [Record.ID: Record] = [:]
        var token: ChangeToken?
        var held: (snapshot: Snapshot, hash: ContentHash)?
        var rounds = 0
        while !isOver.load(ordering: .relaxed) || rounds < 10 {
            rounds += 1
            // What memory answers never suspends, and the writer needs a turn.
            await Task.yield()
            let snapshot = container.snapshot()
            let past = snapshot.privateDatabase(for: "alice")
            try check(try past.pages(of: zone), "pages of a snapshot")
            try check(try past.pages(of: zone, type: "Account"), "a snapshot by type")
            try check(
                try past.recordZoneChanges(inZoneWith: zone).modifications,
                "the feed of a snapshot")
            try check(
                try await database.records(inZoneWith: zone, resultsLimit: 1_000).records,
                "a page")
            try check(
                try await database.recordZoneChanges(inZoneWith: zone).modifications,
                "a page of the feed")
            // A mirror is whole once nothing more is coming.
            var moreComing = true
            while moreComing {
                let page = try await database.recordZoneChanges(
                    inZoneWith: zone, since: token, resultsLimit: 60)
                for record in page.modifications { mirror[record.recordID] = record }
                token = page.changeToken
                moreComing = page.moreComing
            }
            try check(Array(mirror.values), "a mirror")
            if let (old, hash) = held, rounds % 8 == number {
                let again = try old.privateDatabase(for: "alice").contentHash(of: zone)
                guard again == hash else {
                    throw Problem(description: "a snapshot that was held has changed")
                }
                held = nil
            }
            if held == nil { held = (snapshot, try past.contentHash(of: zone)) }
        }
        return rounds
    }

    private static func race(_ storage: any Storage) async throws -> (rounds: Int, tables: UInt64) {
        let container = try await container(storage)
        let isOver = Over()
        let rounds = try await withThrowingTaskGroup(of: Int.self) { group in
            group.addTask {
                defer { isOver.flag.store(true, ordering: .relaxed) }
                try await write(
                    container.privateDatabase(for: "alice"), seed: Campaign.seed,
                    count: Campaign.transfers)
                return 0
            }
            for number in 0..<8 {
                group.addTask {
                    try await read(container, number: number, until: isOver.flag)
                }
            }
            return try await group.reduce(0, +)
        }
        try await container.close()
        let names = try storage.list().filter { $0.hasPrefix("index-") }
        let last = names.compactMap { UInt64($0.dropFirst(6), radix: 16) }.max()
        return (rounds, last ?? 0)
    }

    private final class Over: Sendable {
        let flag = Atomic<Bool>(false)
    }

    @Test func `eight readers see one state each, whatever is written, in memory`() async throws {
        let (rounds, tables) = try await Self.race(MemoryStorage())
        CampaignReport.add(
            "Readers in memory: \(rounds) rounds beside \(Campaign.transfers) transfers,"
                + " \(tables) tables.\n")
        #expect(rounds >= 80)
        #expect(tables > 4)
    }

    @Test func `eight readers see one state each, whatever is written, on the disk`() async throws {
        let path = FileManager.default.temporaryDirectory
            .appending(path: "stratus-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: path) }
        let storage = try LocalStorage(at: path, .writing(creating: true))
        let (rounds, tables) = try await Self.race(storage)
        CampaignReport.add(
            "Readers on the disk: \(rounds) rounds beside \(Campaign.transfers) transfers,"
                + " \(tables) tables.\n")
        #expect(rounds >= 80)
        #expect(tables > 4)
    }
}
