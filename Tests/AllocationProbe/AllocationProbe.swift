import CCounting
import FoundationEssentials
import Stratus

/// Makes the calls that services make most, and prints for each how many allocations of the whole
/// process there were for a record: its name and a number in a line.
@main struct AllocationProbe {
    private static let zone = RecordZone.ID(zoneName: "zone")
    private static let count = 4_000
    private static let batch = 200

    static func main() async throws {
        // Shows that allocations are counted at all.
        var arrays: [[Int]] = []
        arrays.reserveCapacity(count)
        await measure("array") {
            for number in 0..<count { arrays.append([number]) }
            return count
        }

        let container = try Container.inMemory()
        let database = container.privateDatabase(for: "alice")
        try await database.save(RecordZone(zoneID: zone))
        // What is made once is made before: names get their numbers, threads start.
        _ = try await database.modifyRecords(saving: records(0..<batch))

        let single = records(10_000..<10_000 + count)
        try await measure("save") {
            for record in single { try await database.save(record) }
            return single.count
        }
        let inserted = batches(of: records(20_000..<20_000 + count))
        try await measure("insert") {
            for batch in inserted { try check(await database.modifyRecords(saving: batch)) }
            return count
        }
        var found: [Record] = []
        found.reserveCapacity(count)
        try await measure("read") {
            for record in single {
                found.append(try await database.record(for: record.recordID))
                read(found[found.count - 1])
            }
            return single.count
        }
        for place in found.indices { found[place]["count"] = .int64(Int64(place)) }
        let edited = batches(of: found)
        try await measure("update") {
            for batch in edited { try check(await database.modifyRecords(saving: batch)) }
            return count
        }
        var token: ChangeToken?
        try await measure("feed") {
            var total = 0
            while true {
                let page = try await database.recordZoneChanges(inZoneWith: zone, since: token)
                for record in page.modifications { read(record) }
                total += page.modifications.count
                token = page.changeToken
                if !page.moreComing { return total }
            }
        }
        try await container.close()
    }

    /// `body` returns how many records it has made or read.
    private static func measure(_ name: String, _ body: () async throws -> Int) async rethrows {
        let before = counting_allocations()
        let total = try await body()
        print(name, Double(counting_allocations() - before) / Double(total))
    }

    private static func check(_ result: ModifyRecordsResult) throws {
        if let failure = result.partialFailure { throw failure }
    }

    /// Records as those of the benchmarks: 8 fields, about 320 bytes.
    private static func records(_ numbers: Range<Int>) -> [Record] {
        numbers.map { number in
            let name = "record-\(number)-with-a-name-of-36-bytes".prefix(36)
            var record = Record(
                recordType: "Note", recordID: Record.ID(recordName: String(name), zoneID: zone))
            record["title"] = .string("The title of number \(number)")
            record["body"] = .string(String(repeating: "words and ", count: 16))
            record["count"] = .int64(Int64(number))
            record["rank"] = .int64(Int64(number * 7))
            record["score"] = .double(Double(number) / 3)
            record["when"] = .date(Date(timeIntervalSinceReferenceDate: Double(number)))
            record["owner"] = .reference(
                Reference(recordID: Record.ID(recordName: "the-owner-of-many", zoneID: zone)))
            record["data"] = .bytes(Data(repeating: UInt8(number % 256), count: 32))
            return record
        }
    }

    private static func batches(of records: [Record]) -> [[Record]] {
        stride(from: 0, to: records.count, by: batch).map { start in
            Array(records[start..<start + batch])
        }
    }

    private static func read(_ record: Record) {
        for key in ["title", "body", "count", "rank", "score", "when", "owner", "data"] {
            precondition(record[key] != nil, "a record lacks \(key)")
        }
    }
}
