import FoundationEssentials
import Stratus

/// Stratus through its public interface.
struct StratusEngine<Files: StratusFiles>: Engine {
    private let container: Container
    private let database: Database

    init(at path: String, _ purpose: Purpose) async throws {
        container = try await Container.open(
            at: path, creating: true, durability: purpose == .killed ? .none : .full,
            reading: Files.reading)
        database = container.privateDatabase(for: "bench")
    }

    func input(_ item: Item, in zone: UInt32) -> Record {
        Record(item, in: RecordZone.ID(benchmark: zone))
    }

    func changed(_ input: Record, count: Int64, body: String) -> Record {
        var record = input
        record["count"] = .int64(count)
        record["body"] = .string(body)
        return record
    }

    func key(_ name: String, in zone: UInt32) -> Record.ID {
        Record.ID(recordName: name, zoneID: RecordZone.ID(benchmark: zone))
    }

    func makeZones(_ count: Int) async throws {
        for zone in 0..<count {
            try await database.save(RecordZone(zoneID: RecordZone.ID(benchmark: UInt32(zone))))
        }
    }

    func save(_ input: Record) async throws { try await database.save(input) }

    func saveAndWait(_ input: Record) throws { try database.saveAndWait(input) }

    func saveInGroup(_ input: Record) async throws { try await database.save(input) }

    func saveAll(_ inputs: [Record]) async throws {
        let result = try await database.modifyRecords(saving: inputs, savePolicy: .allKeys)
        if let failure = result.partialFailure { throw failure }
    }

    func hold(_ keys: [Record.ID], _ reader: Reader, count: Int64) async throws -> [Record] {
        var records: [Record] = []
        for key in keys {
            var record = try await database.record(for: key)
            record["count"] = .int64(count)
            records.append(record)
        }
        return records
    }

    func saveHeld(_ held: [Record]) async throws {
        let result = try await database.modifyRecords(saving: held)
        if let failure = result.partialFailure { throw failure }
    }

    func reader() throws -> Reader { Reader(database: database) }

    func close() async throws { try await container.close() }

    struct Reader: EngineReader {
        let database: Database

        func get(_ key: Record.ID) async throws -> Item {
            try Item(try await database.record(for: key))
        }

        func changes(
            in zone: UInt32, since token: ChangeToken?, limit: Int
        ) async throws -> ChangePage<ChangeToken> {
            let changes = try await database.recordZoneChanges(
                inZoneWith: RecordZone.ID(benchmark: zone), since: token, resultsLimit: limit)
            var page = ChangePage<ChangeToken>(
                token: changes.changeToken, moreComing: changes.moreComing)
            page.items.reserveCapacity(changes.modifications.count)
            page.places.reserveCapacity(changes.modifications.count)
            for record in changes.modifications {
                page.items.append(try Item(record))
                // A tag promises equality only; that tags of one zone ascend is known here.
                page.places.append(record.recordChangeTag.flatMap { UInt64($0) } ?? 0)
            }
            return page
        }
    }
}

/// How files that do not change any more are read.
protocol StratusFiles: Sendable {
    static var reading: ReadingMethod { get }
}

enum ByCalls: StratusFiles {
    static var reading: ReadingMethod { .calls }
}

enum Mapped: StratusFiles {
    static var reading: ReadingMethod { .mapped }
}

extension RecordZone.ID {
    init(benchmark number: UInt32) { self.init(zoneName: "items-\(number)") }
}

extension Item {
    init(_ record: Record) throws {
        guard let title = record["title"]?.stringValue, let body = record["body"]?.stringValue,
            let count = record["count"]?.int64Value, let rank = record["rank"]?.int64Value,
            let score = record["score"]?.doubleValue, let when = record["when"]?.dateValue,
            let owner = record["owner"]?.referenceValue, let data = record["data"]?.bytesValue
        else { throw BenchmarkError("a record lacks a field") }
        self.init(
            name: record.recordID.recordName, title: title, body: body, count: count, rank: rank,
            score: score, when: when.timeIntervalSinceReferenceDate,
            owner: owner.recordID.recordName, data: data)
    }
}
